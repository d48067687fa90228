//! srv3: windows, pens and words.

use super::{Document, XML_HEAD, escape};
use crate::quirk::{Scene, Text};
use crate::world::caption::cue::{Cue, Piece};

/// The head of generated captions: a window of two lines at the bottom.
const ROLLING_HEAD: &str = "\n<head>\n<ws id=\"0\"/>\n<ws id=\"1\" mh=\"2\" ju=\"0\" sd=\"3\"/>\n<wp id=\"0\"/>\n<wp id=\"1\" ap=\"6\" ah=\"20\" av=\"100\" rc=\"2\" cc=\"40\"/>\n</head>\n<body>\n<w t=\"0\" id=\"1\" wp=\"1\" ws=\"1\"/>\n";
/// The head before 2020, when uncertain words were grey.
const GREY_HEAD: &str = "<head><pen id=\"1\" fc=\"#E5E5E5\"/><pen id=\"2\" fc=\"#CCCCCC\"/><ws id=\"0\"/><ws id=\"1\" mh=\"2\" ju=\"0\" sd=\"3\"/><wp id=\"0\"/><wp id=\"1\" ap=\"6\" ah=\"20\" av=\"100\" rc=\"2\" cc=\"40\"/></head><body><w t=\"0\" id=\"1\" wp=\"1\" ws=\"1\"/>";
/// The head that a caption editor writes: all attributes, and comments.
const STYLED_HEAD: &str = "<head>\n  <!-- Text styles: <pen> before <ws> before <wp> -->\n  <pen id=\"1\" b=\"1\"/><!-- bold -->\n  <pen id=\"2\" sz=\"100\" fc=\"#FEFEFE\" fo=\"254\" bc=\"#000000\" bo=\"195\"/>\n  <pen id=\"3\" b=\"1\" u=\"1\" et=\"4\" ec=\"#000000\" fs=\"3\"/>\n  <pen id=\"4\" i=\"1\" of=\"0\" te=\"1\"/>\n  <pen id=\"5\" rb=\"1\"/>\n  <pen id=\"6\" rb=\"2\"/>\n  <pen id=\"7\" rb=\"4\" hg=\"1\"/>\n  <ws id=\"1\" ju=\"2\" pd=\"0\" sd=\"0\" wfo=\"0\"/>\n  <wp id=\"1\" ap=\"7\" ah=\"50\" av=\"100\"/>\n</head>\n<body>\n";

pub(super) fn write(document: &Document<'_>) -> String {
    match document.scene {
        Some(Scene::Text(Text::Styled | Text::Ruby)) => styled(document),
        _ if document.rolling => rolling(document),
        _ => by_hand(document),
    }
}

fn length(cue: &Cue) -> String {
    cue.length.map(|ms| format!(" d=\"{ms}\"")).unwrap_or_default()
}

fn by_hand(document: &Document<'_>) -> String {
    let mut out = format!("{XML_HEAD}<timedtext format=\"3\">\n<body>\n");
    for cue in document.cues {
        out.push_str(&format!(
            "<p t=\"{}\"{}>{}</p>\n",
            cue.start,
            length(cue),
            escape(&cue.text())
        ));
    }
    out + "</body>\n</timedtext>\n"
}

fn rolling(document: &Document<'_>) -> String {
    let unsure = |cue: &Cue| cue.pieces.iter().any(|piece| piece.confidence.is_some_and(|c| c > 0));
    let grey = document.cues.iter().any(unsure);
    let mut out = format!("{XML_HEAD}<timedtext format=\"3\">");
    out.push_str(if grey { GREY_HEAD } else { ROLLING_HEAD });
    for (n, cue) in document.cues.iter().enumerate() {
        let pen = if grey && n % 7 == 3 { " p=\"2\"" } else { "" };
        let spans = spans(&cue.pieces);
        out.push_str(&format!("<p t=\"{}\"{} w=\"1\"{pen}>{spans}</p>", cue.start, length(cue)));
        out.push_str(if grey { "" } else { "\n" });
        if let Some(next) = document.cues.get(n + 1) {
            spacer(&mut out, cue, next, n, grey);
        }
    }
    out + "</body></timedtext>"
}

/// The line feed that scrolls the window. Every ninth has no length.
fn spacer(out: &mut String, cue: &Cue, next: &Cue, n: usize, grey: bool) {
    let at = next.start.saturating_sub(10);
    let rest = cue.end().saturating_sub(at);
    let length = if n % 9 == 8 { String::new() } else { format!(" d=\"{rest}\"") };
    let (feed, end) = if grey { ("", "") } else { ("\n", "\n") };
    out.push_str(&format!("<p t=\"{at}\"{length} w=\"1\" a=\"1\">{feed}</p>{end}"));
}

/// The words of a cue, each with its own start. A cue without speech has no words.
fn spans(pieces: &[Piece]) -> String {
    if let [Piece { text, offset: None, confidence: None, .. }] = pieces {
        return escape(text);
    }
    let span = |piece: &Piece| {
        let at = piece.offset.map(|ms| format!(" t=\"{ms}\"")).unwrap_or_default();
        let sure = piece.confidence.map(|c| format!(" ac=\"{c}\"")).unwrap_or_default();
        format!("<s{at}{sure}>{}</s>", escape(&piece.text))
    };
    pieces.iter().map(span).collect()
}

fn styled(document: &Document<'_>) -> String {
    let mut out = format!("\u{feff}{XML_HEAD}<timedtext format=\"3\">\n{STYLED_HEAD}");
    for cue in document.cues {
        out.push_str(&format!(
            "  <p t=\"{}\"{} wp=\"1\" ws=\"1\" p=\"2\">",
            cue.start,
            length(cue)
        ));
        for piece in &cue.pieces {
            let at = piece.offset.map(|ms| format!(" t=\"{ms}\"")).unwrap_or_default();
            match piece.pen {
                Some(pen) => {
                    out.push_str(&format!("<s{at} p=\"{pen}\">{}</s>", escape(&piece.text)));
                }
                None => out.push_str(&escape(&piece.text)),
            }
        }
        out.push_str("</p><!-- next -->\n");
    }
    out + "</body>\n</timedtext>\n"
}
