//! The sizes of lines in each unit.

use std::ops::Range;

use super::super::cue::TranscriptLine;
use super::super::script::{
    ends_sentence, is_cjk, is_closer, is_hangul, is_unspaced_alphabet, is_wide_sentence_end,
};
use super::ChunkBy;

/// A pause that is longer ends a sentence.
const PAUSE: u64 = 700;

/// A sentence without a mark ends at the end of the line in which it reaches this many words.
const MAX_SENTENCE: u64 = 60;

/// Tokens and words are counted in quarters: four bytes are a token.
const QUARTERS: u64 = 4;

/// The number of internal units in one unit of a query.
pub(super) fn scale(by: ChunkBy) -> u64 {
    match by {
        ChunkBy::Tokens | ChunkBy::Words | ChunkBy::Chapters => QUARTERS,
        ChunkBy::Seconds => 1_000,
        ChunkBy::Sentences => 1,
    }
}

/// Estimates the number of tokens of a text for a language model, without a tokenizer.
///
/// Four bytes of UTF-8 are one token, and so is a Chinese, Japanese or Korean character. A run of
/// white space counts as one space. The result is rough, because each model has its own vocabulary.
/// English has about four characters per token. Cyrillic, Arabic and Indic letters have two or three
/// bytes, so they count as half a token or more.
///
/// ```
/// use vidra::estimate_tokens;
/// assert_eq!(estimate_tokens("Never gonna give you up"), 6);
/// assert_eq!(estimate_tokens("大家好！歡迎回到"), 8);
/// ```
pub fn estimate_tokens(text: &str) -> usize {
    Counts::new(text).quarter_tokens.div_ceil(QUARTERS) as usize
}

/// The sizes of one text.
#[derive(Default)]
struct Counts {
    quarter_tokens: u64,
    quarter_words: u64,
    sentence_ends: u64,
}

impl Counts {
    fn new(text: &str) -> Self {
        let mut counts = Self::default();
        for (index, piece) in text.split_whitespace().enumerate() {
            counts.quarter_tokens += u64::from(index > 0);
            counts.add(piece);
        }
        counts
    }

    /// Adds text without spaces.
    fn add(&mut self, piece: &str) {
        self.sentence_ends += u64::from(ends_sentence(piece));
        if piece.is_ascii() {
            self.quarter_tokens += piece.len() as u64;
            self.quarter_words += QUARTERS;
            return;
        }
        let (mut unspaced, mut has_spaced) = (0, false);
        let mut after_end = false;
        for c in piece.chars() {
            let is_cjk = is_cjk(c);
            self.quarter_tokens +=
                if is_cjk || is_hangul(c) { QUARTERS } else { c.len_utf8() as u64 };
            if is_cjk {
                unspaced += QUARTERS;
            } else if is_unspaced_alphabet(c) {
                unspaced += 1;
            } else {
                has_spaced |= c.is_alphanumeric();
            }
            // A mark at the end of the piece is counted already.
            if is_wide_sentence_end(c) {
                after_end = true;
            } else if after_end && !is_closer(c) {
                self.sentence_ends += 1;
                after_end = false;
            }
        }
        let is_word = has_spaced || unspaced == 0;
        self.quarter_words += unspaced + if is_word { QUARTERS } else { 0 };
    }
}

/// The lines of a transcript in the order of time, with their sizes in one unit.
pub(super) struct Lines<'a> {
    by: ChunkBy,
    lines: Vec<Line<'a>>,
    /// The size of all lines before each line, and of all lines at the end.
    before: Vec<u64>,
}

struct Line<'a> {
    text: &'a str,
    start: u64,
    end: u64,
    /// Whether a sentence ends with this line, or a pause follows it.
    is_break: bool,
}

impl<'a> Lines<'a> {
    /// Measures the lines, without those that have no text.
    pub(super) fn new(lines: &'a [TranscriptLine], by: ChunkBy) -> Self {
        let mut sorted: Vec<&TranscriptLine> =
            lines.iter().filter(|line| !line.text.trim().is_empty()).collect();
        sorted.sort_by_key(|line| line.offset);
        let mut measured = Self {
            by,
            lines: Vec::with_capacity(sorted.len()),
            before: Vec::with_capacity(sorted.len() + 1),
        };
        let (mut total, mut quarter_words) = (0, 0);
        measured.before.push(0);
        for (index, line) in sorted.iter().enumerate() {
            let counts = Counts::new(&line.text);
            let start = line.offset.as_millis();
            let end = start.saturating_add(line.duration.as_millis());
            let next = sorted.get(index + 1).map(|next| next.offset.as_millis());
            // A line without a duration says nothing about a pause. The last line ends everything.
            let is_pause = next.is_none_or(|next| end > start && next.saturating_sub(end) > PAUSE);
            let at_mark = ends_sentence(&line.text);
            if counts.sentence_ends > 0 {
                quarter_words = 0;
            }
            quarter_words += counts.quarter_words;
            let is_full = by == ChunkBy::Sentences && quarter_words >= MAX_SENTENCE * QUARTERS;
            let is_break = at_mark || is_pause || is_full;
            if is_break {
                quarter_words = 0;
            }
            total += match by {
                // With the space before the next line.
                ChunkBy::Tokens | ChunkBy::Chapters => counts.quarter_tokens + 1,
                ChunkBy::Words => counts.quarter_words,
                ChunkBy::Sentences => counts.sentence_ends + u64::from(is_break && !at_mark),
                ChunkBy::Seconds => 0,
            };
            let end = end.min(next.unwrap_or(u64::MAX));
            measured.lines.push(Line { text: &line.text, start, end, is_break });
            measured.before.push(total);
        }
        measured
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The size of a range of lines, which must not be empty.
    pub(super) fn size(&self, range: Range<usize>) -> u64 {
        let sum = self.before[range.end] - self.before[range.start];
        match self.by {
            ChunkBy::Tokens | ChunkBy::Chapters => sum - 1,
            ChunkBy::Words | ChunkBy::Sentences => sum,
            ChunkBy::Seconds => self.lines[range.end - 1].end - self.lines[range.start].start,
        }
    }

    /// The start time of a line in milliseconds.
    pub(super) fn start(&self, line: usize) -> u64 {
        self.lines[line].start
    }

    /// The end time of a line in milliseconds. It is not after the start of the next line, because
    /// automatic captions overlap.
    pub(super) fn end(&self, line: usize) -> u64 {
        self.lines[line].end
    }

    /// Whether a sentence ends with the line, or a pause follows it.
    pub(super) fn is_break(&self, line: usize) -> bool {
        self.lines[line].is_break
    }

    /// The text of lines, with one space wherever they have white space.
    pub(super) fn text(&self, range: Range<usize>) -> String {
        let lines = &self.lines[range];
        let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
        for piece in lines.iter().flat_map(|line| line.text.split_whitespace()) {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(piece);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_texts() {
        let table = [
            // Text, tokens, quarters of words, ends of sentences.
            ("", 0, 0, 0),
            ("a", 1, 4, 0),
            ("We tested for 167 days.", 6, 20, 1),
            ("  We\n tested  ", 3, 8, 0),
            (">> It's 3.5%, e.g. \"so!\"", 6, 20, 2),
            ("naïve café", 3, 8, 0),
            ("Привет, мир!", 6, 8, 1),
            ("مرحبا بك؟", 5, 8, 1),
            ("आप कैसे हैं। ठीक", 11, 16, 1),
            ("大家好！歡迎回到", 8, 32, 1),
            ("「好。」他說。", 7, 28, 2),
            ("真的？！好", 5, 20, 1),
            ("これはRustです。", 7, 28, 1),
            ("안녕하세요 여러분", 9, 8, 0),
            ("สวัสดีครับ", 8, 10, 0),
            ("♪ ♪", 2, 8, 0),
        ];
        for (text, tokens, quarter_words, sentence_ends) in table {
            let counts = Counts::new(text);
            assert_eq!(estimate_tokens(text), tokens, "{text}");
            assert_eq!(counts.quarter_words, quarter_words, "{text}");
            assert_eq!(counts.sentence_ends, sentence_ends, "{text}");
        }
    }
}
