//! How often something was said, by time of publication.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use vidra::Result;

use super::candidates::{Condition, Track, candidates};
use super::hits::note;
use super::postings::{Reader, passage_of, transcript_of};
use crate::search::{Atom, Clause, Passage, Period, TextQuery, TextSearch, Trend, Trends};
use crate::store::index;
use crate::store::sql::Connection;

/// The most passages that are read to count how often phrases were said there.
const COUNTED_PASSAGES: usize = 2_000;

pub(crate) fn trends(
    connection: &Connection,
    request: &TextSearch,
    period: Period,
) -> Result<Trends> {
    let condition = Condition::new(connection, &request.filter)?;
    let (coverage, _) = condition.coverage(connection, i64::MAX)?;
    let all = condition.tracks(connection, i64::MAX)?;
    let mut trends: BTreeMap<Option<String>, Trend> = BTreeMap::new();
    let of = |track: &Track| {
        let at = track.published_at.and_then(|at| Timestamp::from_millisecond(at).ok());
        at.map(|at| period.label(at))
    };
    for track in &all {
        trends.entry(of(track)).or_default().words += track.words.unsigned_abs();
    }
    let mut is_approximate = false;
    if let Some(index) = index::active(connection)? {
        let reader = Reader::new(connection, index.number, i64::MAX >> 17);
        let found = candidates(&reader, request, &condition)?;
        let counts;
        (counts, is_approximate) = counts_of(&reader, request, &found)?;
        for track in &found {
            let trend = trends.entry(of(track)).or_default();
            trend.videos += 1;
            trend.count += counts.get(&track.transcript).copied().unwrap_or(0);
        }
    }
    let mut items: Vec<Trend> = trends
        .into_iter()
        .map(|(period, trend)| {
            let per_million = trend.count as f64 * 1e6 / (trend.words as f64).max(1.0);
            let per_million = (per_million * 100.0).round() / 100.0;
            Trend { period, per_million, ..trend }
        })
        .collect();
    let undated = items.iter().position(|it| it.period.is_none()).map(|at| items.remove(at));
    let has_matches = items.iter().chain(&undated).any(|it| it.videos > 0);
    let note = note(&request.filter, coverage, has_matches);
    Ok(Trends { items, undated, coverage, approximate: is_approximate, note })
}

/// The words and phrases of a query that are counted. A word that is named twice, or that a prefix includes, counts once.
fn counted_atoms(query: &TextQuery) -> Vec<&Atom> {
    let includes = |it: &Atom, other: &Atom| match (&it.tokens[..], &other.tokens[..]) {
        _ if it == other => true,
        ([prefix], [word]) => it.is_prefix && word.starts_with(prefix.as_str()),
        _ => false,
    };
    let mut counted: Vec<&Atom> = vec![];
    for atom in query.atoms().filter(|it| !it.is_title) {
        if !counted.iter().any(|it| includes(it, atom)) {
            counted.retain(|it| !includes(atom, it));
            counted.push(atom);
        }
    }
    counted
}

/// How often the words and phrases of a query were said in each of the tracks, and whether phrases were counted once a
/// passage.
fn counts_of(
    reader: &Reader,
    request: &TextSearch,
    found: &[Track],
) -> Result<(HashMap<i64, u64>, bool)> {
    let included: HashSet<i64> = found.iter().map(|it| it.transcript).collect();
    let mut counts: HashMap<i64, u64> = HashMap::new();
    let mut is_approximate = false;
    let mut unread = COUNTED_PASSAGES;
    for atom in counted_atoms(&request.query) {
        let rows = match atom.is_phrase() {
            true => reader.phrase_everywhere(atom)?,
            false => reader.instances(atom, None, usize::MAX)?.unwrap_or_default(),
        };
        let rows: Vec<(i64, u32)> =
            rows.into_iter().filter(|(row, _)| included.contains(&transcript_of(*row))).collect();
        let is_read = atom.is_phrase() && rows.len() <= unread;
        is_approximate |= atom.is_phrase() && !is_read;
        unread -= if is_read { rows.len() } else { 0 };
        let clause = [Clause { atoms: vec![atom.clone()] }];
        let mut text = None;
        for (row, count) in rows {
            let number = transcript_of(row);
            let mut count = u64::from(count);
            if is_read {
                if !matches!(&text, Some((known, _)) if *known == number) {
                    text = Some((number, reader.transcript(number)?));
                }
                if let Some((_, Some((transcript, layout)))) = &text {
                    let passage = Passage::new(&transcript.cues, layout, passage_of(row));
                    count = passage.map_or(count, |it| it.count(&clause) as u64);
                }
            }
            *counts.entry(number).or_default() += count;
        }
    }
    Ok((counts, is_approximate))
}
