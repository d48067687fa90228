//! The numbers of videos of channels and playlists.

use jiff::Timestamp;
use vidra::{Reason, Result};

use super::TaskSource;
use super::step::{begin, begin_several, fail, set_task};
use crate::job::Failure;
use crate::store::leases::Lease;
use crate::store::listing::Charge;
use crate::store::sql::{Connection, params};

/// Stored for a number that YouTube does not send.
const UNKNOWN: i64 = -1;

/// The data of a channel that a sync needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelFacts {
    pub(crate) id: String,
    pub(crate) title: String,
    /// `None` if YouTube hides it.
    pub(crate) videos: Option<u64>,
}

/// Stores the id of a channel that was named by its handle.
pub(crate) fn set_channel(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    source: &TaskSource,
    facts: &ChannelFacts,
    now: Timestamp,
) -> Result<()> {
    if begin(connection, lease, charge, source)?.is_some() {
        set_facts(connection, source.number, facts, now)?;
    }
    Ok(())
}

fn set_facts(
    connection: &Connection,
    source: i64,
    facts: &ChannelFacts,
    now: Timestamp,
) -> Result<()> {
    let update = "UPDATE collection_sources SET channel = ?, title = ?, count = ?, counted_at = ? WHERE number = ?";
    let count = facts.videos.map_or(UNKNOWN, |count| count as i64);
    let parameters = params![facts.id, facts.title, count, now.as_millisecond(), source];
    connection.execute(update, parameters)?;
    Ok(())
}

/// The number that is stored for a source whose task is the same as before the call.
fn counted(connection: &Connection, source: &TaskSource) -> Result<Option<Option<i64>>> {
    let counted = "SELECT count FROM collection_sources WHERE number = ? AND task = ?";
    connection.query_optional(counted, params![source.number, source.task], |row| row.get(0))
}

/// Stores the numbers of videos of channels. A channel whose number is not the expected one is listed.
pub(crate) fn set_channel_counts(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    facts: &[(TaskSource, Option<ChannelFacts>)],
    now: Timestamp,
) -> Result<()> {
    if !begin_several(connection, lease, charge)? {
        return Ok(());
    }
    for (source, of_source) in facts {
        let Some(expected) = counted(connection, source)? else { continue };
        let Some(of_source) = of_source else {
            let message = format!("Channel not found: {}", source.id);
            let failure = Failure { reason: Reason::ChannelNotFound, message };
            fail(connection, source, &failure, now)?;
            continue;
        };
        set_facts(connection, source.number, of_source, now)?;
        if source.task != "count" {
            continue;
        }
        let is_expected = of_source.videos.is_some_and(|videos| expected == Some(videos as i64));
        let next = if is_expected { None } else { Some("changed") };
        set_task(connection, source.number, next, None, now)?;
        if is_expected {
            let audited = "UPDATE collection_sources SET audited_at = ? WHERE number = ?";
            let parameters = params![now.as_millisecond(), source.number];
            connection.execute(audited, parameters)?;
        }
    }
    Ok(())
}

/// The data of a playlist that a sync needs. YouTube has none for some lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlaylistFacts {
    pub(crate) title: Option<String>,
    pub(crate) entries: Option<u64>,
}

/// Stores the numbers of entries of playlists. A playlist whose number has changed is listed.
pub(crate) fn set_playlist_counts(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    facts: &[(TaskSource, PlaylistFacts)],
    now: Timestamp,
) -> Result<()> {
    if !begin_several(connection, lease, charge)? {
        return Ok(());
    }
    for (source, of_source) in facts {
        let Some(before) = counted(connection, source)? else { continue };
        let count = of_source.entries.map_or(UNKNOWN, |count| count as i64);
        let update =
            "UPDATE collection_sources SET title = coalesce(?, title), count = ? WHERE number = ?";
        connection.execute(update, params![of_source.title, count, source.number])?;
        if source.task == "count" {
            // A list without a number is read once a day.
            let next = if before == Some(count) { None } else { Some("whole") };
            set_task(connection, source.number, next, None, now)?;
        }
    }
    Ok(())
}
