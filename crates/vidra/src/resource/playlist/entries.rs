//! The entries of a playlist, and the iteration over them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::walk::{Follower, Walks};
use crate::cache::{CacheOutcome, Cached, Key, Parts};
use crate::context::Context;
use crate::data_api::wire;
use crate::error::Result;
use crate::ident::{PlaylistId, VideoId};
use crate::resource::Services;
use crate::resource::lookup::Lookup;

/// An entry of a playlist.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// `None` if YouTube does not reveal the video.
    pub(crate) video: Option<VideoId>,
    /// Empty if the video is private or deleted.
    pub(crate) title: String,
    pub(crate) availability: Availability,
}

/// Whether the video of an entry is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Availability {
    Public,
    Private,
    Deleted,
}

impl Entry {
    /// YouTube lists private and deleted videos under a placeholder title, without an owner and
    /// without a date. Old responses have no owners and dates at all, so all three conditions must
    /// hold.
    pub(super) fn from_wire(item: wire::PlaylistItem) -> Self {
        let dated = item
            .content_details
            .as_ref()
            .is_some_and(|content| content.video_published_at.is_some());
        let snippet = item.snippet.as_ref();
        let owned = snippet.is_some_and(|snippet| snippet.video_owner_channel_id.is_some());
        let title = snippet.and_then(|snippet| snippet.title.clone()).unwrap_or_default();
        let (title, availability) = match title.as_str() {
            "Private video" if !dated && !owned => (String::new(), Availability::Private),
            "Deleted video" if !dated && !owned => (String::new(), Availability::Deleted),
            _ => (title, Availability::Public),
        };
        Self { video: item.video_id(), title, availability }
    }
}

/// Fetches all entries, without video details, and returns them with their age.
pub(crate) async fn all_entries(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<(Vec<Entry>, Duration)> {
    let (mut follower, mut all) = (Walks::follow(services, ctx, id), vec![]);
    while let Some(page) = follower.next().await? {
        all.extend_from_slice(&page);
    }
    Ok((all, follower.age()))
}

/// The entries of a playlist, page by page: from the cache, or from a walk through the playlist.
pub(crate) enum Entries {
    Cached {
        /// The rest of the list.
        left: Option<Arc<Vec<Entry>>>,
        cached: Cached,
    },
    Walked {
        follower: Follower,
        key: Key,
    },
}

impl Entries {
    /// Opens the entries of a playlist.
    ///
    /// # Errors
    ///
    /// For cached entries, the errors of the first page. Otherwise
    /// [`Reason::Overloaded`](crate::Reason::Overloaded) if all slots are taken.
    pub(crate) async fn new(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
    ) -> Result<Self> {
        let lookup = Lookup::PlaylistEntries(id.clone());
        let key = lookup.key();
        if services.cache.has(&key).await {
            let cached = services.read_record(ctx, &lookup).await?;
            return Ok(Self::Cached { left: Some(Arc::new(cached.decode()?)), cached });
        }
        services.cache.take_slot(ctx)?;
        Ok(Self::Walked { follower: Walks::follow(services, ctx, id), key })
    }

    /// Returns the next page. `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Vec<Entry>>>> {
        match self {
            Self::Cached { left, .. } => Ok(left.take()),
            Self::Walked { follower, .. } => follower.next().await,
        }
    }

    /// The cache outcome of the pages.
    fn outcome(&self) -> CacheOutcome {
        match self {
            Self::Cached { cached, .. } => cached.outcome,
            Self::Walked { follower, .. } if follower.has_begun_walk() => CacheOutcome::Miss,
            Self::Walked { .. } => CacheOutcome::Coalesced,
        }
    }

    /// Returns an answer that was assembled from these entries and other parts. It has the age of
    /// the entries.
    pub(crate) fn answer(&self, services: &Services, body: Bytes, others: Parts) -> Cached {
        let (age, life) = match self {
            Self::Cached { cached, .. } => (cached.age, cached.life),
            Self::Walked { follower, key } => (follower.age(), services.cache.life_of_new(key)),
        };
        Cached::composite(body, others.with(self.outcome()), age, life)
    }
}
