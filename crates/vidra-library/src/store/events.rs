//! The events of jobs.

use vidra::Result;

use super::jobs::timestamp;
use super::sql::{Connection, params};
use crate::job::{JobEvent, NumberedEvent};

/// Adds an event with the next number of its job.
pub(super) fn add(connection: &Connection, job: i64, at: i64, event: &JobEvent) -> Result<()> {
    let number = "UPDATE jobs SET version = version + 1 WHERE number = ? RETURNING version";
    let number: i64 = connection.query_row(number, [job], |row| row.get(0))?;
    let json = serde_json::to_string(event).unwrap_or_default();
    let insert = "INSERT INTO events (job, number, at, event) VALUES (?, ?, ?, ?)";
    connection.execute(insert, params![job, number, at, json])?;
    Ok(())
}

/// The events of a job after the one with this number, at most `limit`.
pub(crate) fn since(
    connection: &Connection,
    job: i64,
    after: u64,
    limit: usize,
) -> Result<Vec<NumberedEvent>> {
    let query =
        "SELECT number, at, event FROM events WHERE job = ? AND number > ? ORDER BY number LIMIT ?";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    connection.query_map(query, params![job, after, limit as i64], |row| {
        let number = row.get::<_, i64>(0)? as u64;
        Ok(NumberedEvent { number, at: timestamp(row.get(1)?), json: row.get(2)? })
    })
}

/// The time between the last item that ended and the one `count` items before it, for the rate of a job.
pub(super) fn recent_items(
    connection: &Connection,
    job: i64,
    count: u64,
) -> Result<Option<(u64, i64)>> {
    let query = "SELECT count(*), max(at) - min(at) FROM
        (SELECT at FROM (SELECT at, event FROM events WHERE job = ? ORDER BY number DESC LIMIT ?) AS last
            WHERE event LIKE '{\"type\":\"item\"%') AS items";
    let row = connection.query_row(query, params![job, count as i64], |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get::<_, Option<i64>>(1)?))
    })?;
    Ok(row.1.map(|time| (row.0, time)))
}
