//! Renders lines as SRT, VTT and plain text.
//!
//! Lines end with LF. In SRT and VTT no two cues overlap. An automatic caption ends at the start of
//! the next one, and cues with the same start become one cue of several lines. The text of a cue
//! has no blank line, which would end the cue.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::cue::TranscriptLine;
use super::parse::tidy;

/// The duration of a cue without its own, if no other cue starts earlier.
const VISIBLE: u64 = 2_000;

/// Renders a SubRip file.
///
/// ```
/// use vidra::{Cue, TranscriptLine, to_srt};
/// let line = |text: &str, start, duration| {
///     TranscriptLine::new(Cue::new(start, duration, text), &"en".into())
/// };
/// let lines = [line("so nice to be here", 15_280, 6_040), line("thank you", 17_119, 999)];
/// assert_eq!(
///     to_srt(&lines),
///     "1\n00:00:15,280 --> 00:00:17,119\nso nice to be here\n\n\
///      2\n00:00:17,119 --> 00:00:18,118\nthank you\n"
/// );
/// ```
pub fn to_srt(lines: &[TranscriptLine]) -> String {
    let mut file = String::with_capacity(lines.iter().map(|line| line.text.len() + 48).sum());
    for (index, cue) in timed(lines).iter().enumerate() {
        let blank = if index == 0 { "" } else { "\n" };
        let (start, end) = (Clock(cue.start, ','), Clock(cue.end, ','));
        let _ = write!(file, "{blank}{}\n{start} --> {end}\n", index + 1);
        push_srt(&mut file, &cue.text);
    }
    file
}

/// Renders a WebVTT file, with the language of the lines in its header.
///
/// ```
/// use vidra::{Cue, TranscriptLine, to_vtt};
/// let cue = Cue::new(360_000_000, 1_500, "Q&A: is 1 < 2?");
/// let line = TranscriptLine::new(cue, &"en".into());
/// assert_eq!(
///     to_vtt(&[line]),
///     "WEBVTT\nLanguage: en\n\n100:00:00.000 --> 100:00:01.500\nQ&amp;A: is 1 &lt; 2?\n"
/// );
/// ```
pub fn to_vtt(lines: &[TranscriptLine]) -> String {
    let mut file = String::with_capacity(lines.iter().map(|line| line.text.len() + 48).sum());
    file.push_str("WEBVTT\n");
    if let Some(line) = lines.first().filter(|line| is_language(&line.lang)) {
        let _ = writeln!(file, "Language: {}", line.lang);
    }
    for cue in timed(lines) {
        let (start, end) = (Clock(cue.start, '.'), Clock(cue.end, '.'));
        let _ = write!(file, "\n{start} --> {end}\n{}\n", escaped(&cue.text));
    }
    file
}

/// Renders plain text, with one line for each caption.
///
/// ```
/// use vidra::{Cue, TranscriptLine, to_text};
/// let cue = Cue::new(0, 0, "Oggi voglio parlare di\nsottotitoli");
/// let line = TranscriptLine::new(cue, &"it".into());
/// assert_eq!(to_text(&[line]), "Oggi voglio parlare di sottotitoli\n");
/// ```
pub fn to_text(lines: &[TranscriptLine]) -> String {
    let mut file = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
    for text in lines.iter().map(|line| tidy(&line.text)).filter(|text| !text.is_empty()) {
        for (index, words) in text.split('\n').enumerate() {
            let space = if index == 0 { "" } else { " " };
            file.extend([space, words]);
        }
        file.push('\n');
    }
    file
}

/// A cue that is alone on screen from `start` to `end`.
struct Timed {
    start: u64,
    end: u64,
    text: String,
}

/// Sorts the cues, removes empty ones, and resolves overlaps and missing durations.
fn timed(lines: &[TranscriptLine]) -> Vec<Timed> {
    let mut lines: Vec<&TranscriptLine> = lines.iter().collect();
    lines.sort_by_key(|line| line.offset);
    let mut cues: Vec<Timed> = Vec::with_capacity(lines.len());
    for line in lines {
        let (start, text) = (line.offset.as_millis(), tidy(&line.text));
        let end = start.saturating_add(line.duration.as_millis());
        match cues.last_mut() {
            _ if text.is_empty() => {}
            Some(before) if before.start == start => {
                before.end = before.end.max(end);
                before.text.extend(["\n", text.as_str()]);
            }
            _ => cues.push(Timed { start, end, text }),
        }
    }
    let starts: Vec<u64> = cues.iter().skip(1).map(|cue| cue.start).collect();
    for (cue, next) in cues.iter_mut().zip(starts.into_iter().chain([u64::MAX])) {
        if cue.end == cue.start {
            cue.end = cue.start.saturating_add(VISIBLE);
        }
        cue.end = cue.end.min(next);
    }
    cues
}

/// Milliseconds as `HH:MM:SS`, the separator of the format, and `mmm`. Hours have as many digits as
/// necessary.
struct Clock(u64, char);

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(millis, separator) = *self;
        let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
        let (seconds, millis) = (millis / 1_000 % 60, millis % 1_000);
        write!(f, "{hours:02}:{minutes:02}:{seconds:02}{separator}{millis:03}")
    }
}

/// SRT has no escapes. This function replaces text that a parser could take for the head of the
/// next cue. It replaces the arrow with `→`, and joins a line of digits with the next line.
fn push_srt(file: &mut String, text: &str) {
    let mut lines = text.split('\n').peekable();
    while let Some(line) = lines.next() {
        file.push_str(&line.replace("-->", "→"));
        let above_digits = lines.peek().is_some_and(|next| next.starts_with(is_digit));
        file.push(if above_digits && is_index(line) { ' ' } else { '\n' });
    }
}

/// Whether a lenient parser accepts the line as the number of a cue.
fn is_index(line: &str) -> bool {
    let digits = line.strip_prefix('-').unwrap_or(line);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    !whole.is_empty() && [whole, fraction].iter().all(|part| part.chars().all(is_digit))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Escapes tags, references and the arrow between times.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").into()
}

/// Whether the code fits into a header: letters, digits and hyphens, as in `zh-Hant`.
fn is_language(code: &str) -> bool {
    !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
