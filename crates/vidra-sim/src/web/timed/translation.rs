//! The platform's translation of a track.

use crate::world::caption::Track;
use crate::world::caption::cue::{Cue, Piece};
use crate::world::text::speech::runs_together;

/// The cues in another language, marked with it and in capitals, so that tests can distinguish them from
/// the original. A translation into the track's own language is damaged.
pub(super) fn translate(cues: &[Cue], track: &Track, target: &str) -> Vec<Cue> {
    let damaged = target == track.language;
    let translated = cues.iter().map(|cue| {
        let text = cue.text();
        match () {
            () if text.trim().is_empty() => cue.clone(),
            () if damaged => cue.with_text(&damage(&text)),
            () => words(cue, &format!("[{target}] {}", text.to_uppercase()), target),
        }
    });
    translated.collect()
}

/// Replaces vowels at even positions with U+FFFD.
fn damage(text: &str) -> String {
    let vowel = |c: char| "aeiouAEIOUあいうえお的是".contains(c);
    text.chars()
        .enumerate()
        .map(|(n, c)| if vowel(c) && n % 2 == 0 { '\u{fffd}' } else { c })
        .collect()
}

/// Splits a translated cue into words if the original has words. The space follows each word, and there is
/// no confidence.
fn words(cue: &Cue, text: &str, target: &str) -> Cue {
    if cue.pieces.len() < 2 {
        return cue.with_text(text);
    }
    let space = if runs_together(target) { "" } else { " " };
    let count = text.split_whitespace().count();
    let pieces = text.split_whitespace().enumerate().map(|(n, word)| Piece {
        text: if n + 1 < count { format!("{word}{space}") } else { word.to_owned() },
        offset: (n > 0).then_some(n as u64 * 180),
        ..Piece::default()
    });
    Cue { start: cue.start, length: cue.length, pieces: pieces.collect() }
}
