//! SRT, VTT and plain text, character by character.

use proptest::prelude::*;
use vidra::{Cue, TranscriptLine, to_srt, to_text, to_vtt};

use super::{CueRow, line, lines};

#[test]
fn files_have_the_expected_content() {
    let rows = [
        (0, 1_540, "Hey, this is just a test"),
        (1_540, 4_160, "Oggi voglio parlare di\nsottotitoli."),
        (3_599_999, 1, ">> Q&A: 1 < 2"),
    ];
    let srt = "1\n00:00:00,000 --> 00:00:01,540\nHey, this is just a test\n\n\
               2\n00:00:01,540 --> 00:00:05,700\nOggi voglio parlare di\nsottotitoli.\n\n\
               3\n00:59:59,999 --> 01:00:00,000\n>> Q&A: 1 < 2\n";
    assert_eq!(to_srt(&lines(&rows)), srt);
    let vtt = "WEBVTT\nLanguage: en\n\n\
               00:00:00.000 --> 00:00:01.540\nHey, this is just a test\n\n\
               00:00:01.540 --> 00:00:05.700\nOggi voglio parlare di\nsottotitoli.\n\n\
               00:59:59.999 --> 01:00:00.000\n&gt;&gt; Q&amp;A: 1 &lt; 2\n";
    assert_eq!(to_vtt(&lines(&rows)), vtt);
    let text = "Hey, this is just a test\nOggi voglio parlare di sottotitoli.\n>> Q&A: 1 < 2\n";
    assert_eq!(to_text(&lines(&rows)), text);
}

#[test]
fn transcripts_without_words() {
    for none in [lines(&[]), lines(&[(0, 1, ""), (5, 1, " \n\u{200b}")])] {
        assert_eq!((to_srt(&none), to_text(&none)), (String::new(), String::new()));
        let language = if none.is_empty() { "" } else { "Language: en\n" };
        assert_eq!(to_vtt(&none), format!("WEBVTT\n{language}"));
    }
}

/// The time lines of a file.
fn times(file: &str) -> Vec<&str> {
    file.lines().filter(|line| line.contains(" --> ")).collect()
}

#[test]
fn start_and_end_of_cues() {
    let table: [(&str, &[CueRow<'_>], &[&str]); 9] = [
        (
            "automatic captions end where the next begins",
            &[(240, 6_559, "a"), (3_760, 4_799, "b"), (6_799, 3_521, "c")],
            &["0.240 3.760", "3.760 6.799", "6.799 10.320"],
        ),
        (
            "a gap between cues stays",
            &[(0, 1_000, "a"), (5_000, 1_000, "b")],
            &["0.000 1.000", "5.000 6.000"],
        ),
        ("without a length: two seconds", &[(1_000, 0, "a")], &["1.000 3.000"]),
        (
            "without a length: until the next",
            &[(1_000, 0, "a"), (1_700, 9, "b")],
            &["1.000 1.700", "1.700 1.709"],
        ),
        (
            "without a length: until the next, even if that is soon",
            &[(5, 0, "a"), (6, 0, "b")],
            &["0.005 0.006", "0.006 2.006"],
        ),
        ("a short cue keeps its length", &[(0, 10, "a")], &["0.000 0.010"]),
        (
            "cues with the same start are merged",
            &[(0, 4_000, "a"), (0, 0, "b"), (0, 9_000, "c"), (5_000, 1, "d")],
            &["0.000 5.000", "5.000 5.001"],
        ),
        (
            "cues are sorted by time",
            &[(9_000, 1, "b"), (0, 1, "a")],
            &["0.000 0.001", "9.000 9.001"],
        ),
        (
            "milliseconds carry",
            &[(999, 58_001, "a"), (59_999, 1, "b")],
            &["0.999 59.000", "59.999 60.000"],
        ),
    ];
    for (case, rows, expected) in table {
        let seconds = |clock: &str| -> f64 {
            clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
        };
        let vtt = to_vtt(&lines(rows));
        let read = |time: &&str| {
            let (start, end) = time.split_once(" --> ").unwrap();
            format!("{:.3} {:.3}", seconds(start), seconds(end))
        };
        assert_eq!(times(&vtt).iter().map(read).collect::<Vec<_>>(), expected, "{case}");
        let srt = to_srt(&lines(rows)).replace(',', ".");
        assert_eq!(times(&srt), times(&vtt), "{case}");
    }
    assert!(to_srt(&lines(&[(0, 1, "a"), (0, 1, "b")])).ends_with("\na\nb\n"));
}

#[test]
fn hours_beyond_two_digits() {
    let long = lines(&[(359_999_999, 1, "a"), (3_600_000_000, 1_500, "b")]);
    let expected = ["99:59:59.999 --> 100:00:00.000", "1000:00:00.000 --> 1000:00:01.500"];
    assert_eq!(times(&to_vtt(&long)), expected);
    // Extreme values do not overflow.
    let most = lines(&[(u64::MAX, u64::MAX, "a"), (u64::MAX - 1, 0, "b")]);
    assert_eq!(times(&to_srt(&most)).len(), 2);
}

#[test]
fn text_that_looks_like_the_format() {
    let table = [
        // Text, in SRT, in VTT.
        ("a --> b", "a → b", "a --&gt; b"),
        ("--->", "-→", "---&gt;"),
        (
            "1\n00:00:01,000 --> 00:00:02,000\nfake",
            "1 00:00:01,000 → 00:00:02,000\nfake",
            "1\n00:00:01,000 --&gt; 00:00:02,000\nfake",
        ),
        ("7\n8\n9 lives", "7 8 9 lives", "7\n8\n9 lives"),
        ("in\n1984\nand 7\n8", "in\n1984\nand 7\n8", "in\n1984\nand 7\n8"),
        ("one\n\n\ntwo\r\n\r\nthree", "one\ntwo\nthree", "one\ntwo\nthree"),
        ("one\u{2028}two\u{85}three\u{b}four", "one\ntwo\nthree\nfour", "one\ntwo\nthree\nfour"),
        ("<v Bob>&lt;", "<v Bob>&lt;", "&lt;v Bob&gt;&amp;lt;"),
        ("NOTE x", "NOTE x", "NOTE x"),
        ("nul\0 esc\u{1b}[31m", "nul esc[31m", "nul esc[31m"),
    ];
    for (text, srt, vtt) in table {
        let one = [line((0, 1_000, text))];
        assert_eq!(to_srt(&one), format!("1\n00:00:00,000 --> 00:00:01,000\n{srt}\n"));
        let head = "WEBVTT\nLanguage: en\n\n00:00:00.000 --> 00:00:01.000\n";
        assert_eq!(to_vtt(&one), format!("{head}{vtt}\n"));
    }
}

#[test]
fn only_a_language_code_gets_into_the_header() {
    let table = [
        ("zh-Hant", "WEBVTT\nLanguage: zh-Hant\n\n"),
        ("es-419", "WEBVTT\nLanguage: es-419\n\n"),
        ("", "WEBVTT\n\n"),
        ("en\n\n00:00.000 --> 00:01.000\nfake", "WEBVTT\n\n"),
        ("-->", "WEBVTT\n\n"),
        ("x y", "WEBVTT\n\n"),
    ];
    for (lang, head) in table {
        let cue = Cue::new(0, 1, "a");
        let one = TranscriptLine::new(cue, &lang.into());
        assert_eq!(to_vtt(&[one]), format!("{head}00:00:00.000 --> 00:00:00.001\na\n"), "{lang}");
    }
}

proptest! {
    /// Cues that follow each other, each with a length, and blank lines only between them.
    #[test]
    fn files_follow_the_rules_of_their_format(
        rows in prop::collection::vec((0_u64..20_000, 0_u64..9_000, "[ a<>&\n\r\u{2028}\u{a0}0-9:,>-]{0,30}"), 0..20),
    ) {
        let lines: Vec<TranscriptLine> =
            rows.iter().map(|(start, duration, text)| line((*start, *duration, text))).collect();
        let (srt, vtt) = (to_srt(&lines), to_vtt(&lines));
        let srt_blocks = srt.split("\n\n").filter(|block| !block.is_empty()).count();
        prop_assert_eq!(times(&srt).len(), srt_blocks);
        prop_assert_eq!(times(&vtt).len(), vtt.split("\n\n").count() - 1);
        prop_assert_eq!(srt.matches("-->").count(), srt_blocks);
        prop_assert_eq!(vtt.matches("-->").count(), srt_blocks);
        let mut before = "";
        for time in times(&vtt) {
            let (start, end) = time.split_once(" --> ").unwrap();
            // All times have the same width here, so that they compare as text.
            prop_assert!(before <= start && start < end, "{vtt}");
            before = end;
        }
        let words = |text: &str| text.split_whitespace().count();
        prop_assert_eq!(words(&to_text(&lines)), rows.iter().map(|(_, _, text)| words(text)).sum::<usize>());
    }
}
