#![no_main]
//! Any times, any texts and any language.

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use vidra::{Cue, TranscriptLine};

fuzz_target!(|said: (String, Vec<(u64, u64, String)>)| {
    let (lang, said) = said;
    let lang: Arc<str> = lang.into();
    let lines = said
        .into_iter()
        .map(|(start, duration, text)| TranscriptLine::new(Cue::new(start, duration, text), &lang));
    vidra_fuzz::written(&lines.collect::<Vec<_>>());
});
