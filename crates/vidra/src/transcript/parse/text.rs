//! Converts the text of a cue to plain text.

use std::borrow::Cow;

use crate::html;

/// Formatting tags in captions, from YouTube or from the uploader.
const FORMATTING: [&str; 23] = [
    "a", "b", "big", "br", "c", "code", "del", "em", "font", "i", "ins", "mark", "p", "rp", "rt",
    "ruby", "s", "small", "span", "strong", "sub", "sup", "u",
];

/// Removes formatting and layout from text after its escapes were resolved.
pub(super) fn plain(text: &str) -> String {
    tidy(&without_formatting(text))
}

/// Removes formatting only.
pub(super) fn without_formatting(text: &str) -> Cow<'_, str> {
    html::without_tags(text, is_formatting)
}

/// Whether this is a known tag: bare (`i`, `/i`, `br/`), with a class (`c.colorE5E5E5`) or with
/// attributes. Any other text between `<` and `>` is content.
fn is_formatting(inside: &str) -> bool {
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    let known = FORMATTING.iter().any(|tag| name.eq_ignore_ascii_case(tag));
    known
        && (rest.trim_matches([' ', '/']).is_empty() || rest.starts_with('.') || rest.contains('='))
}

/// Resolves the second level of escapes in srv1.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    htmlize::unescape(text)
}

/// The separator between two visible characters, the strongest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Break,
}

/// Normalises white space: one space between words, one line break between lines, and none around
/// the text. It removes layout characters of YouTube's player: no-break spaces at line ends, and
/// zero-width spaces around styled words.
pub(in super::super) fn tidy(text: &str) -> String {
    if is_tidy(text.as_bytes()) {
        return text.to_owned();
    }
    let mut tidy = String::with_capacity(text.len());
    let mut gap = Gap::None;
    let mut visible = false;
    for c in text.chars() {
        match class(c) {
            Class::Break => gap = Gap::Break,
            Class::Space => gap = gap.max(Gap::Space),
            Class::Removed => {}
            Class::Visible => {
                match gap {
                    Gap::Space if !tidy.is_empty() => tidy.push(' '),
                    Gap::Break if !tidy.is_empty() => tidy.push('\n'),
                    _ => {}
                }
                gap = Gap::None;
                visible |= !is_mark(c);
                tidy.push(c);
            }
        }
    }
    if visible { tidy } else { String::new() }
}

/// What happens to a character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Break,
    Space,
    Removed,
    Visible,
}

pub(super) fn class(c: char) -> Class {
    match c {
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Class::Break,
        _ if c.is_whitespace() => Class::Space,
        // These have no width and no meaning between words. Joiners and directional marks stay,
        // because Persian, Hindi, Hebrew and emoji need them.
        '\u{200b}' | '\u{2060}' | '\u{feff}' => Class::Removed,
        _ if c.is_control() => Class::Removed,
        _ => Class::Visible,
    }
}

/// A fast path: almost all captions are normalised ASCII on one line.
fn is_tidy(text: &[u8]) -> bool {
    let mut before = b' ';
    let words = text.iter().all(|byte| {
        let fits = matches!(byte, b'!'..=b'~') || (*byte == b' ' && before != b' ');
        before = *byte;
        fits
    });
    words && before != b' '
}

/// Directional marks, joiners and variation selectors. They change their neighbours and are
/// invisible themselves.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fe00}'..='\u{fe0f}' | '\u{ad}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::{is_tidy, plain, tidy};

    #[test]
    fn invisible_blanks_are_removed() {
        let table = [
            ("as it is", "as it is"),
            ("  around\t ", "around"),
            ("Like,\u{a0}\nfor the\u{a0}\u{a0}", "Like,\nfor the"),
            ("10\u{202f}000 \u{3000}円", "10 000 円"),
            ("one\r\ntwo\rthree\u{2028}four\u{85}five", "one\ntwo\nthree\nfour\nfive"),
            ("\n\nblank\n \n\u{200b}\nlines\n\n", "blank\nlines"),
            ("\u{200b}\u{200b} \u{200b}Default \u{200b}", "Default"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("👩\u{200d}👩\u{200d}👧", "👩\u{200d}👩\u{200d}👧"),
            ("bell\u{7} and nul\0", "bell and nul"),
            ("\u{200f}\u{200e}", ""),
            ("\n", ""),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(tidy(text), expected, "{text:?}");
            assert_eq!(tidy(expected), expected);
        }
    }

    /// Both paths have the same result. The fast path only copies.
    #[test]
    fn plain_text_takes_the_fast_path() {
        for plain in ["as it is", "a", "!~", "1 < 2 > 0"] {
            assert!(is_tidy(plain.as_bytes()), "{plain:?}");
        }
        for other in ["", " ", " a", "a ", "a  b", "a\tb", "a\nb", "a\u{7f}", "é", "a\u{a0}b"] {
            assert!(!is_tidy(other.as_bytes()), "{other:?}");
        }
    }

    #[test]
    fn formatting_is_removed_and_text_stays() {
        let table = [
            ("this is <i>not</i> it", "this is not it"),
            ("<font color=\"#E5E5E5\">grey</font><BR />next", "grey\nnext"),
            ("<c.colorCCCCCC>what</c>", "what"),
            ("I <3 you, 1 < 2 > 0", "I <3 you, 1 < 2 > 0"),
            ("so <i think you are> right", "so <i think you are> right"),
            ("No <Suffix> <Prefix>", "No <Suffix> <Prefix>"),
            (">> NAME: [Music] ♪", ">> NAME: [Music] ♪"),
            ("<i></i>", ""),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }
}
