//! json3: the events of a window. Written directly and with indentation: an hour of words is a megabyte,
//! and building a JSON tree first would dominate the time.

use super::Document;
use crate::quirk::{Scene, Text};
use crate::world::caption::cue::{Cue, Piece};
use std::fmt::Write;

const ROLLING_HEAD: &str = r#"{
  "wireMagic": "pb3",
  "pens": [
    {}
  ],
  "wsWinStyles": [
    {},
    {
      "mhModeHint": 2,
      "juJustifCode": 0,
      "sdScrollDir": 3
    }
  ],
  "wpWinPositions": [
    {},
    {
      "apPoint": 6,
      "ahHorPos": 20,
      "avVerPos": 100,
      "rcRows": 2,
      "ccCols": 40
    }
  ],
  "events": ["#;
const PLAIN_HEAD: &str = r#"{
  "wireMagic": "pb3",
  "pens": [
    {
    }
  ],
  "wsWinStyles": [
    {
    }
  ],
  "wpWinPositions": [
    {
    }
  ],
  "events": ["#;
const STYLED_HEAD: &str = r##"{
  "wireMagic": "pb3",
  "pens": [ {}, { "bAttr": 1 }, { "fcForeColor": 16711422 }, { "bAttr": 1, "uAttr": 1 }, { "iAttr": 1 }, { "rbRuby": 1 }, { "rbRuby": 2 }, { "rbRuby": 4 } ],
  "wsWinStyles": [ {} ],
  "wpWinPositions": [ {} ],
  "events": ["##;

pub(super) fn write(document: &Document<'_>) -> String {
    let mut out = String::with_capacity(document.cues.len() * 900 + 1000);
    out.push_str(match document.scene {
        Some(Scene::Text(Text::Styled | Text::Ruby)) => STYLED_HEAD,
        _ if document.rolling => ROLLING_HEAD,
        _ => PLAIN_HEAD,
    });
    if document.rolling {
        // The window, which lasts as long as the video.
        let length = Some(document.seconds * 1000);
        open(&mut out, 0, length);
        out.push_str(
            ",\n      \"id\": 1,\n      \"wpWinPosId\": 1,\n      \"wsWinStyleId\": 1\n    },",
        );
    }
    for (n, cue) in document.cues.iter().enumerate() {
        open(&mut out, cue.start, cue.length);
        if document.rolling {
            out.push_str(",\n      \"wWinId\": 1");
        }
        segments(&mut out, cue);
        if let Some(next) = document.cues.get(n + 1).filter(|_| document.rolling) {
            spacer(&mut out, cue, next);
        }
    }
    if out.ends_with(',') {
        out.pop();
    }
    out + "\n  ]\n}\n"
}

// Writing to a string does not fail.
fn open(out: &mut String, start: u64, length: Option<u64>) {
    let _ = write!(out, "\n    {{\n      \"tStartMs\": {start}");
    if let Some(length) = length {
        let _ = write!(out, ",\n      \"dDurationMs\": {length}");
    }
}

fn segments(out: &mut String, cue: &Cue) {
    out.push_str(",\n      \"segs\": [");
    for (n, piece) in cue.pieces.iter().enumerate() {
        out.push_str(if n == 0 { "\n        {" } else { ",\n        {" });
        segment(out, piece);
    }
    out.push_str("\n      ]\n    },");
}

fn segment(out: &mut String, piece: &Piece) {
    let text = serde_json::Value::from(piece.text.as_str());
    let _ = write!(out, "\n          \"utf8\": {text}");
    let numbers = [
        ("tOffsetMs", piece.offset),
        ("acAsrConf", piece.confidence.map(u64::from)),
        ("pPenId", piece.pen.map(u64::from)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            let _ = write!(out, ",\n          \"{name}\": {number}");
        }
    }
    out.push_str("\n        }");
}

/// The line feed that scrolls the window.
fn spacer(out: &mut String, cue: &Cue, next: &Cue) {
    let at = next.start.saturating_sub(10);
    open(out, at, Some(cue.end().saturating_sub(at)));
    out.push_str(",\n      \"wWinId\": 1,\n      \"aAppend\": 1,\n      \"segs\": [\n        {\n          \"utf8\": \"\\n\"\n        }\n      ]\n    },");
}
