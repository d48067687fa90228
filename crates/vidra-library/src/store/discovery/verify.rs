//! The results of calls that find out whether videos still exist.

use std::collections::HashSet;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use vidra::{Reason, VideoId};

use super::found::{self, DateSource, FoundVideo};
use super::step::begin_several;
use crate::store::leases::Lease;
use crate::store::listing::Charge;
use crate::store::maintenance;

/// The videos that YouTube was asked for, and those that it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) asked: Vec<VideoId>,
    pub(crate) existing: Vec<FoundVideo>,
}

/// Stores which videos YouTube has, with their dates. The others are gone; with `follows_deletions` their transcripts go
/// too.
pub(crate) fn end_verification(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    collection: i64,
    Verified { asked, existing }: &Verified,
    follows_deletions: bool,
    now: Timestamp,
) -> rusqlite::Result<()> {
    if !begin_several(connection, lease, charge)? {
        return Ok(());
    }
    for video in existing {
        found::store_date(connection, video, DateSource::DataApi, now)?;
    }
    let exists: HashSet<VideoId> = existing.iter().map(|video| video.id).collect();
    for video in asked {
        let id = video.to_string();
        // A video that has another date now, or none, is not due again.
        let read = "UPDATE videos SET refresh_at = NULL WHERE id = ? AND refresh_at <= ?";
        connection.prepare_cached(read)?.execute(params![id, now.as_millisecond()])?;
        match exists.contains(video) {
            true => {
                let sure = "UPDATE collection_videos SET doubted_at = NULL WHERE collection = ? AND video = ?";
                connection.prepare_cached(sure)?.execute(params![collection, id])?;
            }
            false => remove(connection, collection, &id, follows_deletions)?,
        }
    }
    Ok(())
}

/// Marks a video as gone.
fn remove(
    connection: &Connection,
    collection: i64,
    video: &str,
    follows_deletions: bool,
) -> rusqlite::Result<()> {
    let gone =
        "UPDATE collection_videos SET state = 3, reason = ?, next_try = NULL, doubted_at = NULL
        WHERE collection = ? AND video = ?";
    let parameters = params![Reason::VideoNotFound.code(), collection, video];
    connection.prepare_cached(gone)?.execute(parameters)?;
    // The number that the next look at its channel expects.
    let count = "UPDATE collection_sources SET count = count - 1 WHERE collection = ?1 AND kind = 'channel' AND count > 0
        AND EXISTS (SELECT 1 FROM source_videos WHERE source = collection_sources.number AND video = ?2)";
    connection.prepare_cached(count)?.execute(params![collection, video])?;
    if follows_deletions {
        maintenance::remove_texts(connection, video)?;
    }
    Ok(())
}
