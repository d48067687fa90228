//! Every recorded track, with texts and times spelled out or read in a second way.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use vidra::transcript::{Unreadable, parse};

use super::{CueRow, json3, lines, read, rows, srv1};
use crate::recorded::{bytes_of, fixtures_of};

/// A recording, its number of cues and words, and some of its cues by index.
struct Track {
    file: &'static str,
    cues: usize,
    words: usize,
    rows: &'static [(usize, CueRow<'static>)],
}

const TRACKS: [Track; 11] = [
    Track {
        file: "F75k4Oc6g9Q-asr-srv1.xml",
        cues: 721,
        words: 5428,
        rows: &[
            (0, (4_330, 10_150, "[Music]")),
            (1, (15_280, 6_040, "so nice to be here with you thank you")),
            (3, (21_320, 6_480, "yaroslav I'm from Ukraine you might know")),
            (12, (45_920, 6_760, "place yeah and uh that is my family's")),
            (15, (55_399, 7_361, "to defend Ukraine and uh I mean we are")),
            (16, (60_000, 5_799, "he has such a beautiful venue but there")),
            (718, (1_853_120, 5_630, "[Applause]")),
            (720, (1_858_750, 5_030, "[Music]")),
        ],
    },
    Track {
        file: "asr-json3-2026-excerpt.json",
        cues: 11,
        words: 66,
        rows: &[
            (0, (80, 3_839, "The diffusion of AI capability is going")),
            (3, (4_640, 4_320, ">> It's just absurd to think you're going")),
            (7, (12_800, 2_560, "data layer.")),
            (10, (17_279, 3_281, "wild one in the next couple years.")),
        ],
    },
    Track {
        file: "does-fast-charging-asr-srv3.xml",
        cues: 19,
        words: 120,
        rows: &[
            (0, (240, 6_559, "Does fast charging hurt the battery?")),
            (6, (14_080, 4_720, "the battery to 0%. Then recharge to 100%")),
            (11, (43_600, 6_479, "Time flies. The plants didn't survive,")),
            (18, (65_199, 2_561, "battery.")),
        ],
    },
    Track {
        file: "lyra-transcript.xml",
        cues: 5,
        words: 26,
        rows: &[
            (0, (0, 3_360, "Hello and welcome to this video.")),
            (1, (3_360, 2_640, "Today we are going to talk about")),
            (2, (6_000, 4_000, "something really important & interesting.")),
            (3, (10_000, 3_500, "Let's get started!")),
            (4, (13_500, 2_500, "That's all for now. Goodbye!")),
        ],
    },
    Track {
        file: "manual-json3.json",
        cues: 151,
        words: 1560,
        rows: &[
            (0, (210, 3_830, "Hi, I'm Vanessa from SpeakEnglishWithVanessa.com.")),
            (1, (4_040, 5_090, "Today, I have some good news and some bad\nnews.")),
            (16, (70_620, 4_340, "Almost everyone makes the same two mistakes.")),
            (150, (620_650, 10, "Goodbye.")),
        ],
    },
    Track {
        file: "srv1-double-escaped-italian.xml",
        cues: 4,
        words: 31,
        rows: &[
            (0, (0, 1_680, "[INTRODUZIONE]")),
            (1, (3_093, 3_300, "Oggi voglio parlare di\nsottotitoli, di nuovo.")),
            (3, (10_812, 2_479, "Forse me la canto e me la suono da sola un po',")),
        ],
    },
    Track {
        file: "srv1-html-and-empty-cue.xml",
        cues: 3,
        words: 20,
        rows: &[
            (0, (0, 1_540, "Hey, this is just a test")),
            (1, (1_540, 4_160, "this is not the original transcript")),
            (2, (5_700, 3_239, "just something shorter, I made up for testing")),
        ],
    },
    Track {
        file: "srv3-pens-missing-d.xml",
        cues: 5,
        words: 5,
        rows: &[
            (0, (1_560, 10_350, "[Music]")),
            (1, (4_440, 7_470, "[Applause]")),
            (2, (17_100, 6_540, "[Music]")),
            (3, (330_900, 3_440, "like")),
            (4, (337_780, 3_980, "[Music]")),
        ],
    },
    Track {
        file: "translated-zh-hant-srv3-excerpt.xml",
        cues: 2,
        words: 2,
        rows: &[(0, (1_810, 9_349, "[音樂]")), (1, (11_840, 3_679, "大家好！歡迎回到"))],
    },
    Track {
        file: "ytt-documented-sample.xml",
        cues: 53,
        words: 143,
        rows: &[
            (0, (0, 4_000, "Bold")),
            (3, (0, 4_000, "Bold Italic Underline")),
            (7, (4_000, 4_000, "Red Green Blue")),
            (40, (32_000, 4_000, "Left-\naligned line")),
            (43, (36_000, 4_000, "Karaoke")),
            (44, (40_000, 4_000, "Box\nat start of span")),
            (46, (40_000, 4_000, "Line break\nat end of span")),
            (47, (44_000, 4_000, "漢(かん)字(じ)")),
            (52, (52_000, 4_000, "Rotated\ntext (LTR)")),
        ],
    },
    Track {
        file: "ytt-ruby.xml",
        cues: 5,
        words: 13,
        rows: &[
            (0, (1, 4_988, "No [ru/ル][by/ビ]")),
            (1, (1, 4_988, "Ru(ル)by(ビ) <Suffix>")),
            (3, (1, 4_988, "<Prefix> Ru(ル)by(ビ) <Suffix>")),
            (4, (1, 4_988, "Default(ルビ) \\ytruby2(ルビ) \\ytruby8(ルビ) [\\r/ルビ]")),
        ],
    },
];

/// A track with backslashes, which has its own test.
const STYLED: &str = "ytt-bold-italic.xml";
const EMPTY: &str = "empty-body.xml";
/// Never requested; they confirm the meaning of the others.
const VTT: [&str; 3] =
    ["does-fast-charging-asr.vtt", "nbsp-manual.vtt", "style-header-colours.vtt"];

fn folder() -> Option<std::path::PathBuf> {
    fixtures_of("timedtext")
}

fn text(folder: &Path, name: &str) -> String {
    String::from_utf8(bytes_of(folder, name).to_vec()).expect("UTF-8")
}

#[test]
fn every_recording_is_tested() {
    let Some(folder) = folder() else { return };
    let files = std::fs::read_dir(&folder).expect("the folder can be listed");
    let found: BTreeSet<String> = files
        .map(|file| file.expect("a recording").file_name().into_string().expect("a plain name"))
        .collect();
    let read = TRACKS.iter().map(|track| track.file).chain([STYLED, EMPTY]).chain(VTT);
    assert_eq!(found, read.map(str::to_owned).collect());
}

#[test]
fn every_recorded_track_is_parsed() {
    let Some(folder) = folder() else { return };
    for track in TRACKS {
        let cues = read(bytes_of(&folder, track.file));
        let all = rows(&cues);
        for (index, expected) in track.rows {
            assert_eq!(all.get(*index), Some(expected), "{}", track.file);
        }
        let words: usize = cues.iter().map(|cue| cue.text.split_whitespace().count()).sum();
        assert_eq!((cues.len(), words), (track.cues, track.words), "{}", track.file);
        assert!(cues.is_sorted_by_key(|cue| cue.start), "{}", track.file);
    }
}

#[test]
fn styles_are_removed_and_words_stay() {
    let Some(folder) = folder() else { return };
    let [cue] = read(bytes_of(&folder, STYLED)).try_into().expect("the second has no words");
    assert_eq!((cue.start, cue.duration), (1, 4_988));
    let lines: Vec<&str> = cue.text.lines().collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0], r"Default \\b ( 1 ) \b \b1 \b0 \b1 \b2 \b1 \bX \r");
    assert_eq!(lines[5], r"Underline \rDefault \u \u0 \u1 \u0 \u2 \u0 \uX \r");
}

#[test]
fn other_bodies_are_not_parsed_as_tracks() {
    let Some(folder) = folder() else { return };
    assert_eq!(parse(&bytes_of(&folder, EMPTY)), Err(Unreadable::Empty));
    for file in VTT {
        assert_eq!(parse(&bytes_of(&folder, file)), Err(Unreadable::NotTimedText), "{file}");
    }
    let pages = fixtures_of("watch-pages").expect("beside the tracks");
    for page in std::fs::read_dir(pages).expect("the folder can be listed") {
        let page = page.expect("a page").path();
        let body = std::fs::read(&page).expect("it can be read");
        assert_eq!(parse(&body), Err(Unreadable::NotTimedText), "{}", page.display());
    }
    let players = fixtures_of("player").expect("beside the tracks");
    for answer in std::fs::read_dir(players).expect("the folder can be listed") {
        let answer = answer.expect("an answer").path();
        let cues = parse(&std::fs::read(&answer).expect("it can be read"));
        assert!(cues.is_err(), "{}", answer.display());
    }
}

/// Compares all cues of the srv1 track with its text, split by hand.
#[test]
fn a_whole_srv1_track_equals_its_text() {
    let Some(folder) = folder() else { return };
    let body = text(&folder, TRACKS[0].file);
    let seconds = |text: &str| (text.parse::<f64>().expect("seconds") * 1_000.0).round() as u64;
    let mut expected = vec![];
    for cue in body.split("<text start=\"").skip(1) {
        let (start, rest) = cue.split_once("\" dur=\"").expect("a duration");
        let (duration, rest) = rest.split_once("\">").expect("a text");
        let text = rest.split_once("</text>").expect("its end").0;
        let text = text.replace("&amp;#39;", "'").replace("&amp;quot;", "\"");
        assert!(!text.contains('&'), "{text}");
        expected.push((seconds(start), seconds(duration), text));
    }
    let cues = read(&body);
    let cues = cues.iter().map(|cue| (cue.start, cue.duration, cue.text.clone()));
    assert_eq!(cues.collect::<Vec<_>>(), expected);
}

/// Compares all cues of the json3 tracks with their plain JSON.
#[test]
fn whole_json3_tracks_equal_their_json() {
    let Some(folder) = folder() else { return };
    for file in [TRACKS[1].file, TRACKS[4].file] {
        let body = bytes_of(&folder, file);
        let tree: Value = serde_json::from_slice(&body).expect("JSON");
        let mut expected = vec![];
        for event in tree["events"].as_array().expect("events") {
            let segments = event["segs"].as_array().into_iter().flatten();
            let text: String = segments.filter_map(|segment| segment["utf8"].as_str()).collect();
            if text.trim().is_empty() {
                continue;
            }
            let number = |name: &str| event[name].as_u64().expect("a number");
            expected.push((number("tStartMs"), number("dDurationMs"), text));
        }
        let cues = read(&body);
        let cues = cues.iter().map(|cue| (cue.start, cue.duration, cue.text.clone()));
        assert_eq!(cues.collect::<Vec<_>>(), expected, "{file}");
    }
}

/// The cues of a recorded VTT file: start, end, lines without tags.
fn vtt_cues(text: &str) -> Vec<(u64, u64, Vec<String>)> {
    let clock = |text: &str| -> u64 {
        let digits: Vec<u64> = text.split([':', '.']).map(|part| part.parse().unwrap()).collect();
        ((digits[0] * 60 + digits[1]) * 60 + digits[2]) * 1_000 + digits[3]
    };
    let mut cues: Vec<(u64, u64, Vec<String>)> = vec![];
    for line in text.lines() {
        if let Some((start, end)) = line.split_once(" --> ") {
            let end = end.split(' ').next().expect("an end");
            cues.push((clock(start), clock(end), vec![]));
        } else if let Some((_, _, lines)) = cues.last_mut() {
            let words = line.split('<').enumerate();
            let words = words.map(|(index, part)| match part.split_once('>') {
                Some((_, words)) if index > 0 => words,
                _ => part,
            });
            lines.extend(Some(words.collect::<String>()).filter(|line| !line.trim().is_empty()));
        }
    }
    cues
}

/// The platform's own VTT of the same track scrolls: each cue shows the previous line and the new
/// one, and cues of ten milliseconds only move the line up.
#[test]
fn srv3_and_vtt_of_one_track_agree() {
    let Some(folder) = folder() else { return };
    let rolling = vtt_cues(&text(&folder, VTT[0]));
    let new = rolling.into_iter().filter(|(start, end, _)| end - start > 10);
    let expected: Vec<(u64, String)> =
        new.map(|(start, _, mut lines)| (start, lines.pop().expect("a new line"))).collect();
    let cues = read(bytes_of(&folder, "does-fast-charging-asr-srv3.xml"));
    let ours: Vec<(u64, String)> = cues.iter().map(|cue| (cue.start, cue.text.clone())).collect();
    assert_eq!(ours, expected);

    // Our VTT shows each line once, at the same time.
    let written = vtt_cues(&vidra::to_vtt(&lines(&rows(&cues))));
    let written: Vec<(u64, String)> =
        written.into_iter().map(|(start, _, lines)| (start, lines.join("\n"))).collect();
    assert_eq!(written, expected);
}

/// A track made by hand, with no-break spaces wherever its author wrapped a line.
#[test]
fn no_break_spaces_at_line_ends_are_removed() {
    let Some(folder) = folder() else { return };
    let cues = vtt_cues(&text(&folder, "nbsp-manual.vtt"));
    assert!(cues.len() > 300, "{}", cues.len());
    let expected: Vec<String> = cues
        .iter()
        .map(|(_, _, lines)| {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = |line: &String| words(&line.replace("&nbsp;", " "));
            let lines = lines.iter().map(line).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    assert_eq!(
        expected[0].lines().next(),
        Some("It’s been a hell of a decade for roguelikes. Like,")
    );

    let twice = |(start, _, lines): &(u64, u64, Vec<String>)| {
        let text = lines.join("\n").replace('&', "&amp;");
        format!(r#"<text start="{}.{:03}" dur="1">{text}</text>"#, start / 1_000, start % 1_000)
    };
    let event = |(start, _, lines): &(u64, u64, Vec<String>)| {
        let text = lines.join("\n").replace("&nbsp;", "\u{a0}");
        serde_json::json!({"tStartMs": start, "segs": [{ "utf8": text }]}).to_string()
    };
    let twice: String = cues.iter().map(twice).collect();
    let events: Vec<String> = cues.iter().map(event).collect();
    for body in [srv1(&twice), json3(&events.join(","))] {
        let found = read(body);
        for (cue, expected) in found.iter().zip(&expected) {
            assert_eq!(cue.text, *expected);
        }
        assert_eq!(found.len(), expected.len());
    }
}
