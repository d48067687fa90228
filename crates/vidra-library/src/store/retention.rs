//! Removes what has expired, and what is left of deleted jobs and collections.

use jiff::{SignedDuration, Timestamp};
use vidra::{QuotaDay, Result};

use super::index;
use super::jobs::KEY_LIFE_MS;
use super::sql::{Connection, params};

/// Removes transcripts that were stored before `time` and that no collection refers to, at most `limit`. Returns their
/// number.
pub(crate) fn purge_older(connection: &Connection, time: Timestamp, limit: usize) -> Result<usize> {
    let old = "SELECT number, video FROM transcripts WHERE stored_at < ?
            AND NOT EXISTS (SELECT 1 FROM collection_videos AS it WHERE it.video = transcripts.video)
        ORDER BY stored_at LIMIT ?";
    let old: Vec<(i64, String)> =
        connection.query_map(old, params![time.as_millisecond(), limit as i64], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let delete = "DELETE FROM transcripts WHERE number = ?";
    for (number, _) in &old {
        index::remove(connection, *number)?;
        connection.execute(delete, [number])?;
    }
    let videos: Vec<String> = old.into_iter().map(|(_, video)| video).collect();
    remove_orphans(connection, &videos)?;
    Ok(videos.len())
}

/// Removes the data of videos that have no transcript and are in no collection.
fn remove_orphans(connection: &Connection, videos: &[String]) -> Result<()> {
    let orphans = "DELETE FROM videos WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM transcripts WHERE video = ?1)
        AND NOT EXISTS (SELECT 1 FROM collection_videos WHERE video = ?1)";
    for video in videos {
        connection.execute(orphans, [video])?;
    }
    Ok(())
}

/// The longest time that YouTube allows to store data of its Data API.
const DATA_API_LIFE_MS: i64 = 30 * 24 * 3600 * 1000;

/// Removes expired values of the Data API: dates and titles of videos, titles and numbers of sources.
pub(crate) fn expire_dates(connection: &Connection, now: Timestamp) -> Result<usize> {
    let update =
        "UPDATE videos SET published_at = NULL, published_source = NULL, published_stored_at = NULL, refresh_at = NULL,
            title = CASE WHEN EXISTS (SELECT 1 FROM transcripts WHERE video = id) THEN title ELSE '' END
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
    connection.execute(unused, ())?;
    Ok(expired)
}

/// Removes expired idempotency keys.
pub(crate) fn expire_keys(connection: &Connection, now: Timestamp) -> Result<usize> {
    let delete = "DELETE FROM idempotency_keys WHERE created_at <= ?";
    connection.execute(delete, [now.as_millisecond() - KEY_LIFE_MS])
}

/// How long the jobs of collections are stored after their end.
const SYNC_LIFE_MS: i64 = 7 * 24 * 3600 * 1000;

/// Marks old jobs of collections as deleted. The last one of each collection stays.
pub(crate) fn expire_syncs(connection: &Connection, now: Timestamp) -> Result<usize> {
    let mark = "UPDATE jobs SET is_deleted = TRUE WHERE collection IS NOT NULL AND NOT is_deleted AND finished_at < ?
        AND NOT EXISTS (SELECT 1 FROM collections WHERE sync_job = jobs.number)";
    connection.execute(mark, [now.as_millisecond() - SYNC_LIFE_MS])
}

/// Removes the units of collections on days that are over for two months.
pub(crate) fn expire_units(connection: &Connection, now: Timestamp) -> Result<usize> {
    const UNIT_DAYS: i64 = 60;
    let oldest = now.checked_sub(SignedDuration::from_hours(24 * UNIT_DAYS)).unwrap_or_default();
    let delete = "DELETE FROM collection_units WHERE day < ?";
    connection.execute(delete, [QuotaDay::of(oldest).date])
}

/// Removes up to `limit` videos of a deleted collection, or the collection itself if it has none left. Returns whether
/// there was one.
pub(crate) fn purge_deleted_collection(connection: &Connection, limit: usize) -> Result<bool> {
    let next = "SELECT number FROM collections WHERE is_deleted LIMIT 1";
    let collection: Option<i64> = connection.query_optional(next, (), |row| row.get(0))?;
    let Some(collection) = collection else { return Ok(false) };
    let delete = "DELETE FROM collection_videos WHERE number IN
        (SELECT number FROM collection_videos WHERE collection = ? LIMIT ?) RETURNING video";
    let videos: Vec<String> =
        connection.query_map(delete, params![collection, limit as i64], |row| row.get(0))?;
    remove_orphans(connection, &videos)?;
    let seen = "DELETE FROM source_videos WHERE (source, video) IN (SELECT source, video FROM source_videos
        WHERE source IN (SELECT number FROM collection_sources WHERE collection = ?) LIMIT ?)";
    let seen = connection.execute(seen, params![collection, limit as i64])?;
    if videos.is_empty() && seen == 0 {
        connection.execute("DELETE FROM collections WHERE number = ?", [collection])?;
    }
    Ok(true)
}

/// Removes up to `limit` items and events of a deleted job, or the job itself if it has none left. Returns whether there
/// was a deleted job. A job can have a million items, which would block other writes for seconds.
pub(crate) fn purge_deleted(connection: &Connection, limit: usize) -> Result<bool> {
    let next = "SELECT number FROM jobs WHERE is_deleted LIMIT 1";
    let job: Option<i64> = connection.query_optional(next, (), |row| row.get(0))?;
    let Some(job) = job else { return Ok(false) };
    let rows = [
        "DELETE FROM items WHERE job = ?1 AND position IN (SELECT position FROM items WHERE job = ?1 LIMIT ?2)",
        "DELETE FROM events WHERE job = ?1 AND number IN (SELECT number FROM events WHERE job = ?1 LIMIT ?2)",
    ];
    let mut removed = 0;
    for delete in rows {
        removed += connection.execute(delete, params![job, limit as i64])?;
    }
    if removed == 0 {
        connection.execute("DELETE FROM jobs WHERE number = ?", [job])?;
    }
    Ok(true)
}
