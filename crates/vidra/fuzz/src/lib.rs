//! Checks of the guarantees that hold for any input.

use std::sync::Arc;

use vidra::transcript::{Unreadable, parse};
use vidra::{Cue, TranscriptLine, to_srt, to_text, to_vtt};

/// Parses a body, and checks the guarantees for its cues and for the files written from them.
pub fn read(body: &[u8]) -> Result<Vec<Cue>, Unreadable> {
    let cues = parse(body)?;
    assert!(cues.is_sorted_by_key(|cue| cue.start), "out of order");
    for cue in &cues {
        assert!(cue.start <= 1 << 38 && cue.duration <= 1 << 38, "out of bounds");
        assert!(!cue.text.is_empty(), "nothing to read");
        assert!(cue.text.split('\n').all(|line| !line.is_empty() && line.trim() == line), "blanks");
        let visible = |text: &str| text.split_whitespace().collect::<String>();
        let words: String = cue.words().map(|word| visible(&word.text)).collect();
        assert!(cue.word_times.is_empty() || words == visible(&cue.text), "other words");
        assert!(cue.word_times.is_sorted_by_key(|word| word.offset), "words out of order");
    }
    let lang = Arc::from("en");
    let lines: Vec<_> = cues.iter().map(|cue| TranscriptLine::new(cue.clone(), &lang)).collect();
    assert_eq!(to_text(&lines).lines().count(), cues.len(), "a line for each cue");
    written(&lines);
    Ok(cues)
}

/// Writes SRT and VTT, and checks both against the rules of their formats.
pub fn written(lines: &[TranscriptLine]) {
    let (srt, vtt) = (to_srt(lines), to_vtt(lines));
    let mut number = 0;
    let mut before = 0;
    for block in srt.split_terminator("\n\n").filter(|block| !block.is_empty()) {
        number += 1;
        let mut rest = block.lines();
        assert_eq!(rest.next(), Some(number.to_string().as_str()), "numbers count up");
        before = time(rest.next().expect("a time"), ',', before);
        assert!(rest.next().is_some_and(|text| !text.is_empty()), "a cue has text");
    }
    assert_eq!(srt.matches("-->").count(), number, "arrows stand between times only");

    let mut blocks = vtt.split("\n\n");
    assert!(blocks.next().is_some_and(|head| head.starts_with("WEBVTT")), "a header");
    let mut before = 0;
    let mut count = 0;
    for block in blocks {
        count += 1;
        let (times, text) = block.split_once('\n').expect("a time and a text");
        before = time(times, '.', before);
        assert!(!text.contains(['<', '>']), "nothing looks like a tag");
        let references = ["&amp;", "&lt;", "&gt;"];
        let known = |at: usize| references.iter().any(|name| text[at..].starts_with(name));
        assert!(text.match_indices('&').all(|(at, _)| known(at)), "an ampersand is escaped");
    }
    assert_eq!(count, number, "the same cues in both");
}

/// Parses a time line and returns its end. The cue must have a length and must not begin before the last one ended.
fn time(line: &str, separator: char, before: u64) -> u64 {
    let (start, end) = line.split_once(" --> ").expect("an arrow");
    let (start, end) = (clock(start, separator), clock(end, separator));
    // A cue at the greatest possible time cannot have a length.
    assert!(before <= start && (start < end || start == u64::MAX), "{line}");
    end
}

fn clock(text: &str, separator: char) -> u64 {
    let (clock, millis) = text.split_once(separator).expect("a separator");
    assert_eq!(millis.len(), 3, "{text}");
    let parts: Vec<&str> = clock.split(':').collect();
    assert!(parts.len() == 3 && parts[0].len() >= 2 && parts[1].len() == 2 && parts[2].len() == 2);
    let number = |text: &str| text.parse::<u64>().expect("digits");
    assert!(number(parts[1]) < 60 && number(parts[2]) < 60, "{text}");
    ((number(parts[0]) * 60 + number(parts[1])) * 60 + number(parts[2])) * 1_000 + number(millis)
}
