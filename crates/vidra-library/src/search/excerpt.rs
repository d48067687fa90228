//! The moment of a hit: its times, its text and its highlights.

use std::ops::Range;

use vidra::transcript::{Cue, FullTranscript};
use vidra::{Seconds, VideoId};

use super::{Clause, HitMoment};
use crate::passage::{PassageStart, Speech, SpokenToken, chapter_at};

/// The most captions of an excerpt on each side of its moment.
const MOST_CUES: usize = 200;

/// The most characters of a description around a word.
const DESCRIPTION: usize = 200;

/// A match of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClauseMatch {
    clause: usize,
    /// The index of its first token, and the one after its last.
    start: usize,
    end: usize,
    /// Whether its last token may be longer than the query says.
    is_open: bool,
}

/// The tokens of a passage, and those of the next one, in which its last phrase can end.
#[derive(Debug)]
pub(crate) struct Passage {
    tokens: Vec<SpokenToken>,
    /// The number of tokens of the passage itself. Only a match that begins there belongs to it.
    own: usize,
    /// The index of the first caption.
    first_cue: usize,
}

impl Passage {
    /// The passage with this index. `None` if the layout has no such passage.
    pub(crate) fn new(cues: &[Cue], layout: &[PassageStart], index: usize) -> Option<Self> {
        let start = *layout.get(index)?;
        // A passage can end inside a caption.
        let end_of = |index: usize| layout.get(index).map_or(cues.len(), |it| it.cue + 1);
        let (own_end, end) = (layout.get(index + 1), end_of(index + 2).min(cues.len()));
        let mut tokens = Speech::new(cues.get(start.cue..end)?).tokens();
        tokens.drain(..start.token.min(tokens.len()));
        let own = match own_end {
            Some(next) => {
                let is_before = |it: &SpokenToken| start.cue + it.cue < next.cue;
                let before = tokens.iter().filter(|it| is_before(it)).count();
                // The tokens of the next passage's first caption that belong to this one.
                let skipped = if next.cue == start.cue { start.token } else { 0 };
                (before + next.token).saturating_sub(skipped)
            }
            None => tokens.len(),
        };
        Some(Self { own: own.min(tokens.len()), tokens, first_cue: start.cue })
    }

    /// How often the clauses match in the passage.
    pub(crate) fn count(&self, clauses: &[Clause]) -> usize {
        self.found(clauses).len()
    }

    fn found(&self, clauses: &[Clause]) -> Vec<ClauseMatch> {
        let mut found = matches(&self.tokens, clauses);
        found.retain(|it| it.start < self.own);
        found
    }
}

/// The matches of the clauses, in order.
fn matches(tokens: &[SpokenToken], clauses: &[Clause]) -> Vec<ClauseMatch> {
    let mut found = vec![];
    for start in 0..tokens.len() {
        for (clause, it) in clauses.iter().enumerate() {
            for atom in it.atoms.iter().filter(|it| !it.is_title) {
                if atom.matches_at(tokens, start) {
                    let (end, is_open) = (start + atom.tokens.len(), atom.is_prefix);
                    found.push(ClauseMatch { clause, start, end, is_open });
                }
            }
        }
    }
    found
}

/// The shortest range of tokens with a match of every clause that has any.
fn shortest(found: &[ClauseMatch], clauses: usize) -> Option<Range<usize>> {
    let mut counts = vec![0_usize; clauses];
    let present = (0..clauses).filter(|clause| found.iter().any(|it| it.clause == *clause)).count();
    let (mut covered, mut first, mut best) = (0, 0, None::<(usize, Range<usize>)>);
    for (last, it) in found.iter().enumerate() {
        covered += usize::from(counts[it.clause] == 0);
        counts[it.clause] += 1;
        while covered == present {
            let range = found[first].start..it.end.max(found[first].end);
            if best.as_ref().is_none_or(|(length, _)| range.len() < *length) {
                best = Some((range.len(), range));
            }
            counts[found[first].clause] -= 1;
            covered -= usize::from(counts[found[first].clause] == 0);
            first += 1;
        }
        debug_assert!(first <= last + 1);
    }
    best.map(|(_, range)| range)
}

/// A transcript whose passages are shown.
#[derive(Debug)]
pub(crate) struct Excerpt<'a> {
    pub(crate) transcript: &'a FullTranscript,
    pub(crate) layout: &'a [PassageStart],
    pub(crate) clauses: &'a [Clause],
    /// The seconds of text around a moment: half of them before it, half after it.
    pub(crate) context: u64,
}

impl Excerpt<'_> {
    /// The moment of a passage. `None` if nothing matches there.
    pub(crate) fn moment(&self, index: usize) -> Option<HitMoment> {
        let cues = &self.transcript.cues;
        let passage = Passage::new(cues, self.layout, index)?;
        let range = shortest(&passage.found(self.clauses), self.clauses.len())?;
        let cue_of = |token: usize| passage.first_cue + passage.tokens[token].cue;
        let (first, last) = (cue_of(range.start), cue_of(range.end - 1));
        let (start, end) = (cues[first].start, end_of(cues, last));
        let around = self.around(first, last);
        let speech = Speech::new(&cues[around]);
        let tokens = speech.tokens();
        let found = matches(&tokens, self.clauses);
        let highlights = highlights(&speech.text, &tokens, &found);
        let info = &self.transcript.info;
        Some(HitMoment {
            start: Seconds::from_millis(start),
            end: Seconds::from_millis(end),
            url: info.video_id.url_at(start / 1_000),
            chapter: chapter_at(&self.transcript.chapters, start).map(str::to_owned),
            field: None,
            text: speech.text,
            highlights,
        })
    }

    /// The captions around these.
    fn around(&self, first: usize, last: usize) -> Range<usize> {
        let cues = &self.transcript.cues;
        let half = self.context * 500;
        let (start, end) = (cues[first].start, end_of(cues, last));
        let is_near = |index: &usize| half > 0 && end_of(cues, *index) + half > start;
        let before = (0..first).rev().take(MOST_CUES).take_while(is_near).count();
        let after = cues[last + 1..].iter().take(MOST_CUES);
        let after = after.take_while(|it| it.start < end + half && half > 0).count();
        first - before..last + 1 + after
    }
}

/// The end of a caption. Automatic captions stay on the screen while the next one is spoken.
fn end_of(cues: &[Cue], index: usize) -> u64 {
    let end = cues[index].start + cues[index].duration;
    cues.get(index + 1).map_or(end, |next| end.min(next.start.max(cues[index].start)))
}

/// The moment of a hit in a title or a description. `None` if nothing matches there. Words without `title:` count only if
/// `includes_plain`.
pub(crate) fn field_moment(
    video: VideoId,
    field: &'static str,
    text: &str,
    clauses: &[Clause],
    includes_plain: bool,
) -> Option<HitMoment> {
    let spoken = |text: &str| {
        let mut speech = Speech::new(&[Cue::new(0, 0, "")]);
        speech.text = text.to_owned();
        speech.tokens()
    };
    let is_for = |it: &super::Atom| if it.is_title { field == "title" } else { includes_plain };
    let clauses: Vec<Clause> = clauses
        .iter()
        .map(|clause| {
            let atoms = clause.atoms.iter().filter(|it| is_for(it)).cloned();
            Clause { atoms: atoms.map(|it| super::Atom { is_title: false, ..it }).collect() }
        })
        .collect();
    let tokens = spoken(text);
    let first = *matches(&tokens, &clauses).first()?;
    let text = match field {
        "description" => around(text, tokens[first.start].range.start),
        _ => text,
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tokens = spoken(&text);
    let highlights = highlights(&text, &tokens, &matches(&tokens, &clauses));
    Some(HitMoment {
        start: Seconds::from_millis(0),
        end: Seconds::from_millis(0),
        url: video.url(),
        chapter: None,
        field: Some(field),
        text,
        highlights,
    })
}

/// The text around a byte: whole words, about [`DESCRIPTION`] characters on each side.
fn around(text: &str, at: usize) -> &str {
    let start = text[..at].char_indices().rev().nth(DESCRIPTION).map_or(0, |(byte, _)| byte);
    let end = text[at..].char_indices().nth(DESCRIPTION).map_or(text.len(), |(byte, _)| at + byte);
    let start = match start {
        0 => 0,
        _ => text[start..at].find(char::is_whitespace).map_or(start, |byte| start + byte),
    };
    let end = match end == text.len() {
        true => end,
        false => text[at..end].rfind(char::is_whitespace).map_or(end, |byte| at + byte),
    };
    &text[start..end.max(start)]
}

/// The matches as ranges of characters, in order and without overlap.
fn highlights(text: &str, tokens: &[SpokenToken], found: &[ClauseMatch]) -> Vec<[usize; 2]> {
    let mut ranges: Vec<Range<usize>> = found
        .iter()
        .map(|it| {
            let last = &tokens[it.end - 1];
            // The last character of a script without spaces is found as the beginning of a pair.
            let end = last.head_end.filter(|_| it.is_open).unwrap_or(last.range.end);
            tokens[it.start].range.start..end
        })
        .collect();
    ranges.sort_by_key(|it| (it.start, it.end));
    let mut merged: Vec<Range<usize>> = vec![];
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    // One pass over the text for all ranges.
    let (mut byte, mut character) = (0, 0);
    let mut position = |at: usize| {
        character += text[byte..at].chars().count();
        byte = at;
        character
    };
    merged.into_iter().map(|range| [position(range.start), position(range.end)]).collect()
}

#[cfg(test)]
mod tests;
