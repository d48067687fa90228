//! The entries of a playlist, and the iteration over them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::page::EntryPage;
use super::walk::{Follower, Needed, Walks};
use crate::cache::{CacheOutcome, Cached, Key, Parts, allows_stale};
use crate::context::{CacheMode, Context};
use crate::data_api::wire;
use crate::error::Result;
use crate::format::Moment;
use crate::ident::{PlaylistId, VideoId};
use crate::list::Availability;
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::{self, Lookup};
use crate::spool::Body;

/// An entry of a playlist.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// `None` if YouTube does not reveal the video.
    pub(crate) video: Option<VideoId>,
    /// Empty if the video is private or deleted.
    pub(crate) title: String,
    pub(crate) availability: Availability,
    /// The publication time of the video, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<i64>,
}

impl Entry {
    /// YouTube lists private and deleted videos under a placeholder title, without an owner and
    /// without a date. Old responses have no owners and dates at all, so all three conditions must
    /// hold.
    pub(super) fn from_wire(item: wire::PlaylistItem) -> Self {
        let date = item.content_details.as_ref().and_then(|it| it.video_published_at.as_deref());
        let dated = date.is_some();
        let published = Moment::parse(date).timestamp().map(Timestamp::as_second);
        let snippet = item.snippet.as_ref();
        let owned = snippet.is_some_and(|snippet| snippet.video_owner_channel_id.is_some());
        let title = snippet.and_then(|snippet| snippet.title.clone()).unwrap_or_default();
        let (title, availability) = match title.as_str() {
            "Private video" if !dated && !owned => (String::new(), Availability::Private),
            "Deleted video" if !dated && !owned => (String::new(), Availability::Deleted),
            _ => (title, Availability::Public),
        };
        Self { video: item.video_id(), title, availability, published }
    }

    /// The publication time of the video, if YouTube sent it.
    pub(crate) fn published(&self) -> Option<Timestamp> {
        self.published.and_then(|seconds| Timestamp::from_second(seconds).ok())
    }
}

/// All entries of a playlist, as they are cached. The pages let a request for a part of the list use this record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EntryList {
    pub(crate) entries: Vec<Entry>,
    /// The token of each page, and the number of its entries.
    pages: Vec<(String, usize)>,
}

impl EntryList {
    pub(super) fn from_pages(pages: &[(String, Arc<Vec<Entry>>)]) -> Self {
        let entries = pages.iter().flat_map(|(_, page)| page.iter()).cloned().collect();
        let pages = pages.iter().map(|(token, page)| (token.clone(), page.len())).collect();
        Self { entries, pages }
    }

    /// The pages with their tokens.
    pub(super) fn to_pages(&self) -> Vec<(String, Arc<Vec<Entry>>)> {
        let mut rest = self.entries.iter();
        let pages = self.pages.iter().map(|(token, length)| {
            (token.clone(), Arc::new(rest.by_ref().take(*length).cloned().collect()))
        });
        pages.collect()
    }

    /// The page with this token. `None` if the list had no such page.
    pub(super) fn page(&self, token: &str) -> Option<EntryPage> {
        let index = self.pages.iter().position(|(known, _)| known == token)?;
        let start = self.pages[..index].iter().map(|(_, length)| length).sum();
        let entries = self.entries.get(start..)?.get(..self.pages[index].1)?.to_vec();
        let next = self.pages.get(index + 1).map(|(token, _)| token.clone());
        Some(EntryPage { entries, next })
    }
}

/// Fetches all entries, without video details, and returns them with their age.
pub(crate) async fn all_entries(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<(EntryList, Duration)> {
    let mut follower = Walks::follow(services, ctx, id, Needed::Whole);
    while follower.next().await?.is_some() {}
    Ok((follower.listed(), follower.age()))
}

/// The first entries of a playlist, as they are cached after a request for a part of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// YouTube's own count of all entries.
    total: usize,
    entries: Vec<Entry>,
}

impl Start {
    fn key(id: &PlaylistId) -> Key {
        Key { kind: Resource::Playlist.kind(), text: format!("playlist-start/{id}") }
    }

    /// The cached start of a playlist, if it is fresh.
    async fn cached(services: &Services, ctx: &Context, id: &PlaylistId) -> Option<(Self, Cached)> {
        let cached = services.cache.get_any_age(&Self::key(id), ctx).await?;
        let is_fresh = !cached.fresh_for().is_zero();
        let start = cached.decode().ok().filter(|_| is_fresh)?;
        Some((start, Cached { outcome: CacheOutcome::Hit, ..cached }))
    }
}

/// The entries of a playlist, page by page: from the cache, or from a walk through the playlist.
pub(crate) enum Entries {
    Cached {
        /// The rest of the list.
        left: Option<Arc<Vec<Entry>>>,
        total: usize,
        /// Whether `left` is only the start of the list.
        is_start: bool,
        cached: Cached,
    },
    Walked {
        follower: Follower,
        key: Key,
    },
}

impl Entries {
    /// Opens all entries of a playlist. A caller that reads them slowly needs only a part at a time: other machines should
    /// not wait for it.
    ///
    /// # Errors
    ///
    /// The cached refusal, or the error of a renewal without a usable record. For an uncached list,
    /// [`Reason::Overloaded`](crate::Reason::Overloaded) if all slots are taken; its other errors come from
    /// [`Self::next`].
    pub(crate) async fn new(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
        needed: Needed,
    ) -> Result<Self> {
        let lookup = Lookup::PlaylistEntries(id.clone());
        let key = lookup.key();
        if services.cache.has(&key, ctx).await {
            return match ctx.mode {
                CacheMode::Normal => Self::from_record(services.read_record(ctx, &lookup).await?),
                // Reading the record would fetch all pages first.
                CacheMode::Refresh => Self::walk_part(services, ctx, id).await,
            };
        }
        services.cache.take_slot(ctx)?;
        let follower = Walks::follow(services, ctx, id, needed);
        Ok(Self::Walked { follower, key })
    }

    /// Opens the entries of a playlist for a caller that needs only the first ones. `is_enough` tells whether these are
    /// enough. It uses a fresh list, or a fresh start of it, but never renews a stale list: that would cost all
    /// pages. A stale list replaces a first page that cannot be fetched.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::walk_part`].
    pub(crate) async fn for_part(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
        is_enough: impl Fn(&[Entry]) -> bool,
    ) -> Result<Self> {
        let lookup = Lookup::PlaylistEntries(id.clone());
        if ctx.mode == CacheMode::Normal {
            if services.cache.are_fresh(&[lookup.key()], ctx).await == [true] {
                return Self::from_record(services.read_record(ctx, &lookup).await?);
            }
            if let Some((Start { total, entries }, cached)) = Start::cached(services, ctx, id).await
                && is_enough(&entries)
            {
                let left = Some(Arc::new(entries));
                return Ok(Self::Cached { left, total, is_start: true, cached });
            }
        }
        Self::walk_part(services, ctx, id).await
    }

    /// Walks through the playlist for a caller that needs only the first entries.
    ///
    /// # Errors
    ///
    /// The errors of the first page, and [`Reason::Overloaded`](crate::Reason::Overloaded) if all
    /// slots are taken.
    pub(crate) async fn walk_part(
        services: &Arc<Services>,
        ctx: &Context,
        id: &PlaylistId,
    ) -> Result<Self> {
        let key = Lookup::PlaylistEntries(id.clone()).key();
        services.cache.take_slot(ctx)?;
        let follower = Walks::follow(services, ctx, id, Needed::Part);
        if let Err(error) = follower.begin().await {
            let stale = match allows_stale(&error) {
                true => services.cache.get_any_age(&key, ctx).await,
                false => None,
            };
            return Self::from_record(stale.ok_or(error)?);
        }
        Ok(Self::Walked { follower, key })
    }

    /// Caches the pages that were fetched, if the list has more. The next caller that needs no more
    /// than these does not pay for them again. A longer start that is fresh stays, unless this is a
    /// refresh: another caller may have walked further meanwhile.
    pub(crate) async fn store_start(&self, services: &Services, ctx: &Context, id: &PlaylistId) {
        let Self::Walked { follower, .. } = self else { return };
        let Some(pages) = follower.unfinished() else { return };
        let entries: Vec<Entry> = pages.iter().flat_map(|page| page.iter()).cloned().collect();
        if ctx.mode == CacheMode::Normal
            && let Some((cached, _)) = Start::cached(services, ctx, id).await
            && cached.entries.len() > entries.len()
        {
            return;
        }
        let start = Start { total: follower.total(), entries };
        // A start that cannot be cached is fetched again.
        let _ = services.cache.store(&Start::key(id), lookup::json(&start), follower.age());
    }

    /// Whether the list has more entries than this returns.
    pub(crate) fn is_start(&self) -> bool {
        matches!(self, Self::Cached { is_start: true, .. })
    }

    fn from_record(cached: Cached) -> Result<Self> {
        let EntryList { entries: list, .. } = cached.decode()?;
        let (total, left) = (list.len(), Some(Arc::new(list)));
        Ok(Self::Cached { left, total, is_start: false, cached })
    }

    /// The number of entries: exact if the list is cached or was read to its end, otherwise YouTube's
    /// own count.
    pub(crate) fn total(&self) -> usize {
        match self {
            Self::Cached { total, .. } => *total,
            Self::Walked { follower, .. } => follower.total(),
        }
    }

    /// [`Self::total`], unless YouTube sends no count and the list was not read to its end.
    pub(crate) fn known_total(&self) -> Option<usize> {
        match self {
            Self::Cached { total, .. } => Some(*total),
            Self::Walked { follower, .. } => follower.known_total(),
        }
    }

    /// Returns the next page. `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Arc<Vec<Entry>>>> {
        match self {
            Self::Cached { left, .. } => Ok(left.take()),
            Self::Walked { follower, .. } => follower.next().await,
        }
    }

    /// The cache outcome of the pages.
    pub(crate) fn outcome(&self) -> CacheOutcome {
        match self {
            Self::Cached { cached, .. } => cached.outcome,
            Self::Walked { follower, .. } if follower.has_begun_walk() => CacheOutcome::Miss,
            Self::Walked { .. } => CacheOutcome::Coalesced,
        }
    }

    /// Returns an answer that was assembled from these entries and other parts. It has the age of
    /// the entries.
    pub(crate) fn answer(&self, services: &Services, body: Body, others: Parts) -> Cached<Body> {
        let (age, life) = match self {
            Self::Cached { cached, .. } => (cached.age, cached.life),
            Self::Walked { follower, key } => (follower.age(), services.cache.life_of_new(key)),
        };
        Cached::composite(body, others.with(self.outcome()), age, life)
    }
}
