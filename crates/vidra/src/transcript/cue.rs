//! A caption with its times, as parsed and as a line of a transcript.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::word::{self, Word, WordTime};
use crate::seconds::Seconds;

/// One caption. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cue {
    /// The start time.
    pub start: u64,
    /// The time on screen. An automatic caption stays while the next one is spoken, so this often
    /// exceeds the time to the next cue. 0 if YouTube gives no duration and no cue follows.
    pub duration: u64,
    /// The text without markup, entities and blank lines. It can contain line breaks.
    pub text: String,
    /// The times of the words. Empty if YouTube sends none: it times the words of recognised speech
    /// only, and not in every format. [`Cue::words`] adds the texts.
    pub word_times: Vec<WordTime>,
}

impl Cue {
    /// A caption without word times.
    pub fn new(start: u64, duration: u64, text: impl Into<String>) -> Self {
        Self { start, duration, text: text.into(), word_times: vec![] }
    }

    /// The words with their times, if YouTube sends times.
    ///
    /// Together they have every visible character of the text exactly once and in order. No word
    /// starts before the previous one.
    ///
    /// ```
    /// let body = br#"{"events":[{"tStartMs":240,"dDurationMs":1500,"segs":[
    ///     {"utf8":"It"},{"utf8":" didn't","tOffsetMs":320}]}]}"#;
    /// let cues = vidra::transcript::parse(body)?;
    /// let words: Vec<_> = cues[0].words().map(|word| (word.text, word.start.as_millis())).collect();
    /// assert_eq!(words, [("It".to_owned(), 240), ("didn't".to_owned(), 560)]);
    /// # Ok::<_, vidra::transcript::Unreadable>(())
    /// ```
    pub fn words(&self) -> impl Iterator<Item = Word> + '_ {
        word::words(&self.text, self.start, &self.word_times)
    }
}

/// One line of a transcript. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TranscriptLine {
    /// The text without markup and entities. A space replaces each line break.
    #[cfg_attr(feature = "openapi", schema(example = "Never gonna give you up"))]
    pub text: String,
    /// The time on screen in seconds. Automatic captions overlap.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 3.36))]
    pub duration: Seconds,
    /// The start time in seconds from the beginning of the video.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 43))]
    pub offset: Seconds,
    /// The language code of the track.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "en"))]
    pub lang: Arc<str>,
}

impl TranscriptLine {
    /// Converts a cue to a line, with its line breaks and without the word times. All lines of a track share one `lang`.
    pub fn new(cue: Cue, lang: &Arc<str>) -> Self {
        Self {
            text: cue.text,
            duration: Seconds::from_millis(cue.duration),
            offset: Seconds::from_millis(cue.start),
            lang: Arc::clone(lang),
        }
    }
}
