//! The results of calls that find out whether videos still exist.

use std::collections::HashSet;

use jiff::Timestamp;
use vidra::{Reason, Result, VideoId};

use super::found::{self, DateSource, FoundVideo};
use super::step::begin_several;
use crate::store::leases::Lease;
use crate::store::listing::Charge;
use crate::store::maintenance;
use crate::store::sql::{Connection, params};

/// The videos that were requested from YouTube, and those that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) requested: Vec<VideoId>,
    pub(crate) existing: Vec<FoundVideo>,
}

/// Stores which videos YouTube has, with their dates. The others are gone; with `follows_deletions` their transcripts go
/// too.
pub(crate) fn end_verification(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    (collection, Verified { requested, existing }): (i64, &Verified),
    follows_deletions: bool,
    now: Timestamp,
) -> Result<()> {
    if !begin_several(connection, lease, charge)? {
        return Ok(());
    }
    for video in existing {
        found::store_date(connection, video, DateSource::DataApi, now)?;
    }
    let exists: HashSet<VideoId> = existing.iter().map(|video| video.id).collect();
    for video in requested {
        let id = video.to_string();
        // A video that has another date now, or none, is not due again.
        let read = "UPDATE videos SET refresh_at = NULL WHERE id = ? AND refresh_at <= ?";
        connection.execute(read, params![id, now.as_millisecond()])?;
        match exists.contains(video) {
            true => {
                let sure = "UPDATE collection_videos SET doubted_at = NULL WHERE collection = ? AND video = ?";
                connection.execute(sure, params![collection, id])?;
            }
            false => remove(connection, &id, follows_deletions)?,
        }
    }
    Ok(())
}

/// Marks a video as gone, in all collections.
fn remove(connection: &Connection, video: &str, follows_deletions: bool) -> Result<()> {
    // The number that the next check of its channels expects, unless YouTube has reported the new one already.
    let count =
        "UPDATE collection_sources SET count = count - 1 WHERE kind = 'channel' AND count > 0
        AND number IN (SELECT source FROM source_videos WHERE video = ?1)
        AND counted_at < (SELECT min(doubted_at) FROM collection_videos AS it
            WHERE it.collection = collection_sources.collection AND it.video = ?1)";
    connection.execute(count, [video])?;
    let gone = "UPDATE collection_videos SET state = 3, reason = ?, next_try = NULL, doubted_at = NULL WHERE video = ?
        AND reason IS DISTINCT FROM ?";
    let (missing, removed) = (Reason::VideoNotFound.code(), Reason::TranscriptRemoved.code());
    connection.execute(gone, params![missing, video, removed])?;
    let sure = "UPDATE collection_videos SET doubted_at = NULL WHERE video = ?";
    connection.execute(sure, [video])?;
    if follows_deletions {
        maintenance::remove_texts(connection, video)?;
    }
    Ok(())
}
