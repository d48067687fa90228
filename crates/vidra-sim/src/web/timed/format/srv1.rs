//! srv1 and srv2: one element a cue.

use super::{Document, XML_HEAD, escape};
use crate::quirk::{Scene, Text};

/// Seconds, with as many decimals as are needed.
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Entities are escaped twice, since the text once was HTML. Tags somebody typed are not: they are
/// part of that HTML.
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

/// Milliseconds and windows, no words.
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
    fn seconds_have_the_decimals_they_need() {
        let cases = [(0, "0"), (5700, "5.7"), (17_119, "17.119"), (1000, "1"), (10, "0.01")];
        for (ms, text) in cases {
            assert_eq!(seconds(ms), text);
        }
    }
}
