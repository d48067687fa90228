//! Playlists. A playlist is a composite of its own data, its entries and its videos.

mod entries;
pub(crate) mod listing;
pub(crate) mod of_channel;
pub(crate) mod page;
mod part;
pub(crate) mod walk;

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;

use futures_channel::mpsc;
use futures_util::{Stream, StreamExt, future};

use super::video;
use crate::cache::{Cached, Parts};
use crate::context::{CacheMode, Context};
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::wire;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Moment;
use crate::ident::{ChannelId, PlaylistId, VideoId};
use crate::playlist::{Playlist, PlaylistIds, PlaylistInfo, PlaylistVideo};
use crate::resource::gather::MAX_IDS;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::{self, Lookup};
use crate::resource::{Services, find_item, many};
use crate::spool::{Body, ELEMENTS_AT_ONCE, Spool, SpooledList};
use crate::transport::traced;
use crate::video::{Include, Video};

pub(crate) use entries::{Entries, Entry, EntryList, Start, all_entries};
pub(crate) use part::first_videos;
pub(crate) use walk::Needed;

impl PlaylistInfo {
    pub(crate) fn from_wire(id: PlaylistId, playlist: wire::Playlist) -> Self {
        let snippet = playlist.snippet.unwrap_or_default();
        Self {
            id,
            title: snippet.title.unwrap_or_default(),
            description: snippet.description.unwrap_or_default(),
            thumbnails: snippet.thumbnails.unwrap_or_default(),
            item_count: playlist.content_details.and_then(|content| content.item_count),
            channel: snippet.channel_title.unwrap_or_default(),
            channel_id: snippet.channel_id.as_deref().and_then(ChannelId::bare),
            published_at: Moment::parse(snippet.published_at.as_deref()),
        }
    }
}

/// Fetches a playlist without its entries. It costs 1 unit.
pub(crate) async fn info(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<PlaylistInfo> {
    let items: Vec<wire::Playlist> = services.data_api.list(ctx, &info_call(id.as_str())).await?;
    let playlist = find_item(items, "playlist", id.as_str(), |item| item.id.as_deref())?;
    let playlist = playlist.ok_or_else(|| What::Playlist.not_found(id))?;
    Ok(PlaylistInfo::from_wire(id.clone(), playlist))
}

/// Reads the data of several playlists through the cache, and fetches the uncached ones in calls of fifty. Unknown ones
/// are left out.
pub(crate) async fn several_infos(
    services: &Arc<Services>,
    ctx: &Context,
    ids: &[PlaylistId],
) -> Result<Vec<PlaylistInfo>> {
    let fetch = |services: Arc<Services>, ctx: Context, ids: Vec<PlaylistId>| async move {
        let list = ids.iter().map(PlaylistId::as_str).collect::<Vec<_>>().join(",");
        let items = services.data_api.list(&ctx, &info_call(&list)).await;
        let by_id = |item: wire::Playlist| {
            let id = PlaylistId::bare(item.id.as_deref()?)?;
            Some((id.clone(), PlaylistInfo::from_wire(id, item)))
        };
        let found = items.map(|items| items.into_iter().filter_map(by_id).collect());
        many::records(&ids, found, What::Playlist, "playlist", |info| lookup::json(&info))
    };
    let lookup = |id: &PlaylistId| Lookup::PlaylistInfo(id.clone());
    let read = many::read(services, ctx, Resource::Playlist, ids, lookup, fetch).await?;
    read.into_iter().filter_map(|answered| answered.result.ok()).map(|it| it.decode()).collect()
}

/// A call for the data of playlists, with all parts that we serve. They do not change the cost.
fn info_call(ids: &str) -> Call {
    Call::new(Endpoint::Playlists, What::Playlist, &ids)
        .with("part", "snippet,contentDetails")
        .with("id", ids)
        // Of several ids YouTube would return five.
        .with("maxResults", MAX_IDS.to_string())
}

impl PlaylistIds {
    /// Extracts the ids from an [`Lookup::PlaylistEntries`] answer.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`](crate::Reason::Internal) if `entries` is not such an answer.
    pub fn from_entries(id: PlaylistId, entries: &Cached) -> Result<Self> {
        let EntryList { entries, .. } = entries.decode()?;
        let video_ids: Vec<VideoId> = entries.into_iter().filter_map(|entry| entry.video).collect();
        Ok(Self { id, count: video_ids.len(), video_ids })
    }
}

/// Assembles a playlist. A missing playlist costs 1 unit, because everything else starts after the
/// first page. Then pages, videos and the playlist's own data are fetched concurrently. The pages
/// are sequential and determine the total time.
pub(crate) async fn complete(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<Cached<Body>> {
    let mut entries = Entries::new(services, ctx, id, Needed::Whole).await?;
    let first = entries.next().await?;
    let has_entries = first.as_ref().is_some_and(|page| !page.is_empty());

    let (chunks, queue) = mpsc::unbounded();
    let walk = async move {
        let mut wanted = Wanted::to(chunks);
        let mut order: Vec<Option<VideoId>> = vec![];
        let mut next = first;
        while let Some(page) = next {
            let page: Vec<_> = page.iter().map(|entry| entry.video).collect();
            wanted.add(services, ctx, &page).await;
            order.extend(page);
            next = entries.next().await?;
        }
        wanted.flush();
        Ok::<_, Error>((order, entries))
    };
    let head = head(services, ctx, id, has_entries);
    let mut videos = Videos::new(&services.spool, ctx.include);
    let details = videos.read(services, ctx, queue);
    let ((order, entries), of_videos, (head, of_head)) =
        future::try_join3(walk, details, head).await?;
    let body = videos.in_order(head, &order).await?;
    Ok(entries.answer(services, body, of_videos.with(of_head)))
}

/// Reads the data of the playlist itself. Some lists have entries but no such data.
async fn head(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
    has_entries: bool,
) -> Result<(PlaylistInfo, Parts)> {
    match services.read_record(ctx, &Lookup::PlaylistInfo(id.clone())).await {
        Ok(info) => Ok((info.decode()?, Parts::from(info.outcome))),
        Err(error) if error.kind() == ErrorKind::NotFound && has_entries => {
            let info = PlaylistInfo::from_wire(id.clone(), wire::Playlist::default());
            Ok((info, Parts::default()))
        }
        Err(error) => Err(error),
    }
}

/// The videos of a playlist as JSON, in the order of their arrival.
struct Videos {
    list: SpooledList,
    /// The element and the length in seconds of each video.
    known: HashMap<VideoId, (usize, u64)>,
    include: Include,
}

impl Videos {
    fn new(spool: &Spool, include: Include) -> Self {
        Self { list: spool.list(), known: HashMap::new(), include }
    }

    /// Reads the videos of all `chunks` as the chunks arrive, and adds them in any order and without the unknown ones.
    /// Returns their outcomes.
    async fn read(
        &mut self,
        services: &Arc<Services>,
        ctx: &Context,
        chunks: impl Stream<Item = Vec<VideoId>>,
    ) -> Result<Parts> {
        // In tasks: a read that is not polled while the disk is slow would hold up other readers of the store.
        let chunk = |ids: Vec<VideoId>| {
            let (services, ctx) = (Arc::clone(services), ctx.clone());
            traced::in_task(async move { video::read(&services, &ctx, &ids).await })
        };
        let mut chunks = pin!(chunks.map(chunk).buffer_unordered(many::CALLS_AT_ONCE));
        let mut parts = Parts::default();
        while let Some(chunk) = chunks.next().await {
            for answered in chunk? {
                // Cached videos of a long list would keep the thread for a tenth of a second.
                if self.known.len() % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1 {
                    self.list.give_way().await;
                }
                parts = parts.with(answered.outcome);
                // The others do not exist.
                if let Ok(video) = answered.result {
                    self.add(video::record::decode(&video, self.include)?)?;
                }
            }
        }
        Ok(parts)
    }

    fn add(&mut self, video: Video) -> Result<()> {
        let (id, duration) = (video.id, video.duration);
        let comments = self.include.comments.then_some(video.comments);
        let element = self.list.push(&PlaylistVideo { comments, ..video.into() })?;
        self.known.insert(id, (element, duration));
        Ok(())
    }

    /// The playlist with its videos in its order. An entry without a video is private or deleted.
    async fn in_order(self, info: PlaylistInfo, order: &[Option<VideoId>]) -> Result<Body> {
        let videos = order.iter().flatten().filter_map(|id| self.known.get(id));
        let (elements, durations): (Vec<usize>, Vec<u64>) = videos.copied().unzip();
        let playlist = Playlist::without_videos(info, order.len() - elements.len());
        let playlist = playlist.with_totals(elements.len(), durations.into_iter().sum());
        self.list.finish(&playlist, "videos", &elements).await
    }
}

/// Groups ids across page borders, so that each group has fifty uncached videos. Pages can be
/// short, but calls should be full.
struct Wanted {
    chunks: mpsc::UnboundedSender<Vec<VideoId>>,
    /// The ids so far, so that a duplicate is read once.
    seen: HashSet<VideoId>,
    waiting: Vec<VideoId>,
    uncached: usize,
}

impl Wanted {
    fn to(chunks: mpsc::UnboundedSender<Vec<VideoId>>) -> Self {
        Self { chunks, seen: HashSet::new(), waiting: vec![], uncached: 0 }
    }

    async fn add(&mut self, services: &Services, ctx: &Context, page: &[Option<VideoId>]) {
        let ids = page.iter().flatten().copied();
        let new: Vec<VideoId> = ids.filter(|id| self.seen.insert(*id)).collect();
        let keys: Vec<_> = new.iter().map(|id| Lookup::Video(*id).key()).collect();
        let are_fresh = match ctx.mode {
            CacheMode::Refresh => vec![false; keys.len()],
            CacheMode::Normal => services.cache.are_fresh(&keys, ctx).await,
        };
        for (id, is_fresh) in new.into_iter().zip(are_fresh) {
            self.waiting.push(id);
            self.uncached += usize::from(!is_fresh);
            if self.uncached == MAX_IDS {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.uncached = 0;
        if !self.waiting.is_empty() {
            // The receiver lives as long as the walk. If it is gone, so is the caller.
            let _ = self.chunks.unbounded_send(std::mem::take(&mut self.waiting));
        }
    }
}
