//! TTML.

use super::{Document, XML_HEAD, clock, escape};

pub(super) fn write(document: &Document<'_>) -> String {
    let mut out = format!(
        "{XML_HEAD}\n<tt xml:lang=\"{}\" xmlns=\"http://www.w3.org/ns/ttml\" xmlns:tts=\"http://www.w3.org/ns/ttml#styling\"><head><styling><style xml:id=\"s1\" tts:textAlign=\"center\"/></styling></head><body><div>\n",
        document.language
    );
    for cue in document.cues {
        let text = escape(&cue.text()).replace('\n', "<br />");
        let (begin, end) = (clock(cue.start, '.'), clock(cue.end(), '.'));
        out.push_str(&format!("<p begin=\"{begin}\" end=\"{end}\" style=\"s1\">{text}</p>\n"));
    }
    out + "</div></body></tt>\n"
}
