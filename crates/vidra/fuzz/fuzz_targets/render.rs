#![no_main]
//! Writes cues with any times, any texts and any language.

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use vidra::{Cue, TranscriptLine};

fuzz_target!(|input: (String, Vec<(u64, u64, String)>)| {
    let (lang, cues) = input;
    let lang: Arc<str> = lang.into();
    let lines = cues
        .into_iter()
        .map(|(start, duration, text)| TranscriptLine::new(Cue::new(start, duration, text), &lang));
    vidra_fuzz::written(&lines.collect::<Vec<_>>());
});
