//! The processes that work on the file, and their leases.

use std::collections::HashSet;

use jiff::Timestamp;

use vidra::Result;

use super::sql::{Connection, Dialect, params};
use crate::job::JobId;

/// Frees everything that a dead process had leased.
pub(crate) fn release_process(connection: &Connection, process: i64) -> Result<usize> {
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
pub(crate) fn leased(connection: &Connection, process: i64) -> Result<Option<usize>> {
    let query = "SELECT EXISTS (SELECT 1 FROM processes WHERE number = ?1),
        (SELECT count(*) FROM items WHERE process = ?1 AND lease IS NOT NULL)
        + (SELECT count(*) FROM sources WHERE process = ?1 AND lease IS NOT NULL)";
    connection.query_row(query, [process], |row| {
        let count = usize::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        Ok(row.get::<_, bool>(0)?.then_some(count))
    })
}

/// Frees the leases of this process that none of its tasks holds, and those of processes that nobody knows.
pub(crate) fn release_lost(
    connection: &Connection,
    process: i64,
    held: &HashSet<i64>,
) -> Result<usize> {
    let mut freed = 0;
    for table in ["items", "sources"] {
        let query = format!(
            "SELECT job, position, lease FROM {table} WHERE lease IS NOT NULL
             AND (process = ? OR process NOT IN (SELECT number FROM processes))"
        );
        let leased: Vec<(i64, i64, i64)> = connection
            .query_map(&query, [process], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let update = format!(
            "UPDATE {table} SET lease = NULL, process = NULL WHERE job = ? AND position = ? AND lease = ?"
        );
        for (job, position, fence) in leased.into_iter().filter(|it| !held.contains(&it.2)) {
            freed += connection.execute(&update, params![job, position, fence])?;
        }
    }
    Ok(freed)
}

/// Registers a process again whose row somebody removed, because it seemed to have ended.
pub(crate) fn keep_process(
    connection: &Connection,
    process: i64,
    only: &[JobId],
    now: Timestamp,
) -> Result<()> {
    let at = now.as_millisecond();
    match connection.dialect() {
        // Its jobs are in the file of its lock.
        Dialect::Sqlite => {
            let insert =
                "INSERT INTO processes (number, started_at) VALUES (?, ?) ON CONFLICT DO NOTHING";
            connection.execute(insert, params![process, at])?;
        }
        Dialect::Postgres => {
            let insert = "INSERT INTO processes (number, started_at, jobs) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
            connection.execute(insert, params![process, at, jobs_text(only)])?;
        }
    }
    Ok(())
}

/// The ids of the jobs of a process, as PostgreSQL stores them.
pub(super) fn jobs_text(only: &[JobId]) -> String {
    only.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Registers a process, and returns its number.
pub(crate) fn add_process(connection: &Connection, now: Timestamp) -> Result<i64> {
    let insert = "INSERT INTO processes (started_at) VALUES (?) RETURNING number";
    connection.query_row(insert, [now.as_millisecond()], |row| row.get(0))
}

/// The numbers of all processes that were registered and not released.
pub(crate) fn processes(connection: &Connection) -> Result<Vec<i64>> {
    let query = "SELECT number FROM processes";
    connection.query_map(query, (), |row| row.get(0))
}
