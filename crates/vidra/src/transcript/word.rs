//! The times of the words of a caption.

use serde::{Deserialize, Serialize};

use crate::seconds::Seconds;

/// A word with its start time.
///
/// Its text is what YouTube times as one unit. That is a word with its punctuation, and in
/// languages without spaces a word or a character. A few units have a space: `>> It's` begins the
/// words of another speaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Word {
    /// The word with its punctuation.
    #[cfg_attr(feature = "openapi", schema(example = "gonna"))]
    pub text: String,
    /// The start time in seconds from the beginning of the video.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 43.24))]
    pub start: Seconds,
}

/// The length and time of a word, relative to its caption. It serialises as `[chars, offset]`.
///
/// The words of a caption cover its whole text, so the text is not stored twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
#[non_exhaustive]
pub struct WordTime {
    /// The number of characters up to the next word, including the space between them.
    pub chars: u32,
    /// The time in milliseconds from the start of the caption.
    pub offset: u32,
}

impl From<(u32, u32)> for WordTime {
    fn from((chars, offset): (u32, u32)) -> Self {
        Self { chars, offset }
    }
}

impl From<WordTime> for (u32, u32) {
    fn from(word: WordTime) -> Self {
        (word.chars, word.offset)
    }
}

/// Splits the text of a caption that starts at `start` into its words.
///
/// Times that do not fit the text give fewer words and never a panic, because both fields of a cue
/// are public.
pub(super) fn words<'a>(
    text: &'a str,
    start: u64,
    times: &'a [WordTime],
) -> impl Iterator<Item = Word> + 'a {
    let mut rest = text;
    let words = times.iter().map(move |time| {
        let end = rest.char_indices().nth(time.chars as usize).map_or(rest.len(), |(end, _)| end);
        let (word, after) = rest.split_at(end);
        rest = after;
        let start = start.saturating_add(time.offset.into());
        let text = word.trim_end().replace('\n', " ");
        Word { text, start: Seconds::from_millis(start) }
    });
    words.filter(|word| !word.text.is_empty())
}
