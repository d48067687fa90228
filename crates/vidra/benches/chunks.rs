//! Measures how fast transcripts are divided into chunks: `cargo bench -p vidra --bench chunks`.
//!
//! It divides an hour of generated speech and a recorded track in each unit, in one thread. The requirement is 5 ms for
//! an hour. `VIDRA_TRACK` selects another file than the recorded one. Without either file the benchmark measures only
//! the generated hour.

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vidra::transcript::parse;
use vidra::{Chapter, ChunkBy, ChunkQuery, Cue, TranscriptLine, VideoId, chunks};

const RUNS: usize = 200;

const UNITS: [ChunkBy; 5] =
    [ChunkBy::Tokens, ChunkBy::Words, ChunkBy::Seconds, ChunkBy::Sentences, ChunkBy::Chapters];

fn main() {
    println!("| track | unit | lines | chunks | median | best |");
    println!("|---|---|---|---|---|---|");
    measure("one hour", &hour());
    measure("one hour of Chinese", &chinese_hour());
    match recorded() {
        Some(lines) => measure("recorded", &lines),
        None => println!("\nno recorded track: set VIDRA_TRACK to a file"),
    }
}

fn measure(track: &str, lines: &[TranscriptLine]) {
    let video = VideoId::parse("dQw4w9WgXcQ").expect("an id");
    let chapters = chapters();
    for by in UNITS {
        let query = ChunkQuery::new(by, None, None).expect("defaults");
        let run = || chunks(video, black_box(lines), &query, &chapters);
        let count = run().len();
        let mut times: Vec<Duration> = (0..RUNS)
            .map(|_| {
                let begun = Instant::now();
                black_box(run());
                begun.elapsed()
            })
            .collect();
        times.sort();
        let (median, best) = (times[RUNS / 2], times[0]);
        println!("| {track} | {by} | {} | {count} | {median:.2?} | {best:.2?} |", lines.len());
    }
}

fn chapters() -> Vec<Chapter> {
    let chapter =
        |index: u64| format!(r#"{{"title":"Part {index}","start":{},"end":0}}"#, index * 300);
    let chapter = |index| serde_json::from_str(&chapter(index)).expect("a chapter");
    (0..12).map(chapter).collect()
}

/// An hour in lines of two seconds and seven words. Every ninth line ends a sentence.
fn hour() -> Vec<TranscriptLine> {
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
    let text = |line: usize| {
        let words = (0..7).map(|word| WORDS[(line * 5 + word * 7 + line / 12) % WORDS.len()]);
        words.collect::<Vec<_>>().join(" ") + if line % 9 == 8 { "." } else { "" }
    };
    spoken(text)
}

/// An hour of lines of two seconds in a script without spaces. Every ninth line ends a sentence.
fn chinese_hour() -> Vec<TranscriptLine> {
    spoken(|line| "大家好歡迎回到我的頻道".to_owned() + if line % 9 == 8 { "。" } else { "" })
}

fn spoken(text: impl Fn(usize) -> String) -> Vec<TranscriptLine> {
    let lang: Arc<str> = "en".into();
    let line = |index: usize| Cue::new(index as u64 * 2_000, 3_839, text(index));
    (0..1_800).map(|index| TranscriptLine::new(line(index), &lang)).collect()
}

fn recorded() -> Option<Vec<TranscriptLine>> {
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fixtures/timedtext");
    let default = || PathBuf::from(recordings).join("F75k4Oc6g9Q-asr-srv1.xml");
    let file = std::env::var_os("VIDRA_TRACK").map_or_else(default, PathBuf::from);
    let cues = parse(&std::fs::read(file).ok()?).ok()?;
    let lang: Arc<str> = "en".into();
    Some(cues.into_iter().map(|cue| TranscriptLine::new(cue, &lang)).collect())
}
