//! WebVTT in the platform's form, including the rolling window, and SRT.

use super::{Document, clock};
use crate::world::caption::cue::{Cue, Piece};

fn times(start: u64, end: u64) -> String {
    format!("{} --> {}", clock(start, '.'), clock(end, '.'))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn write(document: &Document<'_>) -> String {
    let mut out = format!("WEBVTT\nKind: captions\nLanguage: {}\n\n", document.language);
    if !document.rolling {
        for cue in document.cues {
            let text = escape(&cue.text()).replace('\n', "&nbsp;\n");
            out.push_str(&format!("{}\n{text}\n\n", times(cue.start, cue.end())));
        }
        return out;
    }
    let mut previous = String::new();
    for (n, cue) in document.cues.iter().enumerate() {
        let end = document.cues.get(n + 1).map_or(cue.end(), |next| next.start.saturating_sub(10));
        let settings = "align:start position:0%";
        // Each cue repeats the line before it. The first cue has an empty line instead.
        out.push_str(&format!(
            "{} {settings}\n{previous}\n{}\n\n",
            times(cue.start, end),
            words(cue)
        ));
        previous = escape(&cue.text());
        if n + 1 < document.cues.len() {
            out.push_str(&format!("{} {settings}\n{previous}\n\n\n", times(end, end + 10)));
        }
    }
    out
}

fn words(cue: &Cue) -> String {
    let word = |piece: &Piece| match piece.offset {
        None => escape(&piece.text),
        Some(ms) => format!("<{}><c>{}</c>", clock(cue.start + ms, '.'), escape(&piece.text)),
    };
    cue.pieces.iter().map(word).collect()
}

pub(super) fn write_srt(document: &Document<'_>) -> String {
    let mut out = String::new();
    for (n, cue) in document.cues.iter().enumerate() {
        let (from, to) = (clock(cue.start, ','), clock(cue.end(), ','));
        out.push_str(&format!("{}\n{from} --> {to}\n{}\n\n", n + 1, cue.text()));
    }
    out
}
