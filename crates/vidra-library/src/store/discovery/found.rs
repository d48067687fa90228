//! Videos that a source has shown become videos of the collection and items of the sync.

use jiff::Timestamp;
use vidra::{Reason, Result, VideoId};

use crate::collection::schedule::refresh_at;
use crate::job::{JobEvent, ListedEvent};
use crate::store::events;
use crate::store::items::{self, NewItem};
use crate::store::sql::{Connection, params};

/// Where the date of a video comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateSource {
    /// A public feed.
    Feed,
    /// The Data API, whose values expire.
    DataApi,
}

impl DateSource {
    fn word(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::DataApi => "data_api",
        }
    }
}

/// A video that a source shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundVideo {
    pub(crate) id: VideoId,
    pub(crate) title: String,
    pub(crate) published: Option<Timestamp>,
    /// Why the list shows no more of it than its id.
    pub(crate) gone: Option<Reason>,
}

/// Where videos were found.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundIn {
    pub(super) job: i64,
    pub(super) collection: i64,
    pub(super) source: i64,
    pub(super) from: DateSource,
    /// Whether the source was listed before, so that a video without a date is new.
    pub(super) is_listed: bool,
    /// The earliest publication.
    pub(super) since: Option<Timestamp>,
    /// How many more videos the first list may add.
    pub(super) room: u64,
    /// Whether a later page can begin with other new videos: until then these do not count as known.
    pub(super) is_walk: bool,
    /// The units of the call.
    pub(super) units: u64,
}

/// The position of the last of these videos that the source has shown before. `None` without one.
pub(super) fn last_known(
    connection: &Connection,
    source: i64,
    videos: &[FoundVideo],
) -> Result<Option<usize>> {
    let known =
        "SELECT EXISTS (SELECT 1 FROM source_videos WHERE source = ? AND video = ? AND is_known)";
    for (position, video) in videos.iter().enumerate().rev() {
        if connection.query_row(known, params![source, video.id.to_string()], |row| row.get(0))? {
            return Ok(Some(position));
        }
    }
    Ok(None)
}

/// Notes that a source has shown these videos, without adding them to the collection.
pub(super) fn mark_known(
    connection: &Connection,
    source: i64,
    videos: &[FoundVideo],
) -> Result<()> {
    let seen = "INSERT INTO source_videos (source, video) VALUES (?, ?) ON CONFLICT DO NOTHING";
    for video in videos {
        connection.execute(seen, params![source, video.id.to_string()])?;
    }
    Ok(())
}

/// Ends a walk through a list: everything that it has found is known.
pub(super) fn end_walk(connection: &Connection, source: i64) -> Result<()> {
    let known = "UPDATE source_videos SET is_known = TRUE WHERE source = ? AND NOT is_known";
    connection.execute(known, [source])?;
    Ok(())
}

/// How many videos of a page the collection has, and how many of the page the source had not shown before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) taken: u64,
    pub(super) unseen: u64,
}

/// Adds the videos of a source that are new to the collection, and items that fetch their transcripts.
pub(super) fn add(
    connection: &Connection,
    place: &FoundIn,
    videos: &[FoundVideo],
    now: Timestamp,
) -> Result<Added> {
    let at = now.as_millisecond();
    let seen = "INSERT INTO source_videos (source, video, is_known) VALUES (?, ?, ?)";
    let (mut new, mut taken, mut unseen) = (vec![], 0, 0);
    let before = "SELECT EXISTS (SELECT 1 FROM source_videos WHERE source = ?1 AND video = ?3),
            (SELECT state FROM collection_videos WHERE collection = ?2 AND video = ?3),
            (SELECT published_source FROM videos WHERE id = ?3)";
    for video in videos {
        let id = video.id.to_string();
        let (is_seen, state, dated): (bool, Option<i64>, Option<String>) =
            connection.query_row(before, params![place.source, place.collection, id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        if !is_seen {
            connection.execute(seen, params![place.source, id, !place.is_walk])?;
            unseen += u64::from(video.gone.is_none());
        }
        let is_dated = dated.is_some_and(|source| source != DateSource::DataApi.word());
        if video.gone.is_none() && !is_dated {
            store_date(connection, video, place.from, now)?;
        }
        match (state, video.gone) {
            // It is public again. The cache may remember that it was not.
            (Some(3), None) => {
                let again = "UPDATE collection_videos SET state = 0, reason = NULL, tries = 1, next_try = NULL
                    WHERE collection = ? AND video = ?";
                connection.execute(again, params![place.collection, id])?;
                new.push(NewItem::pending(video.id));
            }
            (Some(state), Some(_)) if state != 3 => {
                let doubt = "UPDATE collection_videos SET doubted_at = coalesce(doubted_at, ?)
                    WHERE collection = ? AND video = ?";
                connection.execute(doubt, params![at, place.collection, id])?;
            }
            (Some(_), _) => taken += 1,
            // It was left out when the source was listed.
            (None, _) if is_seen => {}
            (None, gone) => {
                let is_first = !place.is_listed;
                let is_old = match (place.since, video.published) {
                    (Some(since), Some(published)) => published < since,
                    (Some(_), None) => is_first,
                    (None, _) => false,
                };
                if is_old || (is_first && taken >= place.room) {
                    continue;
                }
                taken += 1;
                insert(connection, place, video, at)?;
                if gone.is_none() {
                    new.push(NewItem::pending(video.id));
                }
            }
        }
    }
    let (items, _) = items::add(connection, place.job, None, new.into_iter(), at)?;
    let total = "SELECT items FROM jobs WHERE number = ?";
    let total: i64 = connection.query_row(total, [place.job], |row| row.get(0))?;
    if items > 0 || place.units > 0 {
        let listed = ListedEvent { added: items, items: total as u64, units: place.units };
        events::add(connection, place.job, at, &JobEvent::Listed(listed))?;
    }
    Ok(Added { taken, unseen })
}

fn insert(connection: &Connection, place: &FoundIn, video: &FoundVideo, at: i64) -> Result<()> {
    // A video without a date that the first list had may be years old.
    let appeared = match video.published {
        Some(published) => Some(published.as_millisecond()),
        None => place.is_listed.then_some(at),
    };
    let insert =
        "INSERT INTO collection_videos (collection, video, state, reason, found_at, appeared_at)
        VALUES (?, ?, ?, ?, ?, ?)";
    let (state, reason) = match video.gone {
        Some(reason) => (3, Some(reason.code())),
        None => (0, None),
    };
    let parameters = params![place.collection, video.id.to_string(), state, reason, at, appeared];
    connection.execute(insert, parameters)?;
    Ok(())
}

/// Stores the date of a video, and its title as long as no transcript has brought a better one. A date of the Data API
/// never replaces another one, because it expires.
pub(in crate::store) fn store_date(
    connection: &Connection,
    video: &FoundVideo,
    from: DateSource,
    now: Timestamp,
) -> Result<()> {
    let id = video.id.to_string();
    let (published, at) = (video.published.map(Timestamp::as_millisecond), now.as_millisecond());
    let source = published.map(|_| from.word());
    let refresh = (published.is_some() && from == DateSource::DataApi)
        .then(|| refresh_at(&id, now).as_millisecond());
    let upsert = "INSERT INTO videos (id, title, channel, duration, published_at, published_source, published_stored_at, refresh_at)
        VALUES (?1, ?2, '', 0, ?3, ?4, CASE WHEN ?3 IS NOT NULL THEN ?5 END, ?6)
        ON CONFLICT (id) DO UPDATE SET title = CASE WHEN videos.title = '' THEN ?2 ELSE videos.title END,
            published_at = CASE WHEN ?7 THEN ?3 ELSE videos.published_at END,
            published_source = CASE WHEN ?7 THEN ?4 ELSE videos.published_source END,
            published_stored_at = CASE WHEN ?7 THEN ?5 ELSE videos.published_stored_at END,
            refresh_at = CASE WHEN ?7 THEN ?6 ELSE videos.refresh_at END";
    let replaces = "SELECT ?1 IS NOT NULL AND coalesce((SELECT published_source IS NULL OR published_source = 'data_api'
        FROM videos WHERE id = ?2), TRUE)";
    let replaces: bool =
        connection.query_row(replaces, params![published, id], |row| row.get(0))?;
    let parameters = params![id, video.title, published, source, at, refresh, replaces];
    connection.execute(upsert, parameters)?;
    Ok(())
}
