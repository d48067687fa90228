//! Splits text into the tokens of the search index.
//!
//! In scripts with spaces a token is a word: a run of letters, digits and their marks, in one spelling ([`fold`]). Words
//! end at apostrophes, hyphens and full stops too, so that `homme` finds `l'homme`.
//!
//! Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces between words. There each character of a run is the
//! beginning of one token: the pair with the next character, or the last character alone. A search for a part of a run is
//! then a search for consecutive tokens, and finds it wherever it is.

mod fold;

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};

use fold::{fold_word, is_hebrew};
pub(crate) use fold::{is_continuous, is_ignored};

/// The version of the rules. An index that was built by other rules has to be built again.
pub(crate) const VERSION: i64 = 1;

/// The longest token in characters. The rest of a longer word is ignored.
const MAX_LENGTH: usize = 64;

/// A token and its position in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The folded text.
    pub(crate) text: &'a str,
    /// The first byte in the original text.
    pub(crate) start: usize,
    /// The byte after the token. For a pair, the byte after its second character.
    pub(crate) end: usize,
    /// The position of a token in a run of a script without spaces. `None` for a word.
    pub(crate) in_run: Option<InRun>,
}

/// The position of a token in a run of a script without spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InRun {
    /// The byte after the first character of the token.
    pub(crate) head_end: usize,
    /// Whether the token is the last character of its run.
    pub(crate) is_last: bool,
}

impl Token<'_> {
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// Calls `emit` with each token of the text, in order.
pub(crate) fn segment(text: &str, mut emit: impl FnMut(Token<'_>)) {
    let mut buffer = String::new();
    let mut rest = Scanner { text, at: 0 };
    while let Some(piece) = rest.next_piece() {
        match piece {
            Piece::Word(range) => {
                buffer.clear();
                fold_word(&text[range.clone()], MAX_LENGTH, &mut buffer);
                if !buffer.is_empty() {
                    let (start, end) = (range.start, range.end);
                    emit(Token { text: &buffer, start, end, in_run: None });
                }
            }
            Piece::Run(range) => emit_run(text, range, &mut buffer, &mut emit),
        }
    }
}

/// Emits the pairs of a run, and its last character.
fn emit_run(
    text: &str,
    range: Range<usize>,
    buffer: &mut String,
    emit: &mut impl FnMut(Token<'_>),
) {
    let characters = run_characters(&text[range.clone()]);
    let bytes = |span: &Range<usize>| (range.start + span.start, range.start + span.end);
    for (index, (character, span)) in characters.iter().enumerate() {
        buffer.clear();
        buffer.push(*character);
        let (start, head_end) = bytes(span);
        let next = characters.get(index + 1);
        let end = next.map_or(head_end, |(next, span)| {
            buffer.push(*next);
            bytes(span).1
        });
        let in_run = InRun { head_end, is_last: next.is_none() };
        emit(Token { text: buffer, start, end, in_run: Some(in_run) });
    }
}

/// The folded characters of a run with their bytes. Half-width letters become full ones, also with their voice marks.
fn run_characters(run: &str) -> Vec<(char, Range<usize>)> {
    let mut characters: Vec<(char, Range<usize>)> = vec![];
    for (at, character) in run.char_indices().filter(|(_, it)| !is_ignored(*it)) {
        let span = at..at + character.len_utf8();
        let is_part = |it: &char| it.is_alphanumeric() || is_combining_mark(*it);
        for folded in std::iter::once(character).nfkc().filter(is_part) {
            match characters.last_mut() {
                Some((last, bytes)) if compose(*last, folded).is_some() => {
                    *last = compose(*last, folded).unwrap_or(*last);
                    bytes.end = span.end;
                }
                _ => characters.push((folded, span.clone())),
            }
        }
    }
    characters
}

/// A part of the text without separators.
enum Piece {
    /// A word of a script with spaces.
    Word(Range<usize>),
    /// A run of scripts without spaces.
    Run(Range<usize>),
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Separator,
    Word,
    Run,
    /// A character that neither ends a word nor belongs to its spelling.
    Ignored,
}

fn class_of(character: char) -> Class {
    if character.is_ascii() {
        return if character.is_ascii_alphanumeric() { Class::Word } else { Class::Separator };
    }
    match character {
        it if is_ignored(it) => Class::Ignored,
        it if !it.is_alphanumeric() && !is_combining_mark(it) => Class::Separator,
        it if is_continuous(it) => Class::Run,
        _ => Class::Word,
    }
}

impl Scanner<'_> {
    fn next_piece(&mut self) -> Option<Piece> {
        let bytes = self.text.as_bytes();
        // Most text is ASCII, where a byte is a character.
        while let Some(byte) = bytes.get(self.at).filter(|it| it.is_ascii()) {
            if byte.is_ascii_alphanumeric() {
                break;
            }
            self.at += 1;
        }
        let found = self.text[self.at..].char_indices().find_map(|(offset, it)| {
            let class = class_of(it);
            matches!(class, Class::Word | Class::Run).then_some((offset, class))
        });
        let Some((offset, class)) = found else {
            self.at = self.text.len();
            return None;
        };
        let start = self.at + offset;
        let end = self.end_of(start, class);
        self.at = end;
        Some(match class {
            Class::Run => Piece::Run(start..end),
            _ => Piece::Word(start..end),
        })
    }

    /// The end of the piece of this class that begins at `start`. A mark belongs to the character before it.
    fn end_of(&self, start: usize, class: Class) -> usize {
        let bytes = self.text.as_bytes();
        let mut end = start;
        if class == Class::Word {
            while bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
                end += 1;
            }
            if bytes.get(end).is_none_or(|it| it.is_ascii() && !matches!(it, b'"' | b'\'')) {
                return end;
            }
        }
        let mut last = self.text[..end].chars().next_back();
        let mut rest = self.text[end..].char_indices().peekable();
        let from = end;
        while let Some((offset, character)) = rest.next() {
            let next = rest.peek().map(|(_, it)| *it);
            let goes_on = match class_of(character) {
                Class::Ignored => true,
                it if it == class => true,
                Class::Run | Class::Word if is_combining_mark(character) => true,
                Class::Separator => is_hebrew_quote(last, character, next),
                _ => false,
            };
            if !goes_on {
                break;
            }
            end = from + offset + character.len_utf8();
            last = Some(character);
        }
        end
    }
}

/// Whether a quotation mark is part of a Hebrew abbreviation: it stands between two letters.
pub(crate) fn is_hebrew_quote(before: Option<char>, character: char, after: Option<char>) -> bool {
    matches!(character, '"' | '\'' | '\u{05F3}' | '\u{05F4}' | '’' | '”')
        && before.is_some_and(is_hebrew)
        && after.is_some_and(is_hebrew)
}

#[cfg(test)]
mod tests;
