//! The speech of a video: words with times, grouped into lines.

use super::cue::{Cue, Piece};
use super::{Maker, Track};
use crate::quirk::{Scene, Tracks};
use crate::world::World;
use crate::world::text::speech::{self, Speech, about};
use crate::world::video::Video;

/// Twenty minutes of speech, in milliseconds. A longer video spreads the same words over its length:
/// otherwise the captions of a nine-hour stream would be ten megabytes without testing more.
const MAX_SPEECH: u64 = 1_200_000;
/// A longer pause ends a line.
const SILENCE: u64 = 4000;
/// The longest time that a generated cue stays during silence.
const MAX_SILENT_CUE: u64 = 8000;
/// Since 2024 the recognition writes capitals and full stops.
const PUNCTUATED: i64 = 1_704_067_200;
const REMINDER_INTERVAL: u64 = 14;

/// A word and its start.
struct Word {
    text: String,
    at: u64,
    /// Whether it is the first word of a sentence.
    first: bool,
}

impl World {
    /// The cues of an ordinary track.
    pub(super) fn spoken(&self, video: &Video, track: &Track) -> Vec<Cue> {
        let words = self.words(video, track.language);
        let joined = speech::runs_together(track.language);
        let mut cues = match track.maker {
            Maker::Machine => {
                rolling(&words, joined, video.published >= PUNCTUATED || video.scene.is_some())
            }
            _ => by_hand(&words, joined),
        };
        if track.maker == Maker::Forced {
            // Forced tracks contain only speech in another language: a few lines.
            cues = cues.into_iter().step_by(6).collect();
        }
        if let Some(first) = cues.first_mut().filter(|_| !track.name.is_empty()) {
            *first = first.with_text(&format!("[{}] {}", track.name, first.text()));
        }
        // Music before the first word, which only generated tracks mention.
        if let Some(first) =
            cues.first().filter(|cue| track.maker == Maker::Machine && cue.start > 2500)
        {
            cues.insert(0, Cue::plain(320, Some(first.start + 1200), "[Music]"));
        }
        cues
    }

    /// The words of a video: one sentence after the other until it ends.
    fn words(&self, video: &Video, language: &str) -> Vec<Word> {
        let at = [u64::from(video.key.0), u64::from(video.key.1)];
        let mut dice = self.dice("speech", &at);
        let end = (video.seconds * 1000).saturating_sub(1500).max(5000);
        let whole = video.scene == Some(Scene::Tracks(Tracks::OneHour));
        let stretch = if whole { 1 } else { end.div_ceil(MAX_SPEECH) };
        let mut now = if dice.chance(30) { 4000 } else { 80 + dice.below(600) };
        // One video in four has two speakers. The recognition marks the change of speaker.
        let voices = dice.chance(25);
        let first = dice.next();
        let mut words = Vec::new();
        for n in 0.. {
            if now >= end {
                break;
            }
            let mut sentence = sentence(video, language, first, n);
            if voices && n % 3 == 2 {
                sentence.insert_str(0, ">> ");
            }
            let begun = now;
            now =
                append_sentence(&sentence, language, now, end, &mut words) + 300 + dice.below(500);
            now += (now - begun) * (stretch - 1);
        }
        words
    }
}

/// The n-th sentence of a video.
fn sentence(video: &Video, language: &str, first: u64, n: u64) -> String {
    let marked = speech::speech(language);
    let mark = if marked.is_none() { format!("[{language}] ") } else { String::new() };
    let Some(Speech { opening, reminder, sentences }) = marked.or_else(|| speech::speech("en"))
    else {
        return mark;
    };
    let plain = match n {
        0 => opening.replace("{}", &video.title),
        n if n % REMINDER_INTERVAL == 0 => reminder.replace("{}", &video.title),
        n => {
            let themed = if language.starts_with("en") { about(video.channel.theme) } else { &[] };
            let all = (sentences.len() + themed.len()) as u64;
            // A stride that is coprime to the number of sentences uses every sentence before it repeats one.
            let stride =
                [7, 5, 11, 13, 3].into_iter().find(|s| !all.is_multiple_of(*s)).unwrap_or(1);
            let pick = (first % all + n * stride) % all;
            themed
                .iter()
                .chain(sentences)
                .nth(pick as usize)
                .copied()
                .unwrap_or_default()
                .to_owned()
        }
    };
    mark + &plain
}

/// Appends the words of a sentence with their times. Returns the end of the sentence.
fn append_sentence(
    sentence: &str,
    language: &str,
    from: u64,
    end: u64,
    words: &mut Vec<Word>,
) -> u64 {
    let mut now = from;
    let mut first = true;
    for word in split(sentence, language) {
        if now >= end {
            break;
        }
        let length = 120 + 50 * word.chars().count() as u64;
        words.push(Word { text: word, at: now, first });
        now += length;
        first = false;
    }
    now
}

/// Splits a sentence into words. In languages without spaces a word is two characters; words of other
/// scripts stay whole and keep the space after them.
fn split(sentence: &str, language: &str) -> Vec<String> {
    if !speech::runs_together(language) {
        return sentence.split_whitespace().map(str::to_owned).collect();
    }
    let foreign = |c: char| c < '\u{2e80}' && c != ' ';
    let mut words: Vec<String> = Vec::new();
    let mut pair = 0;
    for c in sentence.chars() {
        let open = words.last_mut().filter(|word| match c {
            ' ' => true,
            c if foreign(c) => word.ends_with(foreign),
            _ => pair == 1 && !word.ends_with(' ') && !word.ends_with(foreign),
        });
        pair = if foreign(c) || c == ' ' { 0 } else { pair % 2 + 1 };
        match open {
            Some(word) => word.push(c),
            None => words.push(c.to_string()),
        }
    }
    words
}

/// Groups words into lines of at most `most` characters.
fn lines<'a>(words: &'a [Word], most: usize, sentences: bool) -> Vec<&'a [Word]> {
    let mut lines = Vec::new();
    let (mut start, mut width) = (0, 0);
    for (n, word) in words.iter().enumerate() {
        let length = word.text.chars().count() + 1;
        let silence = n > 0 && word.at - words[n - 1].at > SILENCE;
        let turn = silence || word.text == ">>" || (sentences && word.first);
        if n > start && (width + length > most || turn) {
            lines.push(&words[start..n]);
            (start, width) = (n, 0);
        }
        width += length;
    }
    lines.push(&words[start..]);
    lines.retain(|line: &&'a [Word]| !line.is_empty());
    lines
}

/// Generated cues. Each ends when the cue after the next one starts, so almost all overlap.
fn rolling(words: &[Word], joined: bool, punctuated: bool) -> Vec<Cue> {
    let lines = lines(words, if joined { 20 } else { 40 }, false);
    let starts: Vec<u64> = lines.iter().map(|line| line[0].at).collect();
    let last = words.last().map_or(0, |word| word.at + 1400);
    let cue = |(n, line): (usize, &&[Word])| {
        let spoken = line.last().map_or(last, |word| word.at + MAX_SILENT_CUE);
        let next = starts.get(n + 2).copied().unwrap_or(last);
        let until = next.min(spoken).max(starts[n] + 500);
        let pieces = line.iter().enumerate().map(|(i, word)| Piece {
            text: recognised(&word.text, i > 0 && !joined, punctuated),
            offset: (i > 0).then_some(word.at - starts[n]),
            // Since 2025 the confidence is always 0.
            confidence: Some(if punctuated {
                0
            } else {
                (160 + (word.at + word.text.len() as u64) % 96) as u8
            }),
            pen: None,
        });
        Cue { start: starts[n], length: Some(until - starts[n]), pieces: pieces.collect() }
    };
    lines.iter().enumerate().map(cue).collect()
}

fn recognised(word: &str, spaced: bool, punctuated: bool) -> String {
    let space = if spaced { " " } else { "" };
    if punctuated {
        return format!("{space}{word}");
    }
    let bare = word.trim_end_matches(['.', ',', '!', '?', '。', '、', '，', ';']).trim_matches('"');
    format!("{space}{}", bare.to_lowercase())
}

/// Manual cues: whole phrases on one or two lines, without overlap.
fn by_hand(words: &[Word], joined: bool) -> Vec<Cue> {
    let lines = lines(words, if joined { 36 } else { 80 }, true);
    let starts: Vec<u64> = lines.iter().map(|line| line[0].at).collect();
    let cue = |(n, line): (usize, &&[Word])| {
        let spoken = line.last().map_or(0, |word| word.at + 700) - starts[n];
        let free = starts.get(n + 1).map_or(spoken, |next| next - starts[n]);
        let texts: Vec<&str> = line.iter().map(|word| word.text.as_str()).collect();
        Cue::plain(starts[n], Some(spoken.min(free)), &folded(&texts, joined))
    };
    lines.iter().enumerate().map(cue).collect()
}

/// Joins words, on two lines if one would be too long.
fn folded(words: &[&str], joined: bool) -> String {
    let space = if joined { "" } else { " " };
    let whole = words.join(space);
    if whole.chars().count() <= if joined { 18 } else { 42 } {
        return whole;
    }
    let (upper, lower) = words.split_at(words.len().div_ceil(2));
    format!("{}\n{}", upper.join(space), lower.join(space))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_cues_overlap_and_manual_cues_do_not() {
        let world = World::new(1);
        let mut video = world.video((0, 1)).expect("the cast has videos");
        video.seconds = 600;
        let track = |maker| Track { language: "en", maker, name: "", variant: None };
        let machine = world.spoken(&video, &track(Maker::Machine));
        assert!(machine.windows(2).all(|pair| pair[0].start < pair[1].start));
        let overlapping = machine.windows(2).filter(|pair| pair[0].end() > pair[1].start).count();
        assert!(overlapping * 10 > machine.len() * 9);
        let person = world.spoken(&video, &track(Maker::Person));
        assert!(person.windows(2).all(|pair| pair[0].end() <= pair[1].start));
        let opening: String = person.iter().take(3).map(|cue| cue.text() + " ").collect();
        assert!(opening.replace('\n', " ").contains(&video.title), "{opening}");
        let end = machine.last().map_or(0, Cue::end) / 1000;
        assert!(end <= video.seconds + 1 && end + 10 > video.seconds, "{end} {}", video.seconds);
    }

    #[test]
    fn words_of_other_scripts_are_not_split() {
        let words = split("今日はFinding the moonです。", "ja");
        assert_eq!(words, ["今日", "は", "Finding ", "the ", "moon", "です", "。"]);
        assert_eq!(split("just three words", "en").len(), 3);
    }

    #[test]
    fn videos_of_any_length_have_words() {
        let world = World::new(1);
        for language in ["en", "de", "ja", "zh-Hant", "tr"] {
            for seconds in [0, 1, 12, 1200, 36_001, 604_800] {
                let mut video = world.video((0, 0)).expect("the cast has videos");
                video.seconds = seconds;
                let words = world.words(&video, language);
                assert!(!words.is_empty() && words.len() < 6000, "{language} {seconds}");
            }
        }
    }
}
