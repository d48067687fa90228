//! One line of a list of chapters, in the spellings that people use.

/// A line with a time and a title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark<'a> {
    /// In seconds.
    pub(super) start: u64,
    /// Never empty.
    pub(super) title: &'a str,
    /// The number at the beginning of the title, if the title begins the line.
    pub(super) number: Option<u32>,
    /// The title without that number. Never empty.
    pub(super) unnumbered: &'a str,
}

/// Reads a line that begins with its time: `[0:00] Intro`, `- 0:00 : Intro`, `00:00-01:48 Intro`,
/// `01 00:00 Intro`. `None` for a line without a title, and for a time of day (`8:35 a.m.`).
pub(super) fn leading(line: &str) -> Option<Mark<'_>> {
    let rest = line.trim_start_matches(is_mark);
    let (start, rest) =
        time(rest).or_else(|| time(numbered(rest)?.1.trim_start_matches(is_mark)))?;
    if is_time_of_day(rest) {
        return None;
    }
    let title = title(range_end(rest).trim_start_matches(EMPHASIS));
    (!title.is_empty()).then_some(Mark { start, title, number: None, unnumbered: title })
}

/// Reads a line that ends with its time: `Intro 0:00`, `01. Intro (0:00 - 1:48)`.
pub(super) fn trailing(line: &str) -> Option<Mark<'_>> {
    let line = line.trim_end_matches(is_mark);
    let (before, start) = last_time(line)?;
    let (before, start) = range_start(before).unwrap_or((before, start));
    let title = title(before.trim_end_matches(EMPHASIS));
    let (number, unnumbered) = match numbered(title) {
        Some((number, rest)) => (Some(number), self::title(rest)),
        None => (None, title),
    };
    let has_words = !title.is_empty() && !unnumbered.is_empty();
    has_words.then_some(Mark { start, title, number, unnumbered })
}

/// The marks around a bold or italic time. Elsewhere they belong to the title: `__init__`.
const EMPHASIS: [char; 2] = ['*', '_'];

/// Bullets, brackets, separators and pictures: everything that is no letter and no digit.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Reads a time at the beginning of the text, and returns it in seconds with the rest of the text.
/// Minutes may exceed 59 in `75:30`, but not in `1:75:30`.
fn time(text: &str) -> Option<(u64, &str)> {
    let (first, rest) = digits(text, 1, 3)?;
    let (second, rest) = digits(colon(rest)?, 2, 2)?;
    let third = colon(rest).and_then(|rest| digits(rest, 2, 2));
    let (seconds, rest) = match third {
        Some((third, rest)) if second < 60 && third < 60 => {
            (first * 3600 + second * 60 + third, rest)
        }
        None if second < 60 => (first * 60 + second, rest),
        _ => return None,
    };
    // `16:09x`, `11:35/10:35c`, `1:23:45:67` and `0:00.5` are something else. East Asian titles
    // follow without a space.
    let continues = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let fraction = rest.strip_prefix(|c| is_colon(c) || matches!(c, '.' | ','));
    let has_fraction = fraction.is_some_and(|rest| rest.starts_with(|c| digit(c).is_some()));
    (!continues && !has_fraction).then_some((seconds, rest))
}

/// Reads `min` to `max` digits. A longer number is none.
fn digits(text: &str, min: usize, max: usize) -> Option<(u64, &str)> {
    let count = text.chars().take(max + 1).take_while(|c| digit(*c).is_some()).count();
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    let value = text[..end].chars().filter_map(digit).fold(0, |value, digit| value * 10 + digit);
    (min..=max).contains(&count).then_some((value, &text[end..]))
}

/// A digit, also in full width, as East Asian keyboards write it.
fn digit(c: char) -> Option<u64> {
    match c {
        '0'..='9' => Some(u64::from(c) - u64::from('0')),
        '０'..='９' => Some(u64::from(c) - u64::from('０')),
        _ => None,
    }
}

fn is_colon(c: char) -> bool {
    matches!(c, ':' | '：' | '∶')
}

fn colon(text: &str) -> Option<&str> {
    text.strip_prefix(is_colon)
}

/// Whether a unit follows the time. `Am` is none: many German titles begin with it.
fn is_time_of_day(rest: &str) -> bool {
    let rest = rest.trim_start();
    ["a.m.", "p.m.", "am", "pm", "A.M.", "P.M.", "AM", "PM", "uhr", "Uhr"].iter().any(|unit| {
        let after = rest.strip_prefix(unit);
        after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}

/// Skips the end of a range: `-01:48 Intro` becomes ` Intro`. Other text stays.
fn range_end(rest: &str) -> &str {
    let is_bracket = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '(' | ')');
    let after = rest.trim_start_matches(is_bracket);
    let after = after.strip_prefix("to ").or_else(|| after.strip_prefix(is_dash));
    let end = after.and_then(|after| time(after.trim_start_matches(is_bracket)));
    end.map(|(_, title)| title).filter(|title| !is_time_of_day(title)).unwrap_or(rest)
}

/// The time before the end of a range, and the text before it: of `Intro (0:00 - `, `Intro (` and 0.
fn range_start(before: &str) -> Option<(&str, u64)> {
    let before = before.trim_end();
    let before = before.strip_suffix(" to").or_else(|| before.strip_suffix(is_dash))?;
    last_time(before.trim_end())
}

/// The time at the end of the text, and the text before it.
fn last_time(text: &str) -> Option<(&str, u64)> {
    let before = text.trim_end_matches(|c| digit(c).is_some() || is_colon(c));
    let last = text[before.len()..].trim_start_matches(is_colon);
    let before = &text[..text.len() - last.len()];
    let (start, rest) = time(last)?;
    let continues =
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | ','));
    (rest.is_empty() && !continues).then_some((before, start))
}

/// A number of up to three digits at the beginning of a line, and the text after it.
fn numbered(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = digits(text, 1, 3)?;
    let is_time = colon(rest).is_some_and(|rest| rest.starts_with(|c| digit(c).is_some()));
    let is_alone = rest.starts_with(is_mark) && !is_time;
    is_alone.then(|| number.try_into().ok().map(|number| (number, rest)))?
}

/// The title without the separators and brackets between it and the time. Signs that belong to a
/// title stay: `#5: Final Fantasy`, `(Remix)`, `.NET`, `Why?`.
fn title(text: &str) -> &str {
    let full_stop = text.strip_prefix('.').filter(|rest| rest.starts_with(char::is_whitespace));
    let text = full_stop.unwrap_or(text);
    let is_closing = |c: char| matches!(c, ')' | ']' | '}' | '>' | '»' | '】' | '」' | '）' | '］');
    let is_opening = |c: char| matches!(c, '(' | '[' | '{' | '<' | '«' | '【' | '「' | '（' | '［');
    // The choice between text and picture belongs to the sign before it.
    let text = text.trim_start_matches(|c| is_separator(c) || is_closing(c) || c == '\u{fe0f}');
    text.trim_end_matches(|c| is_separator(c) || is_opening(c))
}

fn is_separator(c: char) -> bool {
    // Joiners and marks of direction.
    let is_invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let is_arrow = matches!(c, '→' | '➜' | '➡' | '►' | '▶' | '•' | '·' | '・' | '●');
    let is_line = matches!(c, '|' | '｜' | '=' | ';' | ',' | '、');
    is_dash(c) || is_colon(c) || is_line || is_arrow || is_invisible || c.is_whitespace()
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '‐' | '‑' | '–' | '—' | '―' | '−' | '~' | '〜' | '～')
}
