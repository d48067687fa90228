//! Leases: which process works on which item or source.
//!
//! A lease has a fencing number that no other lease ever has. The transaction that ends the work checks it, so that a
//! process that lost its lease cannot change anything.

use jiff::Timestamp;
use vidra::{Error, Result, VideoId};

use super::items::{FAILED, SUCCEEDED, count_failure};
use super::jobs::{self, JobRow};
use super::sql::{Connection, Dialect, params};
use super::transcripts::{self, NewTranscript};
use super::work::{LONGEST_PAUSE_MS, is_out_of_room, plausible};
use super::{collections, events, listing, sync};
use crate::job::{
    Failure, ItemEvent, JobEvent, JobSource, JobState, StateEvent, Wait, transcript_key,
};

/// The lease of an item or a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    /// The number of the job.
    pub(crate) job: i64,
    /// The position of the item or the source.
    pub(crate) position: i64,
    /// The fencing number.
    pub(crate) fence: i64,
}

/// An item that this process may fetch.
#[derive(Debug, Clone)]
pub(crate) struct LeasedItem {
    pub(crate) lease: Lease,
    pub(crate) video: VideoId,
    /// The number of failed attempts.
    pub(crate) attempts: u32,
    /// Whether an earlier attempt of a collection found no transcript, which the cache may remember.
    pub(crate) is_late: bool,
}

/// A source that this process may list.
#[derive(Debug, Clone)]
pub(crate) struct LeasedSource {
    pub(crate) lease: Lease,
    pub(crate) source: ListedSource,
    pub(crate) cursor: Option<String>,
    pub(crate) attempts: u32,
}

/// The content of a source: the list that the request names, or a part of a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListedSource {
    /// A source that the request names.
    Named(JobSource),
    /// The feeds of a collection, by its number.
    Feeds(i64),
    /// The lists of a collection, by its number.
    Lists(i64),
}

impl ListedSource {
    fn from_stored(kind: &str, id: &str) -> vidra::Result<Self> {
        let number = || id.parse().map_err(Error::internal);
        match kind {
            sync::FEEDS => number().map(Self::Feeds),
            sync::LISTS => number().map(Self::Lists),
            _ => JobSource::from_stored(kind, id).map(Self::Named),
        }
    }
}

/// The next fencing number.
fn next_fence(connection: &Connection) -> Result<i64> {
    let next = match connection.dialect() {
        Dialect::Sqlite => {
            "UPDATE counters SET value = value + 1 WHERE name = 'lease' RETURNING value"
        }
        // Without a row that every transaction would lock.
        Dialect::Postgres => "SELECT nextval('leases')",
    };
    connection.query_row(next, (), |row| row.get(0))
}

/// How often a lease looks further if it finds known transcripts.
const KNOWN_ROUNDS: usize = 100;

/// Leases up to `count` free items of a job. Items whose transcript the library has end at once, and do not count. An
/// owner with `max_bytes` of transcripts gets none.
pub(crate) fn lease_items(
    connection: &Connection,
    process: i64,
    work: &JobRow,
    count: usize,
    max_bytes: Option<u64>,
    now: Timestamp,
) -> Result<Vec<LeasedItem>> {
    let (job, at) = (work.number, now.as_millisecond());
    let is_active = "SELECT 1 FROM jobs WHERE number = ?
        AND state IN ('queued', 'listing', 'running', 'waiting')";
    if connection.query_optional(is_active, [job], |_| Ok(()))?.is_none() {
        return Ok(vec![]);
    }
    if is_out_of_room(connection, &work.job.owner, max_bytes)? {
        return Ok(vec![]);
    }
    let free = "SELECT position, video, attempts FROM items
        WHERE job = ?1 AND state = 0 AND lease IS NULL AND (not_before <= ?2 OR not_before > ?2 + ?4)
        ORDER BY not_before, position LIMIT ?3";
    let free = format!("{free}{}", connection.dialect().for_update_of_free_rows());
    let take = "UPDATE items SET lease = ?, process = ? WHERE job = ? AND position = ?";
    let request = transcript_key(&work.job.options.transcript);
    let mut leased = vec![];
    // Known transcripts end here, a bounded number in one transaction.
    for _ in 0..KNOWN_ROUNDS {
        let found: Vec<(i64, String, u32)> = connection.query_map(
            &free,
            params![job, at, (count - leased.len()) as i64, LONGEST_PAUSE_MS],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        for (position, text, attempts) in &found {
            let lease = Lease { job, position: *position, fence: next_fence(connection)? };
            connection.execute(take, params![lease.fence, process, job, position])?;
            let known = match work.job.options.refresh {
                true => None,
                false => transcripts::find(connection, text, &request)?,
            };
            match (VideoId::parse(text), known) {
                (Ok(_), Some(number)) => _ = finish(connection, &lease, Ok(number), at)?,
                (Ok(video), None) => {
                    let is_late =
                        work.collection.is_some() && collections::was_tried(connection, job, text)?;
                    leased.push(LeasedItem { lease, video, attempts: *attempts, is_late });
                }
                (Err(error), _) => _ = finish(connection, &lease, Err(&Failure::from(&error)), at)?,
            }
        }
        if leased.len() >= count || found.is_empty() {
            break;
        }
    }
    if !leased.is_empty() {
        begin(connection, job, at)?;
    }
    Ok(leased)
}

/// Sets a job to listing or running when its work begins.
fn begin(connection: &Connection, job: i64, at: i64) -> Result<()> {
    let query = "SELECT state, is_listed FROM jobs WHERE number = ?";
    let query = format!("{query}{}", connection.dialect().for_update());
    let found: Option<(String, bool)> =
        connection.query_optional(&query, [job], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The job may have been deleted meanwhile.
    let Some((state, is_listed)) = found else { return Ok(()) };
    let after = if is_listed { JobState::Running } else { JobState::Listing };
    let is_active = JobState::from_word(&state).is_some_and(JobState::is_active);
    if is_active && state != after.word() {
        jobs::set_state(
            connection,
            job,
            &StateEvent { state: after, waiting: None, error: None },
            at,
        )?;
    }
    Ok(())
}

/// Ends an item: stores its transcript, its state and its event. Returns `false` if the lease was lost: then nothing
/// changes, except that the transcript stays in the library.
pub(crate) fn end_item(
    connection: &Connection,
    lease: &Lease,
    outcome: &Result<NewTranscript, Failure>,
    request: &str,
    now: Timestamp,
) -> Result<bool> {
    let at = now.as_millisecond();
    match outcome {
        Ok(new) => {
            let owner = "SELECT owner FROM jobs WHERE number = ?";
            let owner: Option<String> =
                connection.query_optional(owner, [lease.job], |row| row.get(0))?;
            // The job may have been deleted meanwhile.
            let owner = owner.unwrap_or_default();
            let number = transcripts::store(connection, new, &owner, Some(request), at)?;
            finish(connection, lease, Ok(number), at)
        }
        Err(failure) => finish(connection, lease, Err(failure), at),
    }
}

/// Sets the result of an item whose lease is valid.
fn finish(
    connection: &Connection,
    lease: &Lease,
    outcome: Result<i64, &Failure>,
    at: i64,
) -> Result<bool> {
    let Lease { job, position, fence } = *lease;
    let (state, transcript) = match outcome {
        Ok(number) => (SUCCEEDED, Some(number)),
        Err(_) => (FAILED, None),
    };
    let failure = outcome.err();
    let update =
        "UPDATE items SET state = ?, transcript = ?, reason = ?, message = ?, finished_at = ?,
            lease = NULL, process = NULL
        WHERE job = ? AND position = ? AND lease = ? RETURNING video";
    let parameters = params![
        state,
        transcript,
        failure.map(|it| it.reason.code()),
        failure.map(|it| &it.message),
        at,
        job,
        position,
        fence,
    ];
    let video: Option<Option<String>> =
        connection.query_optional(update, parameters, |row| row.get(0))?;
    let Some(video) = video else { return Ok(false) };
    if let Some(video) = &video {
        collections::note_item(connection, job, video, failure, at)?;
    }
    // A job that gets on no longer waits.
    let counter =
        "UPDATE jobs SET succeeded = succeeded + ?2, failed = failed + ?3, waiting_since = NULL,
            is_wait_sent = FALSE
        WHERE number = ?1";
    connection.execute(
        counter,
        params![job, i64::from(failure.is_none()), i64::from(failure.is_some())],
    )?;
    if let Some(failure) = failure {
        count_failure(connection, job, failure.reason.code(), 1)?;
    }
    let event = ItemEvent {
        position: position as u64,
        video_id: video.and_then(|id| VideoId::parse(&id).ok()),
        reason: failure.map(|it| it.reason),
    };
    events::add(connection, job, at, &JobEvent::Item(event))?;
    jobs::complete_if_done(connection, job, at)?;
    Ok(true)
}

/// Gives an item back, to be tried again at `not_before`. With an error it counts as a failed attempt.
pub(crate) fn postpone_item(
    connection: &Connection,
    lease: &Lease,
    not_before: Timestamp,
    attempt: Option<&Error>,
) -> Result<()> {
    let update =
        "UPDATE items SET lease = NULL, process = NULL, not_before = ?, attempts = attempts + ?,
            reason = coalesce(?, reason), message = coalesce(?, message)
        WHERE job = ? AND position = ? AND lease = ?";
    let parameters = params![
        not_before.as_millisecond(),
        i64::from(attempt.is_some()),
        attempt.map(|error| error.reason().code()),
        attempt.map(|error| error.message()),
        lease.job,
        lease.position,
        lease.fence,
    ];
    connection.execute(update, parameters)?;
    Ok(())
}

/// Leases the next source of a job that is not listed. Sources are listed one after the other.
pub(crate) fn lease_source(
    connection: &Connection,
    process: i64,
    job: i64,
    now: Timestamp,
) -> Result<Option<LeasedSource>> {
    let at = now.as_millisecond();
    let next = "SELECT position, kind, id, cursor, attempts, not_before, lease FROM sources
        WHERE job = ? AND NOT is_listed AND EXISTS (SELECT 1 FROM jobs WHERE number = job
            AND state IN ('queued', 'listing', 'running', 'waiting'))
        ORDER BY position LIMIT 1";
    let next = format!("{next}{}", connection.dialect().for_update());
    let next = connection.query_optional(&next, [job], |row| {
        let is_due = plausible(row.get(5)?, at) <= at;
        let is_free = is_due && row.get::<_, Option<i64>>(6)?.is_none();
        let source = (row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        Ok((row.get::<_, i64>(0)?, source, row.get(3)?, row.get(4)?, is_free))
    })?;
    let Some((position, (kind, id), cursor, attempts, true)) = next else { return Ok(None) };
    let lease = Lease { job, position, fence: next_fence(connection)? };
    let take = "UPDATE sources SET lease = ?, process = ? WHERE job = ? AND position = ?";
    connection.execute(take, params![lease.fence, process, job, position])?;
    begin(connection, job, at)?;
    match ListedSource::from_stored(&kind, &id) {
        Ok(source) => Ok(Some(LeasedSource { lease, source, cursor, attempts })),
        Err(error) => {
            let charge = listing::Charge::default();
            listing::fail_source(connection, &lease, charge, &Failure::from(&error), now)?;
            Ok(None)
        }
    }
}

/// Sets what a job waits for, or that it waits for nothing.
pub(crate) fn set_wait(
    connection: &Connection,
    job: i64,
    wait: Option<&Wait>,
    now: Timestamp,
) -> Result<()> {
    let at = now.as_millisecond();
    let Some(wait) = wait else { return begin(connection, job, at) };
    let current = "SELECT state, wait_reason, wait_until FROM jobs WHERE number = ?";
    let current = format!("{current}{}", connection.dialect().for_update());
    let current: Option<(String, Option<String>, Option<i64>)> =
        connection
            .query_optional(&current, [job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some((state, reason, until)) = current else { return Ok(()) };
    // Another process may be able to work on it.
    let leased = "SELECT EXISTS (SELECT 1 FROM items WHERE job = ? AND lease IS NOT NULL)";
    let is_leased: bool = connection.query_row(leased, [job], |row| row.get(0))?;
    let is_active = !is_leased && JobState::from_word(&state).is_some_and(JobState::is_active);
    let is_same = state == JobState::Waiting.word()
        && reason.as_deref() == Some(wait.reason.code())
        && until == Some(wait.until.as_millisecond());
    if is_active && !is_same {
        let state =
            StateEvent { state: JobState::Waiting, waiting: Some(wait.clone()), error: None };
        jobs::set_state(connection, job, &state, at)?;
    }
    Ok(())
}
