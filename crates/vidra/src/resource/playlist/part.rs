//! The first videos of a playlist. It pays only for the pages that they are on.

use std::collections::HashMap;
use std::sync::Arc;

use futures_channel::mpsc;
use futures_util::future;

use super::{Entries, Entry, Wanted, head};
use crate::cache::Parts;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::ident::{PlaylistId, VideoId};
use crate::playlist::{Playlist, PlaylistVideo};
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::video;
use crate::video::Video;

/// Fetches a playlist with at least its first `count` available videos, or with all of them if it has
/// fewer. Also returns the number of its entries, which is YouTube's own count unless the whole list
/// was read. It costs 1 unit, 1 for each page of 50 entries that it needs, and 1 for each 50 distinct
/// uncached videos on them.
pub(crate) async fn first_videos(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
    count: usize,
) -> Result<(Playlist, usize)> {
    let ctx = &ctx.for_parts();
    let mut entries = Entries::for_part(services, ctx, id, count).await?;
    let first = entries.next().await?;
    let has_entries = first.as_ref().is_some_and(|page| !page.is_empty());
    let videos = async {
        let found = read(services, ctx, &mut entries, first, count).await?;
        if found.0.len() >= count || !entries.is_start() {
            return Ok((found, entries));
        }
        // Too many videos of the cached start are private or deleted.
        let mut entries = Entries::walk_part(services, ctx, id).await?;
        let first = entries.next().await?;
        let found = read(services, ctx, &mut entries, first, count).await?;
        Ok::<_, Error>((found, entries))
    };
    let head = head(services, ctx, id, has_entries);
    let (((videos, of_videos), entries), (info, of_head)) = future::try_join(videos, head).await?;
    entries.store_start(services, ctx, id).await;
    let parts = of_videos.with(of_head).with(entries.outcome());
    services.cache.count(Resource::Playlist.kind(), parts.worst());
    Ok((Playlist::new(info, videos, 0), entries.total()))
}

/// Reads pages from `page` on until they have `count` available videos.
async fn read(
    services: &Arc<Services>,
    ctx: &Context,
    entries: &mut Entries,
    mut page: Option<Arc<Vec<Entry>>>,
    count: usize,
) -> Result<(Vec<PlaylistVideo>, Parts)> {
    let (mut videos, mut unread, mut parts) = (vec![], vec![], Parts::default());
    while let Some(listed) = page {
        unread.extend(listed.iter().map(|entry| entry.video));
        // Private and deleted videos do not count, so that only the details tell whether these
        // entries are enough.
        if videos.len() + unread.len() >= count {
            let (available, read) = available(services, ctx, &unread).await?;
            videos.extend(available);
            parts = parts.with(read);
            unread.clear();
        }
        page = if videos.len() < count { entries.next().await? } else { None };
    }
    let (available, read) = available(services, ctx, &unread).await?;
    videos.extend(available);
    Ok((videos, parts.with(read)))
}

/// The available videos of these entries, in their order.
async fn available(
    services: &Arc<Services>,
    ctx: &Context,
    entries: &[Option<VideoId>],
) -> Result<(Vec<PlaylistVideo>, Parts)> {
    let (chunks, queue) = mpsc::unbounded();
    let mut wanted = Wanted::to(chunks);
    wanted.add(services, ctx, entries).await;
    wanted.flush();
    drop(wanted);
    let mut details = HashMap::new();
    let add = |video: Video| {
        details.insert(video.id, PlaylistVideo::from(video));
        Ok(())
    };
    let parts = video::read_chunks(services, ctx, queue, add).await?;
    // An entry without details is private or deleted. A video that occurs twice is listed twice.
    let videos = entries.iter().flatten().filter_map(|id| details.get(id).cloned()).collect();
    Ok((videos, parts))
}
