//! The texts of the documented oddities: short, and each with one difficulty.
//!
//! The texts are as a viewer reads them. Each format escapes them, splits them into words and adds tags.
//! The cues contain only details that no format adds: a missing length, a pen, a tag within the text.

use super::cue::{Cue, Piece};
use super::{Maker, Track};
use crate::quirk::Text;

/// The cues of a track with an odd text.
pub(super) fn cues(text: Text, track: &Track) -> Vec<Cue> {
    let rows: &[(u64, Option<u64>, &str)] = match text {
        Text::Entities => &[
            (0, Some(1540), "I'm sure it's \"fine\" & dandy"),
            (1540, Some(4160), "if a < b && b > c, don't <stop>"),
            (5700, Some(3239), "AT&T, R&D; &amp; isn't a typo here"),
            (9000, Some(2000), "l’été à 5 € – naïve façade…"),
        ],
        Text::Tags => &[
            (0, Some(1540), "this is <i>not</i> the original"),
            (1540, Some(2000), "<font color=\"#E5E5E5\">grey</font> and <b>bold</b>"),
            (3540, Some(2000), "<b><i>both</i></b> at once"),
        ],
        Text::NoDuration => &[
            (1000, None, "nobody says how long this lasts"),
            (4000, Some(2000), "this one lasts two seconds"),
            (17_100, None, "and the last has no end"),
        ],
        Text::EmptyCues => &[
            (0, Some(1540), "before the empty one"),
            (5000, Some(500), ""),
            (5700, Some(3239), "after the empty one"),
            (9000, Some(500), " "),
            (9500, Some(500), "\n"),
        ],
        Text::Newlines => &[
            (3093, Some(3300), "Today I want to talk\nabout subtitles again."),
            (6400, Some(4412), "One line,\nanother line,\nand a third."),
            (10_812, Some(2479), "\nleading and trailing\n"),
        ],
        Text::Noise => &[
            (320, Some(9000), "[Music]"),
            (9400, Some(3000), ">> Hello?"),
            (12_400, Some(3000), ">> MARTA: Who's there?"),
            (15_400, Some(2000), "[Applause]"),
            (17_400, Some(2000), "♪ la la la ♪"),
        ],
        Text::Arrows => &[
            (0, Some(2000), "from A --> B"),
            (2000, Some(2000), "above\n\nbelow a blank line"),
            (4000, Some(2000), "00:00:01.000 --> 00:00:02.000"),
            (6000, Some(2000), "WEBVTT\nNOTE not a note"),
            (8000, Some(2000), "42"),
        ],
        // Times that careless code rounds up to a whole second.
        Text::Rounding => &[
            (999, Some(1), "a thousandth before the second"),
            (1999, Some(1000), "1.999"),
            (59_999, Some(1), "59.999"),
            (3_599_999, Some(1), "the last of the hour"),
            (360_000_123, Some(877), "after a hundred hours"),
        ],
        Text::OutOfOrder => &[
            (4000, Some(2000), "second"),
            (0, Some(4000), "first"),
            (8000, Some(0), "no time at all"),
            (8000, Some(2000), "at the same moment"),
            (6000, Some(2000), "third"),
        ],
        Text::Scripts => &[
            (0, Some(2000), "日本語と한국어 🎌"),
            (2000, Some(2000), "שלום, ‏مرحبا"),
            (4000, Some(2000), "👩‍🚀 e\u{301} \u{200b}zero\u{200b}width\u{a0}no-break"),
            (6000, Some(2000), "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﬁn \u{feff}"),
        ],
        Text::Styled => return styled(),
        Text::Ruby => return ruby(),
    };
    let cue = |(start, length, text): &(u64, Option<u64>, &str)| Cue::plain(*start, *length, text);
    let plain = rows.iter().map(cue);
    if track.maker == Maker::Machine { plain.map(spoken).collect() } else { plain.collect() }
}

/// Splits a cue into words, as in generated tracks.
fn spoken(cue: Cue) -> Cue {
    let text = cue.text();
    if text.trim().is_empty() || text.starts_with(['[', '♪']) {
        return cue;
    }
    let words = text.split_inclusive(' ').map(str::trim_end).enumerate().map(|(n, word)| Piece {
        text: if n == 0 { word.to_owned() } else { format!(" {word}") },
        offset: (n > 0).then_some(n as u64 * 200),
        confidence: Some(if n.is_multiple_of(3) { 0 } else { 159 }),
        pen: None,
    });
    Cue { pieces: words.collect(), ..cue }
}

fn piece(text: &str, pen: u8) -> Piece {
    Piece { text: text.to_owned(), pen: Some(pen), ..Piece::default() }
}

/// Pens inside a cue, surrounded by zero-width spaces as caption editors write them.
fn styled() -> Vec<Cue> {
    vec![
        Cue {
            start: 1,
            length: Some(4988),
            pieces: vec![
                piece("\u{200b}", 1),
                piece("\u{200b} \u{200b}Default ", 2),
                piece("bold ", 3),
                piece("and italic\u{200b}", 4),
            ],
        },
        Cue {
            start: 5000,
            length: Some(3000),
            pieces: vec![
                piece("over here ", 1),
                Piece {
                    text: "karaoke".to_owned(),
                    offset: Some(500),
                    pen: Some(2),
                    ..Piece::default()
                },
            ],
        },
        Cue::plain(9000, Some(2000), "no pen at all"),
    ]
}

/// Readings above characters: base, bracket, reading, bracket.
fn ruby() -> Vec<Cue> {
    let base = |text| piece(text, 5);
    vec![
        Cue {
            start: 0,
            length: Some(4000),
            pieces: vec![
                base("漢字"),
                piece("(", 6),
                piece("かんじ", 7),
                piece(")", 6),
                Piece { text: "を読む".to_owned(), ..Piece::default() },
            ],
        },
        Cue::plain(4000, Some(3000), "ふりがなのない行"),
    ]
}
