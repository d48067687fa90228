//! Maintenance of the file: figures, checks, backups, retention.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, MAIN_DB, OptionalExtension, params};
use serde::Serialize;
use vidra::{QuotaDay, Reason, Result, VideoId};

use super::error::{file, sql};
use super::jobs::{self, KEY_LIFE_MS};
use super::locks::private_options;
use super::{index, resources, transcripts};
use crate::job::{ItemState, JobState, StateEvent};

/// Figures of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Stats {
    /// Videos with a transcript.
    pub videos: u64,
    /// Transcripts. A video can have several.
    pub transcripts: u64,
    /// Seconds of video with a transcript.
    pub seconds: u64,
    /// Bytes of all texts before compression.
    pub text_bytes: u64,
    /// Bytes of all texts in the file.
    pub stored_bytes: u64,
    /// Jobs.
    pub jobs: u64,
    /// Jobs that have not ended.
    pub unfinished_jobs: u64,
    /// Items of all jobs.
    pub items: u64,
    /// Collections.
    pub collections: u64,
    /// Videos of all collections.
    pub collection_videos: u64,
}

/// Reads the figures of the whole file.
pub(crate) fn stats(connection: &Connection) -> rusqlite::Result<Stats> {
    let numbers = |query: &str| {
        connection.query_row(query, [], |row| {
            let number = |index| row.get::<_, Option<i64>>(index).map(|it| it.unwrap_or(0) as u64);
            Ok((number(0)?, number(1)?, number(2)?))
        })
    };
    let (transcripts, text_bytes, stored_bytes) =
        numbers("SELECT count(*), sum(length), sum(length(text)) FROM transcripts")?;
    let (videos, seconds, _) = numbers(
        "SELECT count(*), sum(duration), 0 FROM videos
        WHERE id IN (SELECT video FROM transcripts)",
    )?;
    let (jobs, items, unfinished_jobs) = numbers(
        "SELECT count(*), sum(items),
        sum(state NOT IN ('completed', 'cancelled', 'failed')) FROM jobs WHERE NOT is_deleted",
    )?;
    let (collections, collection_videos, _) = numbers(
        "SELECT (SELECT count(*) FROM collections WHERE NOT is_deleted), count(*), 0 FROM collection_videos",
    )?;
    Ok(Stats {
        videos,
        transcripts,
        seconds,
        text_bytes,
        stored_bytes,
        jobs,
        unfinished_jobs,
        items,
        collections,
        collection_videos,
    })
}

/// The number of jobs in each state.
pub(crate) fn job_counts(connection: &Connection) -> rusqlite::Result<Vec<(JobState, u64)>> {
    let counts = "SELECT state, count(*) FROM jobs WHERE NOT is_deleted GROUP BY state";
    let mut query = connection.prepare_cached(counts)?;
    let rows = query.query_map([], |row| {
        let state = JobState::from_word(&row.get::<_, String>(0)?);
        Ok(state.map(|state| (state, row.get::<_, i64>(1).unwrap_or(0) as u64)))
    })?;
    rows.filter_map(rusqlite::Result::transpose).collect()
}

/// Figures of all jobs in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobFigures {
    /// The number of jobs in each state.
    pub jobs: Vec<(JobState, u64)>,
    /// The number of items in each state.
    pub items: Vec<(ItemState, u64)>,
    /// The number of resources that are unavailable, by reason.
    pub waiting: Vec<(Reason, u64)>,
}

/// Reads the figures of all jobs. It reads no item.
pub(crate) fn job_figures(connection: &Connection, now: Timestamp) -> rusqlite::Result<JobFigures> {
    let counts = job_counts(connection)?;
    let count = |state| counts.iter().find(|(it, _)| *it == state).map_or(0, |(_, count)| *count);
    let jobs = JobState::ALL.iter().map(|(_, state)| (*state, count(*state))).collect();
    let sums = "SELECT sum(items - succeeded - failed), sum(succeeded), sum(failed) FROM jobs
        WHERE NOT is_deleted";
    let [pending, succeeded, failed] = connection.query_row(sums, [], |row| {
        let number = |index| row.get::<_, Option<i64>>(index).map(|it| it.unwrap_or(0) as u64);
        Ok([number(0)?, number(1)?, number(2)?])
    })?;
    let items = vec![
        (ItemState::Pending, pending),
        (ItemState::Succeeded, succeeded),
        (ItemState::Failed, failed),
    ];
    let mut waiting: Vec<(Reason, u64)> = vec![];
    for resource in resources::all(connection)?.iter().filter(|it| it.available_at > now) {
        match waiting.iter_mut().find(|(reason, _)| *reason == resource.reason) {
            Some((_, count)) => *count += 1,
            None => waiting.push((resource.reason, 1)),
        }
    }
    Ok(JobFigures { jobs, items, waiting })
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Check {
    /// The number of transcripts that were read.
    pub transcripts: u64,
    /// The videos of damaged transcripts.
    pub damaged: Vec<String>,
    /// Other faults, one sentence each.
    pub faults: Vec<String>,
    /// Faults of the search index, one sentence each. A repair builds it again.
    pub index_faults: Vec<String>,
    /// The number of items that will be fetched again.
    pub renewed_items: u64,
}

/// Checks the structure of the file and of the index, and that the counts of jobs agree with their items.
pub(crate) fn check_structure(connection: &Connection) -> rusqlite::Result<Check> {
    let mut query = connection.prepare("PRAGMA integrity_check")?;
    let mut faults: Vec<String> =
        query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    faults.retain(|line| line != "ok");
    let index_faults = index::faults(connection, &mut faults)?;
    let counts = "SELECT jobs.id FROM jobs LEFT JOIN
            (SELECT job, count(*) AS all_items, sum(state = 1) AS good, sum(state = 2) AS bad FROM items GROUP BY job)
            AS counted ON counted.job = jobs.number
        WHERE NOT is_deleted
            AND (jobs.items <> coalesce(all_items, 0) OR succeeded <> coalesce(good, 0) OR failed <> coalesce(bad, 0))";
    let mut query = connection.prepare(counts)?;
    for id in query.query_map([], |row| row.get::<_, String>(0))? {
        faults.push(format!("the counts of job {} do not agree with its items", id?));
    }
    Ok(Check { faults, index_faults, ..Check::default() })
}

/// Removes a damaged transcript. Items that succeeded with it become pending, so that a worker fetches it again.
pub(crate) fn remove_damaged(
    connection: &Connection,
    number: i64,
    now: Timestamp,
) -> rusqlite::Result<u64> {
    let jobs = "SELECT job, count(*) FROM items WHERE transcript = ? GROUP BY job";
    let jobs: Vec<(i64, i64)> = connection
        .prepare(jobs)?
        .query_map([number], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let items =
        "UPDATE items SET state = 0, transcript = NULL, finished_at = NULL WHERE transcript = ?";
    let renewed = connection.execute(items, [number])?;
    for (job, count) in jobs {
        let counts = "UPDATE jobs SET succeeded = succeeded - ? WHERE number = ?";
        connection.execute(counts, params![count, job])?;
        let state = jobs::by_number(connection, job)?.job.state;
        if matches!(state, JobState::Completed | JobState::Failed) {
            let running = StateEvent { state: JobState::Running, waiting: None, error: None };
            jobs::set_state(connection, job, &running, now.as_millisecond())?;
        }
    }
    let again = "UPDATE collection_videos SET state = 0, next_try = ? WHERE state = 1
        AND video = (SELECT video FROM transcripts WHERE number = ?)";
    connection.execute(again, params![now.as_millisecond(), number])?;
    index::remove(connection, number)?;
    connection.execute("DELETE FROM transcripts WHERE number = ?", [number])?;
    Ok(renewed as u64)
}

/// The checked texts of a page of transcripts.
#[derive(Debug, Default)]
pub(crate) struct CheckedPage {
    /// The numbers and videos of damaged transcripts.
    pub(crate) damaged: Vec<(i64, String)>,
    /// The number of the last transcript. `None` after the last page.
    pub(crate) last: Option<i64>,
    /// How many were read.
    pub(crate) count: u64,
}

/// Checks the texts of a page of transcripts.
pub(crate) fn check_texts(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> Result<CheckedPage> {
    let page = transcripts::export_page(connection, after, limit).map_err(sql)?;
    let (last, count) = (page.last().map(|it| it.number), page.len() as u64);
    let is_damaged = |it: &transcripts::StoredTranscript| {
        it.text.transcript().is_err_and(|error| error.reason() == Reason::LibraryDamaged)
    };
    let damaged = page.into_iter().filter(is_damaged).map(|it| (it.number, it.video)).collect();
    Ok(CheckedPage { damaged, last, count })
}

/// Copies the database to a new file, while others read and write it.
///
/// # Errors
///
/// [`Reason::LibraryUnavailable`] if the file exists or cannot be written.
pub(crate) fn backup(connection: &Connection, to: &Path) -> Result<()> {
    // Creating the file first never replaces another one.
    private_options().create_new(true).open(to).map_err(file)?;
    // The first read takes the snapshot. Without it, every commit of another connection would start the copy again.
    let snapshot = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let copied = snapshot
        .and_then(|()| connection.backup(MAIN_DB, to, None::<fn(rusqlite::backup::Progress)>));
    copied.map_err(|error| {
        // A part of a copy is of no use.
        let _ = std::fs::remove_file(to);
        sql(error)
    })
}

/// Removes the transcripts and the data of these videos. Returns the number of removed transcripts.
pub(crate) fn forget(connection: &Connection, videos: &[VideoId]) -> rusqlite::Result<u64> {
    let mut removed = 0;
    for video in videos {
        let video = video.to_string();
        removed += remove_texts(connection, &video)?;
        // Collections must not fetch it again.
        let never =
            "UPDATE collection_videos SET state = 2, reason = ?, next_try = NULL WHERE video = ?";
        connection.execute(never, params![Reason::TranscriptRemoved.code(), video])?;
    }
    Ok(removed as u64)
}

/// Removes the transcripts and the data of a video. Returns the number of removed transcripts.
pub(super) fn remove_texts(connection: &Connection, video: &str) -> rusqlite::Result<usize> {
    index::remove_video(connection, video)?;
    let removed =
        connection.prepare_cached("DELETE FROM transcripts WHERE video = ?")?.execute([video])?;
    connection.prepare_cached("DELETE FROM videos WHERE id = ?")?.execute([video])?;
    Ok(removed)
}

/// Removes transcripts that were stored before `time` and that no collection refers to, at most `limit`. Returns their
/// number.
pub(crate) fn purge_older(
    connection: &Connection,
    time: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    let old = "SELECT number, video FROM transcripts WHERE stored_at < ?
            AND NOT EXISTS (SELECT 1 FROM collection_videos AS it WHERE it.video = transcripts.video)
        ORDER BY stored_at LIMIT ?";
    let old: Vec<(i64, String)> = connection
        .prepare_cached(old)?
        .query_map(params![time.as_millisecond(), limit as i64], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM transcripts WHERE number = ?")?;
    for (number, _) in &old {
        index::remove(connection, *number)?;
        delete.execute([number])?;
    }
    let videos: Vec<String> = old.into_iter().map(|(_, video)| video).collect();
    remove_orphans(connection, &videos)?;
    Ok(videos.len())
}

/// Removes the data of videos that have no transcript and are in no collection.
fn remove_orphans(connection: &Connection, videos: &[String]) -> rusqlite::Result<()> {
    let orphans = "DELETE FROM videos WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM transcripts WHERE video = ?1)
        AND NOT EXISTS (SELECT 1 FROM collection_videos WHERE video = ?1)";
    let mut orphans = connection.prepare_cached(orphans)?;
    for video in videos {
        orphans.execute([video])?;
    }
    Ok(())
}

/// The longest time that YouTube allows to store data of its Data API.
const DATA_API_LIFE_MS: i64 = 30 * 24 * 3600 * 1000;

/// Removes expired values of the Data API: dates and titles of videos, titles and numbers of sources.
pub(crate) fn expire_dates(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    let update =
        "UPDATE videos SET published_at = NULL, published_source = NULL, published_stored_at = NULL, refresh_at = NULL,
            title = iif(EXISTS (SELECT 1 FROM transcripts WHERE video = id), title, '')
        WHERE published_source = 'data_api' AND published_stored_at < ?";
    let oldest = now.as_millisecond() - DATA_API_LIFE_MS;
    // Those of sources are read again at every sync, unless the collection is paused.
    let of_sources = "UPDATE collection_sources SET title = NULL, count = NULL
        WHERE checked_at < ? AND (title IS NOT NULL OR count IS NOT NULL)";
    connection.execute(of_sources, [oldest])?;
    let expired = connection.execute(update, [oldest])?;
    // Videos of jobs that never got a transcript.
    let unused = "DELETE FROM videos WHERE title = '' AND published_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM transcripts WHERE video = id)
        AND NOT EXISTS (SELECT 1 FROM collection_videos WHERE video = id)";
    connection.execute(unused, [])?;
    Ok(expired)
}

/// Removes expired idempotency keys.
pub(crate) fn expire_keys(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    let delete = "DELETE FROM idempotency_keys WHERE created_at <= ?";
    connection.execute(delete, [now.as_millisecond() - KEY_LIFE_MS])
}

/// How long the jobs of collections are stored after their end.
const SYNC_LIFE_MS: i64 = 7 * 24 * 3600 * 1000;

/// Marks old jobs of collections as deleted. The last one of each collection stays.
pub(crate) fn expire_syncs(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    let mark = "UPDATE jobs SET is_deleted = 1 WHERE collection IS NOT NULL AND NOT is_deleted AND finished_at < ?
        AND NOT EXISTS (SELECT 1 FROM collections WHERE sync_job = jobs.number)";
    connection.execute(mark, [now.as_millisecond() - SYNC_LIFE_MS])
}

/// Removes the units of collections on days that are over for two months.
pub(crate) fn expire_units(connection: &Connection, now: Timestamp) -> rusqlite::Result<usize> {
    const UNIT_DAYS: i64 = 60;
    let oldest = now.checked_sub(SignedDuration::from_hours(24 * UNIT_DAYS)).unwrap_or_default();
    let delete = "DELETE FROM collection_units WHERE day < ?";
    connection.execute(delete, [QuotaDay::of(oldest).date])
}

/// Removes up to `limit` videos of a deleted collection, or the collection itself if it has none left. Returns whether
/// there was one.
pub(crate) fn purge_deleted_collection(
    connection: &Connection,
    limit: usize,
) -> rusqlite::Result<bool> {
    let next = "SELECT number FROM collections WHERE is_deleted LIMIT 1";
    let collection: Option<i64> =
        connection.prepare_cached(next)?.query_row([], |row| row.get(0)).optional()?;
    let Some(collection) = collection else { return Ok(false) };
    let delete = "DELETE FROM collection_videos WHERE number IN
        (SELECT number FROM collection_videos WHERE collection = ? LIMIT ?) RETURNING video";
    let videos: Vec<String> = connection
        .prepare_cached(delete)?
        .query_map(params![collection, limit as i64], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    remove_orphans(connection, &videos)?;
    let seen = "DELETE FROM source_videos WHERE (source, video) IN (SELECT source, video FROM source_videos
        WHERE source IN (SELECT number FROM collection_sources WHERE collection = ?) LIMIT ?)";
    let seen = connection.prepare_cached(seen)?.execute(params![collection, limit as i64])?;
    if videos.is_empty() && seen == 0 {
        connection.execute("DELETE FROM collections WHERE number = ?", [collection])?;
    }
    Ok(true)
}

/// Removes up to `limit` items and events of a deleted job, or the job itself if it has none left. Returns whether there
/// was a deleted job. A job can have a million items, which would block other writes for seconds.
pub(crate) fn purge_deleted(connection: &Connection, limit: usize) -> rusqlite::Result<bool> {
    let next = "SELECT number FROM jobs WHERE is_deleted LIMIT 1";
    let job: Option<i64> =
        connection.prepare_cached(next)?.query_row([], |row| row.get(0)).optional()?;
    let Some(job) = job else { return Ok(false) };
    let rows = [
        "DELETE FROM items WHERE job = ?1 AND position IN (SELECT position FROM items WHERE job = ?1 LIMIT ?2)",
        "DELETE FROM events WHERE job = ?1 AND number IN (SELECT number FROM events WHERE job = ?1 LIMIT ?2)",
    ];
    let mut removed = 0;
    for delete in rows {
        removed += connection.prepare_cached(delete)?.execute(params![job, limit as i64])?;
    }
    if removed == 0 {
        connection.execute("DELETE FROM jobs WHERE number = ?", [job])?;
    }
    Ok(true)
}

/// Copies the write-ahead log into the file, and empties it.
pub(crate) fn checkpoint(connection: &Connection) -> Result<()> {
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map_err(sql)
}

/// Rewrites the file without free pages. No transaction may be open.
pub(crate) fn vacuum(connection: &Connection) -> Result<()> {
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").map_err(sql)
}
