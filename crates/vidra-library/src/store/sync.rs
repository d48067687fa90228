//! The schedule of collections: which sync is due, and its job.

use jiff::Timestamp;
use vidra::{Result, VideoId};

use super::collections::{self, CollectionRow};
use super::items::{self, NewItem};
use super::jobs::{self, JobRow, NewRow, timestamp};
use super::sql::{Connection, Row, params};
use crate::collection::schedule::{
    LONGEST_CHANNEL_LIST, LONGEST_CHECK, is_due, longest_playlist_list, next_sync,
};
use crate::job::JobId;

/// The shortest time between two jobs that only try videos again.
const RETRY_INTERVAL_MS: i64 = 15 * 60 * 1000;

/// How many videos one job tries again. The next job has the others.
const MOST_RETRIES: i64 = 10_000;

/// The kind of the source of a sync that reads feeds, which cost nothing.
pub(super) const FEEDS: &str = "feeds";

/// The kind of the source of a sync that reads lists, which cost units.
pub(super) const LISTS: &str = "lists";

/// A collection whose time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) collection: i64,
    /// When it is due, in the past or in the future.
    pub(crate) at: Timestamp,
    /// Whether only videos are tried again, because the sync is not due.
    pub(crate) retries_only: bool,
}

/// The collections that are due at `now`. If none is due, the result is the one that will be due first.
pub(crate) fn due(connection: &Connection, now: Timestamp) -> Result<Vec<Due>> {
    let at = now.as_millisecond();
    // A time that lies before the last sync comes from a clock that was set back.
    let syncs =
        "SELECT number, CASE WHEN coalesce(synced_at, 0) > ?1 THEN 0 ELSE next_sync END AS due, FALSE FROM collections
        WHERE NOT is_paused AND NOT is_deleted AND ?2 > 0 ORDER BY due LIMIT 100";
    // Not while another job tries videos again. A sync can wait for days, and does not prevent it.
    let retries = "SELECT number, CASE WHEN retried_at > ?1 THEN 0 WHEN retried_at + ?2 > next_try THEN retried_at + ?2
                ELSE next_try END AS due, TRUE
        FROM (SELECT number, retried_at, (SELECT min(next_try) FROM collection_videos
                WHERE collection = collections.number AND next_try IS NOT NULL) AS next_try
            FROM collections WHERE NOT is_paused AND NOT is_deleted
                AND NOT EXISTS (SELECT 1 FROM jobs WHERE collection = collections.number
                    AND state NOT IN ('completed', 'cancelled', 'failed')
                    AND NOT EXISTS (SELECT 1 FROM sources WHERE job = jobs.number))) AS waiting
        WHERE next_try IS NOT NULL ORDER BY due LIMIT 100";
    let read = |row: &Row| {
        Ok(Due { collection: row.get(0)?, at: timestamp(row.get(1)?), retries_only: row.get(2)? })
    };
    let rows = |query: &str| connection.query_map(query, params![at, RETRY_INTERVAL_MS], read);
    let (mut all, retries) = (rows(syncs)?, rows(retries)?);
    let is_due = |due: &Due| due.at.as_millisecond() <= at;
    // A sync also tries videos again.
    let syncing: Vec<i64> = all.iter().filter(|it| is_due(it)).map(|it| it.collection).collect();
    all.extend(retries.into_iter().filter(|it| !syncing.contains(&it.collection)));
    all.sort_by_key(|it| it.at);
    let count = all.iter().filter(|it| is_due(it)).count();
    all.truncate(count.max(1));
    Ok(all)
}

/// Starts a sync that is due. `None` if somebody else has started it, or if it is not due any more.
pub(crate) fn start_due(
    connection: &Connection,
    due: &Due,
    now: Timestamp,
) -> Result<Option<JobId>> {
    let at = now.as_millisecond();
    let still = "SELECT next_sync <= ?2 OR coalesce(synced_at, 0) > ?2, retried_at + ?3 <= ?2 OR retried_at > ?2 FROM collections
        WHERE number = ?1 AND NOT is_paused AND NOT is_deleted";
    let still: Option<(bool, bool)> = connection.query_optional(
        still,
        params![due.collection, at, RETRY_INTERVAL_MS],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let start = match still {
        Some((_, true)) if due.retries_only => retry(connection, due.collection, now),
        Some((true, _)) if !due.retries_only => start(connection, due.collection, now).map(Some),
        _ => Ok(None),
    };
    Ok(start?.map(|row| row.job.id))
}

/// Starts a sync of a collection. If one is still running, it reads the feeds again, and there is no second one.
pub(crate) fn start(connection: &Connection, collection: i64, now: Timestamp) -> Result<JobRow> {
    let row = collections::by_number(connection, collection)?;
    let (at, every) = (now.as_millisecond(), row.collection.options.every);
    let next = next_sync(collection, every, now).as_millisecond();
    assign_tasks(connection, &row, now)?;
    let job = match unfinished_sync(connection, collection)? {
        Some(job) => {
            reopen(connection, job, now)?;
            job
        }
        None => {
            let job = insert(connection, &row, true, now)?;
            let synced = "UPDATE collections SET synced_at = ?, sync_job = ? WHERE number = ?";
            connection.execute(synced, params![at, job, collection])?;
            job
        }
    };
    let update = "UPDATE collections SET next_sync = ?1, synced_at = CASE WHEN synced_at > ?2 THEN ?2 ELSE synced_at END WHERE number = ?3";
    connection.execute(update, params![next, at, collection])?;
    jobs::by_number(connection, job)
}

/// The sync of a collection that has not ended: a job with sources.
fn unfinished_sync(connection: &Connection, collection: i64) -> Result<Option<i64>> {
    for job in collections::unfinished_jobs(connection, collection)? {
        let has_sources = "SELECT EXISTS (SELECT 1 FROM sources WHERE job = ?)";
        if connection.query_row(has_sources, [job], |row| row.get(0))? {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

/// Starts a job that tries videos of a collection again. `None` if there are none.
fn retry(connection: &Connection, collection: i64, now: Timestamp) -> Result<Option<JobRow>> {
    let row = collections::by_number(connection, collection)?;
    let noted = "UPDATE collections SET retried_at = ? WHERE number = ?";
    connection.execute(noted, params![now.as_millisecond(), collection])?;
    if videos_to_try(connection, collection, false, now)?.is_empty() {
        return Ok(None);
    }
    let job = insert(connection, &row, false, now)?;
    jobs::by_number(connection, job).map(Some)
}

/// Inserts the job of a sync, with the videos that are tried again. Without `finds_videos` it does nothing else.
fn insert(
    connection: &Connection,
    row: &CollectionRow,
    finds_videos: bool,
    now: Timestamp,
) -> Result<i64> {
    let (collection, at) = (&row.collection, now.as_millisecond());
    let new = NewRow {
        id: JobId::random()?,
        owner: &collection.owner,
        request: &collection.options.job_request(),
        source_count: collection.source_count,
        collection: Some(row.number),
    };
    let insert = || {
        let job = jobs::insert_row(connection, &new, at)?;
        if finds_videos {
            add_sources(connection, job, row.number)?;
        }
        let videos = videos_to_try(connection, row.number, finds_videos, now)?;
        items::add(connection, job, None, videos.into_iter().map(NewItem::pending), at)?;
        jobs::begin_row(connection, job, at)?;
        Ok(job)
    };
    insert()
}

/// Adds the two sources of a sync.
fn add_sources(connection: &Connection, job: i64, collection: i64) -> Result<()> {
    let source = "INSERT INTO sources (job, position, kind, id) VALUES (?, ?, ?, ?)";
    for (position, kind) in [(1, FEEDS), (2, LISTS)] {
        connection.execute(source, params![job, position, kind, collection.to_string()])?;
    }
    Ok(())
}

/// The longest time until a video is tried again. A later one comes from a clock that was set back.
const LONGEST_PAUSE_MS: i64 = 8 * 24 * 3600 * 1000;

/// The videos that are due to be tried again, and with `untried` those that were not tried. Videos that another job of
/// the collection will fetch are left out.
fn videos_to_try(
    connection: &Connection,
    collection: i64,
    untried: bool,
    now: Timestamp,
) -> Result<Vec<VideoId>> {
    let query = "SELECT video FROM collection_videos AS it WHERE collection = ?1
            AND (next_try <= ?2 OR next_try > ?2 + ?3 OR (?4 AND state = 0))
            AND NOT EXISTS (SELECT 1 FROM items WHERE items.video = it.video AND items.state = 0 AND items.job IN
                (SELECT number FROM jobs WHERE collection = ?1 AND state NOT IN ('completed', 'cancelled', 'failed')))
        ORDER BY number DESC LIMIT ?5";
    let parameters =
        params![collection, now.as_millisecond(), LONGEST_PAUSE_MS, untried, MOST_RETRIES];
    let ids = connection.query_map(query, parameters, |row| row.get::<_, String>(0))?;
    Ok(ids.iter().filter_map(|id| VideoId::parse(id).ok()).collect())
}

/// Makes a running sync read the feeds again, for example while it waits for the quota. A paused one continues.
fn reopen(connection: &Connection, job: i64, now: Timestamp) -> Result<()> {
    let id = jobs::by_number(connection, job)?.job.id;
    let open = || {
        let open = "UPDATE sources SET is_listed = FALSE WHERE job = ? AND lease IS NULL";
        connection.execute(open, [job])?;
        connection.execute("UPDATE jobs SET is_listed = FALSE WHERE number = ?", [job])
    };
    open()?;
    jobs::change(connection, id, None, jobs::Change::Resume, now).map(drop)
}

/// Assigns the work of a sync to each source that has none.
fn assign_tasks(connection: &Connection, row: &CollectionRow, now: Timestamp) -> Result<()> {
    let every = row.collection.options.every;
    let idle = "SELECT number, kind, is_listed, paged_at, audited_at, count FROM collection_sources
        WHERE collection = ? AND task IS NULL";
    // A list that was read once begins at its first page again.
    let assign = "UPDATE collection_sources SET task = ?, cursor = CASE WHEN is_listed THEN NULL ELSE cursor END WHERE number = ?";
    connection.query_while(idle, [row.number], |source| {
        let kind: String = source.get("kind")?;
        let is_listed: bool = source.get("is_listed")?;
        let time = |name: &str| source.get::<_, Option<i64>>(name).map(|it| it.map(timestamp));
        let (paged, audited) = (time("paged_at")?, time("audited_at")?);
        let count = source.get::<_, Option<i64>>("count")?.and_then(|it| u64::try_from(it).ok());
        let longest_list = longest_playlist_list(count.unwrap_or(0));
        let task = match &*kind {
            "channel" | "playlist" if !is_listed => "whole",
            "channel" if is_due(paged, LONGEST_CHANNEL_LIST, every, now) => "audit",
            "channel" if is_due(audited, LONGEST_CHECK, every, now) => "feed_count",
            "channel" => "feed",
            "playlist" if is_due(paged, longest_list, every, now) => "whole",
            "playlist" => "count",
            "search" => "search",
            _ => return Ok(true),
        };
        connection.execute(assign, params![task, source.get::<_, i64>("number")?])?;
        Ok(true)
    })
}
