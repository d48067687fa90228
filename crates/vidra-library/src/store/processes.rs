//! The processes that work on the file, and their leases.

use std::collections::HashSet;

use jiff::Timestamp;
use rusqlite::{Connection, params};

/// Frees everything that a dead process had leased.
pub(crate) fn release_process(connection: &Connection, process: i64) -> rusqlite::Result<usize> {
    let free =
        "UPDATE items SET lease = NULL, process = NULL WHERE process = ? AND lease IS NOT NULL";
    let items = connection.execute(free, [process])?;
    let free =
        "UPDATE sources SET lease = NULL, process = NULL WHERE process = ? AND lease IS NOT NULL";
    let sources = connection.execute(free, [process])?;
    connection.execute("DELETE FROM processes WHERE number = ?", [process])?;
    Ok(items + sources)
}

/// How many leases this process has in the file. `None` if it is not registered.
pub(crate) fn leased(connection: &Connection, process: i64) -> rusqlite::Result<Option<usize>> {
    let query = "SELECT EXISTS (SELECT 1 FROM processes WHERE number = ?1),
        (SELECT count(*) FROM items WHERE process = ?1 AND lease IS NOT NULL)
        + (SELECT count(*) FROM sources WHERE process = ?1 AND lease IS NOT NULL)";
    let mut query = connection.prepare_cached(query)?;
    query.query_row([process], |row| {
        let count = usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        Ok(row.get::<_, bool>(0)?.then_some(count))
    })
}

/// Frees the leases of this process that none of its tasks holds, and those of processes that nobody knows.
pub(crate) fn release_lost(
    connection: &Connection,
    process: i64,
    held: &HashSet<i64>,
) -> rusqlite::Result<usize> {
    let mut freed = 0;
    for table in ["items", "sources"] {
        let query = format!(
            "SELECT job, position, lease FROM {table} WHERE lease IS NOT NULL
             AND (process = ? OR process NOT IN (SELECT number FROM processes))"
        );
        let leased: Vec<(i64, i64, i64)> = connection
            .prepare_cached(&query)?
            .query_map([process], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let update = format!(
            "UPDATE {table} SET lease = NULL, process = NULL WHERE job = ? AND position = ? AND lease = ?"
        );
        let mut update = connection.prepare_cached(&update)?;
        for (job, position, fence) in leased.into_iter().filter(|it| !held.contains(&it.2)) {
            freed += update.execute(params![job, position, fence])?;
        }
    }
    Ok(freed)
}

/// Registers a process again whose row somebody removed, because it seemed to have ended.
pub(crate) fn keep_process(
    connection: &Connection,
    process: i64,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let insert = "INSERT OR IGNORE INTO processes (number, started_at) VALUES (?, ?)";
    connection.execute(insert, params![process, now.as_millisecond()])?;
    Ok(())
}

/// Registers a process, and returns its number.
pub(crate) fn add_process(connection: &Connection, now: Timestamp) -> rusqlite::Result<i64> {
    connection.execute("INSERT INTO processes (started_at) VALUES (?)", [now.as_millisecond()])?;
    Ok(connection.last_insert_rowid())
}

/// The numbers of all processes that were registered and not released.
pub(crate) fn processes(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut query = connection.prepare_cached("SELECT number FROM processes")?;
    let rows = query.query_map([], |row| row.get(0))?;
    rows.collect()
}
