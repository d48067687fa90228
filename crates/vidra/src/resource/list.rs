//! Lists of videos that are read page by page. Only the upstream pages with the requested items are fetched.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::paged::{Items, MAX_FRUITLESS_PAGES, PagedList, Progress, ReadState, max_pages, no_end};
use super::playlist::page::{self, EntryPage};
use super::{channel, lookup, video};
use crate::cache::{Cached, Parts};
use crate::context::{CacheMode, Context};
use crate::error::{Error, ErrorKind, Result};
use crate::ident::{ChannelRef, PlaylistId, VideoId};
use crate::list::{DateRange, Position};
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::video::Video;

/// A list of videos.
#[derive(Debug, Clone)]
pub(crate) enum VideoList {
    /// The available videos of a playlist, in its order.
    Playlist(PlaylistId),
    /// The uploads of a channel in a range of dates, newest first.
    Uploads(ChannelRef, DateRange),
}

/// A video of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) video: Video,
    /// The position in the upstream list, counted from 1.
    pub(crate) position: usize,
}

/// The number of upstream pages that are read before their videos, in the first group of a read. Each later group is
/// twice as large. If the quota ends, the videos of earlier groups are there.
const FIRST_GROUP: usize = 2;

/// The number of entries on a full upstream page.
const PAGE_SIZE: usize = 50;

impl PagedList for VideoList {
    type Item = Item;

    fn key(&self) -> String {
        match self {
            Self::Playlist(id) => format!("playlist-videos/{id}"),
            Self::Uploads(channel, DateRange { since, until }) => {
                let date = |at: Option<jiff::Timestamp>| at.map(|at| at.to_string());
                let [since, until] = [*since, *until].map(|at| date(at).unwrap_or_default());
                format!("uploads/{}/{since}/{until}", lookup::name(channel))
            }
        }
    }

    /// It costs 1 unit for each upstream page of 50 entries, and 1 for each 50 uncached videos on them.
    async fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> Result<Cached<Items<Item>>> {
        let mut reader = Reader::open(services, ctx, self, limit, progress).await?;
        let (mut items, mut next, mut fruitless) = (vec![], Some(from.clone()), 0);
        let (mut group, mut pages_left) = (FIRST_GROUP, max_pages(limit, PAGE_SIZE));
        let is_short = |count: usize| limit.is_some_and(|limit| count < limit);
        while items.is_empty() || is_short(items.len()) && !reader.state.is_cut_off {
            if fruitless >= MAX_FRUITLESS_PAGES || pages_left == 0 {
                break;
            }
            let Some(position) = next.take() else { break };
            let before = items.len();
            let most = group.min(pages_left).min(MAX_FRUITLESS_PAGES - fruitless);
            match reader.add_items(&mut items, &position, most).await {
                Ok((after, pages)) => {
                    (next, group) = (after, (group * 2).min(MAX_FRUITLESS_PAGES));
                    pages_left = pages_left.saturating_sub(pages);
                    fruitless = if items.len() > before { 0 } else { fruitless + pages };
                }
                Err(error) if items.is_empty() => return Err(error),
                Err(error) => {
                    reader.state.cut_off(&error);
                    next = Some(position);
                    break;
                }
            }
        }
        if fruitless >= MAX_FRUITLESS_PAGES
            && next.as_ref().is_some_and(|next| next.start == from.start)
        {
            return Err(no_end());
        }
        let Reader { state, ctx, .. } = reader;
        Ok(state.answer(services, &ctx, Resource::Playlist, (items, next)))
    }
}

/// The state of one read.
struct Reader<'a> {
    services: &'a Arc<Services>,
    ctx: Context,
    list: &'a VideoList,
    /// `None` reads one upstream page at a time.
    limit: Option<usize>,
    progress: &'a mut Progress,
    /// The upstream list.
    playlist: PlaylistId,
    state: ReadState,
}

/// An upstream page, and where it is in its list.
struct UpstreamPage {
    position: Position,
    entries: Vec<Option<VideoId>>,
}

impl<'a> Reader<'a> {
    async fn open(
        services: &'a Arc<Services>,
        ctx: &Context,
        list: &'a VideoList,
        limit: Option<usize>,
        progress: &'a mut Progress,
    ) -> Result<Self> {
        let ctx = ctx.for_parts();
        let mut state = ReadState::new(&ctx, Parts::default());
        let (playlist, parts) = match list {
            VideoList::Playlist(id) => (id.clone(), Parts::default()),
            VideoList::Uploads(channel, _) => {
                channel::uploads_playlist(services, &ctx, channel).await?
            }
        };
        state.parts = parts;
        Ok(Self { services, ctx, list, limit, progress, playlist, state })
    }

    /// Reads up to `most` upstream pages from `from` on, and adds their items. Returns the position after the last
    /// added item, and the number of pages. An error adds no items.
    async fn add_items(
        &mut self,
        items: &mut Vec<Item>,
        from: &Position,
        most: usize,
    ) -> Result<(Option<Position>, usize)> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let (mut pages, mut next) = self.pages(from, limit - items.len(), most).await?;
        let mut videos = HashMap::new();
        if let Err(error) = self.read_videos(&pages, &mut videos).await {
            // One failed call fails them all. The first pages may be complete. Their videos are a moment old, so
            // that a refresh must not pay for them again.
            self.ctx.mode = CacheMode::Normal;
            let mut complete = 0;
            for page in &pages {
                let page = std::slice::from_ref(page);
                if self.read_videos(page, &mut videos).await.is_err() {
                    break;
                }
                complete += 1;
            }
            let Some(failed) = pages.get(complete).filter(|_| complete > 0) else {
                return Err(error);
            };
            self.state.cut_off(&error);
            next = Some(failed.position.clone());
            pages.truncate(complete);
        }
        for page in &pages {
            let (found, is_last) = self.items_of(page, &videos);
            for (index, item) in found {
                if items.len() == limit {
                    return Ok((
                        Some(Position { skip: index, ..page.position.clone() }),
                        pages.len(),
                    ));
                }
                items.push(item);
            }
            if is_last {
                next = None;
                break;
            }
        }
        Ok((next, pages.len()))
    }

    /// Adds the videos of these pages. After an error, some of them may be missing.
    async fn read_videos(
        &mut self,
        pages: &[UpstreamPage],
        videos: &mut HashMap<VideoId, Video>,
    ) -> Result<()> {
        let ids: Vec<VideoId> =
            pages.iter().flat_map(|page| &page.entries).flatten().copied().collect();
        let (ctx, services) = (&self.ctx, self.services);
        let read = video::read_all(services, ctx, &ids, |video| _ = videos.insert(video.id, video));
        self.state.parts = self.state.parts.with(read.await?);
        Ok(())
    }

    /// Reads as many pages as `count` items need if every entry is one, up to `most`, and returns the position after
    /// them. Dates are known only from the videos, so that a list with dates is read one page at a time.
    async fn pages(
        &mut self,
        from: &Position,
        count: usize,
        most: usize,
    ) -> Result<(Vec<UpstreamPage>, Option<Position>)> {
        let has_dates = matches!(self.list, VideoList::Uploads(_, range) if !range.is_open());
        let most = if has_dates || self.limit.is_none() { 1 } else { most };
        let (mut pages, mut next, mut listed) = (vec![], Some(from.clone()), 0);
        while listed < count && pages.len() < most {
            let Some(position) = next.take() else { break };
            let EntryPage { entries, next: token } = match self.page(&position.token).await {
                Ok(page) => page,
                Err(error) if pages.is_empty() => return Err(error),
                // The caller gets the pages before it.
                Err(error) => {
                    self.state.cut_off(&error);
                    next = Some(position);
                    break;
                }
            };
            let start = position.start + entries.len();
            listed += entries.len().saturating_sub(position.skip);
            next = self.progress.next(token, start)?;
            let entries = entries.into_iter().map(|entry| entry.video).collect();
            pages.push(UpstreamPage { position, entries });
        }
        Ok((pages, next))
    }

    async fn page(&mut self, token: &str) -> Result<EntryPage> {
        let page = match page::read(self.services, &self.ctx, &self.playlist, token).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.page_of_channel(token, error).await?
            }
            page => page?,
        };
        self.state.add(&page);
        Ok(page.body)
    }

    /// The page of a channel whose uploads were not found under the usual id. A channel without uploads has an empty
    /// one.
    async fn page_of_channel(&mut self, token: &str, error: Error) -> Result<Cached<EntryPage>> {
        let VideoList::Uploads(channel, _) = self.list else { return Err(error) };
        let found = channel::named_uploads(self.services, &self.ctx, channel).await?;
        match found.body.clone().filter(|named| *named != self.playlist) {
            Some(named) => {
                self.playlist = named;
                page::read(self.services, &self.ctx, &self.playlist, token).await
            }
            None if token.is_empty() => {
                Ok(found.with_body(EntryPage { entries: vec![], next: None }))
            }
            // The list broke off.
            None => Err(error),
        }
    }

    /// The items of a page that come after its position, each with its index in the page, and whether the list ends
    /// here.
    fn items_of(
        &self,
        page: &UpstreamPage,
        videos: &HashMap<VideoId, Video>,
    ) -> (Vec<(usize, Item)>, bool) {
        let Position { start, skip, .. } = page.position;
        // An entry without a video is private or deleted. A video that occurs twice is listed twice.
        let item = |(index, id): (usize, &Option<VideoId>)| {
            let video = videos.get(&(*id)?)?.clone();
            Some((index, Item { video, position: start + index + 1 }))
        };
        let mut items: Vec<(usize, Item)> =
            page.entries.iter().enumerate().filter_map(item).collect();
        let mut is_last = false;
        if let VideoList::Uploads(_, range) = self.list {
            // Uploads are in this order only roughly. The index is that in the sorted page.
            items.sort_by_key(|(_, item)| Reverse(item.video.published_at));
            items = items.into_iter().enumerate().map(|(index, (_, item))| (index, item)).collect();
            let is_older = |(_, item): &(usize, Item)| {
                let published = item.video.published_at.timestamp();
                range.since.is_some_and(|since| published.is_some_and(|at| at < since))
            };
            is_last = !items.is_empty() && items.iter().all(is_older);
            items.retain(|(_, item)| range.contains(item.video.published_at.timestamp()));
        }
        items.retain(|(index, _)| *index >= skip);
        (items, is_last)
    }
}
