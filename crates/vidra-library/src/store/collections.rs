//! Collections: pages, changes, figures.

mod put;
mod videos;

use std::collections::BTreeMap;

use jiff::Timestamp;
use vidra::{Error, Reason, Result};

use super::jobs::{self, reason, timestamp};
use super::sql::{Connection, Row, params};
use crate::collection::{
    Collection, CollectionDetails, CollectionName, CollectionRequest, CollectionSource,
    CollectionState, Coverage, DayUnits, LastSync, SourceStatus,
};
use crate::job::{Failure, JobState};

pub(crate) use put::{NewCollection, put};
use videos::coverage;
pub(crate) use videos::{VideoQuery, note_item, videos, was_tried};

/// How many days of units a collection shows.
const SHOWN_DAYS: i64 = 7;

/// A collection and its number in the file.
#[derive(Debug, Clone)]
pub(crate) struct CollectionRow {
    pub(crate) number: i64,
    pub(crate) collection: Collection,
}

const COLUMNS: &str = "number, owner, name, options, is_paused, pause_reason, created_at, updated_at, next_sync,
    synced_at, sync_job,
    (SELECT count(*) FROM collection_sources WHERE collection = collections.number) AS source_count,
    (SELECT count(*) FROM collection_sources WHERE collection = collections.number AND NOT is_listed) AS unlisted_sources,
    (SELECT count(*) FROM collection_sources WHERE collection = collections.number AND error_reason IS NOT NULL) AS failed_sources";

fn read(connection: &Connection, row: &Row) -> Result<CollectionRow> {
    let number: i64 = row.get("number")?;
    let is_paused: bool = row.get("is_paused")?;
    let name = CollectionName::parse(&row.get::<_, String>("name")?);
    let synced_at: Option<i64> = row.get("synced_at")?;
    let last_sync =
        synced_at.map(|at| last_sync(connection, at, row.get("sync_job")?)).transpose()?;
    let collection = Collection {
        name: name.unwrap_or_else(|_| unreachable!("names are written by us")),
        owner: row.get("owner")?,
        state: if is_paused { CollectionState::Paused } else { CollectionState::Active },
        reason: row.get::<_, Option<String>>("pause_reason")?.map(|code| reason(&code)),
        options: CollectionRequest::from_stored(&row.get::<_, String>("options")?),
        source_count: row.get::<_, i64>("source_count")? as u64,
        unlisted_sources: row.get::<_, i64>("unlisted_sources")? as u64,
        failed_sources: row.get::<_, i64>("failed_sources")? as u64,
        coverage: coverage(connection, number)?,
        units: units(connection, number)?,
        last_sync,
        next_sync: Some(timestamp(row.get("next_sync")?)).filter(|_| !is_paused),
        created_at: timestamp(row.get("created_at")?),
        updated_at: timestamp(row.get("updated_at")?),
    };
    Ok(CollectionRow { number, collection })
}

fn last_sync(connection: &Connection, at: i64, job: Option<i64>) -> Result<LastSync> {
    let mut sync = LastSync {
        started_at: timestamp(at),
        finished_at: None,
        job_id: None,
        state: None,
        waiting: None,
        succeeded: 0,
        units: 0,
    };
    if let Some(job) = job {
        let job = jobs::by_number(connection, job)?.job;
        (sync.job_id, sync.state, sync.finished_at) =
            (Some(job.id), Some(job.state), job.finished_at);
        (sync.succeeded, sync.units) = (job.progress.succeeded, job.progress.units);
        sync.waiting = job.waiting;
    }
    Ok(sync)
}

fn units(connection: &Connection, collection: i64) -> Result<Vec<DayUnits>> {
    let days =
        "SELECT day, units FROM collection_units WHERE collection = ? ORDER BY day DESC LIMIT ?";
    connection.query_map(days, params![collection, SHOWN_DAYS], |row| {
        Ok(DayUnits { day: row.get(0)?, units: row.get::<_, i64>(1)? as u64 })
    })
}

/// Whether a collection has used up its units of one day.
pub(crate) fn is_over_budget(connection: &Connection, collection: i64, day: &str) -> Result<bool> {
    let options = "SELECT options FROM collections WHERE number = ?";
    let options: String = connection.query_row(options, [collection], |row| row.get(0))?;
    let Some(budget) = CollectionRequest::from_stored(&options).unit_budget else {
        return Ok(false);
    };
    Ok(units_on(connection, collection, day)? >= budget)
}

/// The units of a collection on one day.
pub(super) fn units_on(connection: &Connection, collection: i64, day: &str) -> Result<u64> {
    let units = "SELECT units FROM collection_units WHERE collection = ? AND day = ?";
    let units: Option<i64> =
        connection.query_optional(units, params![collection, day], |row| row.get(0))?;
    Ok(units.unwrap_or(0) as u64)
}

pub(super) fn by_number(connection: &Connection, number: i64) -> Result<CollectionRow> {
    let query = format!("SELECT {COLUMNS} FROM collections WHERE number = ?");
    connection.query_row(&query, [number], |row| read(connection, row))
}

/// Finds a collection of an owner.
///
/// # Errors
///
/// [`Reason::CollectionNotFound`].
pub(crate) fn find(
    connection: &Connection,
    owner: &str,
    name: &CollectionName,
) -> Result<CollectionRow> {
    let query = format!(
        "SELECT {COLUMNS} FROM collections WHERE owner = ? AND name = ? AND NOT is_deleted"
    );
    let parameters = params![owner, name.as_str()];
    let found = connection.query_optional(&query, parameters, |row| read(connection, row))?;
    found.ok_or_else(|| not_found(name))
}

/// The number of a collection of an owner.
///
/// # Errors
///
/// [`Reason::CollectionNotFound`].
pub(crate) fn number_of(
    connection: &Connection,
    owner: &str,
    name: &CollectionName,
) -> Result<i64> {
    let query = "SELECT number FROM collections WHERE owner = ? AND name = ? AND NOT is_deleted";
    let found =
        connection.query_optional(query, params![owner, name.as_str()], |row| row.get(0))?;
    found.ok_or_else(|| not_found(name))
}

fn not_found(name: &CollectionName) -> Error {
    Error::new(Reason::CollectionNotFound, format!("There is no collection {name}"))
}

/// A collection with its sources.
pub(crate) fn details(connection: &Connection, row: CollectionRow) -> Result<CollectionDetails> {
    let query = "SELECT kind, id, channel, title, is_listed, checked_at, error_reason, error_message,
            (SELECT count(*) FROM source_videos AS shown WHERE shown.source = sources.number AND EXISTS
                (SELECT 1 FROM collection_videos AS it WHERE it.collection = ?1 AND it.video = shown.video)) AS videos
        FROM collection_sources AS sources WHERE collection = ?1 ORDER BY position";
    let sources = connection.query_map(query, [row.number], |row| {
        let (kind, id): (String, String) = (row.get("kind")?, row.get("id")?);
        let source = CollectionSource::from_stored(&kind, &id).map(|it| it.to_string());
        let message: Option<String> = row.get("error_message")?;
        let error = row
            .get::<_, Option<String>>("error_reason")?
            .map(|code| Failure { reason: reason(&code), message: message.unwrap_or_default() });
        Ok(SourceStatus {
            source: source.unwrap_or(id),
            kind,
            channel_id: row.get("channel")?,
            title: row.get("title")?,
            is_listed: row.get("is_listed")?,
            videos: row.get::<_, i64>("videos")? as u64,
            checked_at: row.get::<_, Option<i64>>("checked_at")?.map(timestamp),
            error,
        })
    })?;
    Ok(CollectionDetails { collection: row.collection, sources })
}

/// Pauses a collection and its sync, or continues them.
pub(crate) fn set_paused(
    connection: &Connection,
    number: i64,
    is_paused: bool,
    why: Option<Reason>,
    now: Timestamp,
) -> Result<()> {
    let update = "UPDATE collections SET is_paused = ?, pause_reason = ? WHERE number = ? AND NOT is_deleted";
    connection.execute(update, params![is_paused, why.map(Reason::code), number])?;
    let change = if is_paused { jobs::Change::Pause } else { jobs::Change::Resume };
    for job in unfinished_jobs(connection, number)? {
        let id = jobs::by_number(connection, job)?.job.id;
        // It is unfinished, so that both changes are possible.
        jobs::change(connection, id, None, change, now)?;
    }
    Ok(())
}

/// The owners of collections that are not paused, and their numbers.
pub(crate) fn active(connection: &Connection) -> Result<Vec<(String, i64)>> {
    let query = "SELECT owner, number FROM collections WHERE NOT is_paused AND NOT is_deleted";
    connection.query_map(query, (), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The jobs of a collection that have not ended.
pub(super) fn unfinished_jobs(connection: &Connection, number: i64) -> Result<Vec<i64>> {
    let query = "SELECT number FROM jobs WHERE collection = ? AND NOT is_deleted
        AND state NOT IN ('completed', 'cancelled', 'failed')";
    connection.query_map(query, [number], |row| row.get(0))
}

/// Marks a collection and its jobs as deleted. [`purge_deleted`](super::retention::purge_deleted) removes the rows.
pub(crate) fn delete(connection: &Connection, number: i64) -> Result<()> {
    connection.execute("UPDATE collections SET is_deleted = TRUE WHERE number = ?", [number])?;
    let jobs = "UPDATE jobs SET is_deleted = TRUE, state = 'cancelled' WHERE collection = ?";
    connection.execute(jobs, [number])?;
    Ok(())
}

/// The filter of a page of collections.
#[derive(Debug, Clone, Default)]
pub(crate) struct CollectionQuery {
    /// `None` for all owners.
    pub(crate) owner: Option<String>,
    /// Only collections after the one with this number.
    pub(crate) after: i64,
    pub(crate) limit: usize,
}

/// A page of collections, the oldest first.
pub(crate) fn page(connection: &Connection, query: &CollectionQuery) -> Result<Vec<CollectionRow>> {
    let text = format!(
        "SELECT {COLUMNS} FROM collections WHERE number > ?1 AND (?2 IS NULL OR owner = ?2) AND NOT is_deleted
        ORDER BY number LIMIT ?3"
    );
    let parameters = params![query.after, query.owner, query.limit as i64];
    connection.query_map(&text, parameters, |row| read(connection, row))
}

/// The figures of one collection, for metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionFigures {
    /// The owner.
    pub owner: String,
    /// The name.
    pub name: String,
    /// The number of videos in each state.
    pub videos: BTreeMap<&'static str, u64>,
    /// The units of this day.
    pub units_today: u64,
    /// When the last sync began.
    pub last_sync: Option<Timestamp>,
    /// When the next sync is due. `None` while the collection is paused.
    pub next_sync: Option<Timestamp>,
    /// Whether the last sync completed.
    pub is_synced: bool,
}

/// Reads the figures of the oldest collections, at most `limit`.
pub(crate) fn figures(
    connection: &Connection,
    day: &str,
    limit: usize,
) -> Result<Vec<CollectionFigures>> {
    let query = CollectionQuery { owner: None, after: 0, limit };
    let figures = |CollectionRow { number, collection }: CollectionRow| {
        let Coverage { transcribed, pending, failed, gone, .. } = collection.coverage;
        let videos = [
            ("pending", pending),
            ("transcribed", transcribed),
            ("failed", failed.values().sum()),
            ("gone", gone),
        ];
        let last = collection.last_sync.as_ref();
        Ok(CollectionFigures {
            videos: videos.into(),
            units_today: units_on(connection, number, day)?,
            last_sync: last.map(|it| it.started_at),
            next_sync: collection.next_sync,
            is_synced: last.is_some_and(|it| it.state == Some(JobState::Completed)),
            owner: collection.owner,
            name: collection.name.to_string(),
        })
    };
    page(connection, &query)?.into_iter().map(figures).collect()
}

/// The id of a channel whose handle is a source of a collection.
pub(crate) fn known_channel(
    connection: &Connection,
    handle: &str,
    owner: Option<&str>,
) -> Result<Option<String>> {
    let query = "SELECT channel FROM collection_sources
        WHERE kind = 'channel' AND lower(id) = ?1 AND channel IS NOT NULL
            AND (?2 IS NULL OR collection IN (SELECT number FROM collections WHERE owner = ?2 AND NOT is_deleted))
        LIMIT 1";
    let handle = handle.to_ascii_lowercase();
    connection.query_optional(query, params![handle, owner], |row| row.get(0))
}
