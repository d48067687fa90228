//! Builds an index beside the active one, and removes former ones.

use rusqlite::{Connection, OptionalExtension};
use vidra::transcript::TranscriptInfo;

use super::{Index, IndexUse, STEP_PAGES, add_rows, add_track, all, count_best, create};
use crate::passage::IndexRows;
use crate::store::transcripts::{PACKED, packed};
use crate::transcript::PackedText;

/// Begins a new index beside the active one, unless one is being built.
pub(crate) fn begin(connection: &Connection) -> rusqlite::Result<()> {
    let indexes = all(connection)?;
    let has = |use_: IndexUse| indexes.iter().any(|it| it.use_ == use_);
    match has(IndexUse::Next) {
        true => Ok(()),
        false => create(connection, !has(IndexUse::Active)).map(drop),
    }
}

/// The work that an index still needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexWork {
    /// An index is not used any more, and has to be removed.
    Remove,
    /// The index does not have all transcripts of the library.
    Build { index: i64 },
    /// The active index has tokens of other rules, or there is none.
    Begin,
}

/// The work that is left. `None` if the active index has every transcript.
pub(crate) fn work(connection: &Connection) -> rusqlite::Result<Option<IndexWork>> {
    let indexes = all(connection)?;
    let with_use = |use_: IndexUse| indexes.iter().find(|it| it.use_ == use_);
    if unused(&indexes).is_some() {
        return Ok(Some(IndexWork::Remove));
    }
    if let Some(next) = with_use(IndexUse::Next) {
        return Ok(Some(IndexWork::Build { index: next.number }));
    }
    match with_use(IndexUse::Active) {
        Some(active) if active.is_current => {
            let missing = next_missing(connection, active.number)?;
            Ok(missing.map(|_| IndexWork::Build { index: active.number }))
        }
        Some(_) => Ok(Some(IndexWork::Begin)),
        None => {
            let has_any = "SELECT EXISTS (SELECT 1 FROM transcripts)";
            let has_any: bool = connection.query_row(has_any, [], |row| row.get(0))?;
            Ok(has_any.then_some(IndexWork::Begin))
        }
    }
}

/// An index that searches will not read any more: a former one, or an unfinished one of another release.
fn unused(indexes: &[Index]) -> Option<i64> {
    let is_unused = |it: &&Index| match it.use_ {
        IndexUse::Former => true,
        IndexUse::Next => !it.is_current,
        IndexUse::Active => false,
    };
    indexes.iter().find(is_unused).map(|it| it.number)
}

/// Whether an index exists. Another process may have replaced it.
fn exists(connection: &Connection, index: i64) -> rusqlite::Result<bool> {
    Ok(all(connection)?.iter().any(|it| it.number == index))
}

/// The first transcript that an index does not have.
fn next_missing(connection: &Connection, index: i64) -> rusqlite::Result<Option<i64>> {
    // Both are in the order of their numbers.
    let query = format!(
        "SELECT number FROM transcripts WHERE number NOT IN (SELECT transcript FROM search_layouts_{index}) ORDER BY number LIMIT 1"
    );
    connection.prepare_cached(&query)?.query_row([], |row| row.get(0)).optional()
}

/// The transcripts after the number `after` that an index does not have, until their texts have `length` bytes. Empty if
/// the index does not exist any more.
pub(crate) fn missing(
    connection: &Connection,
    index: i64,
    after: i64,
    length: u64,
) -> rusqlite::Result<Vec<(i64, PackedText)>> {
    if !exists(connection, index)? {
        return Ok(vec![]);
    }
    let query = format!(
        "SELECT number, {PACKED} FROM transcripts WHERE number > ?
            AND NOT EXISTS (SELECT 1 FROM search_layouts_{index} WHERE transcript = number)
        ORDER BY number"
    );
    let mut query = connection.prepare_cached(&query)?;
    let mut rows = query.query([after])?;
    let (mut texts, mut total) = (vec![], 0);
    while let Some(row) = rows.next()?.filter(|_| total < length) {
        let text = packed(row)?;
        total += text.length;
        texts.push((row.get("number")?, text));
    }
    Ok(texts)
}

/// Adds a transcript to an index that is being built, unless it was changed or removed meanwhile. A damaged text has no
/// rows: it stays out of searches.
pub(crate) fn add_missing(
    connection: &Connection,
    index: i64,
    transcript: i64,
    text: Option<(&TranscriptInfo, &IndexRows, u32)>,
) -> rusqlite::Result<()> {
    let missing = format!(
        "SELECT checksum FROM transcripts WHERE number = ?
            AND NOT EXISTS (SELECT 1 FROM search_layouts_{index} WHERE transcript = number)"
    );
    if !exists(connection, index)? {
        return Ok(());
    }
    let checksum: Option<i64> = connection
        .prepare_cached(&missing)?
        .query_row([transcript], |row| row.get(0))
        .optional()?;
    match (checksum, text) {
        (None, _) => Ok(()),
        (Some(_), None) => {
            let none =
                format!("INSERT INTO search_layouts_{index} (transcript, starts) VALUES (?, x'')");
            connection.prepare_cached(&none)?.execute([transcript]).map(drop)
        }
        (Some(stored), Some((info, rows, checksum))) if stored == i64::from(checksum) => {
            add_rows(connection, index, transcript, info, rows)?;
            add_track(connection, transcript, info, rows)?;
            count_best(connection, info.video_id.as_str())
        }
        (Some(_), Some(_)) => Ok(()),
    }
}

/// Lets searches use a complete index. Those before it become former ones. Returns whether it was complete.
pub(crate) fn activate(connection: &Connection, index: i64) -> rusqlite::Result<bool> {
    if !exists(connection, index)? || next_missing(connection, index)?.is_some() {
        return Ok(false);
    }
    connection.execute("UPDATE search_indexes SET is_active = number = ?", [index])?;
    Ok(true)
}

/// Removes a part of an unused index. Returns whether there is more: the whole index would be one large transaction, and
/// nothing could be stored meanwhile.
pub(crate) fn remove_unused(connection: &Connection) -> rusqlite::Result<bool> {
    let Some(index) = unused(&all(connection)?) else { return Ok(false) };
    // FTS5 stores an index in these tables. The first rows of `data` describe the others, which are pages.
    let parts = [
        ("data", "id", "WHERE id > 10", STEP_PAGES),
        ("idx", "segid, term", "", 10 * STEP_PAGES),
        ("docsize", "id", "", 40 * STEP_PAGES),
    ];
    for (part, key, rows, limit) in parts {
        for name in ["passages", "seams", "words"] {
            let table = format!("search_{name}_{index}_{part}");
            let delete = format!(
                "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} {rows} LIMIT {limit})"
            );
            if connection.execute(&delete, [])? > 0 {
                return Ok(true);
            }
        }
    }
    drop_tables(connection, index)?;
    Ok(true)
}

fn drop_tables(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DROP TABLE search_instances_{number};
        DROP TABLE search_passages_{number}; DROP TABLE search_seams_{number}; DROP TABLE search_words_{number};
        DROP TABLE search_layouts_{number}; DELETE FROM search_indexes WHERE number = {number}"
    ))
}
