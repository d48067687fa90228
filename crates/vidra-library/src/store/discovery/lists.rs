//! The results of lists and searches.

use std::collections::HashSet;

use jiff::Timestamp;

use vidra::Result;

use super::TaskSource;
use super::found::{self, Added, DateSource, FoundIn, FoundVideo};
use super::step::{begin, read_request, set_task};
use crate::collection::schedule::first_list_at;
use crate::store::leases::Lease;
use crate::store::listing::Charge;
use crate::store::sql::{Connection, params};

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageOfEntries {
    pub(crate) videos: Vec<FoundVideo>,
    /// The cursor of the next page. `None` after the last one.
    pub(crate) next: Option<String>,
}

/// Stores a page of a list, and decides whether another one follows.
pub(crate) fn add_page(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    collection: i64,
    source: &TaskSource,
    page: &PageOfEntries,
    now: Timestamp,
) -> Result<()> {
    let Some(is_listed) = begin(connection, lease, charge, source)? else { return Ok(()) };
    let request = read_request(connection, collection)?;
    let is_channel = source.kind == "channel";
    let last_known = found::last_known(connection, source.number, &page.videos)?;
    // Below the last known video are older ones, which the first list left out.
    let (new, old) = match last_known {
        Some(position) if is_channel && is_listed => page.videos.split_at(position + 1),
        _ => (&*page.videos, &[][..]),
    };
    let is_old = |video: &FoundVideo| {
        request.since.zip(video.published).is_some_and(|(since, published)| published < since)
    };
    let is_past = is_channel && !page.videos.is_empty() && page.videos.iter().all(is_old);
    let is_end = page.next.is_none() || is_past;
    let before = if is_listed { 0 } else { taken(connection, collection, source.number)? };
    let room = request.limit.map_or(u64::MAX, |limit| limit.saturating_sub(before));
    let is_walk = source.task != "whole" && !is_end && last_known.is_none();
    let found_in = FoundIn {
        job: lease.job,
        collection,
        source: source.number,
        from: DateSource::DataApi,
        is_listed,
        since: request.since,
        room,
        is_walk,
        units: charge.units,
    };
    let Added { taken, unseen } = found::add(connection, &found_in, new, now)?;
    found::mark_known(connection, source.number, old)?;
    if is_channel && source.cursor.is_none() && is_listed {
        doubt_missing(connection, collection, source.number, page, now)?;
    }
    if let "new" | "audit" = &*source.task {
        // The number that the next check expects.
        let update =
            "UPDATE collection_sources SET count = count + ? WHERE number = ? AND count >= 0";
        connection.execute(update, params![unseen as i64, source.number])?;
    }
    let is_full = is_channel && !is_listed && taken >= room;
    let next = match &*source.task {
        "whole" if !is_end && !is_full => Some("whole"),
        "changed" if is_walk => Some("changed"),
        "new" | "audit" if is_walk => Some("new"),
        _ => None,
    };
    let cursor = page.next.as_deref().filter(|_| next.is_some());
    set_task(connection, source.number, next, cursor, now)?;
    if next.is_none() {
        found::end_walk(connection, source.number)?;
        let paged = match is_channel && !is_listed {
            true => first_list_at(source.number, now),
            false => now,
        };
        let done = "UPDATE collection_sources SET is_listed = TRUE, paged_at = ?, audited_at = ? WHERE number = ?";
        let parameters = params![paged.as_millisecond(), now.as_millisecond(), source.number];
        connection.execute(done, parameters)?;
    }
    Ok(())
}

/// How many videos of the collection a source has shown.
fn taken(connection: &Connection, collection: i64, source: i64) -> Result<u64> {
    let count = "SELECT count(*) FROM source_videos WHERE source = ?1 AND EXISTS
        (SELECT 1 FROM collection_videos AS it WHERE it.collection = ?2 AND it.video = source_videos.video)";
    let count: i64 = connection.query_row(count, params![source, collection], |row| row.get(0))?;
    Ok(count as u64)
}

/// Marks the videos of a channel that its first page should have, and does not: they may have been deleted.
fn doubt_missing(
    connection: &Connection,
    collection: i64,
    source: i64,
    page: &PageOfEntries,
    now: Timestamp,
) -> Result<()> {
    let oldest = page.videos.iter().filter_map(|video| video.published).min();
    let from = match (&page.next, oldest) {
        // The page has all videos.
        (None, _) => None,
        (Some(_), Some(oldest)) => Some(oldest.as_millisecond()),
        (Some(_), None) => return Ok(()),
    };
    let shown: HashSet<String> = page.videos.iter().map(|video| video.id.to_string()).collect();
    let known = "SELECT it.video FROM source_videos AS shown
            JOIN collection_videos AS it ON it.collection = ?2 AND it.video = shown.video
            LEFT JOIN videos ON videos.id = shown.video
        WHERE shown.source = ?1 AND it.state <> 3 AND it.doubted_at IS NULL
            AND (?3 IS NULL OR videos.published_at > ?3)";
    let known: Vec<String> =
        connection.query_map(known, params![source, collection, from], |row| row.get(0))?;
    let doubt = "UPDATE collection_videos SET doubted_at = ? WHERE collection = ? AND video = ?";
    for video in known.iter().filter(|video| !shown.contains(*video)) {
        connection.execute(doubt, params![now.as_millisecond(), collection, video])?;
    }
    Ok(())
}

/// Stores the results of a search.
pub(crate) fn add_search(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    collection: i64,
    source: &TaskSource,
    videos: &[FoundVideo],
    now: Timestamp,
) -> Result<()> {
    let Some(is_listed) = begin(connection, lease, charge, source)? else { return Ok(()) };
    let request = read_request(connection, collection)?;
    let found_in = FoundIn {
        job: lease.job,
        collection,
        source: source.number,
        from: DateSource::DataApi,
        is_listed,
        since: request.since,
        room: request.limit.unwrap_or(u64::MAX),
        is_walk: false,
        units: charge.units,
    };
    found::add(connection, &found_in, videos, now)?;
    set_task(connection, source.number, None, None, now)?;
    let listed = "UPDATE collection_sources SET is_listed = TRUE WHERE number = ?";
    connection.execute(listed, [source.number])?;
    Ok(())
}
