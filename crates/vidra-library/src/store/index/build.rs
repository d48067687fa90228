//! Builds an index beside the active one, and removes former ones.

use vidra::Result;
use vidra::transcript::TranscriptInfo;

use super::{
    Index, IndexUse, REMOVED, add_rows, add_track, all, count_best, create, fts5, maintained,
    tsvector,
};
use crate::passage::IndexRows;
use crate::store::sql::{Connection, Dialect, params};
use crate::store::transcripts::{PACKED, packed};
use crate::transcript::PackedText;

/// Begins a new index beside the active one, unless one is being built.
pub(crate) fn begin(connection: &Connection) -> Result<()> {
    let indexes = all(connection)?;
    if indexes.iter().any(is_next) {
        return Ok(());
    }
    let has_active = indexes.iter().any(|it| it.use_ == IndexUse::Active);
    create(connection, !has_active).map(drop)
}

/// Creates the active index of a new library.
pub(crate) fn create_first(connection: &Connection) -> Result<()> {
    if all(connection)?.iter().any(|it| it.use_ == IndexUse::Active) {
        return Ok(());
    }
    create(connection, true).map(drop)
}

/// Begins a new index if [`work`] says so. Another process may have done it meanwhile.
pub(crate) fn begin_if_needed(connection: &Connection) -> Result<()> {
    match work(connection)? {
        Some(IndexWork::Begin) => begin(connection),
        _ => Ok(()),
    }
}

/// Whether this release builds the index, and searches will read it.
fn is_next(index: &Index) -> bool {
    index.use_ == IndexUse::Next && index.is_current
}

/// The work that is left for the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexWork {
    /// The index does not have all transcripts of the library.
    Build { index: i64 },
    /// The active index has tokens of other rules, or there is none.
    Begin,
}

/// The work that is left. `None` if the active index has every transcript.
pub(crate) fn work(connection: &Connection) -> Result<Option<IndexWork>> {
    let indexes = all(connection)?;
    if let Some(next) = indexes.iter().find(|it| is_next(it)) {
        return Ok(Some(IndexWork::Build { index: next.number }));
    }
    match indexes.iter().find(|it| it.use_ == IndexUse::Active) {
        Some(active) if active.is_current => {
            let missing = next_missing(connection, active.number)?;
            Ok(missing.map(|_| IndexWork::Build { index: active.number }))
        }
        Some(_) => Ok(Some(IndexWork::Begin)),
        None => {
            let has_any = "SELECT EXISTS (SELECT 1 FROM transcripts)";
            let has_any: bool = connection.query_row(has_any, (), |row| row.get(0))?;
            Ok(has_any.then_some(IndexWork::Begin))
        }
    }
}

/// Whether an index can still be built. Another process may have replaced it.
fn is_built(connection: &Connection, index: i64) -> Result<bool> {
    Ok(maintained(connection)?.iter().any(|it| it.number == index && it.is_current))
}

/// The first transcript that an index does not have.
fn next_missing(connection: &Connection, index: i64) -> Result<Option<i64>> {
    let query = format!(
        "SELECT number FROM transcripts WHERE NOT EXISTS (SELECT 1 FROM search_layouts_{index} WHERE transcript = number)
        ORDER BY number LIMIT 1"
    );
    connection.query_optional(&query, (), |row| row.get(0))
}

/// How many transcripts one step reads at most.
const MOST_TEXTS: usize = 200;

/// The transcripts after the number `after` that an index does not have, until their texts have `length` bytes. Empty if
/// the index was replaced.
pub(crate) fn missing(
    connection: &Connection,
    index: i64,
    after: i64,
    length: u64,
) -> Result<Vec<(i64, PackedText)>> {
    if !is_built(connection, index)? {
        return Ok(vec![]);
    }
    let query = format!(
        "SELECT number, {PACKED} FROM transcripts WHERE number > ?
            AND NOT EXISTS (SELECT 1 FROM search_layouts_{index} WHERE transcript = number)
        ORDER BY number LIMIT {MOST_TEXTS}"
    );
    let (mut texts, mut total) = (vec![], 0);
    connection.query_while(&query, [after], |row| {
        let text = packed(row)?;
        total += text.length;
        texts.push((row.get("number")?, text));
        Ok(total < length)
    })?;
    Ok(texts)
}

/// Adds a transcript to an index that is being built, unless it was changed or removed meanwhile. Returns whether it did.
/// A damaged text has no rows: it stays out of searches.
pub(crate) fn add_missing(
    connection: &Connection,
    index: i64,
    transcript: i64,
    text: Option<(&TranscriptInfo, &IndexRows, u32)>,
) -> Result<bool> {
    let missing = format!(
        "SELECT checksum FROM transcripts WHERE number = ?
            AND NOT EXISTS (SELECT 1 FROM search_layouts_{index} WHERE transcript = number)"
    );
    if !is_built(connection, index)? {
        return Ok(false);
    }
    let checksum: Option<i64> =
        connection.query_optional(&missing, [transcript], |row| row.get(0))?;
    match (checksum, text) {
        (Some(_), None) => {
            let none =
                format!("INSERT INTO search_layouts_{index} (transcript, starts) VALUES (?, ?)");
            connection.execute(&none, params![transcript, Vec::<u8>::new()])?;
            Ok(true)
        }
        (Some(stored), Some((info, rows, checksum))) if stored == i64::from(checksum) => {
            add_rows(connection, index, transcript, info, rows)?;
            add_track(connection, transcript, info, rows)?;
            count_best(connection, info.video_id.as_str())?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Lets searches use an index if it is complete. Those before it become former ones.
pub(crate) fn activate(connection: &Connection, index: i64) -> Result<()> {
    if is_built(connection, index)? && next_missing(connection, index)?.is_none() {
        connection.execute("UPDATE search_indexes SET is_active = (number = ?)", [index])?;
    }
    Ok(())
}

/// Marks every index that is not active as a former one.
pub(crate) fn abandon(connection: &Connection) -> Result<()> {
    let abandon = "UPDATE search_indexes SET version = ? WHERE NOT is_active";
    connection.execute(abandon, [REMOVED]).map(drop)
}

fn is_unused(index: &Index) -> bool {
    match index.use_ {
        IndexUse::Former => true,
        IndexUse::Next => !index.is_current,
        IndexUse::Active => false,
    }
}

/// Whether [`remove_unused`] has anything to remove.
pub(crate) fn has_unused(connection: &Connection) -> Result<bool> {
    Ok(all(connection)?.iter().any(is_unused))
}

/// Removes a part of an index that searches will not read: a former one, or an unfinished one of another release. Returns
/// whether there is more to remove. The whole index would be one large transaction, and nothing could be stored meanwhile.
pub(crate) fn remove_unused(connection: &Connection) -> Result<bool> {
    let Some(index) = all(connection)?.into_iter().find(is_unused) else { return Ok(false) };
    let index = index.number;
    // Before anything is missing, so that no process uses it any more.
    let former = "UPDATE search_indexes SET version = ?1 WHERE number = ?2 AND version <> ?1";
    connection.execute(former, [REMOVED, index])?;
    let has_more = match connection.dialect() {
        Dialect::Sqlite => fts5::remove_part(connection, index)?,
        Dialect::Postgres => {
            tsvector::remove(connection, index)?;
            false
        }
    };
    if !has_more {
        connection.execute("DELETE FROM search_indexes WHERE number = ?", [index])?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::Database;

    /// Another process may work on an index that was replaced since.
    #[tokio::test]
    async fn a_replaced_index_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("library.db"), None).unwrap();
        let replaced = |it: &Connection| {
            create(it, true)?;
            begin(it)?;
            assert_eq!(work(it)?, Some(IndexWork::Build { index: 2 }));
            activate(it, 2)?;
            activate(it, 1)?;
            assert!(missing(it, 1, 0, 100)?.is_empty() && !add_missing(it, 1, 1, None)?);
            assert_eq!(work(it)?, None);
            begin_if_needed(it)?;
            while remove_unused(it)? {}
            all(it)
        };
        let left = database.write(replaced).await.unwrap();
        assert_eq!(left, [Index { number: 2, use_: IndexUse::Active, is_current: true }]);
    }
}
