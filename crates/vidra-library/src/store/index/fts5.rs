//! The tables of an index in SQLite.

use vidra::Result;

use crate::store::sql::{Connection, params};

/// The memory in which FTS5 collects the tokens of a transaction before it writes a segment. Larger segments are merged
/// less often.
const HASH_BYTES: usize = 8 << 20;

/// How many segments of one size FTS5 merges. Jobs store few transcripts in a transaction, which becomes a segment, so
/// that smaller merges would write each token again and again. A merge goes on in steps, unless there are so many segments
/// that it has to be completed.
const MERGED_SEGMENTS: usize = 16;
const MOST_SEGMENTS: usize = 64;

/// How many pages one step of a merge writes, or one step of a removal deletes.
const STEP_PAGES: i64 = 500;

/// Creates the tables of an index.
pub(super) fn create(connection: &Connection, number: i64) -> Result<()> {
    // Our own tokens: `ascii` divides them at spaces only, because they have no other separators.
    let options = "content='', contentless_delete=1, tokenize='ascii'";
    connection.run_batch(&format!(
        "CREATE VIRTUAL TABLE search_passages_{number} USING fts5(tokens, {options});
        CREATE VIRTUAL TABLE search_seams_{number} USING fts5(tokens, {options});
        CREATE VIRTUAL TABLE search_words_{number} USING fts5(tokens, {options}, detail=none);
        CREATE TABLE search_layouts_{number} (transcript INTEGER PRIMARY KEY, starts BLOB NOT NULL) STRICT;
        CREATE VIRTUAL TABLE search_instances_{number} USING fts5vocab(search_passages_{number}, instance);
        INSERT INTO search_passages_{number} (search_passages_{number}, rank) VALUES ('hashsize', {HASH_BYTES});"
    ))?;
    for table in ["passages", "seams", "words"] {
        let table = format!("search_{table}_{number}");
        connection.run_batch(&format!(
            "INSERT INTO {table} ({table}, rank) VALUES ('crisismerge', {MOST_SEGMENTS});
            INSERT INTO {table} ({table}, rank) VALUES ('automerge', {MERGED_SEGMENTS});"
        ))?;
    }
    Ok(())
}

/// Adds rows with these tokens, which are separated by spaces.
pub(super) fn add(connection: &Connection, table: &str, rows: &[(i64, &str)]) -> Result<()> {
    let insert = format!("INSERT INTO {table} (rowid, tokens) VALUES (?, ?)");
    rows.iter()
        .try_for_each(|(row, tokens)| connection.execute(&insert, params![*row, *tokens]).map(drop))
}

/// Merges a part of the segments of an index, so that none has deleted text. Returns whether there was anything to merge.
/// The first step of a round makes all segments part of the merge.
pub(super) fn merge(connection: &Connection, number: i64, is_first: bool) -> Result<bool> {
    let changes = || connection.query_row("SELECT total_changes()", (), |row| row.get::<_, i64>(0));
    let pages = if is_first { -STEP_PAGES } else { STEP_PAGES };
    let mut has_changed = false;
    for table in ["passages", "seams", "words"] {
        let table = format!("search_{table}_{number}");
        let before = changes()?;
        let merge = format!("INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)");
        connection.execute(&merge, [pages])?;
        // The statement itself is one change.
        has_changed |= changes()? - before > 1;
    }
    Ok(has_changed)
}

/// Removes a part of an index. Returns `false` if nothing was left but the empty tables, which are removed then. The whole
/// index would be one large transaction, and nothing could be stored meanwhile.
pub(super) fn remove_part(connection: &Connection, index: i64) -> Result<bool> {
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
            if connection.execute(&delete, ())? > 0 {
                return Ok(true);
            }
        }
    }
    connection.run_batch(&format!(
        "DROP TABLE search_instances_{index};
        DROP TABLE search_passages_{index}; DROP TABLE search_seams_{index}; DROP TABLE search_words_{index};
        DROP TABLE search_layouts_{index}"
    ))?;
    Ok(false)
}

/// The number of the index that a message of SQLite is about.
pub(super) fn index_in(message: &str) -> Option<i64> {
    let tables = ["passages", "seams", "words", "layouts"];
    let rest = tables.iter().find_map(|table| message.split_once(&format!("search_{table}_")))?.1;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
