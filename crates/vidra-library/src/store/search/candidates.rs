//! The transcripts that match a query and a filter.

use std::collections::HashSet;

use vidra::{Error, Reason, Result};

use super::expression;
use super::postings::Reader;
use crate::passage::Speech;
use crate::search::{Atom, LibraryFilter, SearchCoverage, SearchFields, TextSearch};
use crate::store::collections;
use crate::store::index::{channel_token, language_token};
use crate::store::sql::{Connection, Numbers, OwnedValue, Row, ToValue};
use vidra::transcript::Cue;

/// A transcript in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) transcript: i64,
    pub(super) video: String,
    pub(super) published_at: Option<i64>,
    pub(super) words: i64,
}

pub(super) fn track(row: &Row) -> Result<Track> {
    Ok(Track {
        transcript: row.get(0)?,
        video: row.get(1)?,
        published_at: row.get(2)?,
        words: row.get(3)?,
    })
}

/// The columns of [`track`].
pub(super) const TRACK: &str = "t.transcript, t.video, t.published_at, t.words";

/// A filter as a condition on `search_tracks AS t`.
pub(super) struct Condition {
    pub(super) sql: String,
    pub(super) values: Vec<OwnedValue>,
    /// Tokens of the row of a transcript that say the same.
    tokens: Vec<String>,
}

impl Condition {
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`] and [`Reason::JobNotFound`].
    pub(super) fn new(connection: &Connection, filter: &LibraryFilter) -> Result<Self> {
        let mut it = Self { sql: "TRUE".to_owned(), values: vec![], tokens: vec![] };
        match &filter.lang {
            // A job has one track of each of its videos.
            None if filter.job.is_some() => {}
            None => it.add("t.is_counted", []),
            Some(code) => {
                it.tokens.push(language_token(code.as_str()));
                let code = code.as_str().to_ascii_lowercase();
                let language = |table: &str| {
                    format!("(lower({table}.language) = ? OR lower({table}.language) LIKE ?)")
                };
                let region = format!("{}-%", code.replace(['%', '_'], ""));
                // One track of a video counts: the best one in that language, also if another one matches the query.
                let best = format!(
                    "{} AND NOT EXISTS (SELECT 1 FROM search_tracks AS other WHERE other.video = t.video AND {}
                        AND (other.kind, other.transcript) < (t.kind, t.transcript))",
                    language("t"),
                    language("other")
                );
                let values = [code, region].map(OwnedValue::from);
                it.add(&best, values.clone().into_iter().chain(values));
            }
        }
        if let Some(channel) = &filter.channel {
            it.tokens.push(channel_token(channel.as_ref()));
            it.add("t.channel = ?", [channel.to_string().into()]);
        }
        if let Some(since) = filter.range.since {
            it.add("t.published_at >= ?", [since.as_millisecond().into()]);
        }
        if let Some(until) = filter.range.until {
            it.add("t.published_at <= ?", [until.as_millisecond().into()]);
        }
        if !filter.videos.is_empty() {
            let marks = vec!["?"; filter.videos.len()].join(", ");
            let videos = filter.videos.iter().map(|it| it.to_string().into());
            it.add(&format!("t.video IN ({marks})"), videos);
        }
        if let Some((owner, name)) = &filter.collection {
            let number = collections::number_of(connection, owner, name)?;
            let videos = "t.video IN (SELECT video FROM collection_videos WHERE collection = ?)";
            it.add(videos, [number.into()]);
        }
        if let Some(id) = filter.job {
            let query = "SELECT number FROM jobs WHERE id = ? AND NOT is_deleted";
            let number: Option<i64> =
                connection.query_optional(query, [id.to_string()], |row| row.get(0))?;
            let missing = || Error::new(Reason::JobNotFound, format!("Job not found: {id}"));
            let number = OwnedValue::from(number.ok_or_else(missing)?);
            match filter.lang {
                Some(_) => it.add("t.video IN (SELECT video FROM items WHERE job = ?)", [number]),
                // A pending video can have a transcript of another job.
                None => it.add(
                    "(t.transcript IN (SELECT transcript FROM items WHERE job = ? AND transcript IS NOT NULL)
                        OR (t.is_counted AND t.video IN (SELECT video FROM items WHERE job = ? AND state = 0)))",
                    [number.clone(), number],
                ),
            }
        }
        if let Some(owner) = &filter.owner {
            // Each list is read once, and not for every transcript.
            let videos = "t.video IN (
                SELECT video FROM items WHERE job IN (SELECT number FROM jobs WHERE owner = ? AND NOT is_deleted)
                UNION SELECT video FROM collection_videos
                    WHERE collection IN (SELECT number FROM collections WHERE owner = ? AND NOT is_deleted))";
            it.add(videos, [owner.clone().into(), owner.clone().into()]);
        }
        Ok(it)
    }

    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = OwnedValue>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    /// The values of the condition, after another one.
    pub(super) fn values_after(&self, first: OwnedValue) -> Vec<OwnedValue> {
        std::iter::once(first).chain(self.values.iter().cloned()).collect()
    }

    /// All transcripts that the filter includes, up to the number `last`.
    pub(super) fn tracks(&self, connection: &Connection, last: i64) -> Result<Vec<Track>> {
        let query = format!(
            "SELECT {TRACK} FROM search_tracks AS t WHERE t.transcript <= ? AND {}",
            self.sql
        );
        connection.query_map(&query, &*self.values_after(last.into()), track)
    }

    /// Those of the transcripts that the filter includes, in the order of their numbers.
    fn tracks_of(&self, reader: &Reader, transcripts: &HashSet<i64>) -> Result<Vec<Track>> {
        let query = format!(
            "SELECT {TRACK} FROM search_tracks AS t WHERE t.transcript IN ({}) AND {} ORDER BY t.transcript",
            reader.connection.dialect().numbers(),
            self.sql
        );
        let numbers = Numbers(transcripts.iter().copied().collect());
        let values: Vec<&dyn ToValue> = std::iter::once(&numbers as &dyn ToValue)
            .chain(self.values.iter().map(|it| it as &dyn ToValue))
            .collect();
        reader.connection.query_map(&query, &*values, track)
    }

    /// The part of the library that the filter includes, and the number of its words.
    pub(super) fn coverage(
        &self,
        connection: &Connection,
        last: i64,
    ) -> Result<(SearchCoverage, u64)> {
        let query = format!(
            "SELECT count(*), CAST(coalesce(sum(duration), 0) AS BIGINT), CAST(coalesce(sum(words), 0) AS BIGINT)
            FROM search_tracks AS t WHERE t.transcript <= ? AND {}",
            self.sql
        );
        connection.query_row(&query, &*self.values_after(last.into()), |row| {
            let hours = (row.get::<_, i64>(1)? as f64 / 36.0).round() / 100.0;
            let coverage = SearchCoverage { videos: row.get::<_, i64>(0)? as u64, hours };
            Ok((coverage, row.get::<_, i64>(2)? as u64))
        })
    }
}

/// The transcripts that match, in the order of their numbers.
pub(super) fn candidates(
    reader: &Reader,
    request: &TextSearch,
    condition: &Condition,
) -> Result<Vec<Track>> {
    let TextSearch { query, fields, .. } = request;
    if let Some(phrase) = only_phrase(request) {
        // The words of a phrase can be in every video, and the phrase in a few.
        return condition.tracks_of(reader, &reader.transcripts_with_phrase(phrase)?);
    }
    let text = expression::query_in_words(query, *fields, &condition.tokens);
    let mut found = reader.tracks(&text, condition)?;
    for clause in query.clauses.iter().filter(|it| it.atoms.iter().any(Atom::is_phrase)) {
        let mut matching = HashSet::new();
        for atom in &clause.atoms {
            matching.extend(transcripts_with(reader, atom, request, &found)?);
        }
        found.retain(|it| matching.contains(&it.transcript));
    }
    for atom in query.excluded.iter().filter(|atom| atom.is_phrase()) {
        let excluded = transcripts_with(reader, atom, request, &found)?;
        found.retain(|it| !excluded.contains(&it.transcript));
    }
    Ok(found)
}

/// The phrase of a search that is nothing but one spoken phrase.
fn only_phrase(request: &TextSearch) -> Option<&Atom> {
    let TextSearch { query, fields, .. } = request;
    let [clause] = &query.clauses[..] else { return None };
    let [atom] = &clause.atoms[..] else { return None };
    let is_speech = *fields == SearchFields::default() && !atom.is_title;
    (is_speech && atom.is_phrase() && query.excluded.is_empty()).then_some(atom)
}

/// Those of the tracks that have an atom.
fn transcripts_with(
    reader: &Reader,
    atom: &Atom,
    request: &TextSearch,
    among: &[Track],
) -> Result<HashSet<i64>> {
    let fields = request.fields;
    if !atom.is_phrase() {
        let text = expression::atom_in_words(atom, fields);
        return reader.transcripts(&text);
    }
    let mut found = HashSet::new();
    if fields.speech && !atom.is_title {
        found.extend(reader.transcripts_with_phrase(atom)?);
    }
    if fields.title || fields.description || atom.is_title {
        let words = reader.transcripts(&expression::atom_in_words(atom, fields))?;
        for track in among.iter().filter(|it| words.contains(&it.transcript)) {
            if !found.contains(&track.transcript) && has_phrase(reader, atom, request, track)? {
                found.insert(track.transcript);
            }
        }
    }
    Ok(found)
}

/// Whether the title or the description of a video has a phrase.
fn has_phrase(reader: &Reader, atom: &Atom, request: &TextSearch, track: &Track) -> Result<bool> {
    let is_in = |text: &str| atom.is_in(&Speech::new(&[Cue::new(0, 0, text)]).tokens());
    let Some((transcript, _)) = reader.transcript(track.transcript)? else { return Ok(false) };
    let in_title = (request.fields.title || atom.is_title) && is_in(&transcript.info.title);
    let in_description =
        request.fields.description && !atom.is_title && is_in(&transcript.description);
    Ok(in_title || in_description)
}
