//! The results of feeds.

use jiff::Timestamp;

use vidra::Result;

use super::TaskSource;
use super::found::{self, DateSource, FoundIn, FoundVideo};
use super::step::{begin, read_request, set_task};
use crate::store::leases::Lease;
use crate::store::listing::{Charge, is_held};
use crate::store::sql::{Connection, params};

/// Stores the feed of a channel. It is complete if it has a video that is known; otherwise the list follows.
pub(crate) fn add_feed(
    connection: &Connection,
    lease: &Lease,
    collection: i64,
    source: &TaskSource,
    videos: &[FoundVideo],
    now: Timestamp,
) -> Result<()> {
    if begin(connection, lease, Charge::default(), source)?.is_none() {
        return Ok(());
    }
    if videos.is_empty() {
        // Feeds of channels with videos are sometimes empty.
        return set_task(connection, source.number, Some("count"), None, now);
    }
    if found::last_known(connection, source.number, videos)?.is_none() {
        return set_task(connection, source.number, Some("new"), None, now);
    }
    let place = FoundIn {
        job: lease.job,
        collection,
        source: source.number,
        from: DateSource::Feed,
        is_listed: true,
        since: read_request(connection, collection)?.since,
        room: u64::MAX,
        is_walk: false,
        units: 0,
    };
    let unseen = found::add(connection, &place, videos, now)?.unseen;
    let update = "UPDATE collection_sources SET count = count + ? WHERE number = ? AND count >= 0";
    connection.execute(update, params![unseen as i64, source.number])?;
    let next = (source.task == "feed_count").then_some("count");
    set_task(connection, source.number, next, None, now)
}

/// Replaces feeds that YouTube does not serve by the number of videos: of this channel, or of all that are left.
pub(crate) fn replace_feeds(
    connection: &Connection,
    lease: &Lease,
    collection: i64,
    only: Option<i64>,
) -> Result<()> {
    if is_held(connection, lease)? {
        let update = "UPDATE collection_sources SET task = 'count' WHERE collection = ?1
            AND task IN ('feed', 'feed_count') AND (?2 IS NULL OR number = ?2)";
        connection.execute(update, params![collection, only])?;
    }
    Ok(())
}
