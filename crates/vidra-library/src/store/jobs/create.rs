//! Creates jobs.

use std::time::Duration;

use jiff::Timestamp;
use vidra::{Error, Reason, Result, VideoId};

use super::{by_number, complete_if_done};
use crate::job::{Job, JobEvent, JobId, JobRequest, JobSource, JobState, StateEvent};
use crate::store::sql::{Connection, params};
use crate::store::{copy, events, items, transcripts};

/// A job to create.
#[derive(Debug, Clone)]
pub(crate) struct NewJob {
    pub(crate) id: JobId,
    pub(crate) owner: String,
    pub(crate) request: JobRequest,
    pub(crate) sources: Vec<JobSource>,
    /// The key and the fingerprint of the request.
    pub(crate) idempotency: Option<(String, Vec<u8>)>,
    /// How many unfinished jobs the owner may have.
    pub(crate) max_unfinished: Option<u64>,
    /// How many bytes of transcripts the owner may have.
    pub(crate) max_bytes: Option<u64>,
}

/// The lifetime of an idempotency key.
pub(in crate::store) const KEY_LIFE_MS: i64 = 24 * 3600 * 1000;

/// Creates a job, or finds the one that the same idempotency key created. Returns whether it is new.
pub(crate) fn create(connection: &Connection, new: &NewJob, now: Timestamp) -> Result<(Job, bool)> {
    let at = now.as_millisecond();
    copy::check_complete(connection)?;
    if let Some((key, fingerprint)) = &new.idempotency {
        let query = "SELECT fingerprint, job FROM idempotency_keys WHERE owner = ? AND key = ? AND created_at > ?";
        let parameters = params![new.owner, key, at - KEY_LIFE_MS];
        let known = connection.query_optional(query, parameters, |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
        })?;
        if let Some((before, number)) = known {
            if before != *fingerprint {
                let message = "The Idempotency-Key was used for another request";
                return Err(Error::new(Reason::IdempotencyKeyReused, message));
            }
            return Ok((by_number(connection, number)?.job, false));
        }
    }
    check_unfinished(connection, &new.owner, new.max_unfinished)?;
    if let Some(most) = new.max_bytes {
        let bytes = transcripts::bytes_of(connection, &new.owner)?;
        if bytes >= most {
            let message = format!("Your transcripts take {bytes} bytes, and {most} are allowed");
            let error = Error::new(Reason::LibraryLimitReached, message);
            return Err(error.with_retry_after(Some(ROOM_RETRY_AFTER)));
        }
    }
    insert(connection, new, at).map(|job| (job, true))
}

/// When a caller with too many jobs may try again.
const JOBS_RETRY_AFTER: Duration = Duration::from_secs(60);

/// When a caller without room may try again.
const ROOM_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Refuses one more unfinished job of an owner that has `most`.
pub(super) fn check_unfinished(
    connection: &Connection,
    owner: &str,
    most: Option<u64>,
) -> Result<()> {
    let Some(most) = most else { return Ok(()) };
    // Collections have a limit of their own.
    let query = "SELECT count(*) FROM jobs WHERE owner = ? AND collection IS NULL
        AND state IN ('queued', 'listing', 'running', 'waiting', 'paused')";
    let unfinished: i64 = connection.query_row(query, [owner], |row| row.get(0))?;
    if (unfinished as u64) < most {
        return Ok(());
    }
    let message = format!("You have {unfinished} unfinished jobs, and {most} are allowed");
    Err(Error::new(Reason::TooManyJobs, message).with_retry_after(Some(JOBS_RETRY_AFTER)))
}

/// The row of a new job.
pub(in crate::store) struct NewRow<'a> {
    pub(in crate::store) id: JobId,
    pub(in crate::store) owner: &'a str,
    pub(in crate::store) request: &'a JobRequest,
    pub(in crate::store) source_count: u64,
    /// The number of the collection that it syncs.
    pub(in crate::store) collection: Option<i64>,
}

/// Inserts the row of a job, without sources and items. Returns its number.
pub(in crate::store) fn insert_row(
    connection: &Connection,
    new: &NewRow<'_>,
    at: i64,
) -> Result<i64> {
    let NewRow { id, owner, request, source_count, collection } = new;
    let options = serde_json::to_string(request).unwrap_or_default();
    let insert =
        "INSERT INTO jobs (id, owner, options, state, created_at, source_count, collection, webhook)
        VALUES (?, ?, ?, 'queued', ?, ?, ?, ?) RETURNING number";
    let (id, count) = (id.to_string(), *source_count as i64);
    let parameters = params![id, owner, options, at, count, collection, request.webhook];
    connection.query_row(insert, parameters, |row| row.get(0))
}

/// Ends the insertion of a job: its sources and items are there.
pub(in crate::store) fn begin_row(connection: &Connection, job: i64, at: i64) -> Result<()> {
    let listed = "UPDATE jobs SET is_listed = NOT EXISTS (SELECT 1 FROM sources WHERE job = number)
        WHERE number = ?";
    connection.execute(listed, [job])?;
    let queued = StateEvent { state: JobState::Queued, waiting: None, error: None };
    events::add(connection, job, at, &JobEvent::State(queued))?;
    complete_if_done(connection, job, at)
}

fn insert(connection: &Connection, new: &NewJob, at: i64) -> Result<Job> {
    let row = NewRow {
        id: new.id,
        owner: &new.owner,
        request: &new.request,
        source_count: new.sources.len() as u64,
        collection: None,
    };
    let job = insert_row(connection, &row, at)?;
    let mut videos: Vec<VideoId> = vec![];
    let source = "INSERT INTO sources (job, position, kind, id) VALUES (?, ?, ?, ?)";
    for (position, it) in (1_i64..).zip(&new.sources) {
        match it {
            JobSource::Video(id) => videos.push(*id),
            _ => {
                let parameters = params![job, position, it.kind(), it.to_string()];
                connection.execute(source, parameters)?;
            }
        }
    }
    items::add(
        connection,
        job,
        new.request.limit,
        videos.into_iter().map(items::NewItem::pending),
        at,
    )?;
    if let Some((key, fingerprint)) = &new.idempotency {
        let remember =
            "INSERT INTO idempotency_keys (owner, key, fingerprint, job, created_at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (owner, key) DO UPDATE SET fingerprint = excluded.fingerprint, job = excluded.job,
                created_at = excluded.created_at";
        connection.execute(remember, params![new.owner, key, fingerprint, job, at])?;
    }
    begin_row(connection, job, at)?;
    Ok(by_number(connection, job)?.job)
}
