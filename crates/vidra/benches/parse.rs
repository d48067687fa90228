//! Measures how fast captions are parsed and written: `cargo bench -p vidra --bench parse`.
//!
//! The input is one hour of generated automatic captions with the structure of recorded ones, in each input and output
//! format. One thread. Megabytes are millions of bytes of the parsed body or of the written file.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vidra::TranscriptLine;
use vidra::transcript::{parse, to_srt, to_text, to_vtt};

const RUNS: usize = 200;

fn main() {
    let compact = json3(&Layout { newline: "", indent: "", colon: ":" });
    let indented = json3(&Layout { newline: "\n", indent: "  ", colon: ": " });
    let (srv3, srv1) = (srv3(), srv1());
    let lang: Arc<str> = "en".into();
    let cues = parse(compact.as_bytes()).expect("a valid body");
    let lines: Vec<_> = cues.into_iter().map(|cue| TranscriptLine::new(cue, &lang)).collect();

    println!("| what | bytes | cues | median | best | MB/s (median) |");
    println!("|---|---|---|---|---|---|");
    read("read json3", &compact);
    read("read json3, indented as the platform sends it", &indented);
    read("read srv3", &srv3);
    read("read srv1", &srv1);
    report("write SRT", to_srt(&lines).len(), lines.len(), || to_srt(black_box(&lines)));
    report("write VTT", to_vtt(&lines).len(), lines.len(), || to_vtt(black_box(&lines)));
    report("write text", to_text(&lines).len(), lines.len(), || to_text(black_box(&lines)));
}

fn read(what: &str, body: &str) {
    let cues = parse(body.as_bytes()).expect("a valid body").len();
    report(what, body.len(), cues, || parse(black_box(body.as_bytes())));
}

fn report<T>(what: &str, bytes: usize, cues: usize, run: impl Fn() -> T) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let begun = Instant::now();
            black_box(run());
            begun.elapsed()
        })
        .collect();
    times.sort();
    let (median, best) = (times[RUNS / 2], times[0]);
    let speed = bytes as f64 / median.as_secs_f64() / 1e6;
    println!("| {what} | {bytes} | {cues} | {median:.2?} | {best:.2?} | {speed:.0} |");
}

/// An hour in cues of two seconds and seven words: the start of each in milliseconds, and its words.
fn spoken() -> impl Iterator<Item = (usize, Vec<&'static str>)> {
    const WORDS: [&str; 12] = [
        "so",
        "captions",
        "that",
        "it's",
        "represented",
        "in",
        "some",
        "orchestrated",
        "the",
        "don't",
        "capability",
        "of",
    ];
    (0..1_800).map(|cue| {
        let words = (0..7).map(|word| WORDS[(cue * 5 + word * 7 + cue / 12) % WORDS.len()]);
        (cue * 2_000, words.collect())
    })
}

struct Layout {
    newline: &'static str,
    indent: &'static str,
    colon: &'static str,
}

impl Layout {
    /// The members of an object at this depth.
    fn object(&self, depth: usize, members: &[(&str, String)]) -> String {
        let (newline, colon, indent) = (self.newline, self.colon, self.indent.repeat(depth));
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{indent}{}\"{name}\"{colon}{value}", self.indent))
            .collect();
        format!("{indent}{{{newline}{}{newline}{indent}}}", members.join(&format!(",{newline}")))
    }

    fn list(&self, depth: usize, items: &[String]) -> String {
        let (newline, indent) = (self.newline, self.indent.repeat(depth));
        format!("[{newline}{}{newline}{indent}]", items.join(&format!(",{newline}")))
    }
}

fn json3(layout: &Layout) -> String {
    let text = |text: &str| format!("\"{text}\"");
    let mut events = vec![];
    for (start, words) in spoken() {
        let segment = |(index, word): (usize, &&str)| {
            let space = if index == 0 { "" } else { " " };
            let mut members = vec![("utf8", text(&format!("{space}{word}")))];
            if index > 0 {
                members.push(("tOffsetMs", (index * 240).to_string()));
            }
            members.push(("acAsrConf", "0".to_owned()));
            layout.object(4, &members)
        };
        let segments: Vec<String> = words.iter().enumerate().map(segment).collect();
        let event = |start: usize, append: bool, segments: &[String]| {
            let mut members = vec![
                ("tStartMs", start.to_string()),
                ("dDurationMs", "3839".to_owned()),
                ("wWinId", "1".to_owned()),
            ];
            if append {
                members.push(("aAppend", "1".to_owned()));
            }
            members.push(("segs", layout.list(3, segments)));
            layout.object(2, &members)
        };
        events.push(event(start, false, &segments));
        events.push(event(start + 1_990, true, &[layout.object(4, &[("utf8", text("\\n"))])]));
    }
    layout.object(0, &[("wireMagic", text("pb3")), ("events", layout.list(1, &events))])
}

fn srv3() -> String {
    let mut body = String::from("<timedtext format=\"3\">\n<body>\n");
    for (start, words) in spoken() {
        let _ = write!(body, "<p t=\"{start}\" d=\"3839\" w=\"1\">");
        for (index, word) in words.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let word = word.replace('\'', "&#39;");
            let _ = write!(body, "<s t=\"{}\" ac=\"0\">{space}{word}</s>", index * 240);
        }
        let _ = write!(body, "</p>\n<p t=\"{}\" d=\"1\" w=\"1\" a=\"1\">\n</p>\n", start + 1_990);
    }
    body + "</body>\n</timedtext>\n"
}

fn srv1() -> String {
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"utf-8\" ?><transcript>");
    for (start, words) in spoken() {
        let text = words.join(" ").replace('\'', "&amp;#39;");
        let _ = write!(body, "<text start=\"{}.28\" dur=\"3.839\">{text}</text>", start / 1_000);
    }
    body + "</transcript>"
}
