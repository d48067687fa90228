//! Lists of videos that are read page by page. Only the upstream pages with the requested items are fetched.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::playlist::page::{self, EntryPage};
use super::{channel, lookup, video};
use crate::cache::freshness::Life;
use crate::cache::{CacheOutcome, Cached, Parts};
use crate::context::{CacheMode, Context};
use crate::data_api::pages::MAX_PAGES;
use crate::error::{Error, ErrorKind, Reason, Result};
use crate::ident::{ChannelRef, PlaylistId, VideoId};
use crate::list::{DateRange, MAX_ENTRIES, Position};
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

/// The pages that a read or a stream of reads has come through. It notices a list without an end, in which every page
/// costs quota.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The tokens of the next pages, with the number of entries before them.
    seen: HashMap<String, usize>,
}

impl Progress {
    /// The position of the next page. `None` at the end of the list, and if the token was seen: it would repeat pages.
    ///
    /// # Errors
    ///
    /// [`Reason::UpstreamFailed`] for a list with too many pages or entries.
    fn next(&mut self, token: Option<String>, start: usize) -> Result<Option<Position>> {
        // A page that is read again has the same number of entries before it.
        let token = token.filter(|it| *self.seen.entry(it.clone()).or_insert(start) == start);
        if start > MAX_ENTRIES || self.seen.len() > MAX_PAGES {
            return Err(no_end());
        }
        Ok(token.map(|token| Position { token, start, skip: 0 }))
    }
}

/// Items, and the position after them. `None` at the end of the list.
pub(crate) type Items = (Vec<Item>, Option<Position>);

/// The maximum number of consecutive upstream pages without an item, after which a read returns what it has. It
/// limits the time and the cost of one read.
const MAX_FRUITLESS_PAGES: usize = 20;

/// The number of upstream pages that are read before their videos, in the first group of a read. Each later group is
/// twice as large. If the quota ends, the videos of earlier groups are there.
const FIRST_GROUP: usize = 2;

impl VideoList {
    /// The text that identifies this list in its cursors.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Playlist(id) => format!("playlist-videos/{id}"),
            Self::Uploads(channel, DateRange { since, until }) => {
                let date = |at: Option<jiff::Timestamp>| at.map(|at| at.to_string());
                let [since, until] = [*since, *until].map(|at| date(at).unwrap_or_default());
                format!("uploads/{}/{since}/{until}", lookup::name(channel))
            }
        }
    }
}

/// Reads up to `limit` items from `from` on, or without a limit those of the next upstream page that has any. It costs
/// 1 unit for each upstream page of 50 entries, and 1 for each 50 uncached videos on them.
///
/// There may be fewer items than `limit` before the end of the list: if many entries have none, or if a later page
/// fails. The next read gets the error then.
pub(crate) async fn read(
    services: &Arc<Services>,
    ctx: &Context,
    list: &VideoList,
    from: &Position,
    limit: Option<usize>,
    progress: &mut Progress,
) -> Result<Cached<Items>> {
    let mut reader = Reader::open(services, ctx, list, limit, progress).await?;
    let (mut items, mut next, mut fruitless) = (vec![], Some(from.clone()), 0);
    let (mut group, mut pages_left) = (FIRST_GROUP, max_pages(limit));
    while items.is_empty() || limit.is_some_and(|limit| items.len() < limit) && !reader.is_cut_off {
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
                tracing::debug!(reason = error.reason().code(), "list cut off");
                (next, reader.is_cut_off) = (Some(position), true);
                break;
            }
        }
    }
    if fruitless >= MAX_FRUITLESS_PAGES
        && next.as_ref().is_some_and(|next| next.start == from.start)
    {
        return Err(no_end());
    }
    Ok(reader.answer((items, next)))
}

/// The most upstream pages of a read. Pages may be short, but a read must not cost far more than its items.
fn max_pages(limit: Option<usize>) -> usize {
    MAX_FRUITLESS_PAGES + 4 * limit.unwrap_or(0).div_ceil(50)
}

fn no_end() -> Error {
    Error::new(Reason::UpstreamFailed, "YouTube sent a list without end")
}

/// The state of one read.
struct Reader<'a> {
    services: &'a Arc<Services>,
    ctx: Context,
    list: &'a VideoList,
    /// `None` reads one upstream page at a time.
    limit: Option<usize>,
    progress: &'a mut Progress,
    /// The units that the operation had cost before.
    units_before: u32,
    /// The upstream list.
    playlist: PlaylistId,
    parts: Parts,
    /// The age of the oldest page.
    age: Duration,
    /// The lifetime of that page, and the time for which all pages are fresh.
    life: Option<(Life, Duration)>,
    /// Whether a page failed. The same read may return more next time.
    is_cut_off: bool,
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
        let (ctx, units_before) = (ctx.for_parts(), ctx.bill.cost.units());
        let (playlist, parts) = match list {
            VideoList::Playlist(id) => (id.clone(), Parts::default()),
            VideoList::Uploads(channel, _) => {
                channel::uploads_playlist(services, &ctx, channel).await?
            }
        };
        Ok(Self {
            services,
            ctx,
            list,
            limit,
            progress,
            units_before,
            playlist,
            parts,
            age: Duration::ZERO,
            life: None,
            is_cut_off: false,
        })
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
            tracing::debug!(reason = error.reason().code(), "list cut off");
            (next, self.is_cut_off) = (Some(failed.position.clone()), true);
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
        self.parts = self.parts.with(read.await?);
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
        let has_dates =
            matches!(self.list, VideoList::Uploads(_, range) if *range != DateRange::default());
        let most = if has_dates || self.limit.is_none() { 1 } else { most };
        let (mut pages, mut next, mut listed) = (vec![], Some(from.clone()), 0);
        while listed < count && pages.len() < most {
            let Some(position) = next.take() else { break };
            let EntryPage { entries, next: token } = match self.page(&position.token).await {
                Ok(page) => page,
                Err(error) if pages.is_empty() => return Err(error),
                // The caller gets the pages before it.
                Err(error) => {
                    tracing::debug!(reason = error.reason().code(), "list cut off");
                    (next, self.is_cut_off) = (Some(position), true);
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
        self.parts = self.parts.with(page.outcome);
        let fresh_for =
            self.life.map_or(page.fresh_for(), |(_, fresh_for)| fresh_for.min(page.fresh_for()));
        let life = self.life.filter(|_| self.age > page.age).map_or(page.life, |(life, _)| life);
        (self.age, self.life) = (self.age.max(page.age), Some((life, fresh_for)));
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

    fn answer(self, items: Items) -> Cached<Items> {
        let Self { services, age, life, is_cut_off, .. } = self;
        // A call that failed may have cost units, and a hit costs nothing.
        let has_paid = is_cut_off && self.ctx.bill.cost.units() > self.units_before;
        let parts = if has_paid { self.parts.with(CacheOutcome::Miss) } else { self.parts };
        services.cache.count(Resource::Playlist.kind(), parts.worst());
        let life = match life {
            // The next reader may get more.
            Some(_) if is_cut_off => {
                Life { ttl: age, grace: Duration::ZERO, stale_if_error: Duration::ZERO }
            }
            Some((life, fresh_for)) => Life { ttl: age + fresh_for, ..life },
            None => services.cache.life_of_new(&lookup::Lookup::Playlist(self.playlist).key()),
        };
        Cached::composite(items, parts, age, life)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_token_ends_the_list_and_a_page_that_is_read_again_does_not() {
        let mut progress = Progress::default();
        let mut next = |token: &str, start| {
            let position = progress.next(Some(token.to_owned()), start).unwrap();
            position.map(|it| (it.token, it.start))
        };
        assert_eq!(next("a", 50), Some(("a".to_owned(), 50)));
        assert_eq!(next("b", 100), Some(("b".to_owned(), 100)));
        assert_eq!(next("b", 100), Some(("b".to_owned(), 100)), "after a failure");
        assert_eq!(next("a", 150), None);
        assert_eq!(progress.next(None, 150).unwrap(), None);
        assert_eq!(progress.next(None, MAX_ENTRIES + 1).unwrap_err().reason(), no_end().reason());
    }
}
