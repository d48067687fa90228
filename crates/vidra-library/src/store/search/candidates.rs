//! The transcripts that match a query and a filter.

use std::collections::HashSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use vidra::{Error, Reason, Result};

use super::expression;
use super::postings::Reader;
use crate::passage::Speech;
use crate::search::{Atom, LibraryFilter, SearchCoverage, SearchFields, TextSearch};
use crate::store::collections;
use crate::store::error::sql;
use crate::store::index::{channel_token, language_token};
use vidra::transcript::Cue;

/// A transcript in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) transcript: i64,
    pub(super) video: String,
    pub(super) published_at: Option<i64>,
    pub(super) words: i64,
}

pub(super) fn track(row: &Row) -> rusqlite::Result<Track> {
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
    pub(super) values: Vec<Value>,
    /// Tokens of the row of a transcript that say the same.
    tokens: Vec<String>,
}

impl Condition {
    /// # Errors
    ///
    /// [`Reason::CollectionNotFound`] and [`Reason::JobNotFound`].
    pub(super) fn new(connection: &Connection, filter: &LibraryFilter) -> Result<Self> {
        let mut it = Self { sql: "1".to_owned(), values: vec![], tokens: vec![] };
        match &filter.lang {
            // A job has one track of each of its videos.
            None if filter.job.is_some() => {}
            None => it.add("t.is_counted", []),
            Some(code) => {
                let code = code.as_str();
                it.tokens.push(language_token(code));
                let language = |table: &str| {
                    format!("({table}.language = ? COLLATE NOCASE OR {table}.language LIKE ?)")
                };
                let region = format!("{}-%", code.replace(['%', '_'], ""));
                // One track of a video counts: the best one in that language, also if another one matches the query.
                let best = format!(
                    "{} AND NOT EXISTS (SELECT 1 FROM search_tracks AS other WHERE other.video = t.video AND {}
                        AND (other.kind, other.transcript) < (t.kind, t.transcript))",
                    language("t"),
                    language("other")
                );
                let values = [code.to_owned(), region].map(Value::from);
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
            let number: Option<i64> = connection
                .prepare_cached(query)
                .and_then(|mut query| {
                    query.query_row([id.to_string()], |row| row.get(0)).optional()
                })
                .map_err(sql)?;
            let missing = || Error::new(Reason::JobNotFound, format!("Job not found: {id}"));
            let number = Value::from(number.ok_or_else(missing)?);
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

    fn add(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(sql);
        self.values.extend(values);
    }

    /// All transcripts that the filter includes, up to the number `last`.
    pub(super) fn tracks(
        &self,
        connection: &Connection,
        last: i64,
    ) -> rusqlite::Result<Vec<Track>> {
        let query = format!(
            "SELECT {TRACK} FROM search_tracks AS t WHERE t.transcript <= ? AND {}",
            self.sql
        );
        let values = std::iter::once(Value::from(last)).chain(self.values.iter().cloned());
        let mut query = connection.prepare_cached(&query)?;
        query.query_map(params_from_iter(values), track)?.collect()
    }

    /// Those of the transcripts that the filter includes, in the order of their numbers.
    fn tracks_of(&self, reader: &Reader, transcripts: &HashSet<i64>) -> Result<Vec<Track>> {
        let numbers = serde_json::to_string(transcripts).map_err(Error::internal)?;
        let query = format!(
            "SELECT {TRACK} FROM search_tracks AS t
            WHERE t.transcript IN (SELECT value FROM json_each(?)) AND {} ORDER BY t.transcript",
            self.sql
        );
        let values = std::iter::once(Value::from(numbers)).chain(self.values.iter().cloned());
        let mut query = reader.connection.prepare_cached(&query).map_err(sql)?;
        let rows = query.query_map(params_from_iter(values), track).map_err(sql)?;
        rows.collect::<rusqlite::Result<_>>().map_err(sql)
    }

    /// The part of the library that the filter includes, and the number of its words.
    pub(super) fn coverage(
        &self,
        connection: &Connection,
        last: i64,
    ) -> rusqlite::Result<(SearchCoverage, u64)> {
        let query = format!(
            "SELECT count(*), total(duration), coalesce(sum(words), 0) FROM search_tracks AS t
            WHERE t.transcript <= ? AND {}",
            self.sql
        );
        let values = std::iter::once(Value::from(last)).chain(self.values.iter().cloned());
        connection.prepare_cached(&query)?.query_row(params_from_iter(values), |row| {
            let hours = (row.get::<_, f64>(1)? / 36.0).round() / 100.0;
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
    let mut found = reader.tracks(&text, condition).map_err(sql)?;
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
        return reader.transcripts(&text).map_err(sql);
    }
    let mut found = HashSet::new();
    if fields.speech && !atom.is_title {
        found.extend(reader.transcripts_with_phrase(atom)?);
    }
    if fields.title || fields.description || atom.is_title {
        let words = reader.transcripts(&expression::atom_in_words(atom, fields)).map_err(sql)?;
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
