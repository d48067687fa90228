//! The work of active jobs, as the planner needs it.

use jiff::Timestamp;
use vidra::{QuotaDay, Result};

use super::jobs::{self, JobRow, timestamp};
use super::sql::Connection;
use super::{collections, sync, transcripts};

/// The work of an active job.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) row: JobRow,
    /// When the next free item may start. `None` without one.
    pub(crate) next_item: Option<Timestamp>,
    /// When the next source may be listed. `None` without one, and while a process lists it.
    pub(crate) next_source: Option<Timestamp>,
    /// Whether the next source is feeds, which need no units.
    pub(crate) is_free_source: bool,
    /// Whether its owner has no more room in the library.
    pub(crate) is_out_of_room: bool,
    /// Whether the collection that it syncs has used up its units of this day.
    pub(crate) is_over_budget: bool,
}

/// The longest plausible pause of an item or a source. A longer one comes from a wall clock that was set back.
pub(super) const LONGEST_PAUSE_MS: i64 = 30 * 60 * 1000;

/// A stored time of the next attempt, unless it is too far away to be true.
pub(super) fn plausible(not_before: i64, at: i64) -> i64 {
    if not_before - at > LONGEST_PAUSE_MS { 0 } else { not_before }
}

/// The active jobs, the oldest first. An owner with `max_bytes` of transcripts has no more room.
pub(crate) fn active_jobs(
    connection: &Connection,
    max_bytes: Option<u64>,
    now: Timestamp,
) -> Result<Vec<Work>> {
    let at = now.as_millisecond();
    let active = "SELECT number FROM jobs WHERE state IN ('queued', 'listing', 'running', 'waiting') ORDER BY number";
    let numbers: Vec<i64> = connection.query_map(active, (), |row| row.get(0))?;
    let next_item =
        "SELECT min(not_before) FROM items WHERE job = ? AND state = 0 AND lease IS NULL";
    let next_source = "SELECT not_before, lease, kind FROM sources WHERE job = ? AND NOT is_listed
        ORDER BY position LIMIT 1";
    let work = |number: i64| {
        let row = jobs::by_number(connection, number)?;
        let item: Option<i64> = connection.query_row(next_item, [number], |row| row.get(0))?;
        let source = connection.query_optional(next_source, [number], |row| {
            let is_free = row.get::<_, String>(2)? == sync::FEEDS;
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?, is_free))
        })?;
        let source = source.filter(|(_, lease, _)| lease.is_none());
        let is_free_source = source.is_some_and(|(_, _, is_free)| is_free);
        let next_source = source.map(|(not_before, _, _)| timestamp(plausible(not_before, at)));
        let next_item = item.map(|not_before| timestamp(plausible(not_before, at)));
        let is_out_of_room = is_out_of_room(connection, &row.job.owner, max_bytes)?;
        let is_over_budget = match row.collection {
            Some(collection) if next_source.is_some() => {
                collections::is_over_budget(connection, collection, &QuotaDay::of(now).date)?
            }
            _ => false,
        };
        Ok(Work { row, next_item, next_source, is_free_source, is_out_of_room, is_over_budget })
    };
    numbers.into_iter().map(work).collect()
}

pub(super) fn is_out_of_room(
    connection: &Connection,
    owner: &str,
    max_bytes: Option<u64>,
) -> Result<bool> {
    let Some(most) = max_bytes else { return Ok(false) };
    Ok(transcripts::bytes_of(connection, owner)? >= most)
}
