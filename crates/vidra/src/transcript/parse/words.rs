//! The times of words: maps the segments that YouTube sends to the text after all clean-up.

use super::super::script::is_unspaced;
use super::super::word::WordTime;
use super::text::{Class, class, without_formatting};

/// YouTube sends a few segments of two words. Segments of more words are phrases of a song or of
/// styled captions.
const MAX_WORDS: usize = 3;

/// The start of a segment: its position in the text as sent, and its time from the start of the cue.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: u32,
    pub(super) offset: Offset,
}

/// The time of a segment.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Offset {
    /// YouTube omits the time of the first segment, which is 0.
    #[default]
    Omitted,
    /// Milliseconds from the start of the cue.
    Millis(u32),
    /// Not a time, or text outside of all segments.
    Unknown,
}

impl Offset {
    pub(super) fn from_millis(millis: u64) -> Self {
        u32::try_from(millis).map_or(Self::Unknown, Self::Millis)
    }
}

/// The times of the words of `clean`, which is `raw` after the clean-up. No times if YouTube sends
/// none. `None` if it sends times that do not fit the text.
pub(super) fn word_times(raw: &str, clean: &str, marks: &[Mark]) -> Option<Vec<WordTime>> {
    if !marks.iter().any(|mark| matches!(mark.offset, Offset::Millis(_))) {
        return Some(vec![]);
    }
    let is_ascii = clean.is_ascii();
    let times = Vec::with_capacity(marks.len());
    let mut words = Words { clean, is_ascii, words: times, offset: 0, segments: 0 };
    if is_ascii && raw == clean {
        // The fast path: the clean-up changed nothing, and words have one space between them.
        let skip_space = |at: usize| at + usize::from(clean.as_bytes().get(at) == Some(&b' '));
        words.extend(marks, |index| skip_space(marks[index].at as usize))?;
    } else {
        let positions = positions(raw, clean, marks)?;
        words.extend(marks, |index| positions[index])?;
    }
    (words.segments > 1 || is_one_word(clean)).then_some(words.words)
}

/// The words of a text, as its segments are added.
struct Words<'a> {
    clean: &'a str,
    is_ascii: bool,
    words: Vec<WordTime>,
    /// The time of the last segment.
    offset: u32,
    /// The number of segments with visible text.
    segments: usize,
}

impl Words<'_> {
    /// Adds all segments, which begin at these positions of the clean text.
    fn extend(&mut self, marks: &[Mark], position: impl Fn(usize) -> usize) -> Option<()> {
        let mut start = position(0);
        if start > 0 {
            // Text before the first segment has no time.
            return None;
        }
        for (index, mark) in marks.iter().enumerate() {
            let next = index + 1;
            let end = if next < marks.len() { position(next) } else { self.clean.len() };
            if start < end {
                self.add(start, end, mark.offset)?;
            }
            start = end;
        }
        Some(())
    }

    /// Adds a segment with visible text. `None` if its time is unknown or descends, or if it is a
    /// phrase.
    fn add(&mut self, start: usize, end: usize, offset: Offset) -> Option<()> {
        let offset = match offset {
            Offset::Omitted => 0,
            Offset::Millis(millis) => millis,
            Offset::Unknown => return None,
        };
        let text = &self.clean[start..end];
        // Most segments are too short for a phrase.
        let is_phrase = || text.split_ascii_whitespace().nth(MAX_WORDS).is_some();
        if offset < self.offset || (text.len() > 2 * MAX_WORDS && is_phrase()) {
            return None;
        }
        // The text is shorter than the body, whose size is limited.
        let chars = if self.is_ascii { text.len() } else { text.chars().count() } as u32;
        match self.words.last_mut() {
            Some(word) if !begins_word(&self.clean[..start], text) => word.chars += chars,
            _ => self.words.push(WordTime { chars, offset }),
        }
        self.offset = offset;
        self.segments += 1;
        Some(())
    }
}

/// Whether the text is one word. YouTube sends no times for a cue of one word, which starts with it.
pub(super) fn is_one_word(text: &str) -> bool {
    !text.contains(|c| matches!(c, ' ' | '\n') || is_unspaced(c))
}

/// Whether a segment begins a word. In a script with spaces it may continue a word: `Ka`, `ra`, `o`,
/// `ke`.
fn begins_word(before: &str, segment: &str) -> bool {
    match before.as_bytes().last() {
        None | Some(b' ' | b'\n') => true,
        Some(_) => before.ends_with(is_unspaced) || segment.starts_with(is_unspaced),
    }
}

/// The position in the clean text of the first visible character of each segment.
fn positions(raw: &str, clean: &str, marks: &[Mark]) -> Option<Vec<usize>> {
    let plain = without_formatting(raw);
    let starts: Vec<usize> = if plain == raw {
        marks.iter().map(|mark| mark.at as usize).collect()
    } else {
        starts_without_formatting(raw, &plain, marks)?
    };
    let mut positions = Vec::with_capacity(marks.len());
    let is_separator = |c: char| matches!(c, ' ' | '\n');
    let mut visible = clean.char_indices().filter(|(_, c)| !is_separator(*c));
    let kept = plain.char_indices().filter(|(_, c)| class(*c) == Class::Visible);
    for (at, c) in kept {
        let (position, same) = visible.next()?;
        if c != same {
            return None;
        }
        while starts.get(positions.len()).is_some_and(|start| *start <= at) {
            positions.push(position);
        }
    }
    positions.resize(marks.len(), clean.len());
    visible.next().is_none().then_some(positions)
}

/// The starts of the segments in the text without formatting. `None` if a tag spans segments.
fn starts_without_formatting(raw: &str, plain: &str, marks: &[Mark]) -> Option<Vec<usize>> {
    let first = marks.first().map_or(0, |mark| mark.at as usize);
    let mut joined = without_formatting(raw.get(..first)?).into_owned();
    let mut starts = Vec::with_capacity(marks.len());
    for (index, mark) in marks.iter().enumerate() {
        let end = marks.get(index + 1).map_or(raw.len(), |next| next.at as usize);
        starts.push(joined.len());
        joined.push_str(&without_formatting(raw.get(mark.at as usize..end)?));
    }
    (joined == plain).then_some(starts)
}
