//! The captions of a transcript as passages for the index, and the positions of words in them.
//!
//! A passage has about 100 tokens, and ends between two captions. Passages do not overlap, so that every word is counted
//! once. A phrase that goes from one passage to the next is found by their seam: the tokens on both sides of the border.

use std::collections::HashSet;
use std::ops::Range;

use vidra::Chapter;
use vidra::transcript::{Cue, FullTranscript};

use crate::segment::{is_continuous, is_ignored, segment};

/// The tokens of a passage, unless a caption is longer.
const TOKENS: usize = 100;

/// A passage with fewer tokens takes another caption, if it is not the last one of its transcript.
const FEWEST: usize = 60;

/// A passage never has more tokens.
const MOST: usize = 160;

/// The tokens on each side of a seam. A longer part of a phrase has to be compared with the text.
pub(crate) const SEAM: usize = 7;

/// The most passages of a transcript. Text beyond them is not searched: 24 hours of speech have 2,000.
pub(crate) const MOST_PASSAGES: usize = 1 << 16;

/// Marks tokens of a title, a description and a chapter, so that they are no words of the speech. No text has these
/// characters in a token.
pub(crate) const TITLE: char = '\u{E001}';
pub(crate) const DESCRIPTION: char = '\u{E002}';
pub(crate) const CHAPTER: char = '\u{E003}';

/// The mark of tokens before the border of a seam, and of those after it.
pub(crate) const BEFORE: char = 'b';
pub(crate) const AFTER: char = 'a';

/// A token of joined captions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpokenToken {
    pub(crate) text: String,
    /// Its bytes in the joined text.
    pub(crate) range: Range<usize>,
    /// The end of its first character, for a token of a script without spaces.
    pub(crate) head_end: Option<usize>,
    /// The index of its caption.
    pub(crate) cue: usize,
}

/// Captions that follow each other, as one text.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    /// The captions, separated by spaces where their script has spaces.
    pub(crate) text: String,
    /// The first byte of each caption.
    starts: Vec<usize>,
}

impl Speech {
    pub(crate) fn new(cues: &[Cue]) -> Self {
        let mut speech = Self { text: String::new(), starts: Vec::with_capacity(cues.len()) };
        for cue in cues {
            let mut lines = cue.text.split('\n');
            speech.add(lines.next().unwrap_or_default(), true);
            lines.for_each(|line| speech.add(line, false));
        }
        speech
    }

    fn add(&mut self, line: &str, is_cue: bool) {
        let line = line.trim();
        let mut last = self.text.chars().rev().filter(|it| !is_ignored(*it));
        let mut first = line.chars().filter(|it| !is_ignored(*it));
        let is_joined =
            last.next().is_some_and(is_continuous) && first.next().is_some_and(is_continuous);
        if !self.text.is_empty() && !line.is_empty() && !is_joined {
            self.text.push(' ');
        }
        if is_cue {
            self.starts.push(self.text.len());
        }
        self.text.push_str(line);
    }

    /// Calls `each` with every token and the index of the caption in which it begins.
    pub(crate) fn each_token(&self, mut each: impl FnMut(crate::segment::Token<'_>, usize)) {
        let mut cue = 0;
        segment(&self.text, |token| {
            while self.starts.get(cue + 1).is_some_and(|start| *start <= token.start) {
                cue += 1;
            }
            each(token, cue);
        });
    }

    pub(crate) fn tokens(&self) -> Vec<SpokenToken> {
        let mut tokens = vec![];
        self.each_token(|token, cue| {
            tokens.push(SpokenToken {
                text: token.text.to_owned(),
                range: token.range(),
                head_end: token.in_run.map(|it| it.head_end),
                cue,
            });
        });
        tokens
    }
}

/// The first token of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PassageStart {
    /// The index of its caption.
    pub(crate) cue: usize,
    /// How many tokens of the caption are before it. Zero unless a caption is longer than a passage.
    pub(crate) token: usize,
}

/// The rows of a transcript in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IndexRows {
    /// The tokens of each passage, separated by spaces, with the marked tokens of its chapter.
    pub(crate) passages: Vec<String>,
    /// The marked tokens around the end of each passage but the last.
    pub(crate) seams: Vec<String>,
    /// The different tokens of the speech, the title and the description.
    pub(crate) words: String,
    /// The starts of the passages.
    pub(crate) layout: Vec<u8>,
    /// The number of tokens of the speech.
    pub(crate) word_count: u64,
}

impl IndexRows {
    pub(crate) fn new(transcript: &FullTranscript) -> Self {
        let speech = Speech::new(&transcript.cues);
        let mut builder = Builder::new(&transcript.cues, &transcript.chapters);
        speech.each_token(|token, cue| builder.add(token.text, cue));
        let mut rows = builder.finish();
        for (mark, text) in
            [(TITLE, &transcript.info.title), (DESCRIPTION, &transcript.description)]
        {
            let mut seen = HashSet::new();
            segment(text, |token| {
                if seen.insert(token.text.to_owned()) {
                    push_token(&mut rows.words, Some(mark), token.text);
                }
            });
        }
        rows
    }
}

/// Appends a token after a space, with its mark.
fn push_token(out: &mut String, mark: Option<char>, token: &str) {
    if !out.is_empty() {
        out.push(' ');
    }
    out.extend(mark);
    out.push_str(token);
}

/// Divides tokens into passages.
struct Builder<'a> {
    cues: &'a [Cue],
    chapters: &'a [Chapter],
    rows: IndexRows,
    seen: HashSet<String>,
    /// The tokens of the passage so far. The buffers are used again.
    tokens: Vec<String>,
    count: usize,
    start: PassageStart,
    starts: Vec<PassageStart>,
    /// The number of tokens before the caption of the last token.
    cue_start: usize,
    last_cue: usize,
    /// The last tokens of the previous passage, as the beginning of its seam.
    seam: Option<String>,
}

impl<'a> Builder<'a> {
    fn new(cues: &'a [Cue], chapters: &'a [Chapter]) -> Self {
        Self {
            cues,
            chapters,
            rows: IndexRows::default(),
            seen: HashSet::new(),
            tokens: vec![],
            count: 0,
            start: PassageStart { cue: 0, token: 0 },
            starts: vec![],
            cue_start: 0,
            last_cue: usize::MAX,
            seam: None,
        }
    }

    fn add(&mut self, token: &str, cue: usize) {
        let is_new_cue = cue != self.last_cue;
        if is_new_cue {
            // A passage ends where it comes nearest to its size.
            if self.count >= TOKENS || (self.count >= FEWEST && self.next_is_long(cue)) {
                self.end_passage();
            }
            (self.last_cue, self.cue_start) = (cue, self.rows.word_count as usize);
        }
        if self.count >= MOST {
            self.end_passage();
        }
        if self.count == 0 {
            let before = self.rows.word_count as usize - self.cue_start;
            self.start = PassageStart { cue, token: before };
        }
        match self.tokens.get_mut(self.count) {
            Some(buffer) => {
                buffer.clear();
                buffer.push_str(token);
            }
            None => self.tokens.push(token.to_owned()),
        }
        self.count += 1;
        self.rows.word_count += 1;
        if !self.seen.contains(token) {
            self.seen.insert(token.to_owned());
            push_token(&mut self.rows.words, None, token);
        }
    }

    /// Whether the caption would make the passage longer than it should be by more than it is short now. Its words
    /// or characters estimate its tokens.
    fn next_is_long(&self, cue: usize) -> bool {
        let text = self.cues.get(cue).map_or("", |cue| &cue.text);
        let tokens = match text.chars().next().is_some_and(is_continuous) {
            true => text.chars().count(),
            false => text.split_whitespace().count(),
        };
        self.count + tokens > TOKENS + (TOKENS - self.count)
    }

    fn end_passage(&mut self) {
        if self.count == 0 || self.rows.passages.len() >= MOST_PASSAGES {
            self.count = 0;
            return;
        }
        let tokens = &self.tokens[..self.count];
        if let Some(mut seam) = self.seam.take() {
            for token in tokens.iter().take(SEAM) {
                push_token(&mut seam, Some(AFTER), token);
            }
            self.rows.seams.push(seam);
        }
        let mut seam = String::new();
        for token in &tokens[tokens.len().saturating_sub(SEAM)..] {
            push_token(&mut seam, Some(BEFORE), token);
        }
        self.seam = Some(seam);
        let mut passage = tokens.join(" ");
        if let Some(title) = chapter_at(self.chapters, self.cues[self.start.cue].start) {
            segment(title, |token| push_token(&mut passage, Some(CHAPTER), token.text));
        }
        self.rows.passages.push(passage);
        self.starts.push(self.start);
        self.count = 0;
    }

    fn finish(mut self) -> IndexRows {
        self.end_passage();
        self.rows.layout = write_layout(&self.starts);
        self.rows
    }
}

/// The title of the chapter at a time in milliseconds.
pub(crate) fn chapter_at(chapters: &[Chapter], at: u64) -> Option<&str> {
    let is_in = |it: &&Chapter| it.start.as_millis() <= at && at < it.end.as_millis();
    chapters.iter().find(is_in).map(|it| it.title.as_str())
}

/// The starts of passages as bytes: for each, the captions since the previous one and its tokens before, as LEB128.
fn write_layout(starts: &[PassageStart]) -> Vec<u8> {
    let mut bytes = vec![];
    let mut cue = 0;
    for start in starts {
        for mut number in [start.cue - cue, start.token] {
            while number >= 0x80 {
                bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            bytes.push(number as u8);
        }
        cue = start.cue;
    }
    bytes
}

/// Reads what [`IndexRows::layout`] says. Damaged bytes give fewer passages.
pub(crate) fn read_layout(bytes: &[u8]) -> Vec<PassageStart> {
    let mut bytes = bytes.iter();
    let mut number = || {
        let (mut number, mut shift) = (0_usize, 0);
        loop {
            let byte = bytes.next()?;
            number |= usize::from(byte & 0x7F).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
    };
    let mut starts = vec![];
    let mut cue: usize = 0;
    while let (Some(cues), Some(token)) = (number(), number()) {
        cue = cue.saturating_add(cues);
        starts.push(PassageStart { cue, token });
    }
    starts
}

#[cfg(test)]
mod tests;
