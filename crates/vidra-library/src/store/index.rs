//! The index of the library: full-text tables that are changed in the transaction that stores or removes a transcript.

pub(crate) mod build;
mod fts5;
pub(super) mod tsvector;

use vidra::Result;
use vidra::transcript::TranscriptInfo;

use super::sql::{Connection, Dialect, Row, params};
use crate::passage::IndexRows;
use crate::segment;

/// The bits of the number of a passage in its row. The others are the number of the transcript.
pub(crate) const PASSAGE_BITS: u32 = 16;

/// The version of an index that is being removed. No release has it.
const REMOVED: i64 = 0;

/// Marks the tokens of filters in the row of a transcript.
const FILTER: char = '\u{E000}';

/// The token of a language, or of a language with its region.
pub(super) fn language_token(code: &str) -> String {
    let code: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{FILTER}l{}", code.to_ascii_lowercase())
}

/// The token of a channel. Ids differ in case, and tokens do not.
pub(super) fn channel_token(id: &str) -> String {
    let hex: String = id.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{FILTER}c{hex}")
}

/// The use of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexUse {
    /// Searches read it.
    Active,
    /// It is being built, and searches will read it.
    Next,
    /// Searches have read it before. Its tables are being removed.
    Former,
}

/// An index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) number: i64,
    pub(crate) use_: IndexUse,
    /// Whether this release made its tokens.
    pub(crate) is_current: bool,
}

/// Reads all indexes.
fn all(connection: &Connection) -> Result<Vec<Index>> {
    let query = "SELECT number, version, is_active, (SELECT number FROM search_indexes WHERE is_active) AS active
        FROM search_indexes ORDER BY number";
    let index = |row: &Row| {
        let (number, version): (i64, i64) = (row.get(0)?, row.get(1)?);
        let active: Option<i64> = row.get(3)?;
        let use_ = match row.get(2)? {
            true => IndexUse::Active,
            false if version == REMOVED || active.is_some_and(|it| number < it) => IndexUse::Former,
            false => IndexUse::Next,
        };
        Ok(Index { number, use_, is_current: version == segment::VERSION })
    };
    connection.query_map(query, (), index)
}

/// The indexes to which every change is made: all but former ones.
fn maintained(connection: &Connection) -> Result<Vec<Index>> {
    let mut indexes = all(connection)?;
    indexes.retain(|it| it.use_ != IndexUse::Former);
    Ok(indexes)
}

/// The index that searches use. `None` in a new library.
pub(crate) fn active(connection: &Connection) -> Result<Option<Index>> {
    Ok(all(connection)?.into_iter().find(|it| it.use_ == IndexUse::Active))
}

/// Creates the tables of a new index: the active one, or the next one.
fn create(connection: &Connection, is_active: bool) -> Result<Index> {
    let insert = "INSERT INTO search_indexes (version, is_active) VALUES (?, ?) RETURNING number";
    let parameters = params![segment::VERSION, is_active];
    let number = connection.query_row(insert, parameters, |row| row.get(0))?;
    match connection.dialect() {
        Dialect::Sqlite => fts5::create(connection, number)?,
        Dialect::Postgres => tsvector::create(connection, number)?,
    }
    let use_ = if is_active { IndexUse::Active } else { IndexUse::Next };
    Ok(Index { number, use_, is_current: true })
}

/// Adds a stored transcript to the index, in place of its earlier text.
pub(super) fn add(
    connection: &Connection,
    transcript: i64,
    info: &TranscriptInfo,
    rows: &IndexRows,
) -> Result<()> {
    let indexes = maintained(connection)?;
    let indexes = if indexes.is_empty() { vec![create(connection, true)?] } else { indexes };
    for index in &indexes {
        remove_rows(connection, index.number, transcript)?;
    }
    for index in indexes.into_iter().filter(|it| it.is_current) {
        add_rows(connection, index.number, transcript, info, rows)?;
    }
    add_track(connection, transcript, info, rows)?;
    count_best(connection, info.video_id.as_str())
}

fn add_rows(
    connection: &Connection,
    index: i64,
    transcript: i64,
    info: &TranscriptInfo,
    rows: &IndexRows,
) -> Result<()> {
    for (table, texts) in [("passages", &rows.passages), ("seams", &rows.seams)] {
        let first = transcript << PASSAGE_BITS;
        let rows: Vec<(i64, &str)> = (first..).zip(texts.iter().map(String::as_str)).collect();
        add_tokens(connection, &format!("search_{table}_{index}"), &rows)?;
    }
    // A search for `zh` finds `zh-Hans-CN`, and so does one for `zh-Hans`.
    let code = &info.track.language_code;
    let ends = code.match_indices('-').map(|(at, _)| at).chain([code.len()]);
    let languages = ends.map(|end| language_token(&code[..end]));
    let channel = info.channel_id.as_ref().map(|id| channel_token(id.as_ref()));
    // First, because the words of a very long transcript are cut.
    let filters: Vec<String> = languages.chain(channel).collect();
    let tokens = format!("{} {}", filters.join(" "), rows.words);
    add_tokens(connection, &format!("search_words_{index}"), &[(transcript, &tokens)])?;
    let insert = format!("INSERT INTO search_layouts_{index} (transcript, starts) VALUES (?, ?)");
    connection.execute(&insert, params![transcript, rows.layout])?;
    Ok(())
}

fn add_tokens(connection: &Connection, table: &str, rows: &[(i64, &str)]) -> Result<()> {
    match connection.dialect() {
        Dialect::Sqlite => fts5::add(connection, table, rows),
        Dialect::Postgres => tsvector::add(connection, table, rows),
    }
}

fn add_track(
    connection: &Connection,
    transcript: i64,
    info: &TranscriptInfo,
    rows: &IndexRows,
) -> Result<()> {
    let upsert = "INSERT INTO search_tracks (transcript, video, kind, language, channel, published_at, duration, words)
        VALUES (?1, ?2, ?3, ?4, ?5, (SELECT published_at FROM videos WHERE id = ?2), ?6, ?7)
        ON CONFLICT (transcript) DO UPDATE SET channel = excluded.channel, published_at = excluded.published_at,
            duration = excluded.duration, words = excluded.words";
    let kind = match (&info.track.translated_from, info.track.is_auto_generated) {
        (Some(_), _) => 2,
        (None, is_auto) => i64::from(is_auto),
    };
    let parameters = params![
        transcript,
        info.video_id.to_string(),
        kind,
        info.track.language_code,
        info.channel_id.as_ref().map(ToString::to_string),
        info.duration as i64,
        rows.word_count as i64,
    ];
    connection.execute(upsert, parameters)?;
    Ok(())
}

/// Chooses the track that counts for a video: in the language of recognised speech if there is any, by people before
/// recognised speech, and then the one that was stored first.
fn count_best(connection: &Connection, video: &str) -> Result<()> {
    let tracks = "SELECT transcript, kind, language FROM search_tracks WHERE video = ? AND kind < 2
        ORDER BY transcript";
    let tracks: Vec<(i64, i64, String)> =
        connection.query_map(tracks, [video], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let code = |language: &str| language.split('-').next().unwrap_or_default().to_owned();
    let spoken = tracks.iter().find(|(_, kind, _)| *kind == 1).map(|it| code(&it.2));
    let is_other = |language: &str| spoken.as_ref().is_some_and(|spoken| code(language) != *spoken);
    let best = tracks.iter().min_by_key(|it| (is_other(&it.2), it.1, it.0)).map(|it| it.0);
    let counted = "UPDATE search_tracks SET is_counted = (transcript IS NOT DISTINCT FROM ?1) WHERE video = ?2";
    connection.execute(counted, params![best, video])?;
    Ok(())
}

fn remove_rows(connection: &Connection, index: i64, transcript: i64) -> Result<()> {
    let delete = format!("DELETE FROM search_layouts_{index} WHERE transcript = ?");
    if connection.execute(&delete, [transcript])? == 0 {
        return Ok(());
    }
    let first = transcript << PASSAGE_BITS;
    let last = first | ((1 << PASSAGE_BITS) - 1);
    for table in ["passages", "seams"] {
        let delete = format!("DELETE FROM search_{table}_{index} WHERE rowid BETWEEN ? AND ?");
        connection.execute(&delete, params![first, last])?;
    }
    let delete = format!("DELETE FROM search_words_{index} WHERE rowid = ?");
    connection.execute(&delete, [transcript])?;
    Ok(())
}

/// Removes a transcript from the index. The row of the transcript must still exist.
pub(super) fn remove(connection: &Connection, transcript: i64) -> Result<()> {
    for index in maintained(connection)? {
        remove_rows(connection, index.number, transcript)?;
    }
    let delete = "DELETE FROM search_tracks WHERE transcript = ? RETURNING video";
    let video: Option<String> =
        connection.query_optional(delete, [transcript], |row| row.get(0))?;
    video.map_or(Ok(()), |video| count_best(connection, &video))
}

/// Removes the transcripts of a video from the index.
pub(super) fn remove_video(connection: &Connection, video: &str) -> Result<()> {
    let query = "SELECT number FROM transcripts WHERE video = ?";
    let numbers: Vec<i64> = connection.query_map(query, [video], |row| row.get(0))?;
    numbers.into_iter().try_for_each(|number| remove(connection, number))
}

/// The faults of the index, one sentence each. Those that SQLite has found are taken from `messages`. Transcripts that the
/// index does not have yet are no fault.
pub(super) fn faults(connection: &Connection, messages: &mut Vec<String>) -> Result<Vec<String>> {
    let indexes = maintained(connection)?;
    let mut faults: Vec<String> =
        messages.extract_if(.., |message| fts5::index_in(message).is_some()).collect();
    // A former index is incomplete while it is being removed.
    faults.retain(|it| indexes.iter().any(|index| fts5::index_in(it) == Some(index.number)));
    for Index { number, .. } in indexes {
        let removed = format!(
            "SELECT count(*) FROM search_layouts_{number}
            WHERE transcript NOT IN (SELECT number FROM transcripts)"
        );
        let count: i64 = connection.query_row(&removed, (), |row| row.get(0))?;
        if count > 0 {
            faults.push(format!("the search index has removed transcripts: {count}"));
        }
    }
    Ok(faults)
}

/// Merges a part of the segments of the indexes, so that none has deleted text. A round consists of steps until one
/// returns `false`: there is nothing more to merge. PostgreSQL removes deleted rows by itself.
pub(crate) fn merge(connection: &Connection, is_first: bool) -> Result<bool> {
    if connection.dialect() == Dialect::Postgres {
        return Ok(false);
    }
    let mut has_changed = false;
    for index in maintained(connection)? {
        has_changed |= fts5::merge(connection, index.number, is_first)?;
    }
    Ok(has_changed)
}
