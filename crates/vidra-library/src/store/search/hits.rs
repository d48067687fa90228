//! A page of hits.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use vidra::Result;

use super::candidates::{Condition, Track, candidates};
use super::expression;
use super::page::{PageTexts, Ranked, spoken_clauses};
use super::postings::{Reader, passage_of, summed, transcript_of};
use crate::passage::CHAPTER;
use crate::search::{
    Clause, HitItem, HitPage, HitTotal, LibraryFilter, Postings, Scored, SearchCoverage,
    SearchGroup, SearchSort, TextSearch, merge,
};
use crate::store::index;
use crate::store::sql::Connection;

/// The average number of words of a passage, to estimate the number of passages.
const PASSAGE_WORDS: u64 = 100;

/// How many passages, and of how many of the first videos by publication, are ranked if there are too many.
const FIRST_PASSAGES: usize = 5_000;
const FIRST_VIDEOS: usize = 300;

/// The most occurrences of a word in chapter titles that raise a score.
const CHAPTER_OCCURRENCES: usize = 20_000;

/// Where a list of hits continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The newest transcript when the first page was read. Later ones are not in the list, so that its order stays.
    pub(crate) last: i64,
    /// How many items came before.
    pub(crate) offset: usize,
}

impl Cursor {
    /// The cursor, or that of the first page.
    pub(super) fn or_first(cursor: Option<Self>, connection: &Connection) -> Result<Self> {
        let newest = "SELECT coalesce(max(transcript), 0) FROM search_tracks";
        let newest: i64 = connection.query_row(newest, (), |row| row.get(0))?;
        // A number beyond the newest transcript would overflow in the rows of its passages.
        Ok(cursor.map_or(Self { last: newest, offset: 0 }, |Self { last, offset }| Self {
            last: last.min(newest),
            offset,
        }))
    }
}

/// All moments in their order.
struct Ranking {
    moments: Vec<Ranked>,
    total: HitTotal,
}

/// A page of hits, and where the next one begins.
pub(crate) fn search(
    connection: &Connection,
    request: &TextSearch,
    cursor: Option<Cursor>,
    limit: usize,
) -> Result<(HitPage, Option<Cursor>)> {
    let condition = Condition::new(connection, &request.filter)?;
    let Cursor { last, offset } = Cursor::or_first(cursor, connection)?;
    let (coverage, words) = condition.coverage(connection, last)?;
    let active = index::active(connection)?;
    let Some(index) = active.filter(|_| coverage.videos > 0) else {
        let page = HitPage {
            items: vec![],
            next_cursor: None,
            total: HitTotal::default(),
            coverage,
            note: note(&request.filter, coverage, false),
        };
        return Ok((page, None));
    };
    let reader = Reader::new(connection, index.number, last);
    let found = candidates(&reader, request, &condition)?;
    // How rare a word is does not depend on the filter.
    let words = match request.filter == LibraryFilter::default() {
        true => words,
        false => all_words(&reader)?,
    };
    let ranking = rank(&reader, request, &found, words / PASSAGE_WORDS)?;
    let texts = PageTexts::new(&reader, request);
    let end = offset.saturating_add(limit);
    let (items, has_more) = match request.group {
        SearchGroup::Moment => {
            let all = &ranking.moments;
            let page = &all[offset.min(all.len())..end.min(all.len())];
            let items = texts.hits(page)?.into_iter().map(HitItem::Moment).collect();
            (items, all.len() > end)
        }
        SearchGroup::Video => {
            let videos = by_video(&ranking.moments);
            let page = &videos[offset.min(videos.len())..end.min(videos.len())];
            let items = texts.videos(page)?.into_iter().map(HitItem::Video).collect();
            (items, videos.len() > end)
        }
    };
    let note = note(&request.filter, coverage, !ranking.moments.is_empty());
    let next = has_more.then_some(Cursor { last, offset: offset + limit });
    let page = HitPage { items, next_cursor: None, total: ranking.total, coverage, note };
    Ok((page, next))
}

/// The reason why there are no matches, as a sentence. `None` if there are any.
pub(super) fn note(
    filter: &LibraryFilter,
    coverage: SearchCoverage,
    has_matches: bool,
) -> Option<String> {
    Some(match coverage.videos {
        _ if has_matches => return None,
        0 if *filter == LibraryFilter::default() => "The library has no transcripts".to_owned(),
        0 => "No stored transcript matches the filters".to_owned(),
        1 => "No match in the one video that was searched".to_owned(),
        videos => format!("No match in the {videos} videos that were searched"),
    })
}

/// The videos of moments in the order of their first moments, each with its moments.
fn by_video(moments: &[Ranked]) -> Vec<Vec<Ranked>> {
    let mut positions = HashMap::new();
    let mut videos: Vec<Vec<Ranked>> = vec![];
    for moment in moments {
        let position = *positions.entry(moment.transcript).or_insert(videos.len());
        match videos.get_mut(position) {
            Some(all) => all.push(*moment),
            None => videos.push(vec![*moment]),
        }
    }
    videos
}

/// The number of words of all transcripts.
fn all_words(reader: &Reader) -> Result<u64> {
    let all = Condition::new(reader.connection, &LibraryFilter::default())?;
    all.coverage(reader.connection, reader.last).map(|(_, words)| words)
}

/// Puts the moments of the tracks, which are in the order of their numbers, into the order of the request. The library has
/// about this many passages.
fn rank(reader: &Reader, request: &TextSearch, found: &[Track], passages: u64) -> Result<Ranking> {
    let clauses = spoken_clauses(request);
    let ordered = by_publication(found, request.sort);
    let (postings, is_approximate) = all_postings(reader, &clauses, found, &ordered)?;
    let mut scored = merge(&postings, passages);
    retain_found(&mut scored, &ordered);
    retain_best(&mut scored);
    let spoken: HashSet<i64> = scored.iter().map(|it| transcript_of(it.row)).collect();
    let total = total(scored.len(), &spoken, found, is_approximate);
    match request.sort {
        SearchSort::Relevance => {
            boost(reader, &clauses, &mut scored)?;
            scored.sort_unstable_by(|a, b| {
                let by_score = b.clauses.cmp(&a.clauses).then(b.score.total_cmp(&a.score));
                by_score.then((a.position, a.row).cmp(&(b.position, b.row)))
            });
        }
        _ => scored.sort_unstable_by_key(|it| (it.position, it.row)),
    }
    let mut moments: Vec<(u32, Ranked)> = scored
        .iter()
        .map(|it| {
            let passage = Some(passage_of(it.row));
            (it.position, Ranked { transcript: transcript_of(it.row), passage })
        })
        .collect();
    // In an approximate ranking, the captions of the other videos were not looked at.
    if !is_approximate {
        let others = (0..).zip(&ordered).filter(|(_, it)| !spoken.contains(&it.transcript));
        moments.extend(
            others.map(|(position, it)| {
                (position, Ranked { transcript: it.transcript, passage: None })
            }),
        );
    }
    if request.sort != SearchSort::Relevance {
        moments.sort_by_key(|(position, _)| *position);
    }
    Ok(Ranking { moments: moments.into_iter().map(|(_, it)| it).collect(), total })
}

/// The tracks in the order of publication: the newest first, unless the oldest are requested. Those without a date come
/// last.
fn by_publication(found: &[Track], sort: SearchSort) -> Vec<&Track> {
    let mut ordered: Vec<&Track> = found.iter().collect();
    let undated = |it: &Track| it.published_at.is_none();
    match sort {
        SearchSort::Oldest => {
            ordered.sort_by_key(|it| (undated(it), it.published_at, it.transcript));
        }
        _ => ordered.sort_by_key(|it| (undated(it), Reverse((it.published_at, it.transcript)))),
    }
    ordered
}

/// Leaves the passages of these tracks, and notes the positions of their videos. The passages are in the order of their
/// numbers.
fn retain_found(scored: &mut Vec<Scored>, ordered: &[&Track]) {
    let mut positions: Vec<(i64, u32)> = ordered.iter().map(|it| it.transcript).zip(0..).collect();
    positions.sort_unstable();
    let mut at = 0;
    scored.retain_mut(|it| {
        let transcript = transcript_of(it.row);
        while positions.get(at).is_some_and(|(number, _)| *number < transcript) {
            at += 1;
        }
        let position = positions.get(at).filter(|(number, _)| *number == transcript);
        position.is_some_and(|(_, position)| {
            it.position = *position;
            true
        })
    });
}

/// The passages of each clause, and whether they are those of the first videos only.
fn all_postings(
    reader: &Reader,
    clauses: &[Clause],
    found: &[Track],
    ordered: &[&Track],
) -> Result<(Vec<Postings>, bool)> {
    let mut all = vec![];
    for clause in clauses {
        all.push(reader.clause(clause, found)?);
    }
    if all.iter().all(Option::is_some) {
        return Ok((all.into_iter().flatten().collect(), false));
    }
    // The words are too frequent: only the first videos in the order are ranked.
    let mut first = HashSet::new();
    let mut rows: Vec<Postings> = vec![vec![]; clauses.len()];
    let mut count = 0;
    for track in ordered.iter().take(FIRST_VIDEOS) {
        first.insert(track.transcript);
        let track = std::slice::from_ref(*track);
        for (clause, rows) in clauses.iter().zip(&mut rows) {
            for atom in clause.atoms.iter().filter(|it| !it.is_title && !it.is_prefix) {
                rows.extend(reader.one_by_one(atom, track)?);
            }
        }
        let before = std::mem::replace(&mut count, rows.iter().map(Vec::len).sum());
        if count > FIRST_PASSAGES && before > 0 {
            break;
        }
    }
    // FTS5 reads all occurrences of a prefix also for a single transcript.
    for (clause, rows) in clauses.iter().zip(&mut rows) {
        for atom in clause.atoms.iter().filter(|it| !it.is_title && it.is_prefix) {
            let all = match atom.is_phrase() {
                true => reader.phrase_everywhere(atom)?,
                false => reader.instances(atom, None, usize::MAX)?.unwrap_or_default(),
            };
            rows.extend(all.into_iter().filter(|(row, _)| first.contains(&transcript_of(*row))));
        }
    }
    Ok((rows.into_iter().map(summed).collect(), true))
}

/// Leaves the passages of each video that match the most clauses. The passages are in the order of their numbers.
fn retain_best(scored: &mut Vec<Scored>) {
    if scored.iter().all(|it| it.clauses == 1) {
        return;
    }
    let most: Vec<u32> = scored
        .chunk_by(|a, b| transcript_of(a.row) == transcript_of(b.row))
        .flat_map(|video| {
            let most = video.iter().map(|it| it.clauses).max().unwrap_or(0);
            std::iter::repeat_n(most, video.len())
        })
        .collect();
    let mut most = most.into_iter();
    scored.retain(|it| most.next() == Some(it.clauses));
}

fn total(moments: usize, spoken: &HashSet<i64>, found: &[Track], is_approximate: bool) -> HitTotal {
    let videos = found.len() as u64;
    if !is_approximate {
        let moments = (moments + found.len() - spoken.len()) as u64;
        return HitTotal { videos, moments, approximate: false };
    }
    // As frequent in all of them as in those that were looked at.
    let words = |it: &Track| it.words as f64;
    let all: f64 = found.iter().map(words).sum();
    let seen: f64 = found.iter().filter(|it| spoken.contains(&it.transcript)).map(words).sum();
    let moments = (moments as f64 * all / seen.max(1.0)).round() as u64;
    HitTotal { videos, moments, approximate: true }
}

/// Raises the scores of moments whose video or chapter is about the query.
fn boost(reader: &Reader, clauses: &[Clause], scored: &mut [Scored]) -> Result<()> {
    let (mut titles, mut chapters): (HashMap<i64, f64>, HashMap<i64, f64>) = Default::default();
    let part = 1.0 / clauses.len().max(1) as f64;
    for clause in clauses {
        let text = expression::clause_in_titles(clause);
        for transcript in reader.transcripts(&text)? {
            *titles.entry(transcript).or_default() += part;
        }
        let mut in_chapter = HashSet::new();
        for atom in clause.atoms.iter().filter(|it| !it.is_phrase()) {
            let rows = reader.instances(atom, Some(CHAPTER), CHAPTER_OCCURRENCES)?;
            in_chapter.extend(rows.unwrap_or_default().into_iter().map(|(row, _)| row));
        }
        for row in in_chapter {
            *chapters.entry(row).or_default() += part;
        }
    }
    for it in scored {
        let title = titles.get(&transcript_of(it.row)).copied().unwrap_or(0.0);
        it.boost(title, chapters.get(&it.row).copied().unwrap_or(0.0));
    }
    Ok(())
}
