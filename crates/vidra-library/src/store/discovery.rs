//! The discovery of new videos: the next step of a sync, and its result.
//!
//! Each source has a task (`collection_sources.task`). A step works on one task, or on up to fifty of the same kind. Its
//! result is stored in one transaction, with the next task of the source. A restart continues with the tasks that are
//! left.

mod counts;
mod feeds;
mod found;
mod lists;
mod step;
mod verify;

use std::time::Duration;

use jiff::Timestamp;
use vidra::{ChannelId, PlaylistId, Result, VideoId};

use super::leases::Lease;
use super::listing::{self, Charge};
use super::sql::{Connection, Row, params};
use super::sync;

pub(crate) use counts::{
    ChannelFacts, PlaylistFacts, set_channel, set_channel_counts, set_playlist_counts,
};
pub(crate) use feeds::{add_feed, replace_feeds};
pub(crate) use found::FoundVideo;
pub(super) use found::{DateSource, store_date};
pub(crate) use lists::{PageOfEntries, add_page, add_search};
pub(crate) use step::fail_sources;
pub(crate) use verify::{Verified, end_verification};

/// The maximum number of ids in one call.
const MAX_IDS: i64 = 50;

/// How long a task waits that was assigned while the source ended.
const TASK_WAIT: Duration = Duration::from_secs(60);

/// How long a video waits for a call with fifty others: one that may have been deleted, and one whose date is due.
const DOUBT_WAIT_MS: i64 = 12 * 3600 * 1000;
const DATE_WAIT_MS: i64 = 24 * 3600 * 1000;

/// A source with a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskSource {
    pub(crate) number: i64,
    /// The work, as the schema names it.
    pub(crate) task: String,
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) channel: Option<ChannelId>,
    pub(crate) cursor: Option<String>,
}

/// The next call of a sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Find the id of a channel.
    Resolve(TaskSource),
    /// Read the number of videos of these channels.
    CountChannels(Vec<(TaskSource, ChannelId)>),
    /// Read the number of entries of these playlists.
    CountPlaylists(Vec<(TaskSource, PlaylistId)>),
    /// Read a page of a list.
    Page(TaskSource),
    /// Search.
    Search(TaskSource),
    /// Find out whether these videos still exist, and when they were published.
    Verify(Vec<VideoId>),
}

/// Whether the sync of a lease goes on: the lease is valid, and nobody has paused or ended the job.
pub(crate) fn is_active(connection: &Connection, lease: &Lease) -> Result<bool> {
    let active = "SELECT EXISTS (SELECT 1 FROM sources JOIN jobs ON jobs.number = sources.job
        WHERE job = ? AND position = ? AND lease = ? AND state IN ('queued', 'listing', 'running', 'waiting'))";
    let parameters = params![lease.job, lease.position, lease.fence];
    connection.query_row(active, parameters, |row| row.get(0))
}

/// Ends the source of a sync, unless it has got more tasks meanwhile.
pub(crate) fn end(
    connection: &Connection,
    lease: &Lease,
    collection: i64,
    is_feeds: bool,
    now: Timestamp,
) -> Result<()> {
    let left = "SELECT count(*) FROM collection_sources WHERE collection = ? AND task IS NOT NULL
        AND (task IN ('feed', 'feed_count')) = ?";
    let has_left = |of_feeds: bool| {
        connection
            .query_row(left, params![collection, of_feeds], |row| row.get::<_, i64>(0))
            .map(|it| it > 0)
    };
    if has_left(is_feeds)? {
        let soon = now.checked_add(TASK_WAIT).unwrap_or(now);
        return listing::postpone_source(connection, lease, Charge::default(), soon, false);
    }
    if is_feeds && has_left(false)? {
        // A sync that read the feeds again may have ended its lists before.
        let open = "UPDATE sources SET is_listed = FALSE WHERE job = ? AND kind = ?";
        connection.execute(open, params![lease.job, sync::LISTS])?;
    }
    listing::end_source(connection, lease, now)
}

const SOURCE: &str =
    "SELECT number, task, kind, id, channel, cursor FROM collection_sources WHERE collection = ?";

fn read(row: &Row) -> Result<TaskSource> {
    let channel: Option<String> = row.get("channel")?;
    Ok(TaskSource {
        number: row.get("number")?,
        task: row.get("task")?,
        kind: row.get("kind")?,
        id: row.get("id")?,
        channel: channel.and_then(|id| ChannelId::parse(&id).ok()),
        cursor: row.get("cursor")?,
    })
}

fn sources(
    connection: &Connection,
    collection: i64,
    condition: &str,
    limit: i64,
) -> Result<Vec<TaskSource>> {
    let query = format!("{SOURCE} AND {condition} ORDER BY position LIMIT ?");
    connection.query_map(&query, params![collection, limit], read)
}

/// The next channel whose feed is read.
pub(crate) fn next_feed(connection: &Connection, collection: i64) -> Result<Option<TaskSource>> {
    Ok(sources(connection, collection, "task IN ('feed', 'feed_count')", 1)?.pop())
}

/// The next call to the Data API. `None` after the last one. Without `verifies` no videos are verified.
pub(crate) fn next_step(
    connection: &Connection,
    collection: i64,
    verifies: bool,
    now: Timestamp,
) -> Result<Option<Step>> {
    let next = |condition: &str, limit| sources(connection, collection, condition, limit);
    let unknown = next("task IS NOT NULL AND kind = 'channel' AND channel IS NULL", 1)?.pop();
    if let Some(source) = unknown {
        return Ok(Some(Step::Resolve(source)));
    }
    // The number is also read before the first list, to compare the next one with it.
    let uncounted = "kind = 'channel' AND (task = 'count' OR (task IS NOT NULL AND count IS NULL))";
    let channels: Vec<_> = next(uncounted, MAX_IDS)?
        .into_iter()
        .filter_map(|source| source.channel.clone().map(|id| (source, id)))
        .collect();
    if !channels.is_empty() {
        return Ok(Some(Step::CountChannels(channels)));
    }
    let uncounted =
        "kind = 'playlist' AND (task = 'count' OR (task IS NOT NULL AND count IS NULL))";
    let playlists: Vec<_> = next(uncounted, MAX_IDS)?
        .into_iter()
        .filter_map(|source| PlaylistId::parse(&source.id).ok().map(|id| (source, id)))
        .collect();
    if !playlists.is_empty() {
        return Ok(Some(Step::CountPlaylists(playlists)));
    }
    if let Some(source) = next("task IN ('new', 'changed', 'audit', 'whole')", 1)?.pop() {
        return Ok(Some(Step::Page(source)));
    }
    if let Some(source) = next("task = 'search'", 1)?.pop() {
        return Ok(Some(Step::Search(source)));
    }
    if !verifies {
        return Ok(None);
    }
    let videos = videos_to_verify(connection, collection, now)?;
    Ok((!videos.is_empty()).then_some(Step::Verify(videos)))
}

/// The videos that may have been deleted, and those whose date has to be read again. They wait for a full call, though
/// not for long.
fn videos_to_verify(
    connection: &Connection,
    collection: i64,
    now: Timestamp,
) -> Result<Vec<VideoId>> {
    let at = now.as_millisecond();
    let waiting = |query: &str, limit: i64| {
        let read = |row: &Row| Ok((row.get(0)?, row.get(1)?));
        connection.query_map::<(String, i64)>(query, params![collection, at, limit], read)
    };
    let doubted = "SELECT video, doubted_at FROM collection_videos
        WHERE collection = ?1 AND doubted_at <= ?2 ORDER BY doubted_at LIMIT ?3";
    let doubted = waiting(doubted, MAX_IDS)?;
    let due = "SELECT id, refresh_at FROM videos WHERE refresh_at <= ?2 AND id IN
            (SELECT video FROM collection_videos WHERE collection = ?1 AND state <> 3 AND doubted_at IS NULL)
        ORDER BY refresh_at LIMIT ?3";
    let due = waiting(due, MAX_IDS - doubted.len() as i64)?;
    let is_late = |first: Option<&(String, i64)>, wait| first.is_some_and(|it| at - it.1 >= wait);
    let is_full = (doubted.len() + due.len()) as i64 == MAX_IDS;
    if !is_full && !is_late(doubted.first(), DOUBT_WAIT_MS) && !is_late(due.first(), DATE_WAIT_MS) {
        return Ok(vec![]);
    }
    let all = doubted.iter().chain(&due);
    Ok(all.filter_map(|(id, _)| VideoId::parse(id).ok()).collect())
}
