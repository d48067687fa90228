//! Creates and replaces collections.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use vidra::{ChannelRef, Error, Reason, Result};

use super::{number_of, unfinished_jobs};
use crate::collection::{CollectionName, CollectionRequest, CollectionSource};
use crate::job::{JobSource, JobState, StateEvent};
use crate::store::sql::{Connection, params};
use crate::store::{copy, jobs};

/// A collection to create, or to replace another one of the same name.
#[derive(Debug, Clone)]
pub(crate) struct NewCollection {
    pub(crate) owner: String,
    pub(crate) name: CollectionName,
    pub(crate) request: CollectionRequest,
    pub(crate) sources: Vec<CollectionSource>,
    /// How many collections the owner may have.
    pub(crate) max_collections: Option<u64>,
}

/// When a caller with too many collections may try again.
const RETRY_AFTER: Duration = Duration::from_secs(3600);

/// Creates a collection, or replaces its sources and options. Returns whether it is new.
///
/// # Errors
///
/// [`Reason::TooManyCollections`].
pub(crate) fn put(connection: &Connection, new: &NewCollection, now: Timestamp) -> Result<bool> {
    copy::check_complete(connection)?;
    match number_of(connection, &new.owner, &new.name) {
        Ok(number) => replace(connection, number, new, now).map(|()| false),
        Err(error) if error.reason() == Reason::CollectionNotFound => {
            check_count(connection, new)?;
            insert(connection, new, now).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

fn check_count(connection: &Connection, new: &NewCollection) -> Result<()> {
    let Some(most) = new.max_collections else { return Ok(()) };
    let count = "SELECT count(*) FROM collections WHERE owner = ? AND NOT is_deleted";
    let count: i64 = connection.query_row(count, [&new.owner], |row| row.get(0))?;
    if (count as u64) < most {
        return Ok(());
    }
    let message = format!("You have {count} collections, and {most} are allowed");
    Err(Error::new(Reason::TooManyCollections, message).with_retry_after(Some(RETRY_AFTER)))
}

fn options_of(request: &CollectionRequest) -> String {
    serde_json::to_string(request).unwrap_or_default()
}

fn insert(connection: &Connection, new: &NewCollection, now: Timestamp) -> Result<()> {
    let at = now.as_millisecond();
    let insert = "INSERT INTO collections (owner, name, options, created_at, updated_at, next_sync)
        VALUES (?1, ?2, ?3, ?4, ?4, ?4) RETURNING number";
    let options = options_of(&new.request);
    let parameters = params![new.owner, new.name.as_str(), options, at];
    let number: i64 = connection.query_row(insert, parameters, |row| row.get(0))?;
    for (position, source) in (1_i64..).zip(&new.sources) {
        add_source(connection, number, position, source, at)?;
    }
    Ok(())
}

fn add_source(
    connection: &Connection,
    collection: i64,
    position: i64,
    source: &CollectionSource,
    at: i64,
) -> Result<()> {
    let channel = match source {
        CollectionSource::List(JobSource::Channel(ChannelRef::Id(id))) => Some(id.to_string()),
        _ => None,
    };
    let insert = "INSERT INTO collection_sources (collection, position, kind, id, channel) VALUES (?, ?, ?, ?, ?)
        RETURNING number";
    let parameters = params![collection, position, source.kind(), source.id(), channel];
    let number: i64 = connection.query_row(insert, parameters, |row| row.get(0))?;
    if let CollectionSource::List(JobSource::Video(id)) = source {
        let listed =
            "UPDATE collection_sources SET is_listed = TRUE, checked_at = ? WHERE number = ?";
        connection.execute(listed, params![at, number])?;
        let seen = "INSERT INTO source_videos (source, video) VALUES (?, ?)";
        connection.execute(seen, params![number, id.to_string()])?;
        let video = "INSERT INTO collection_videos (collection, video, found_at, next_try) VALUES (?1, ?2, ?3, ?3)
            ON CONFLICT DO NOTHING";
        connection.execute(video, params![collection, id.to_string(), at])?;
    }
    Ok(())
}

/// Replaces the sources and options of a collection. Videos that no source has any more leave it.
fn replace(
    connection: &Connection,
    number: i64,
    new: &NewCollection,
    now: Timestamp,
) -> Result<()> {
    let at = now.as_millisecond();
    let options = "SELECT options FROM collections WHERE number = ?";
    let options: String = connection.query_row(options, [number], |row| row.get(0))?;
    let options = CollectionRequest::from_stored(&options);
    let before =
        "SELECT number, kind, id FROM collection_sources WHERE collection = ? ORDER BY position";
    let before: Vec<(i64, String, String)> = connection
        .query_map(before, [number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let same = |source: &CollectionSource| {
        let id = source.id();
        before.iter().find(|(_, kind, it)| *kind == source.kind() && *it == id).map(|it| it.0)
    };
    let kept: HashSet<i64> = new.sources.iter().filter_map(same).collect();
    let is_same_list = before.iter().map(|it| it.0).eq(new.sources.iter().filter_map(same))
        && before.len() == new.sources.len();
    if is_same_list && options == new.request {
        return Ok(());
    }
    for (source, _, _) in before.iter().filter(|(source, _, _)| !kept.contains(source)) {
        remove_source(connection, number, *source)?;
    }
    for (position, source) in (1_i64..).zip(&new.sources) {
        match same(source) {
            Some(kept) => {
                let move_to = "UPDATE collection_sources SET position = ? WHERE number = ?";
                connection.execute(move_to, params![position, kept])?;
            }
            None => add_source(connection, number, position, source, at)?,
        }
    }
    if options.transcript != new.request.transcript {
        // Other captions: every video has to be tried again, except those that an operator removed.
        for job in unfinished_jobs(connection, number)? {
            let cancelled = StateEvent { state: JobState::Cancelled, waiting: None, error: None };
            jobs::set_state(connection, job, &cancelled, at)?;
        }
        let again = "UPDATE collection_videos SET state = 0, reason = NULL, tries = 0, next_try = ?
            WHERE collection = ? AND state <> 3 AND reason IS DISTINCT FROM ?";
        connection.execute(again, params![at, number, Reason::TranscriptRemoved.code()])?;
    }
    if (options.since, options.limit) != (new.request.since, new.request.limit) {
        // Videos that were left out may belong to it now.
        let again = "DELETE FROM source_videos WHERE source IN
            (SELECT number FROM collection_sources WHERE collection = ? AND kind <> 'video')";
        connection.execute(again, [number])?;
        let again = "UPDATE collection_sources SET is_listed = FALSE, task = NULL, cursor = NULL
            WHERE collection = ? AND kind <> 'video'";
        connection.execute(again, [number])?;
    }
    let update =
        "UPDATE collections SET options = ?1, updated_at = ?2, next_sync = ?2 WHERE number = ?3";
    connection.execute(update, params![options_of(&new.request), at, number])?;
    Ok(())
}

/// Removes a source, and the videos that no other source of the collection has shown.
fn remove_source(connection: &Connection, collection: i64, source: i64) -> Result<()> {
    let videos = "DELETE FROM collection_videos WHERE collection = ?1
        AND video IN (SELECT video FROM source_videos WHERE source = ?2)
        AND NOT EXISTS (SELECT 1 FROM source_videos AS shown
            JOIN collection_sources AS sources ON sources.number = shown.source
            WHERE shown.video = collection_videos.video AND sources.collection = ?1 AND sources.number <> ?2)";
    connection.execute(videos, params![collection, source])?;
    connection.execute("DELETE FROM collection_sources WHERE number = ?", [source])?;
    // Another `limit` or `since` makes the collection list its sources again. Videos that no source showed then are left.
    let left = "DELETE FROM collection_videos WHERE collection = ?1
        AND NOT EXISTS (SELECT 1 FROM collection_sources WHERE collection = ?1 AND NOT is_listed)
        AND NOT EXISTS (SELECT 1 FROM source_videos AS shown
            JOIN collection_sources AS sources ON sources.number = shown.source
            WHERE shown.video = collection_videos.video AND sources.collection = ?1)";
    connection.execute(left, [collection])?;
    Ok(())
}
