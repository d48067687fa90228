//! Joins caption lines of a few words into segments of half a minute, which are easier to read for a
//! model. The time of a segment is that of a link to its moment.

use schemars::JsonSchema;
use serde::Serialize;
use vidra::{Chunk, TranscriptLine};

use crate::page::one_line;
use crate::tools::video::link_time;

/// About half a minute of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Segment {
    /// When it begins, in seconds from the start of the video.
    start: u64,
    /// The chapter in which it begins. Absent if the video has no chapters, and without chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    chapter: Option<String>,
    text: String,
}

/// A segment ends with the line that reaches one of these lengths.
const FULL_SECONDS: u64 = 30;
const FULL_CHARS: usize = 300;

/// A segment ends within a line at this length: some tracks have everything in one line.
const MAX_CHARS: usize = 500;

impl Segment {
    fn new(start: u64) -> Self {
        Self { start, chapter: None, text: String::new() }
    }

    /// The segment and its line of text.
    pub(super) fn with_line(self) -> (Self, String) {
        let chapter = self.chapter.as_deref().map(|it| format!("({}) ", one_line(it)));
        let (time, chapter) = (link_time(self.start), chapter.unwrap_or_default());
        let line = format!("[{time}] {chapter}{}", self.text);
        (self, line)
    }
}

impl Segment {
    /// The segment in parts of at most about `most` characters.
    pub(super) fn divided(self, most: usize) -> Vec<Self> {
        let mut parts = vec![];
        let (mut text, mut chars) = (String::new(), 0);
        for word in self.text.split_whitespace().flat_map(pieces) {
            let length = word.chars().count() + 1;
            if chars + length > most && chars > 0 {
                parts.push(std::mem::take(&mut text));
                chars = 0;
            }
            if chars > 0 {
                text.push(' ');
            }
            text.push_str(word);
            chars += length;
        }
        parts.push(text);
        let part = |text| Self { start: self.start, chapter: self.chapter.clone(), text };
        parts.into_iter().map(part).collect()
    }
}

impl From<Chunk> for Segment {
    fn from(Chunk { start, text, chapter, .. }: Chunk) -> Self {
        Self { start: start.as_millis() / 1_000, chapter, text }
    }
}

/// Joins caption lines into segments.
pub(super) fn segments(lines: &[TranscriptLine]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = vec![];
    let mut chars = 0;
    for line in lines {
        let start = line.offset.as_millis() / 1_000;
        for word in line.text.split_whitespace().flat_map(pieces) {
            let is_full = segments.last().is_none_or(|last| {
                chars >= MAX_CHARS
                    || (start > last.start
                        && (chars >= FULL_CHARS || start >= last.start + FULL_SECONDS))
            });
            if is_full {
                segments.push(Segment::new(start));
                chars = 0;
            }
            if let Some(last) = segments.last_mut() {
                if chars > 0 {
                    last.text.push(' ');
                    chars += 1;
                }
                last.text.push_str(word);
                chars += word.chars().count();
            }
        }
    }
    segments
}

/// A word, in pieces of at most [`MAX_CHARS`] characters.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(MAX_CHARS).map_or(rest.len(), |(end, _)| end);
        let (piece, left) = rest.split_at(end);
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vidra::Cue;

    fn line(seconds: u64, text: &str) -> TranscriptLine {
        let cue = Cue::new(seconds * 1_000 + 999, 1_000, text);
        TranscriptLine::new(cue, &"en".into())
    }

    #[test]
    fn lines_are_grouped_into_half_minutes() {
        let lines = [line(0, "one\ntwo"), line(29, " three "), line(30, "four"), line(75, "five")];
        let found = segments(&lines);
        let texts: Vec<_> = found.iter().map(|it| (it.start, it.text.as_str())).collect();
        assert_eq!(texts, [(0, "one two three"), (30, "four"), (75, "five")]);
        let (_, text) = found[2].clone().with_line();
        assert_eq!(text, "[1m15s] five");
    }

    #[test]
    fn a_long_chunk_is_divided_and_loses_no_word() {
        let text = "wörd ".repeat(1_000);
        let chunk = Segment { start: 7, chapter: None, text: text.clone() };
        let parts = chunk.divided(500);
        assert!(parts.iter().all(|it| it.start == 7 && it.text.chars().count() <= 500));
        let joined: Vec<&str> = parts.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(joined.join(" "), text.trim());
    }

    #[test]
    fn segments_are_bounded_and_lose_no_word() {
        let long = "wörd ".repeat(1_000) + &"x".repeat(2_000);
        let found = segments(&[line(5, &long)]);
        assert!(
            found.iter().all(|it| it.start == 5 && it.text.chars().count() <= 2 * MAX_CHARS + 1)
        );
        let joined: String = found.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(joined.replace(' ', ""), long.replace(' ', ""));
    }
}
