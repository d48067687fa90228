//! The outbox of webhooks: messages are stored in the transaction of the change that they report.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use vidra::format::iso_millis;

use vidra::Result;

use super::collections;
use super::jobs::{self, timestamp};
use super::sql::{Connection, params};
use crate::collection::Coverage;
use crate::job::{Job, JobId, JobState};

/// How long a job waits before its webhook gets a message.
const WAIT_MS: i64 = 5 * 60 * 1000;

/// How long a message is tried.
const LIFE_MS: i64 = 24 * 3600 * 1000;

/// After which time a message is tried again whose sender has disappeared.
const CLAIM_MS: i64 = 60 * 1000;

/// A message, in the members that Standard Webhooks suggests.
#[derive(Serialize)]
struct Message<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    data: &'a T,
}

/// The data of a message about a job.
#[derive(Serialize)]
struct JobNews {
    job: Job,
}

/// The data of a message about a collection.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CollectionNews<'a> {
    collection: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    owner: &'a str,
    job_id: JobId,
    new_videos: u64,
    new_transcripts: u64,
    coverage: &'a Coverage,
}

/// Adds a message.
fn add(
    connection: &Connection,
    webhook: &str,
    kind: &str,
    data: &impl Serialize,
    at: i64,
) -> Result<()> {
    let message = Message { kind, timestamp: iso_millis(timestamp(at)), data };
    let body = serde_json::to_string(&message).unwrap_or_default();
    let insert = "INSERT INTO webhook_messages (id, webhook, body, created_at, next_attempt)
        VALUES (?1, ?2, ?3, ?4, ?4)";
    let id = format!("msg_{}", JobId::random()?);
    connection.execute(insert, params![id, webhook, body, at])?;
    Ok(())
}

/// Adds the message about the end of a job.
pub(super) fn note_state(
    connection: &Connection,
    job: i64,
    state: JobState,
    at: i64,
) -> Result<()> {
    if !state.is_finished() {
        return Ok(());
    }
    let targets = "SELECT webhook, collection FROM jobs WHERE number = ?";
    let (webhook, collection): (Option<String>, Option<i64>) =
        connection.query_row(targets, [job], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if let Some(webhook) = webhook {
        let kind = format!("job.{}", state.word());
        let job = jobs::by_number(connection, job)?.job;
        add(connection, &webhook, &kind, &JobNews { job }, at)?;
    }
    match collection {
        Some(collection) if state == JobState::Completed => {
            note_sync(connection, collection, job, at)
        }
        _ => Ok(()),
    }
}

/// Adds the message about a sync that has found something.
fn note_sync(connection: &Connection, collection: i64, job: i64, at: i64) -> Result<()> {
    let row = collections::by_number(connection, collection)?.collection;
    let Some(webhook) = &row.options.webhook else { return Ok(()) };
    let job = jobs::by_number(connection, job)?.job;
    let new = "SELECT count(*) FROM collection_videos WHERE collection = ? AND found_at >= ?";
    let parameters = params![collection, job.created_at.as_millisecond()];
    let new: i64 = connection.query_row(new, parameters, |row| row.get(0))?;
    if new == 0 && job.progress.succeeded == 0 {
        return Ok(());
    }
    let news = CollectionNews {
        collection: row.name.as_str(),
        owner: &row.owner,
        job_id: job.id,
        new_videos: new as u64,
        new_transcripts: job.progress.succeeded,
        coverage: &row.coverage,
    };
    add(connection, webhook, "collection.updated", &news, at)
}

/// The jobs that wait, and whose webhook does not know. A wait for the pace is a part of running.
const LONG_WAITS: &str =
    "state = 'waiting' AND webhook IS NOT NULL AND NOT is_wait_sent AND wait_reason <> 'paced'";

/// When the next message about a waiting job is due.
pub(crate) fn next_wait(connection: &Connection) -> Result<Option<Timestamp>> {
    let next = format!("SELECT min(waiting_since) FROM jobs WHERE {LONG_WAITS}");
    let next: Option<i64> = connection.query_row(&next, (), |row| row.get(0))?;
    Ok(next.map(|since| timestamp(since + WAIT_MS)))
}

/// Adds the messages about jobs that have waited for five minutes.
pub(crate) fn note_waits(connection: &Connection, now: Timestamp) -> Result<()> {
    let at = now.as_millisecond();
    let long = format!(
        "UPDATE jobs SET is_wait_sent = TRUE WHERE {LONG_WAITS} AND waiting_since <= ? RETURNING number, webhook"
    );
    let long: Vec<(i64, String)> =
        connection.query_map(&long, [at - WAIT_MS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (job, webhook) in long {
        let job = jobs::by_number(connection, job)?.job;
        add(connection, &webhook, "job.waiting", &JobNews { job }, at)?;
    }
    Ok(())
}

/// A message that this process sends.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebhookMessage {
    /// Its number in the file.
    pub(crate) number: i64,
    /// The id, the same for every attempt.
    pub id: String,
    /// The JSON.
    pub body: String,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// When it is given up.
    pub expires_at: Timestamp,
}

/// Takes the next message of a webhook that is due. Another process does not take it for a minute.
pub(crate) fn claim(
    connection: &Connection,
    webhook: &str,
    now: Timestamp,
) -> Result<Option<WebhookMessage>> {
    let at = now.as_millisecond();
    let claim = "UPDATE webhook_messages SET attempts = attempts + 1, next_attempt = ?2 + ?3 WHERE number =
            (SELECT number FROM webhook_messages WHERE webhook = ?1 AND next_attempt <= ?2 ORDER BY number LIMIT 1)
        RETURNING number, id, body, attempts, created_at";
    connection.query_optional(claim, params![webhook, at, CLAIM_MS], |row| {
        Ok(WebhookMessage {
            number: row.get(0)?,
            id: row.get(1)?,
            body: row.get(2)?,
            attempt: row.get(3)?,
            expires_at: timestamp(row.get::<_, i64>(4)? + LIFE_MS),
        })
    })
}

/// When the next message of a webhook is due.
pub(crate) fn next_due(connection: &Connection, webhook: &str) -> Result<Option<Timestamp>> {
    let next = "SELECT min(next_attempt) FROM webhook_messages WHERE webhook = ?";
    let next: Option<i64> = connection.query_row(next, [webhook], |row| row.get(0))?;
    Ok(next.map(timestamp))
}

/// Removes a message, or tries it again later.
pub(crate) fn end_attempt(
    connection: &Connection,
    message: i64,
    again: Option<Timestamp>,
) -> Result<()> {
    let Some(at) = again else {
        connection.execute("DELETE FROM webhook_messages WHERE number = ?", [message])?;
        return Ok(());
    };
    let later = "UPDATE webhook_messages SET next_attempt = ? WHERE number = ?";
    connection.execute(later, params![at.as_millisecond(), message])?;
    Ok(())
}

/// The number of messages that wait, by webhook.
pub(crate) fn waiting(connection: &Connection) -> Result<Vec<(String, u64)>> {
    let counts = "SELECT webhook, count(*) FROM webhook_messages GROUP BY webhook";
    connection.query_map(counts, (), |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))
}

/// Removes messages of webhooks that nobody sends to any more.
pub(crate) fn expire(connection: &Connection, now: Timestamp) -> Result<usize> {
    let oldest = now.checked_sub(SignedDuration::from_millis(2 * LIFE_MS)).unwrap_or_default();
    let delete = "DELETE FROM webhook_messages WHERE created_at < ?";
    connection.execute(delete, [oldest.as_millisecond()])
}
