//! Jobs: pages, changes of state.

mod create;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use vidra::{Error, Reason, Result};

use super::sql::{Connection, Row, ToValue, params};
use super::{events, items, outbox};
use crate::job::{Failure, Job, JobEvent, JobId, JobRequest, JobState, Progress, StateEvent, Wait};
use create::check_unfinished;
pub(super) use create::{KEY_LIFE_MS, NewRow, begin_row, insert_row};
pub(crate) use create::{NewJob, create};

/// A job and its number in the file.
#[derive(Debug, Clone)]
pub(crate) struct JobRow {
    pub(crate) number: i64,
    pub(crate) job: Job,
    /// Whether all its sources are listed.
    pub(crate) is_listed: bool,
    /// The number of the collection that it syncs.
    pub(crate) collection: Option<i64>,
}

const COLUMNS: &str = "number, id, owner, options, state, wait_reason, wait_until, error_reason, error_message,
    created_at, started_at, finished_at, version, source_count, is_listed, items, succeeded, failed, units,
    collection, (SELECT name FROM collections WHERE collections.number = jobs.collection) AS collection_name";

fn read(connection: &Connection, row: &Row) -> Result<JobRow> {
    let number: i64 = row.get("number")?;
    let count = |name: &str| row.get::<_, i64>(name).map(|it| u64::try_from(it).unwrap_or(0));
    let time = |name: &str| row.get::<_, Option<i64>>(name).map(|it| it.map(timestamp));
    let reason = |name: &str| row.get::<_, Option<String>>(name).map(|it| it.map(|it| reason(&it)));
    let state = JobState::from_word(&row.get::<_, String>("state")?).unwrap_or(JobState::Failed);
    let options: Value =
        serde_json::from_str(&row.get::<_, String>("options")?).unwrap_or_default();
    // A newer release may have written options that this one does not know.
    let options = JobRequest::from_options(&options).unwrap_or_default();
    let (items, succeeded, failed) = (count("items")?, count("succeeded")?, count("failed")?);
    let is_listed: bool = row.get("is_listed")?;
    let waiting = reason("wait_reason")?.zip(time("wait_until")?);
    let message: Option<String> = row.get("error_message")?;
    let job = Job {
        id: JobId::parse(&row.get::<_, String>("id")?)
            .unwrap_or_else(|_| unreachable!("ids are written by us")),
        name: options.name.clone(),
        owner: row.get("owner")?,
        collection: row.get("collection_name")?,
        state,
        waiting: waiting.map(|(reason, until)| Wait { reason, until }),
        // A job whose listing failed finishes its listed items first.
        error: reason("error_reason")?
            .filter(|_| state == JobState::Failed)
            .map(|reason| Failure { reason, message: message.unwrap_or_default() }),
        progress: Progress {
            total: is_listed.then_some(items),
            succeeded,
            failed: if failed > 0 { failures(connection, number)? } else { BTreeMap::new() },
            pending: items.saturating_sub(succeeded + failed),
            units: count("units")?,
            eta_seconds: None,
        },
        version: count("version")?,
        options,
        source_count: count("source_count")?,
        created_at: timestamp(row.get("created_at")?),
        started_at: time("started_at")?,
        finished_at: time("finished_at")?,
    };
    Ok(JobRow { number, job, is_listed, collection: row.get("collection")? })
}

pub(super) fn timestamp(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

/// A stored reason. A word of a newer release becomes the most general one.
pub(super) fn reason(code: &str) -> Reason {
    Reason::from_code(code).unwrap_or(Reason::Internal)
}

fn failures(connection: &Connection, job: i64) -> Result<BTreeMap<&'static str, u64>> {
    let query = "SELECT reason, count FROM failures WHERE job = ? AND count > 0";
    let rows = connection.query_map(query, [job], |row| {
        Ok((reason(&row.get::<_, String>(0)?).code(), row.get::<_, i64>(1)? as u64))
    })?;
    Ok(rows.into_iter().collect())
}

pub(super) fn by_number(connection: &Connection, number: i64) -> Result<JobRow> {
    let query = format!("SELECT {COLUMNS} FROM jobs WHERE number = ?");
    connection.query_row(&query, [number], |row| read(connection, row))
}

/// Finds a job. With an owner, only a job of that owner.
///
/// # Errors
///
/// [`Reason::JobNotFound`] also for a job of another owner.
pub(crate) fn find(connection: &Connection, id: JobId, owner: Option<&str>) -> Result<JobRow> {
    let query = format!("SELECT {COLUMNS} FROM jobs WHERE id = ? AND NOT is_deleted");
    let found = connection.query_optional(&query, [id.to_string()], |row| read(connection, row))?;
    let is_visible = |row: &JobRow| owner.is_none_or(|owner| row.job.owner == owner);
    found.filter(is_visible).ok_or_else(JobId::not_found)
}

/// The filter of a page of jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobQuery {
    /// `None` for all owners.
    pub(crate) owner: Option<String>,
    pub(crate) state: Option<JobState>,
    /// Only jobs that were created before the one with this number.
    pub(crate) before: Option<i64>,
    pub(crate) limit: usize,
}

/// A page of jobs, the newest first.
pub(crate) fn page(connection: &Connection, query: &JobQuery) -> Result<Vec<JobRow>> {
    let mut conditions = vec!["number < ?", "NOT is_deleted"];
    let before = query.before.unwrap_or(i64::MAX);
    let state = query.state.map(JobState::word);
    let mut parameters: Vec<&dyn ToValue> = vec![&before];
    if let Some(owner) = &query.owner {
        conditions.push("owner = ?");
        parameters.push(owner);
    }
    if let Some(state) = &state {
        conditions.push("state = ?");
        parameters.push(state);
    }
    let limit = query.limit as i64;
    parameters.push(&limit);
    let conditions = conditions.join(" AND ");
    let text =
        format!("SELECT {COLUMNS} FROM jobs WHERE {conditions} ORDER BY number DESC LIMIT ?");
    connection.query_map(&text, &*parameters, |row| read(connection, row))
}

/// A change that an owner requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Pause,
    Resume,
    Cancel,
}

/// Changes the state of a job. A change that makes no difference is not an error.
///
/// # Errors
///
/// [`Reason::JobStateConflict`] if the job has ended.
pub(crate) fn change(
    connection: &Connection,
    id: JobId,
    owner: Option<&str>,
    change: Change,
    now: Timestamp,
) -> Result<Job> {
    let row = find(connection, id, owner)?;
    let state = row.job.state;
    let after = match change {
        Change::Cancel if state == JobState::Cancelled => state,
        _ if state.is_finished() => {
            let message = match state {
                JobState::Failed => "The job has failed".to_owned(),
                _ => format!("The job is {}", state.word()),
            };
            return Err(Error::new(Reason::JobStateConflict, message));
        }
        Change::Cancel => JobState::Cancelled,
        Change::Pause => JobState::Paused,
        Change::Resume if state != JobState::Paused => state,
        Change::Resume if row.is_listed => JobState::Running,
        Change::Resume => JobState::Listing,
    };
    if after != state {
        let state = StateEvent { state: after, waiting: None, error: None };
        set_state(connection, row.number, &state, now.as_millisecond())?;
        complete_if_done(connection, row.number, now.as_millisecond())?;
    }
    Ok(by_number(connection, row.number)?.job)
}

/// Sets the state of a job, and adds the event. The error of a job is set when its listing fails.
pub(super) fn set_state(
    connection: &Connection,
    job: i64,
    state: &StateEvent,
    at: i64,
) -> Result<()> {
    let StateEvent { state: word, waiting, .. } = state;
    let update = "UPDATE jobs SET state = ?2, wait_reason = ?3, wait_until = ?4,
            started_at = CASE WHEN ?2 IN ('listing', 'running', 'waiting') THEN coalesce(started_at, ?5) ELSE started_at END,
            finished_at = CASE WHEN ?2 IN ('completed', 'cancelled', 'failed') THEN ?5 END,
            waiting_since = CASE WHEN ?2 = 'waiting' THEN coalesce(waiting_since, ?5)
                WHEN ?2 IN ('listing', 'running') THEN waiting_since END,
            is_wait_sent = is_wait_sent AND ?2 IN ('waiting', 'listing', 'running')
        WHERE number = ?1";
    let parameters = params![
        job,
        word.word(),
        waiting.as_ref().map(|it| it.reason.code()),
        waiting.as_ref().map(|it| it.until.as_millisecond()),
        at,
    ];
    connection.execute(update, parameters)?;
    events::add(connection, job, at, &JobEvent::State(state.clone()))?;
    outbox::note_state(connection, job, *word, at)
}

/// Completes a job whose items have all ended, or fails it if its listing has failed.
pub(super) fn complete_if_done(connection: &Connection, job: i64, at: i64) -> Result<()> {
    let query = "SELECT error_reason, error_message FROM jobs WHERE number = ? AND is_listed
        AND succeeded + failed >= items AND state IN ('queued', 'listing', 'running', 'waiting')";
    let done = connection.query_optional(query, [job], |row| {
        Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
    })?;
    let Some((code, message)) = done else { return Ok(()) };
    let error =
        code.map(|code| Failure { reason: reason(&code), message: message.unwrap_or_default() });
    let state = if error.is_some() { JobState::Failed } else { JobState::Completed };
    set_state(connection, job, &StateEvent { state, waiting: None, error }, at)
}

/// Makes failed items pending again: those with these reasons, or all. Returns the job and their number.
///
/// # Errors
///
/// [`Reason::JobStateConflict`] if the job was cancelled.
pub(crate) fn retry(
    connection: &Connection,
    id: JobId,
    owner: Option<&str>,
    reasons: Option<&[Reason]>,
    max_unfinished: Option<u64>,
    now: Timestamp,
) -> Result<(Job, u64)> {
    let row = find(connection, id, owner)?;
    if row.job.state == JobState::Cancelled {
        return Err(Error::new(Reason::JobStateConflict, "The job is cancelled"));
    }
    let is_ended = matches!(row.job.state, JobState::Completed | JobState::Failed);
    if is_ended {
        check_unfinished(connection, &row.job.owner, max_unfinished)?;
    }
    let renew = || {
        let count = items::renew(connection, row.number, reasons)?;
        if count > 0 {
            // Also an event if the state stays the same: the counts have changed.
            let state = if is_ended { JobState::Running } else { row.job.state };
            let waiting = row.job.waiting.clone();
            set_state(
                connection,
                row.number,
                &StateEvent { state, waiting, error: None },
                now.as_millisecond(),
            )?;
        }
        Ok((by_number(connection, row.number)?.job, count))
    };
    renew()
}

/// Marks a job as deleted: nobody finds it any more, and nothing of it runs. [`purge_deleted`](super::retention::purge_deleted)
/// removes its rows.
pub(crate) fn delete(connection: &Connection, id: JobId, owner: Option<&str>) -> Result<()> {
    let row = find(connection, id, owner)?;
    let mark = "UPDATE jobs SET is_deleted = TRUE, state = 'cancelled' WHERE number = ?";
    connection.execute(mark, [row.number])?;
    connection.execute("DELETE FROM idempotency_keys WHERE job = ?", [row.number])?;
    Ok(())
}
