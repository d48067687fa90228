//! The times of words, in recordings and in odd variants that were never recorded.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};
use vidra::transcript::parse;
use vidra::{Cue, WordTime};

use super::{json3, read, srv1, srv3};
use crate::recorded::fixtures_of;

/// The words of a cue: their texts and times in milliseconds.
fn words(cue: &Cue) -> Vec<(String, u64)> {
    cue.words().map(|word| (word.text, word.start.as_millis())).collect()
}

/// The words of a format's only cue, with times from its start: `It@0 didn't@320`.
fn shown(body: impl AsRef<[u8]>) -> String {
    let [cue] = read(body).try_into().expect("one cue");
    let shown = |(text, start)| format!("{text}@{}", start - cue.start);
    words(&cue).into_iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// The rules that the words of every cue obey.
fn check(cue: &Cue) {
    let words = words(cue);
    if words.is_empty() {
        return assert!(cue.word_times.is_empty(), "{cue:?}");
    }
    let visible = |text: &str| text.split_whitespace().collect::<String>();
    let joined: String = words.iter().map(|(text, _)| visible(text)).collect();
    assert_eq!(joined, visible(&cue.text));
    let chars: u32 = cue.word_times.iter().map(|word| word.chars).sum();
    assert_eq!(chars as usize, cue.text.chars().count(), "{cue:?}");
    assert!(words.is_sorted_by_key(|(_, start)| *start) && words[0].1 >= cue.start, "{cue:?}");
}

/// All recorded tracks with this extension. The second folder of recordings is beside the first.
fn tracks(extension: &str) -> Vec<(String, Vec<u8>)> {
    let Some(first) = fixtures_of("timedtext") else { return vec![] };
    let second = first.join("../../fixtures-2/timedtext");
    let folders = [first, second].into_iter().filter(|folder| folder.is_dir());
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| std::fs::read_dir(folder).expect("the folder can be listed"))
        .map(|file| file.expect("a recording").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    let file = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(path).expect("it can be read"))
    };
    files.into_iter().map(file).collect()
}

/// Whether a cue without times has a time for its only word.
fn is_one_word(text: &str) -> bool {
    text.split_whitespace().count() == 1 && text.chars().all(|c| c < '\u{2e80}')
}

/// Reads the segments of each event as plain JSON. In the recordings a segment is a word. Only in the
/// Chinese track some Latin words consist of several segments.
#[test]
fn words_of_every_recorded_json3_track_equal_its_segments() {
    for (file, body) in tracks("json") {
        let tree: Value = serde_json::from_slice(&body).expect("JSON");
        let events = tree["events"].as_array().expect("events").iter();
        let segments = |event: &Value| -> Vec<(String, u64)> {
            let start = event["tStartMs"].as_u64().unwrap_or(0);
            let segments = event["segs"].as_array().into_iter().flatten();
            let segments = segments.map(|segment| {
                let text = segment["utf8"].as_str().unwrap_or_default().to_owned();
                (text, start + segment["tOffsetMs"].as_u64().unwrap_or(0))
            });
            segments.filter(|(text, _)| !text.trim().is_empty()).collect()
        };
        let events: Vec<_> = events.map(segments).filter(|event| !event.is_empty()).collect();
        let has_words = events.iter().any(|segments| segments.len() > 1);
        assert_eq!(has_words, file.contains("asr"), "{file}");
        let cues = read(&body);
        assert_eq!(cues.len(), events.len(), "{file}");
        for (cue, segments) in cues.iter().zip(events) {
            check(cue);
            let is_timed = segments.len() > 1 || has_words && is_one_word(&cue.text);
            let mut expected: Vec<(String, u64)> = vec![];
            for (text, start) in segments.into_iter().filter(|_| is_timed) {
                let continues = |before: &String| {
                    let is_latin = |c: Option<char>| c.is_some_and(|c| c.is_ascii_graphic());
                    is_latin(before.chars().next_back()) && is_latin(text.chars().next())
                };
                match expected.last_mut() {
                    Some((before, _)) if continues(before) => before.push_str(&text),
                    _ => expected.push((text, start)),
                }
            }
            let expected: Vec<_> =
                expected.into_iter().map(|(text, start)| (text.trim().to_owned(), start)).collect();
            assert_eq!(words(cue), expected, "{file}");
        }
    }
}

/// Splits the segments of srv3 by hand.
#[test]
fn words_of_every_recorded_srv3_track_equal_its_segments() {
    let files = ["does-fast-charging-asr-srv3.xml", "fr-asr-hello.xml"];
    let found = tracks("xml").into_iter().filter(|(file, _)| files.contains(&file.as_str()));
    for (file, body) in found {
        let text = String::from_utf8(body).expect("UTF-8");
        let attribute = |tag: &str, name: &str| -> Option<u64> {
            let (_, value) = tag.split_once(&format!(" {name}=\""))?;
            Some(value.split_once('"')?.0.parse().expect("a number"))
        };
        let mut expected = vec![];
        for cue in text.split("<p t=").skip(1) {
            let (head, inside) = cue.split_once('>').expect("a tag");
            let inside = inside.split_once("</p>").expect("an end").0;
            if inside.trim().is_empty() {
                continue;
            }
            let start = attribute(&format!(" t={head}"), "t").expect("a start");
            let mut words = vec![];
            for segment in inside.split("<s").skip(1) {
                let (tag, text) = segment.split_once('>').expect("a tag");
                let text = text.split_once("</s>").expect("an end").0.replace("&#39;", "'");
                words.push((text.trim().to_owned(), start + attribute(tag, "t").unwrap_or(0)));
            }
            if words.is_empty() && is_one_word(inside) {
                words.push((inside.to_owned(), start));
            }
            expected.push(words);
        }
        let cues = read(&text);
        cues.iter().for_each(check);
        assert_eq!(cues.iter().map(words).collect::<Vec<_>>(), expected, "{file}");
    }
}

#[test]
fn words_of_every_recorded_xml_track_obey_the_rules() {
    for (file, body) in tracks("xml") {
        let Ok(cues) = parse(&body) else { continue };
        cues.iter().for_each(check);
        let has_words = cues.iter().any(|cue| !cue.word_times.is_empty());
        let is_timed = String::from_utf8_lossy(&body).contains("<s t=\"")
            || String::from_utf8_lossy(&body).contains("<s p=\"1\" t=\"");
        assert_eq!(has_words, is_timed, "{file}");
        if file == "translated-zh-hant-srv3-excerpt.xml" {
            let words = words(&cues[1]).into_iter().map(|(text, start)| format!("{start} {text}"));
            let expected = ["11840 大家", "12220 好", "12600 ！", "12980 歡迎", "13360 回到"];
            assert_eq!(words.collect::<Vec<_>>(), expected);
        }
        if file == "ytt-documented-sample.xml" {
            assert_eq!(words(&cues[43]), [("Karaoke".to_owned(), 36_000)]);
        }
    }
}

/// A segment: its text, and its time from the start of the cue.
type Segment<'a> = (&'a str, Option<u64>);

/// The same words in both formats, after all clean-up.
#[test]
fn words_after_the_clean_up() {
    let table: [(&[Segment<'_>], &str); 21] = [
        (&[("It", None), (" didn't", Some(320))], "It@0 didn't@320"),
        (&[("It ", None), ("didn't ", Some(320))], "It@0 didn't@320"),
        (&[("It", Some(0)), (" ", Some(100)), ("did", Some(320))], "It@0 did@320"),
        (&[("\n", None), (" It", Some(5)), ("\n", Some(9)), ("did\n", Some(9))], "It@5 did@9"),
        (&[("a", None), (" b", None), (" c", Some(7))], "a@0 b@0 c@7"),
        (&[("Ka", None), ("ra", Some(10)), ("o", Some(20)), ("ke!", Some(30))], "Karaoke!@0"),
        (&[("大家", None), ("好", Some(9)), ("！", Some(11))], "大家@0 好@9 ！@11"),
        (&[("用", None), ("Ru", Some(9)), ("st", Some(11)), ("写", Some(20))], "用@0 Rust@9 写@20"),
        (&[("เรา", None), ("ไป", Some(9))], "เรา@0 ไป@9"),
        (
            &[("été", None), ("\u{a0}à\u{200b}", Some(9)), (" \u{200b}l'eau", Some(12))],
            "été@0 à@9 l'eau@12",
        ),
        (&[("<i>so</i>", None), (" <b>it</b>", Some(5)), (" 1 < 2", Some(9))], "so@0 it@5 1 < 2@9"),
        (&[("I", None), (" <3", Some(5)), (" you>", Some(9))], "I@0 <3@5 you>@9"),
        (&[(">> It's", None), (" a bit", Some(5))], ">> It's@0 a bit@5"),
        // Without times, with times that descend, and with phrases in place of words.
        (&[("Bold", None), (" and", None), (" red", None)], ""),
        (&[("one", None), (" two", Some(500)), (" three", None)], ""),
        (&[("one", Some(500)), (" two", Some(499))], ""),
        (&[("Never gonna give you", None), (" up", Some(900))], ""),
        (&[("up", None), (" never gonna give you", Some(900))], ""),
        (&[("several words", Some(900))], ""),
        (&[("word", Some(900))], "word@900"),
        (&[("a <i", None), (">b</i> c", Some(9))], ""),
    ];
    for (segments, expected) in table {
        let object = |(text, offset): &Segment<'_>| match offset {
            Some(offset) => json!({"utf8": text, "tOffsetMs": offset}),
            None => json!({ "utf8": text }),
        };
        let segs: Vec<Value> = segments.iter().map(object).collect();
        let event = json!({"tStartMs": 1_000, "segs": segs}).to_string();
        assert_eq!(shown(json3(&event)), expected, "{segments:?}");

        let element = |(text, offset): &Segment<'_>| {
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            let time = offset.map(|offset| format!(" t=\"{offset}\"")).unwrap_or_default();
            format!("<s ac=\"3\"{time}>{text}</s>")
        };
        let inside: String = segments.iter().map(element).collect();
        assert_eq!(shown(srv3(&format!("<p t=\"1000\">{inside}</p>"))), expected, "{segments:?}");
    }
}

#[test]
fn a_single_word_has_a_time_if_the_track_has_words() {
    let timed = r#"{"tStartMs":0,"segs":[{"utf8":"a"},{"utf8":" b","tOffsetMs":5}]},"#;
    let rest = r#"{"tStartMs":10,"segs":[{"utf8":"[Music]\n"}]},{"tStartMs":20,"segs":[{"utf8":"two words"}]},
        {"tStartMs":30,"segs":[{"utf8":"音樂"}]}"#;
    let cues = read(json3(&format!("{timed}{rest}")));
    let found: Vec<_> = cues.iter().map(|cue| words(cue).len()).collect();
    assert_eq!(found, [2, 1, 0, 0]);
    assert_eq!(words(&cues[1]), [("[Music]".to_owned(), 10)]);
    assert!(read(json3(rest)).iter().all(|cue| cue.word_times.is_empty()));
}

/// A time that cannot be read costs the words of its cue and nothing else.
#[test]
fn odd_times_of_segments_are_no_errors() {
    let odd =
        ["-5", "true", "\"x\"", "[1]", "{\"a\":[]}", "0.5", "4294967296", "18446744073709551615"];
    for offset in odd {
        let event = format!(
            r#"{{"tStartMs":7,"segs":[{{"utf8":"a"}},{{"utf8":" b","tOffsetMs":{offset}}},{{"utf8":" c","tOffsetMs":9}}]}}"#
        );
        assert_eq!(shown(json3(&event)), "", "{offset}");
    }
    let text = r#"{"tStartMs":7,"segs":[{"utf8":"a","tOffsetMs":null},{"utf8":" b","tOffsetMs":"9"},null,{}]}"#;
    assert_eq!(shown(json3(text)), "a@0 b@9");
    // Half of an escaped emoji.
    let split = r#"{"segs":[{"utf8":"a\ud83d"},{"utf8":"\ude00 b","tOffsetMs":9}]}"#;
    assert_eq!(shown(json3(split)), "");
    for inside in [
        r#"direct<s t="5"> text</s>"#,
        r#"<s>text</s> between<s t="5"> two</s>"#,
        r#"<s>text</s><s t="5"> after</s> it"#,
        r#"<s>a</s><s t="x"> b</s><s t="9"> c</s>"#,
        r#"<s>a</s><s t=5 t> b</s><s t="9"> c</s>"#,
    ] {
        assert_eq!(shown(srv3(&format!("<p t=\"1\">{inside}</p>"))), "", "{inside}");
    }
    let between = r#"<p t="1"><s>a</s> <s t="5">b</s>&#8203;<br/><s t="6">c</s></p>"#;
    assert_eq!(shown(srv3(between)), "a@0 b@5 c@6");
    // srv1 has no segments.
    assert_eq!(shown(srv1(r#"<text start="1"><s>a</s><s t="5"> b</s></text>"#)), "");
}

#[test]
fn word_times_are_stored_as_pairs() {
    let body = json3(r#"{"segs":[{"utf8":"été"},{"utf8":" là","tOffsetMs":320}]}"#);
    let [cue] = read(body).try_into().expect("one cue");
    let stored = serde_json::to_string(&cue.word_times).expect("JSON");
    assert_eq!(stored, "[[4,0],[2,320]]");
    let times: Vec<WordTime> = serde_json::from_str(&stored).expect("the same");
    assert_eq!(times, cue.word_times);
    let word = serde_json::to_value(cue.words().nth(1)).expect("JSON");
    assert_eq!(word, json!({"text": "là", "start": 0.32}));
    // Times of another text give fewer words.
    let mut other = Cue::new(5, 0, "no");
    other.word_times = times;
    assert_eq!(words(&other), [("no".to_owned(), 5)]);
}

proptest! {
    /// Segments that begin and end anywhere: inside words, tags and characters that the clean-up
    /// removes. Both formats agree.
    #[test]
    fn words_of_any_segments_obey_the_rules(
        segments in prop::collection::vec(("[a b<>/i\u{a0}\u{200b}\n好！é.]{0,6}", prop::option::of(0_u32..50)), 0..8),
        ascending in any::<bool>(),
    ) {
        let mut segments = segments;
        if ascending {
            segments.sort_by_key(|(_, offset)| *offset);
        }
        let object = |(text, offset): &(String, Option<u32>)| match offset {
            Some(offset) => json!({"utf8": text, "tOffsetMs": offset}),
            None => json!({ "utf8": text }),
        };
        let segs: Vec<Value> = segments.iter().map(object).collect();
        let from_json = read(json3(&json!({"tStartMs": 7, "segs": segs}).to_string()));
        from_json.iter().for_each(check);
        let element = |(text, offset): &(String, Option<u32>)| {
            let time = offset.map(|offset| format!(" t=\"{offset}\"")).unwrap_or_default();
            format!("<s{time}>{}</s>", text.replace('<', "&lt;"))
        };
        let inside: String = segments.iter().map(element).collect();
        let from_xml = read(srv3(&format!("<p t=\"7\">{inside}</p>")));
        prop_assert_eq!(from_json, from_xml);
    }
}
