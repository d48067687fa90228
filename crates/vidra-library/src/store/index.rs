//! The index of the library: full-text tables that are changed in the transaction that stores or removes a transcript.

pub(crate) mod build;

use rusqlite::{Connection, OptionalExtension, params};
use vidra::transcript::TranscriptInfo;

use crate::passage::IndexRows;
use crate::segment;

/// The bits of the number of a passage in its row. The others are the number of the transcript.
pub(crate) const PASSAGE_BITS: u32 = 16;

/// The memory in which FTS5 collects the tokens of a transaction before it writes a segment. Larger segments are merged
/// less often.
const HASH_BYTES: usize = 8 << 20;

/// How many segments of one size FTS5 merges. Jobs store few transcripts in a transaction, which becomes a segment, so
/// that smaller merges would write each token again and again. A merge goes on in steps, unless there are so many segments
/// that it has to be completed.
const MERGED_SEGMENTS: usize = 16;
const MOST_SEGMENTS: usize = 64;

/// The version of an index that is being removed. No release has it.
const REMOVED: i64 = 0;

/// How many pages one step of a merge writes, or one step of a removal deletes.
const STEP_PAGES: i64 = 500;

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
fn all(connection: &Connection) -> rusqlite::Result<Vec<Index>> {
    let query = "SELECT number, version, is_active, (SELECT number FROM search_indexes WHERE is_active) AS active
        FROM search_indexes ORDER BY number";
    let index = |row: &rusqlite::Row| {
        let (number, version): (i64, i64) = (row.get(0)?, row.get(1)?);
        let active: Option<i64> = row.get(3)?;
        let use_ = match row.get(2)? {
            true => IndexUse::Active,
            false if version == REMOVED || active.is_some_and(|it| number < it) => IndexUse::Former,
            false => IndexUse::Next,
        };
        Ok(Index { number, use_, is_current: version == segment::VERSION })
    };
    connection.prepare_cached(query)?.query_map([], index)?.collect()
}

/// The indexes to which every change is made: all but former ones.
fn maintained(connection: &Connection) -> rusqlite::Result<Vec<Index>> {
    let mut indexes = all(connection)?;
    indexes.retain(|it| it.use_ != IndexUse::Former);
    Ok(indexes)
}

/// The index that searches use. `None` in a new library.
pub(crate) fn active(connection: &Connection) -> rusqlite::Result<Option<Index>> {
    Ok(all(connection)?.into_iter().find(|it| it.use_ == IndexUse::Active))
}

/// Creates the tables of a new index: the active one, or the next one.
fn create(connection: &Connection, is_active: bool) -> rusqlite::Result<Index> {
    let insert = "INSERT INTO search_indexes (version, is_active) VALUES (?, ?)";
    connection.execute(insert, params![segment::VERSION, is_active])?;
    let number = connection.last_insert_rowid();
    // Our own tokens: `ascii` divides them at spaces only, because they have no other separators.
    let options = "content='', contentless_delete=1, tokenize='ascii'";
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE search_passages_{number} USING fts5(tokens, {options});
        CREATE VIRTUAL TABLE search_seams_{number} USING fts5(tokens, {options});
        CREATE VIRTUAL TABLE search_words_{number} USING fts5(tokens, {options}, detail=none);
        CREATE TABLE search_layouts_{number} (transcript INTEGER PRIMARY KEY, starts BLOB NOT NULL) STRICT;
        CREATE VIRTUAL TABLE search_instances_{number} USING fts5vocab(search_passages_{number}, instance);
        INSERT INTO search_passages_{number} (search_passages_{number}, rank) VALUES ('hashsize', {HASH_BYTES});"
    ))?;
    for table in ["passages", "seams", "words"] {
        let table = format!("search_{table}_{number}");
        connection.execute_batch(&format!(
            "INSERT INTO {table} ({table}, rank) VALUES ('crisismerge', {MOST_SEGMENTS});
            INSERT INTO {table} ({table}, rank) VALUES ('automerge', {MERGED_SEGMENTS});"
        ))?;
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
) -> rusqlite::Result<()> {
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
) -> rusqlite::Result<()> {
    for (table, texts) in [("passages", &rows.passages), ("seams", &rows.seams)] {
        let insert = format!("INSERT INTO search_{table}_{index} (rowid, tokens) VALUES (?, ?)");
        let mut insert = connection.prepare_cached(&insert)?;
        for (number, tokens) in (0..).zip(texts) {
            insert.execute(params![(transcript << PASSAGE_BITS) | number, tokens])?;
        }
    }
    let mut tokens = rows.words.clone();
    // A search for `zh` finds `zh-Hans-CN`, and so does one for `zh-Hans`.
    let code = &info.track.language_code;
    let ends = code.match_indices('-').map(|(at, _)| at).chain([code.len()]);
    let languages = ends.map(|end| language_token(&code[..end]));
    let channel = info.channel_id.as_ref().map(|id| channel_token(id.as_ref()));
    for token in languages.chain(channel) {
        tokens.push(' ');
        tokens.push_str(&token);
    }
    let insert = format!("INSERT INTO search_words_{index} (rowid, tokens) VALUES (?, ?)");
    connection.prepare_cached(&insert)?.execute(params![transcript, tokens])?;
    let insert = format!("INSERT INTO search_layouts_{index} (transcript, starts) VALUES (?, ?)");
    connection.prepare_cached(&insert)?.execute(params![transcript, rows.layout])?;
    Ok(())
}

fn add_track(
    connection: &Connection,
    transcript: i64,
    info: &TranscriptInfo,
    rows: &IndexRows,
) -> rusqlite::Result<()> {
    let upsert = "INSERT OR REPLACE INTO search_tracks
            (transcript, video, kind, language, channel, published_at, duration, words)
        VALUES (?1, ?2, ?3, ?4, ?5, (SELECT published_at FROM videos WHERE id = ?2), ?6, ?7)";
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
    connection.prepare_cached(upsert)?.execute(parameters)?;
    Ok(())
}

/// Chooses the track that counts for a video: in the language of recognised speech if there is any, by people before
/// recognised speech, and then the one that was stored first.
fn count_best(connection: &Connection, video: &str) -> rusqlite::Result<()> {
    let best = "WITH
        tracks AS (SELECT transcript, kind, substr(language, 1, instr(language || '-', '-') - 1) AS code
            FROM search_tracks WHERE video = ?1 AND kind < 2),
        spoken AS (SELECT code FROM tracks WHERE kind = 1 ORDER BY transcript LIMIT 1)
        UPDATE search_tracks SET is_counted = transcript IS (SELECT transcript FROM tracks
            ORDER BY EXISTS (SELECT 1 FROM spoken WHERE spoken.code <> tracks.code), kind, transcript LIMIT 1)
        WHERE video = ?1";
    connection.prepare_cached(best)?.execute([video])?;
    Ok(())
}

fn remove_rows(connection: &Connection, index: i64, transcript: i64) -> rusqlite::Result<()> {
    let delete = format!("DELETE FROM search_layouts_{index} WHERE transcript = ?");
    if connection.prepare_cached(&delete)?.execute([transcript])? == 0 {
        return Ok(());
    }
    let first = transcript << PASSAGE_BITS;
    let last = first | ((1 << PASSAGE_BITS) - 1);
    for table in ["passages", "seams"] {
        let delete = format!("DELETE FROM search_{table}_{index} WHERE rowid BETWEEN ? AND ?");
        connection.prepare_cached(&delete)?.execute(params![first, last])?;
    }
    let delete = format!("DELETE FROM search_words_{index} WHERE rowid = ?");
    connection.prepare_cached(&delete)?.execute([transcript])?;
    Ok(())
}

/// Removes a transcript from the index. The row of the transcript must still exist.
pub(super) fn remove(connection: &Connection, transcript: i64) -> rusqlite::Result<()> {
    for index in maintained(connection)? {
        remove_rows(connection, index.number, transcript)?;
    }
    let delete = "DELETE FROM search_tracks WHERE transcript = ? RETURNING video";
    let video: Option<String> =
        connection.prepare_cached(delete)?.query_row([transcript], |row| row.get(0)).optional()?;
    video.map_or(Ok(()), |video| count_best(connection, &video))
}

/// Removes the transcripts of a video from the index.
pub(super) fn remove_video(connection: &Connection, video: &str) -> rusqlite::Result<()> {
    let query = "SELECT number FROM transcripts WHERE video = ?";
    let numbers: Vec<i64> = connection
        .prepare_cached(query)?
        .query_map([video], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    numbers.into_iter().try_for_each(|number| remove(connection, number))
}

/// The number of the index that a message of SQLite is about.
fn index_in(message: &str) -> Option<i64> {
    let tables = ["passages", "seams", "words", "layouts"];
    let rest = tables.iter().find_map(|table| message.split_once(&format!("search_{table}_")))?.1;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The faults of the index, one sentence each. Those that SQLite has found are taken from `messages`. Transcripts that the
/// index does not have yet are no fault.
pub(super) fn faults(
    connection: &Connection,
    messages: &mut Vec<String>,
) -> rusqlite::Result<Vec<String>> {
    let indexes = maintained(connection)?;
    let mut faults: Vec<String> =
        messages.extract_if(.., |message| index_in(message).is_some()).collect();
    // A former index is incomplete while it is being removed.
    faults.retain(|it| indexes.iter().any(|index| index_in(it) == Some(index.number)));
    for Index { number, .. } in indexes {
        let removed = format!(
            "SELECT count(*) FROM search_layouts_{number}
            WHERE transcript NOT IN (SELECT number FROM transcripts)"
        );
        let count: i64 = connection.query_row(&removed, [], |row| row.get(0))?;
        if count > 0 {
            faults.push(format!("the search index has removed transcripts: {count}"));
        }
    }
    Ok(faults)
}

/// Merges a part of the segments of the indexes, so that none has deleted text. A round consists of steps until one
/// returns `false`: there is nothing more to merge. Its first step makes all segments part of the merge.
pub(crate) fn merge(connection: &Connection, is_first: bool) -> rusqlite::Result<bool> {
    let pages = if is_first { -STEP_PAGES } else { STEP_PAGES };
    let mut has_changed = false;
    for index in maintained(connection)? {
        for table in ["passages", "seams", "words"] {
            let table = format!("search_{table}_{}", index.number);
            let before = connection.total_changes();
            let merge = format!("INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)");
            connection.prepare_cached(&merge)?.execute([pages])?;
            // The statement itself is one change.
            has_changed |= connection.total_changes() - before > 1;
        }
    }
    Ok(has_changed)
}
