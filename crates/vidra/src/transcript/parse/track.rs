//! The common part of all formats: times, and the construction of cues.

use super::super::cue::Cue;
use super::super::word::WordTime;
use super::Unreadable;
use super::text;
use super::words::{Mark, is_one_word, word_times};

/// The maximum time: about nine years in milliseconds. Longer times are errors, and the sum of two
/// cannot overflow.
const MAX_MILLIS: u64 = 1 << 38;

/// The maximum number of cues. A day of captions, one a second, has 86,400.
const MAX_CUES: usize = 500_000;

/// The cues of a track during parsing.
#[derive(Default)]
pub(super) struct Track {
    drafts: Vec<Draft>,
    /// The last known start time.
    start: u64,
    /// Whether YouTube sends the times of words.
    has_words: bool,
}

/// A cue whose duration may still be unknown.
struct Draft {
    start: u64,
    duration: Option<u64>,
    text: String,
    /// `None` if the times of its words are unusable.
    words: Option<Vec<WordTime>>,
}

impl Draft {
    /// A cue without times for its words starts with its first word, so a single word has a time.
    fn word_times(&mut self) -> Vec<WordTime> {
        let words = self.words.take();
        if words.as_ref().is_some_and(Vec::is_empty) && is_one_word(&self.text) {
            let chars = u32::try_from(self.text.chars().count());
            return chars.into_iter().map(|chars| WordTime { chars, offset: 0 }).collect();
        }
        words.unwrap_or_default()
    }
}

impl Track {
    /// Adds a cue, unless its text is empty. A cue without a start time gets the start of the
    /// previous one. `marks` are the starts of its segments.
    pub(super) fn push(
        &mut self,
        start: Option<u64>,
        duration: Option<u64>,
        raw: &str,
        marks: &[Mark],
    ) -> Result<(), Unreadable> {
        self.start = start.map_or(self.start, |start| start.min(MAX_MILLIS));
        let text = text::plain(raw);
        if text.is_empty() {
            return Ok(());
        }
        if self.drafts.len() == MAX_CUES {
            return Err(Unreadable::Malformed(format!("more than {MAX_CUES} cues")));
        }
        let duration = duration.map(|duration| duration.min(MAX_MILLIS));
        let words = word_times(raw, &text, marks);
        self.has_words |= words.as_ref().is_some_and(|words| !words.is_empty());
        self.drafts.push(Draft { start: self.start, duration, text, words });
        Ok(())
    }

    /// Returns all cues sorted by start time. The sort is stable.
    pub(super) fn finish(mut self) -> Vec<Cue> {
        self.drafts.sort_by_key(|draft| draft.start);
        // Backwards, so that the next later start is known. Cues with the same start have the same
        // next start.
        let (mut this, mut later) = (u64::MAX, u64::MAX);
        for draft in self.drafts.iter_mut().rev() {
            if draft.start < this {
                (this, later) = (draft.start, this);
            }
            let until_next = if later == u64::MAX { 0 } else { later - draft.start };
            draft.duration.get_or_insert(until_next);
        }
        let cue = |mut draft: Draft| {
            let word_times = if self.has_words { draft.word_times() } else { vec![] };
            let duration = draft.duration.unwrap_or_default();
            Cue { start: draft.start, duration, text: draft.text, word_times }
        };
        self.drafts.into_iter().map(cue).collect()
    }
}

/// Parses a decimal number times `10^places`, rounded: `("17.119", 3)` is 17119. Negative numbers
/// are 0. Any other text is `None`.
pub(super) fn decimal(text: &str, places: usize) -> Option<u64> {
    let text = text.trim();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    if negative {
        return Some(0);
    }
    let digit = |byte: u8| u64::from(byte - b'0');
    let shifted = fraction.bytes().chain(std::iter::repeat(b'0')).take(places);
    let scaled = whole
        .bytes()
        .chain(shifted)
        .fold(0_u64, |number, byte| number.saturating_mul(10).saturating_add(digit(byte)));
    let rounds_up = fraction.as_bytes().get(places).is_some_and(|byte| *byte >= b'5');
    Some(scaled.saturating_add(u64::from(rounds_up)))
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_to_milliseconds() {
        let table = [
            ("0", Some(0)),
            ("5.7", Some(5_700)),
            ("17.119", Some(17_119)),
            ("1.0005", Some(1_001)),
            ("1.00049", Some(1_000)),
            ("0.9996", Some(1_000)),
            (" 60 ", Some(60_000)),
            (".5", Some(500)),
            ("5.", Some(5_000)),
            ("-1.5", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("NaN", None),
            ("inf", None),
            ("1e3", None),
            ("1,5", None),
            ("1.2.3", None),
            ("--1", None),
            (".", None),
            ("-", None),
            ("", None),
        ];
        for (text, millis) in table {
            assert_eq!(decimal(text, 3), millis, "{text:?}");
        }
        assert_eq!((decimal("654", 0), decimal("654.5", 0)), (Some(654), Some(655)));
    }
}
