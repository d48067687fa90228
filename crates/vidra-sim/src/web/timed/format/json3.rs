//! json3: the events of a window.

use super::Document;
use crate::world::caption::cue::{Cue, Piece};
use serde_json::{Value, json};

pub(super) fn write(document: &Document<'_>) -> String {
    let mut events = Vec::with_capacity(document.cues.len() * 2 + 1);
    if document.rolling {
        // The window itself, which lasts as long as the video.
        events.push(json!({"tStartMs": 0, "dDurationMs": document.seconds * 1000, "id": 1, "wpWinPosId": 1, "wsWinStyleId": 1}));
    }
    for (n, cue) in document.cues.iter().enumerate() {
        events.push(event(cue, document.rolling));
        if let Some(next) = document.cues.get(n + 1).filter(|_| document.rolling) {
            let at = next.start.saturating_sub(10);
            events.push(json!({"tStartMs": at, "dDurationMs": cue.end().saturating_sub(at), "wWinId": 1, "aAppend": 1, "segs": [{"utf8": "\n"}]}));
        }
    }
    let (styles, positions) = match document.rolling {
        true => (
            json!([{}, {"mhModeHint": 2, "juJustifCode": 0, "sdScrollDir": 3}]),
            json!([{}, {"apPoint": 6, "ahHorPos": 20, "avVerPos": 100, "rcRows": 2, "ccCols": 40}]),
        ),
        false => (json!([{}]), json!([{}])),
    };
    let whole = json!({
        "wireMagic": "pb3",
        "pens": [{}],
        "wsWinStyles": styles,
        "wpWinPositions": positions,
        "events": events,
    });
    // Indented, as it comes.
    format!("{whole:#}")
}

fn event(cue: &Cue, rolling: bool) -> Value {
    let mut event =
        json!({"tStartMs": cue.start, "segs": cue.pieces.iter().map(segment).collect::<Vec<_>>()});
    if let Some(length) = cue.length {
        event["dDurationMs"] = length.into();
    }
    if rolling {
        event["wWinId"] = 1.into();
    }
    event
}

fn segment(piece: &Piece) -> Value {
    let mut segment = json!({"utf8": piece.text});
    if let Some(offset) = piece.offset {
        segment["tOffsetMs"] = offset.into();
    }
    if let Some(confidence) = piece.confidence {
        segment["acAsrConf"] = confidence.into();
    }
    if let Some(pen) = piece.pen {
        segment["pPenId"] = pen.into();
    }
    segment
}
