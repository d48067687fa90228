//! Our subtitle files, read by other parsers: `webvtt-py` and `srt` from PyPI.
//!
//! `scripts/subtitle-roundtrip` installs them and compares. It runs if `VIDRA_REQUIRE_PEERS` is set,
//! as in `scripts/test`; otherwise this test reports that it was skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;
use vidra::{TranscriptLine, to_srt, to_vtt};

use super::{line, lines, read, rows};
use crate::recorded::{bytes_of, fixtures_of};

#[test]
fn other_parsers_read_our_files() {
    if std::env::var_os("VIDRA_REQUIRE_PEERS").is_none() {
        println!("skipped: set VIDRA_REQUIRE_PEERS to run scripts/subtitle-roundtrip");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for files");
    let mut count = 0;
    for lines in corpus() {
        write(folder.path(), count, &lines);
        count += 1;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/subtitle-roundtrip");
    let output = Command::new(script).arg(folder.path()).output().expect("the script starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains(&format!("{count} transcripts")), "{stdout}");
}

/// Recorded tracks, texts that could break files, and random texts.
fn corpus() -> Vec<Vec<TranscriptLine>> {
    let mut corpus = vec![
        lines(&[]),
        lines(&[(0, 0, "one")]),
        lines(&[(359_999_999, 1, "late"), (3_600_000_000, 5, "later")]),
        lines(&[(0, 9_000, "1\n00:00:01,000 --> 00:00:02,000\nfake"), (1_000, 1, "2\n\n3")]),
        lines(&[
            (0, 4_000, "WEBVTT"),
            (0, 4_000, "NOTE x"),
            (500, 0, "STYLE"),
            (501, 0, "&amp;<b>"),
        ]),
        lines(&[(0, 1, "7\n00:00:01,000"), (1, 1, "5.\n6\n00:00:01,000 - > 00:00:02,000\n8")]),
        lines(&[(7, 0, "42"), (8, 0, "-->"), (9, 1_000, "--> -->\n-->")]),
    ];
    if let Some(folder) = fixtures_of("timedtext") {
        for file in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let name = file.expect("a recording").file_name().into_string().expect("a name");
            if !name.ends_with(".vtt") && !name.starts_with("empty") {
                corpus.push(lines(&rows(&read(bytes_of(&folder, &name)))));
            }
        }
    }
    let text = "[ a-zé漢<>&\"'{}\\\\\n\r\t\u{2028}\u{a0}\u{200b}0-9:,.-]{0,40}|(-->|- >|\n|7|00:00:0[12][,.]000| |é){0,20}";
    let any = prop::collection::vec((0_u64..90_000, 0_u64..9_000, text), 0..12);
    let mut runner = TestRunner::deterministic();
    for _ in 0..300 {
        let rows = any.new_tree(&mut runner).expect("a value").current();
        let lines = rows.iter().map(|(start, duration, text)| line((*start, *duration, text)));
        corpus.push(lines.collect());
    }
    corpus
}

/// Writes both files and their expected content.
fn write(folder: &Path, index: usize, lines: &[TranscriptLine]) {
    let file = |extension: &str, content: String| {
        std::fs::write(folder.join(format!("{index:04}.{extension}")), content).expect("written");
    };
    file("srt", to_srt(lines));
    file("vtt", to_vtt(lines));
    file("json", json!(expected(lines)).to_string());
}

/// Start, end and text of each cue, computed independently of the library.
fn expected(lines: &[TranscriptLine]) -> Vec<(u64, u64, String)> {
    let mut by_start: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
    for line in lines {
        let invisible = |c: &char| !matches!(c, '\u{200b}' | '\0'..'\t');
        let text: String = line.text.chars().filter(invisible).collect();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.split(['\n', '\r', '\u{2028}']).map(words).filter(|line| !line.is_empty());
        let text: Vec<String> = text.collect();
        if !text.is_empty() {
            let (duration, all) = by_start.entry(line.offset.as_millis()).or_default();
            *duration = line.duration.as_millis().max(*duration);
            all.extend(text);
        }
    }
    let starts: Vec<u64> = by_start.keys().copied().collect();
    let mut cues = vec![];
    for (index, (start, (duration, text))) in by_start.into_iter().enumerate() {
        let wanted = start + if duration == 0 { 2_000 } else { duration };
        let end = starts.get(index + 1).map_or(wanted, |next| wanted.min(*next));
        cues.push((start, end, text.join("\n")));
    }
    cues
}
