//! The entries of a playlist: what each says of its video, and the way through all of them.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::walk::{Follower, Walks};
use crate::cache::{Cached, Key, Outcome};
use crate::context::Context;
use crate::data_api::wire;
use crate::error::Result;
use crate::ident::{PlaylistId, VideoId};
use crate::resource::Services;
use crate::resource::ask::Ask;

/// An entry as it is listed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// `None` where the platform does not tell which video it is.
    pub(crate) video: Option<VideoId>,
    /// Empty where the video is private or deleted.
    pub(crate) title: String,
    pub(crate) standing: Standing,
}

/// Whether there is a video behind an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Standing {
    Public,
    Private,
    Deleted,
}

impl Entry {
    /// Private and deleted videos are listed under a title of the platform's, without an owner and
    /// without a date. In old answers no entry has those, so all three have to agree.
    pub(super) fn from_wire(item: wire::PlaylistItem) -> Self {
        let dated = item
            .content_details
            .as_ref()
            .is_some_and(|content| content.video_published_at.is_some());
        let snippet = item.snippet.as_ref();
        let owned = snippet.is_some_and(|snippet| snippet.video_owner_channel_id.is_some());
        let title = snippet.and_then(|snippet| snippet.title.clone()).unwrap_or_default();
        let (title, standing) = match title.as_str() {
            "Private video" if !dated && !owned => (String::new(), Standing::Private),
            "Deleted video" if !dated && !owned => (String::new(), Standing::Deleted),
            _ => (title, Standing::Public),
        };
        Self { video: item.video_id(), title, standing }
    }
}

/// All entries, without details.
pub(crate) async fn all_entries(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<Vec<Entry>> {
    let (mut follower, mut all) = (Walks::follow(services, ctx, id), vec![]);
    while let Some(page) = follower.next().await? {
        all.extend_from_slice(&page);
    }
    Ok(all)
}

/// The entries of a playlist, page by page: from the cache, or from a walk through the playlist.
pub(crate) enum Entries {
    Cached {
        /// All that is left of the list.
        left: Option<Arc<Vec<Entry>>>,
        cached: Cached,
    },
    Walked {
        follower: Follower,
        key: Key,
    },
}

impl Entries {
    /// # Errors
    /// As for the first page, if the entries are cached; otherwise if the service is at its limit.
    pub(crate) async fn new(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
    ) -> Result<Self> {
        let ask = Ask::PlaylistEntries(id.clone());
        let key = ask.key();
        if services.cache.has(&key).await {
            let cached = services.read_record(ctx, &ask).await?;
            return Ok(Self::Cached { left: Some(Arc::new(cached.decode()?)), cached });
        }
        services.cache.take_slot(ctx)?;
        Ok(Self::Walked { follower: Walks::follow(services, ctx, id), key })
    }

    /// The next page; `None` past the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Vec<Entry>>>> {
        match self {
            Self::Cached { left, .. } => Ok(left.take()),
            Self::Walked { follower, .. } => follower.next().await,
        }
    }

    /// How the pages came about.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Cached { cached, .. } => cached.outcome,
            Self::Walked { follower, .. } if follower.has_begun_walk() => Outcome::Miss,
            Self::Walked { .. } => Outcome::Coalesced,
        }
    }

    /// An answer that was assembled from these entries: its age is theirs.
    pub(crate) fn answer(&self, services: &Services, body: Bytes, outcome: Outcome) -> Cached {
        match self {
            Self::Cached { cached, .. } => Cached { body, outcome, ..cached.clone() },
            Self::Walked { follower, key, .. } => {
                services.cache.assembled(key, body, outcome, follower.age())
            }
        }
    }
}
