//! srv1 and srv2: one element per cue.

use super::{Document, XML_HEAD, escape};
use crate::quirk::{Scene, Text};

/// Seconds without trailing zeros.
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// srv1. Entities are escaped twice, because the text is HTML inside XML. Tags in the text are escaped
/// once, because they are part of the HTML.
pub(super) fn write(document: &Document<'_>) -> String {
    let html = document.scene == Some(Scene::Text(Text::Tags));
    let mut out = format!("{XML_HEAD}<transcript>");
    for cue in document.cues {
        let length = cue.length.map(|ms| format!(" dur=\"{}\"", seconds(ms))).unwrap_or_default();
        let text = cue.text();
        let text = if html { text.replace('<', "&lt;") } else { escape(&escape(&text)) };
        out.push_str(&format!("<text start=\"{}\"{length}>{text}</text>", seconds(cue.start)));
    }
    out + "</transcript>"
}

/// srv2: milliseconds and windows, without separate words.
pub(super) fn write_srv2(document: &Document<'_>) -> String {
    let mut out = format!("{XML_HEAD}<timedtext>");
    let window = if document.rolling { " w=\"1\"" } else { "" };
    if document.rolling {
        out.push_str("<window t=\"0\" id=\"1\" op=\"define\" rc=\"2\" cc=\"40\" ap=\"6\" ah=\"20\" av=\"100\"/>");
    }
    for cue in document.cues {
        let length = cue.length.map(|ms| format!(" d=\"{ms}\"")).unwrap_or_default();
        let text = escape(&cue.text());
        out.push_str(&format!("<text t=\"{}\"{length}{window}>{text}</text>", cue.start));
        if document.rolling {
            let at = cue.start + 10;
            out.push_str(&format!("<text t=\"{at}\" append=\"1\"{window}>\n</text>"));
        }
    }
    out + "</timedtext>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_without_trailing_zeros() {
        let cases = [(0, "0"), (5700, "5.7"), (17_119, "17.119"), (1000, "1"), (10, "0.01")];
        for (ms, text) in cases {
            assert_eq!(seconds(ms), text);
        }
    }
}
