//! The first videos of a playlist. It pays only for the pages that they are on.

use std::sync::Arc;

use futures_channel::mpsc;
use futures_util::future;

use super::{Entries, Entry, Videos, Wanted, head};
use crate::cache::Parts;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ident::{PlaylistId, VideoId};
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::spool::Body;

/// Fetches a playlist with at least its first `count` available videos, or with all of them if it has
/// fewer. Its JSON has no number of unavailable entries. Also returns the number of its entries, which is
/// YouTube's own count unless the whole list was read. It costs 1 unit, 1 for each page of 50 entries that
/// it needs, and 1 for each 50 distinct uncached videos on them.
pub(crate) async fn first_videos(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
    count: usize,
) -> Result<(Body, usize)> {
    let ctx = &ctx.for_parts();
    let is_enough = |start: &[Entry]| start.len() >= count;
    let mut entries = Entries::for_part(services, ctx, id, is_enough).await?;
    let first = entries.next().await?;
    let has_entries = first.as_ref().is_some_and(|page| !page.is_empty());
    let videos = async {
        let found = Found::read(services, ctx, &mut entries, first, count).await?;
        if found.order.len() >= count || !entries.is_start() {
            return Ok((found, entries));
        }
        // Too many videos of the cached start are private or deleted.
        let mut entries = Entries::walk_part(services, ctx, id).await?;
        let first = entries.next().await?;
        let found = Found::read(services, ctx, &mut entries, first, count).await?;
        Ok::<_, Error>((found, entries))
    };
    let head = head(services, ctx, id, has_entries);
    let ((found, entries), (info, of_head)) = future::try_join(videos, head).await?;
    entries.store_start(services, ctx, id).await;
    let parts = found.parts.with(of_head).with(entries.outcome());
    services.cache.count(Resource::Playlist.kind(), parts.worst());
    Ok((found.videos.in_order(info, &found.order).await?, entries.total()))
}

/// The available videos of some entries.
struct Found {
    videos: Videos,
    /// Their ids in the order of the entries. A video that occurs twice is listed twice.
    order: Vec<Option<VideoId>>,
    parts: Parts,
}

impl Found {
    /// Reads pages from `page` on until they have `count` available videos.
    async fn read(
        services: &Arc<Services>,
        ctx: &Context,
        entries: &mut Entries,
        mut page: Option<Arc<Vec<Entry>>>,
        count: usize,
    ) -> Result<Self> {
        let videos = Videos::new(&services.spool, ctx.include);
        let mut found = Self { videos, order: vec![], parts: Parts::default() };
        let mut unread = vec![];
        while let Some(listed) = page {
            unread.extend(listed.iter().map(|entry| entry.video));
            // Private and deleted videos do not count, so that only the details tell whether these
            // entries are enough.
            if found.order.len() + unread.len() >= count {
                found.add(services, ctx, std::mem::take(&mut unread)).await?;
            }
            page = if found.order.len() < count { entries.next().await? } else { None };
        }
        found.add(services, ctx, unread).await?;
        Ok(found)
    }

    /// Adds the available videos of these entries. An entry without details is private or deleted.
    async fn add(
        &mut self,
        services: &Arc<Services>,
        ctx: &Context,
        entries: Vec<Option<VideoId>>,
    ) -> Result<()> {
        let (chunks, queue) = mpsc::unbounded();
        let mut wanted = Wanted::to(chunks);
        wanted.add(services, ctx, &entries).await;
        wanted.flush();
        drop(wanted);
        self.parts = self.parts.with(self.videos.read(services, ctx, queue).await?);
        let known = &self.videos.known;
        let is_available = |id: &Option<VideoId>| id.is_some_and(|id| known.contains_key(&id));
        self.order.extend(entries.into_iter().filter(is_available));
        Ok(())
    }
}
