//! The estimated time to the end of a job.

use jiff::Timestamp;
use vidra::Result;

use super::events;
use super::jobs::JobRow;
use super::sql::{Connection, params};
use crate::job::Job;

/// How many of the last events give the rate of a job.
const RATE_EVENTS: u64 = 100;

/// The job with its estimated time to the end: the pending items at the rate of the last ones.
pub(crate) fn with_eta(connection: &Connection, row: JobRow, now: Timestamp) -> Result<Job> {
    let JobRow { number, mut job, is_listed, .. } = row;
    if !job.state.is_active() || !is_listed {
        return Ok(job);
    }
    let recent = events::recent_items(connection, number, RATE_EVENTS)?;
    // A few events say nothing about the rate.
    let Some((count @ 5.., time)) = recent else { return Ok(job) };
    let per_item = time as f64 / (count - 1) as f64 / 1000.0;
    let wait =
        job.waiting.as_ref().map_or(0.0, |wait| wait.until.duration_since(now).as_secs_f64());
    let pending = job.progress.pending;
    // The first items are a burst, after which the pace of the addresses counts.
    let at_pace = pace(connection)?.map_or(0.0, |(burst, per_hour)| {
        pending.saturating_sub(burst) as f64 * 3600.0 / per_hour.max(1) as f64
    });
    let seconds = (pending as f64 * per_item).max(at_pace) + wait.max(0.0);
    job.progress.eta_seconds = Some(seconds.ceil() as u64);
    Ok(job)
}

/// Stores the burst and the hourly pace of all egress addresses together. `None` without a limit.
pub(crate) fn set_pace(connection: &Connection, pace: Option<(u64, u64)>) -> Result<()> {
    connection.execute("DELETE FROM counters WHERE name IN ('burst', 'per_hour')", ())?;
    let Some((burst, per_hour)) = pace else { return Ok(()) };
    let insert = "INSERT INTO counters (name, value) VALUES ('burst', ?), ('per_hour', ?)";
    connection.execute(insert, params![burst as i64, per_hour as i64])?;
    Ok(())
}

fn pace(connection: &Connection) -> Result<Option<(u64, u64)>> {
    let query = "SELECT (SELECT value FROM counters WHERE name = 'burst'), value FROM counters WHERE name = 'per_hour'";
    connection.query_optional(query, (), |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
    })
}
