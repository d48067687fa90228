//! Reads YouTube's resources. One file per resource fetches it; `lookup` has all cache keys, and `lifetime` all lifetimes.

pub(crate) mod channel;
pub(crate) mod chart;
pub(crate) mod comment;
pub(crate) mod feed;
pub(crate) mod gather;
pub(crate) mod lifetime;
pub(crate) mod list;
pub(crate) mod lookup;
pub(crate) mod many;
pub(crate) mod paged;
pub(crate) mod playlist;
pub(crate) mod region;
pub(crate) mod search;
pub(crate) mod stored;
pub(crate) mod transcript;
pub(crate) mod video;

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use crate::cache::{Cache, Cached, Fetch, Key, Runner};
use crate::context::Context;
use crate::data_api::{DataApi, wire};
use crate::error::{Error, Reason, Result};
use crate::ident::{ChannelRef, VideoId};
use crate::spool::{Body, Spool};
use crate::transcript::TranscriptQuery;
use crate::transport::BoxFuture;
use crate::video::{Include, Video};
use crate::web::{Web, WebRequestKind};
use gather::Gather;
use lifetime::Resource;
use lookup::Lookup;
use playlist::walk::Walks;

/// The dependencies of all fetches, shared by all operations of a client.
pub(crate) struct Services {
    pub(crate) cache: Arc<Cache>,
    pub(crate) data_api: Arc<DataApi>,
    pub(crate) web: Arc<Web>,
    /// Gathers single lookups into calls of fifty.
    pub(crate) videos: Arc<Gather<VideoId, Video>>,
    pub(crate) channels: Arc<Gather<String, wire::Channel>>,
    /// Running walks through playlists.
    pub(crate) walks: Walks,
    /// Holds large answers while they are built and sent.
    pub(crate) spool: Spool,
    /// Whether a search is allowed if no cheaper lookup finds a channel.
    pub(crate) may_search: bool,
    /// Called with each transcript that is fetched for an interactive request or a batch.
    pub(crate) on_transcript: Option<OnTranscript>,
}

/// Called with a fetched transcript: the video, the query, and the record.
pub(crate) type OnTranscript = Box<dyn Fn(VideoId, &TranscriptQuery, &Bytes) + Send + Sync>;

impl Services {
    pub(crate) fn new(
        cache: Cache,
        data_api: DataApi,
        web: Web,
        spool: Spool,
        may_search: bool,
    ) -> Self {
        let data_api = Arc::new(data_api);
        let (for_videos, for_channels) = (Arc::clone(&data_api), Arc::clone(&data_api));
        Self {
            cache: Arc::new(cache),
            data_api,
            web: Arc::new(web),
            videos: Arc::new(Gather::new("video", move |ctx, ids| {
                let data_api = Arc::clone(&for_videos);
                Box::pin(async move { video::list(&data_api, &ctx, &ids).await })
            })),
            channels: Arc::new(Gather::new("channel", move |ctx, ids| {
                let data_api = Arc::clone(&for_channels);
                Box::pin(async move { channel::list_by_id(&data_api, &ctx, &ids).await })
            })),
            walks: Walks::default(),
            spool,
            may_search,
            on_transcript: None,
        }
    }

    /// Reads a resource through the cache: a record, or a composite of several.
    pub(crate) async fn read(
        self: &Arc<Self>,
        ctx: &Context,
        lookup: &Lookup,
    ) -> Result<Cached<Body>> {
        match lookup {
            Lookup::Playlist(id) => {
                let assemble = |ctx: Context| -> BoxFuture<'static, Result<Cached<Body>>> {
                    let (services, id) = (Arc::clone(self), id.clone());
                    Box::pin(async move { playlist::complete(&services, &ctx, &id).await })
                };
                let Key { kind, text } = lookup.key();
                // Answers with other members are assembled apart.
                let text = format!("{text}{}", included(ctx.include));
                self.cache.share(&Key { kind, text }, ctx, assemble).await
            }
            Lookup::Uploads(channel) => {
                let assemble = |ctx: Context| -> BoxFuture<'static, Result<Cached<Body>>> {
                    let (services, channel) = (Arc::clone(self), channel.clone());
                    Box::pin(async move { channel::uploads(&services, &ctx, &channel).await })
                };
                self.cache.share(&lookup.key(), ctx, assemble).await
            }
            Lookup::Video(_) => {
                let video = self.read_record(ctx, lookup).await?;
                Ok(video::record::answer(video, ctx.include)?.into_body())
            }
            Lookup::Transcript(..) => {
                let record = self.read_record(ctx, lookup).await?;
                let lines = transcript::lines(&record.body);
                Ok(record.with_body(lines).into_body())
            }
            Lookup::ChannelFeed(channel) if !matches!(channel, ChannelRef::Id(_)) => {
                feed::by_name(self, ctx, channel).await
            }
            record => Ok(self.read_record(ctx, record).await?.into_body()),
        }
    }

    /// Reads one record through the cache. Composites are not records: [`Self::read`] assembles
    /// them.
    pub(crate) async fn read_record(
        self: &Arc<Self>,
        ctx: &Context,
        lookup: &Lookup,
    ) -> Result<Cached> {
        let key = lookup.key();
        let runner = || -> Runner {
            let (services, lookup) = (Arc::clone(self), lookup.clone());
            Arc::new(move |ctx, _| {
                let fetching = lookup.clone().fetch(Arc::clone(&services), ctx);
                Box::pin(async move { vec![fetching.await] })
            })
        };
        let is_failing = || self.is_failing(lookup.resource());
        let follows_walk = lookup.follows_walk();
        let is_shared = !matches!(lookup, Lookup::PlaylistEntries(_));
        let fetch = Fetch {
            is_failing: &is_failing,
            follows_walk,
            is_shared,
            per_call: 1,
            runner: &runner,
        };
        let read = self.cache.read_one(&key, ctx, &fetch).await?;
        if let Lookup::Transcript(..) = lookup {
            ctx.bill.note_transcript();
        }
        Ok(read)
    }

    /// Whether YouTube fails for resources of this kind, so that a stale record is better than a
    /// fetch.
    pub(crate) fn is_failing(&self, resource: Resource) -> bool {
        let now = Instant::now();
        match resource {
            // Only the player lists tracks.
            Resource::Tracks => self.web.egresses.are_failing(WebRequestKind::Player, now),
            Resource::Transcript => self.web.egresses.are_failing(WebRequestKind::Captions, now),
            Resource::Search => self.data_api.search_breaker.refuses(now).is_some(),
            // The Data API replaces a feed.
            Resource::Feed => {
                self.web.feeds.refuses(now).is_some()
                    && self.data_api.breaker.refuses(now).is_some()
            }
            _ => self.data_api.breaker.refuses(now).is_some(),
        }
    }
}

/// The part of a key that tells answers with other members apart.
fn included(include: Include) -> String {
    let Include { details, chapters, comments } = include;
    let words = [(details, "+details"), (chapters, "+chapters"), (comments, "+comments")];
    words.into_iter().filter(|(is_included, _)| *is_included).map(|(_, word)| word).collect()
}

/// Returns the item with this `id`, or else one without an id. `None` if YouTube sent nothing. An
/// error if it sent only other items, because their data must not pass for this one's.
pub(crate) fn find_item<T>(
    items: Vec<T>,
    what: &str,
    id: &str,
    id_of: impl Fn(&T) -> Option<&str>,
) -> Result<Option<T>> {
    let position = |wanted: Option<&str>| items.iter().position(|item| id_of(item) == wanted);
    match position(Some(id)).or_else(|| position(None)) {
        Some(index) => Ok(items.into_iter().nth(index)),
        None if items.is_empty() => Ok(None),
        None => Err(wrong_item_error(what)),
    }
}

pub(crate) fn wrong_item_error(what: &str) -> Error {
    Error::new(Reason::UpstreamFailed, format!("YouTube answered with another {what}"))
}
