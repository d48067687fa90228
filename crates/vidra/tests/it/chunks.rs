//! Chunks of transcripts: preferred borders, and rules that hold for every transcript.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use vidra::{
    Chapter, Chunk, ChunkBy, ChunkQuery, Cue, TranscriptLine, VideoId, chunks, estimate_tokens,
};

fn video() -> VideoId {
    VideoId::parse("dQw4w9WgXcQ").expect("an id")
}

fn line(start: u64, duration: u64, text: &str) -> TranscriptLine {
    TranscriptLine::new(Cue::new(start, duration, text), &Arc::from("en"))
}

/// Lines of two seconds without pauses.
fn lines(texts: &[&str]) -> Vec<TranscriptLine> {
    (0..).step_by(2_000).zip(texts).map(|(start, text)| line(start, 2_000, text)).collect()
}

fn query(by: ChunkBy, size: u64, overlap: u64) -> ChunkQuery {
    ChunkQuery::new(by, Some(size), Some(overlap)).expect("within bounds")
}

fn chapters(chapters: &[(&str, u64)]) -> Vec<Chapter> {
    let chapter = |(title, start): &(&str, u64)| {
        let chapter = json!({"title": title, "start": start, "end": start + 1});
        serde_json::from_value(chapter).expect("a chapter")
    };
    chapters.iter().map(chapter).collect()
}

fn texts(chunks: &[Chunk]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

/// Eight words and as many ends of sentences as there are marks.
const OPEN: &str = "one two three four five six seven eight";
const CLOSED: &str = "one two three four five six seven end.";

fn by_words(lines: &[TranscriptLine]) -> Vec<usize> {
    let found = chunks(video(), lines, &query(ChunkBy::Words, 32, 0), &[]);
    found.iter().map(|chunk| chunk.text.split(' ').count() / 8).collect()
}

/// Chunks of at most four lines: how many lines each has.
#[test]
fn the_last_end_of_a_sentence_in_the_second_half_is_preferred() {
    let table: [(&[&str], &[usize]); 7] = [
        (&[OPEN; 6], &[4, 2]),
        (&[OPEN, OPEN, CLOSED, OPEN, OPEN], &[3, 2]),
        (&[OPEN, CLOSED, OPEN, OPEN, OPEN], &[2, 3]),
        (&[OPEN, CLOSED, CLOSED, OPEN, OPEN], &[3, 2]),
        // Too early: less than half of the size.
        (&[CLOSED, OPEN, OPEN, OPEN, OPEN], &[4, 1]),
        (&[OPEN, OPEN, OPEN, CLOSED, OPEN], &[4, 1]),
        // All the rest fits.
        (&[OPEN, CLOSED, OPEN, OPEN], &[4]),
    ];
    for (texts, expected) in table {
        assert_eq!(by_words(&lines(texts)), expected, "{texts:?}");
    }
}

#[test]
fn every_script_has_marks_that_end_a_sentence() {
    let ends = [
        "end.",
        "end!",
        "end?",
        "end…",
        "end...",
        "end.\"",
        "end.)",
        "end!”",
        "end.»",
        "完。",
        "完！」",
        "完？",
        "؟نعم؟",
        "نعم۔",
        "अंत।",
        "अंत॥",
        "վերջ։",
        "ပြီ။",
        "ចប់។",
        "ጨረሰ።",
    ];
    for end in ends {
        let closed = format!("one two three four five six seven {end}");
        let texts = [OPEN, OPEN, &closed, OPEN, OPEN];
        let found = chunks(video(), &lines(&texts), &query(ChunkBy::Tokens, 48, 0), &[]);
        assert_eq!(found.len(), 2, "{end}");
        assert!(found[0].text.ends_with(end), "{end}: {found:?}");
    }
    for open in ["end,", "end:", "3.5", "[Music]", "end", "end -", "¿end", "完，"] {
        let closed = format!("one two three four five six seven {open}");
        let texts = [OPEN, OPEN, &closed, OPEN, OPEN];
        let found = chunks(video(), &lines(&texts), &query(ChunkBy::Tokens, 48, 0), &[]);
        assert!(found[0].text.ends_with("eight"), "{open}: {found:?}");
    }
}

#[test]
fn a_pause_is_preferred_from_700_milliseconds_on() {
    let with_pause = |pause: u64| -> Vec<TranscriptLine> {
        let start = |index: u64| index * 2_000 + if index > 2 { pause } else { 0 };
        (0..6).map(|index| line(start(index), 2_000, OPEN)).collect()
    };
    for (pause, expected) in [(0, [4, 2]), (700, [4, 2]), (701, [3, 3])] {
        assert_eq!(by_words(&with_pause(pause)), expected, "{pause}");
    }
    // Captions that overlap, or have no duration, have no pause.
    let overlapping: Vec<_> = (0..6).map(|index| line(index * 2_000, 3_900, OPEN)).collect();
    assert_eq!(by_words(&overlapping), [4, 2]);
    let without: Vec<_> = (0..6).map(|index| line(index * 2_000, 0, OPEN)).collect();
    assert_eq!(by_words(&without), [4, 2]);
}

#[test]
fn a_chunk_ends_before_the_next_line_starts() {
    let lines = [
        line(1_500, 4_000, "Automatic captions\noverlap."),
        line(4_250, 3_000, " They  stay. "),
        line(5_000, 1_000, " \n "),
        line(90_999, 2_000, "Much later."),
    ];
    let found = chunks(video(), &lines, &query(ChunkBy::Sentences, 1, 0), &[]);
    let found = serde_json::to_value(found).expect("JSON");
    let url = |seconds: u64| format!("https://www.youtube.com/watch?v=dQw4w9WgXcQ&t={seconds}s");
    let expected = json!([
        {"index": 0, "text": "Automatic captions overlap.", "start": 1.5, "end": 4.25, "url": url(1)},
        {"index": 1, "text": "They stay.", "start": 4.25, "end": 7.25, "url": url(4)},
        {"index": 2, "text": "Much later.", "start": 90.999, "end": 92.999, "url": url(90)},
    ]);
    assert_eq!(found, expected);
    let back: Vec<Chunk> = serde_json::from_value(found).expect("chunks");
    assert_eq!(back.len(), 3);
}

#[test]
fn a_long_line_is_a_chunk_of_its_own() {
    let long = "word ".repeat(40);
    let all = lines(&["a b", &long, "c d", "e f"]);
    for overlap in [0, 8] {
        let found = chunks(video(), &all, &query(ChunkBy::Words, 16, overlap), &[]);
        assert_eq!(texts(&found), ["a b", long.trim_end(), "c d e f"], "{overlap}");
    }
}

#[test]
fn lines_are_sorted_and_an_empty_transcript_has_no_chunks() {
    let mut all = lines(&["a", "b", "c"]);
    all.reverse();
    assert_eq!(texts(&chunks(video(), &all, &ChunkQuery::default(), &[])), ["a b c"]);
    for by in
        [ChunkBy::Tokens, ChunkBy::Words, ChunkBy::Seconds, ChunkBy::Sentences, ChunkBy::Chapters]
    {
        let query = ChunkQuery::new(by, None, None).expect("defaults");
        assert_eq!(chunks(video(), &[], &query, &chapters(&[("A", 0)])), []);
        assert_eq!(chunks(video(), &[line(0, 1, "\u{a0}\n")], &query, &[]), []);
    }
}

#[test]
fn sentences_are_counted() {
    let all = lines(&[
        "Does it hurt? We",
        "tested for 167",
        "days. We bought",
        "12. All new.",
        "Then we",
    ]);
    let found = |size, overlap| {
        let found = chunks(video(), &all, &query(ChunkBy::Sentences, size, overlap), &[]);
        found.into_iter().map(|chunk| chunk.text).collect::<Vec<_>>()
    };
    assert_eq!(
        found(2, 0),
        ["Does it hurt? We tested for 167 days. We bought", "12. All new.", "Then we"]
    );
    assert_eq!(
        found(4, 0),
        ["Does it hurt? We tested for 167 days. We bought 12. All new.", "Then we"]
    );
    assert_eq!(
        found(4, 2),
        ["Does it hurt? We tested for 167 days. We bought 12. All new.", "12. All new. Then we"]
    );
    // Automatic captions without marks: 60 words are a sentence.
    let unmarked = lines(&[OPEN; 40]);
    let found = chunks(video(), &unmarked, &query(ChunkBy::Sentences, 1, 0), &[]);
    let counts: Vec<usize> = found.iter().map(|chunk| chunk.text.split(' ').count()).collect();
    assert_eq!(counts, [64, 64, 64, 64, 64]);
    // For other units these are no better borders than others.
    let found = chunks(video(), &unmarked, &query(ChunkBy::Words, 80, 0), &[]);
    let counts: Vec<usize> = found.iter().map(|chunk| chunk.text.split(' ').count()).collect();
    assert_eq!(counts, [80, 80, 80, 80]);
}

#[test]
fn seconds_are_counted_from_start_to_end() {
    let all: Vec<_> = (0..9).map(|index| line(index * 2_000, 3_500, OPEN)).collect();
    let found = chunks(video(), &all, &query(ChunkBy::Seconds, 6, 2), &[]);
    let times: Vec<(u64, u64)> =
        found.iter().map(|chunk| (chunk.start.as_millis(), chunk.end.as_millis())).collect();
    assert_eq!(
        times,
        [(0, 6_000), (4_000, 10_000), (8_000, 14_000), (12_000, 16_000), (14_000, 19_500)]
    );
}

#[test]
fn chapters_are_chunks() {
    let all = lines(&["a b", "c", "d", "e", "f"]);
    let whole = ChunkQuery::new(ChunkBy::Chapters, None, None).expect("defaults");
    let show = |query: &ChunkQuery, all: &[TranscriptLine], chapters: &[Chapter]| {
        let found = chunks(video(), all, query, chapters);
        let show = |chunk: Chunk| format!("{}: {}", chunk.chapter.unwrap_or_default(), chunk.text);
        found.into_iter().map(show).collect::<Vec<_>>()
    };
    // In any order. The third has no lines, and the first line is before the first chapter.
    let three = chapters(&[("Two", 6), ("One", 1), ("Three", 100)]);
    assert_eq!(show(&whole, &all, &three), [": a b", "One: c d", "Two: e f"]);
    // Without chapters: by tokens.
    let by_tokens = chunks(video(), &all, &ChunkQuery::default(), &[]);
    assert_eq!(chunks(video(), &all, &whole, &[]), by_tokens);
    // The chapter in which a chunk begins.
    assert_eq!(
        show(&ChunkQuery::default(), &all, &chapters(&[("A", 0), ("B", 4)])),
        ["A: a b c d e f"]
    );
    // Long chapters are divided by tokens, and chunks do not cross chapters.
    let long = lines(&[OPEN; 6]);
    let divided = show(&query(ChunkBy::Chapters, 24, 0), &long, &chapters(&[("A", 0), ("B", 6)]));
    let two = [OPEN, OPEN].join(" ");
    assert_eq!(
        divided,
        [format!("A: {two}"), format!("A: {OPEN}"), format!("B: {two}"), format!("B: {OPEN}")]
    );
    let overlapping =
        show(&query(ChunkBy::Chapters, 24, 12), &long, &chapters(&[("A", 0), ("B", 6)]));
    assert_eq!(
        overlapping,
        [format!("A: {two}"), format!("A: {two}"), format!("B: {two}"), format!("B: {two}")]
    );
}

/// A transcript with numbered words, so that each word is recognised in the chunks.
fn transcript() -> impl Strategy<Value = Vec<TranscriptLine>> {
    let ends = prop::sample::select(vec!["", "", "", ",", ".", "?", "。", "।", "؟", "!\""]);
    let line = (1_usize..14, ends, 0_u64..4_000, prop_oneof![Just(0_u64), 1..6_000_u64], 0_u8..12);
    prop::collection::vec(line, 0..80).prop_map(|rows| {
        let (mut start, mut number) = (0, 0);
        let row = |(count, end, step, duration, kind): (usize, &str, u64, u64, u8)| {
            start += step;
            let count = if kind == 0 { count * 8 } else { count };
            let word = |index: usize| {
                number += 1;
                let mark = if index % 5 == 4 { "." } else { "" };
                if kind == 1 { format!("語{number}話") } else { format!("w{number}{mark}") }
            };
            let words: Vec<String> = (0..count).map(word).collect();
            let separator = if kind == 2 { "\n" } else { " " };
            self::line(start, duration, &(words.join(separator) + end))
        };
        rows.into_iter().map(row).collect()
    })
}

fn any_query(overlapping: bool) -> impl Strategy<Value = ChunkQuery> {
    let units = prop::sample::select(vec![
        (ChunkBy::Tokens, 16_u64..200),
        (ChunkBy::Words, 16..100),
        (ChunkBy::Seconds, 5..60),
        (ChunkBy::Sentences, 1..10),
        (ChunkBy::Chapters, 16..200),
    ]);
    let sized = units.prop_flat_map(|(by, sizes)| (Just(by), sizes));
    let most = if overlapping { 100_u64 } else { 0 };
    (sized, 0..=most).prop_map(|((by, size), share)| query(by, size, size * share / 200))
}

/// The lines of each chunk, found by their texts. It fails if a chunk is not a run of whole lines.
fn ranges(lines: &[TranscriptLine], found: &[Chunk]) -> Vec<std::ops::Range<usize>> {
    let flat = |line: &TranscriptLine| line.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat: Vec<String> = lines.iter().map(flat).collect();
    let range = |chunk: &Chunk| {
        let first = chunk.text.split(' ').next().expect("a word");
        let start = flat.iter().position(|line| line.split(' ').next() == Some(first));
        let start = start.expect("it begins with a line");
        let mut text = flat[start].clone();
        let mut end = start + 1;
        while text.len() < chunk.text.len() {
            text = format!("{text} {}", flat[end]);
            end += 1;
        }
        assert_eq!(text, chunk.text, "it ends with a line");
        start..end
    };
    found.iter().map(range).collect()
}

/// The size of a chunk in its unit, counted a second time and not in the way of the library. It is
/// an upper limit for sentences, where a pause counts as well.
fn within(query: &ChunkQuery, text: &str, millis: u64, limit: u32) -> bool {
    let pieces = || text.split(' ');
    let chinese = |c: &char| ('\u{4e00}'..='\u{9fff}').contains(c) || *c == '。';
    match query.by() {
        ChunkBy::Tokens | ChunkBy::Chapters => estimate_tokens(text) <= limit as usize,
        ChunkBy::Words => {
            let latin = pieces().filter(|piece| piece.chars().any(|c| c.is_ascii_alphanumeric()));
            latin.count() + text.chars().filter(chinese).count() <= limit as usize
        }
        ChunkBy::Seconds => millis <= u64::from(limit) * 1_000,
        _ => {
            let ends = ['.', '?', '"', '。', '।', '؟'];
            pieces().filter(|piece| piece.ends_with(ends)).count() <= limit as usize
        }
    }
}

fn check(lines: &[TranscriptLine], query: &ChunkQuery, chapters: &[Chapter]) {
    let found = chunks(video(), lines, query, chapters);
    let ranges = ranges(lines, &found);
    let size = query.size().expect("a size");
    let mut expected_start = 0;
    for (index, (chunk, range)) in found.iter().zip(&ranges).enumerate() {
        assert_eq!(chunk.index, index);
        assert_eq!(chunk.start, lines[range.start].offset);
        let last = &lines[range.end - 1];
        let own = last.offset.as_millis() + last.duration.as_millis();
        let next = lines.get(range.end).map_or(u64::MAX, |next| next.offset.as_millis());
        assert_eq!(chunk.end.as_millis(), own.min(next));
        let millis = chunk.end.as_millis() - chunk.start.as_millis();
        assert!(range.len() == 1 || within(query, &chunk.text, millis, size), "{chunk:?}");

        // Lines that the chunk before has too, and at least one new line.
        assert!(range.start <= expected_start && range.end > expected_start, "{ranges:?}");
        let shared = &lines[range.start..expected_start];
        if let (Some(first), Some(last)) = (shared.first(), shared.last()) {
            assert!(index > 0 && range.start > ranges[index - 1].start, "{ranges:?}");
            let text = shared.iter().flat_map(|line| line.text.split_whitespace());
            let text = text.collect::<Vec<_>>().join(" ");
            let end = last.offset.as_millis() + last.duration.as_millis();
            let end = end.min(lines[expected_start].offset.as_millis());
            let millis = end - first.offset.as_millis();
            assert!(within(query, &text, millis, query.overlap()), "{text}");
        }
        if query.overlap() == 0 {
            assert_eq!(range.start, expected_start);
        }
        expected_start = range.end;
    }
    assert_eq!(expected_start, lines.len(), "every line is in a chunk");
    assert!(found.is_sorted_by_key(|chunk| (chunk.start, chunk.end)));
}

proptest! {
    #[test]
    fn without_overlap_every_word_is_in_one_chunk(lines in transcript(), query in any_query(false)) {
        check(&lines, &query, &[]);
        let found = chunks(video(), &lines, &query, &[]);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let before: Vec<String> = lines.iter().flat_map(|line| words(&line.text)).collect();
        let after: Vec<String> = found.iter().flat_map(|chunk| words(&chunk.text)).collect();
        prop_assert_eq!(before, after);
        for (chunk, next) in found.iter().zip(found.iter().skip(1)) {
            prop_assert!(chunk.end <= next.start);
        }
    }

    #[test]
    fn with_overlap_chunks_share_lines_and_make_progress(
        lines in transcript(),
        query in any_query(true),
    ) {
        check(&lines, &query, &[]);
    }

    #[test]
    fn no_chunk_crosses_a_chapter(
        lines in transcript(),
        starts in prop::collection::btree_set(0_u64..120, 1..6),
        size in 16_u64..200,
        share in 0_u64..=100,
    ) {
        let titles: Vec<(String, u64)> = starts.into_iter().map(|start| (format!("at {start}"), start)).collect();
        let titles: Vec<(&str, u64)> = titles.iter().map(|(title, start)| (title.as_str(), *start)).collect();
        let chapters = chapters(&titles);
        let title_at = |millis: u64| {
            let before = titles.iter().rfind(|(_, start)| start * 1_000 <= millis);
            before.map(|(title, _)| (*title).to_owned())
        };
        let query = query(ChunkBy::Chapters, size, size * share / 200);
        check(&lines, &query, &chapters);
        let found = chunks(video(), &lines, &query, &chapters);
        for (chunk, range) in found.iter().zip(ranges(&lines, &found)) {
            for line in &lines[range] {
                prop_assert_eq!(&chunk.chapter, &title_at(line.offset.as_millis()));
            }
        }
        // Whole chapters: one chunk each, in order.
        let whole = ChunkQuery::new(ChunkBy::Chapters, None, None).expect("defaults");
        let found = chunks(video(), &lines, &whole, &chapters);
        let mut expected: Vec<Option<String>> =
            lines.iter().map(|line| title_at(line.offset.as_millis())).collect();
        expected.dedup();
        let titles: Vec<Option<String>> = found.into_iter().map(|chunk| chunk.chapter).collect();
        prop_assert_eq!(titles, expected);
    }
}
