//! Captions: parsing the platform's bodies, and writing subtitle files.

mod hostile;
mod literal;
mod peers;
mod tracks;
mod words;
mod written;

use std::sync::Arc;

use vidra::transcript::{Unreadable, parse};
use vidra::{Cue, Seconds, TranscriptLine};

/// A cue as most tables compare it: start and duration in milliseconds, and the text.
type CueRow<'a> = (u64, u64, &'a str);

fn rows(cues: &[Cue]) -> Vec<CueRow<'_>> {
    cues.iter().map(|cue| (cue.start, cue.duration, cue.text.as_str())).collect()
}

fn read(body: impl AsRef<[u8]>) -> Vec<Cue> {
    let body = body.as_ref();
    parse(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

/// The parse error of a malformed body.
fn malformed(body: impl AsRef<[u8]>) -> String {
    match parse(body.as_ref()) {
        Err(Unreadable::Malformed(why)) => why,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(body.as_ref())),
    }
}

/// The text of a format's only cue.
fn text_of(body: impl AsRef<[u8]>) -> String {
    let [cue] = read(body).try_into().expect("one cue");
    cue.text
}

fn srv1(cue: &str) -> String {
    format!(r#"<?xml version="1.0" encoding="utf-8" ?><transcript>{cue}</transcript>"#)
}

fn srv3(cue: &str) -> String {
    format!(r#"<timedtext format="3"><head><pen id="1"/></head><body>{cue}</body></timedtext>"#)
}

fn json3(events: &str) -> String {
    format!(r#"{{"wireMagic":"pb3","pens":[{{}}],"events":[{events}]}}"#)
}

fn line((start, duration, text): CueRow<'_>) -> TranscriptLine {
    TranscriptLine::new(Cue::new(start, duration, text), &Arc::from("en"))
}

fn lines(rows: &[CueRow<'_>]) -> Vec<TranscriptLine> {
    rows.iter().copied().map(line).collect()
}

#[test]
fn a_line_is_seconds_with_at_most_three_digits() {
    let table = [
        (0, "0"),
        (1, "0.001"),
        (10, "0.01"),
        (999, "0.999"),
        (1_000, "1"),
        (3_360, "3.36"),
        (17_119, "17.119"),
        (1_858_750, "1858.75"),
        (359_999_999, "359999.999"),
        (999_999_999_999_999, "999999999999.999"),
    ];
    for (millis, expected) in table {
        let seconds = Seconds::from_millis(millis);
        assert_eq!(serde_json::to_string(&seconds).unwrap(), expected);
        assert_eq!(seconds.to_string(), expected);
    }
    let json = serde_json::to_string(&line((3_360, 2_640, "a \"b\""))).unwrap();
    assert_eq!(json, r#"{"text":"a \"b\"","duration":2.64,"offset":3.36,"lang":"en"}"#);
}
