//! The newest videos of channels and playlists: from the public feed, or from the Data API if YouTube serves no feed.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use super::lifetime::Resource;
use super::lookup::Lookup;
use super::playlist::page;
use super::{Services, channel, video};
use crate::cache::{Cached, Parts, allows_stale};
use crate::context::Context;
use crate::error::Result;
use crate::feed::{FeedAnswer, FeedId, FeedItem, FeedSource};
use crate::ident::{ChannelId, ChannelRef, PlaylistId, VideoId};
use crate::spool::Body;
use crate::video::Video;

/// The number of videos in a feed.
const ITEMS: usize = 15;

/// Reads the feed of a channel that is known by another reference than its id. The reference costs as much as the
/// channel itself.
pub(crate) async fn by_name(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<Cached<Body>> {
    let ctx = &ctx.for_parts();
    let (id, parts) = channel::id_of(services, ctx, channel).await?;
    let feed = services.read_record(ctx, &Lookup::ChannelFeed(ChannelRef::Id(id))).await?;
    let parts: Parts = parts.with(feed.outcome);
    services.cache.count(Resource::Feed.kind(), parts.worst());
    let (age, life) = (feed.age, feed.life);
    Ok(Cached::composite(feed.into_body().body, parts, age, life))
}

/// Fetches the newest videos of a channel, and returns them with their age: the videos that replace a feed may be
/// cached. It costs nothing, or 2 units if YouTube serves no feed.
///
/// # Errors
///
/// Those of the Data API. The 404 of a feed alone does not prove that there is no such channel.
pub(crate) async fn of_channel(
    services: &Arc<Services>,
    ctx: &Context,
    id: &ChannelId,
) -> Result<(FeedAnswer, Duration)> {
    let ctx = &ctx.for_parts();
    let newest = async {
        let ids = Lookup::UploadIds(ChannelRef::Id(id.clone()));
        let list = services.read_record(ctx, &ids).await?;
        let (videos, _) = video::list_json(services, ctx, &list.decode::<Vec<VideoId>>()?).await?;
        let age = list.age.max(videos.age);
        let mut videos: Vec<Video> = videos.decode()?;
        // Uploads are in this order only roughly.
        videos.sort_by_key(|video| Reverse(video.published_at));
        Ok((videos, age))
    };
    fetch(services, ctx, &FeedId::Channel(id.clone()), newest).await
}

/// Fetches the first videos of a playlist, and returns them with their age, as [`of_channel`] does. It costs nothing, or
/// 2 units if YouTube serves no feed.
///
/// # Errors
///
/// Those of the Data API. The 404 of a feed alone does not prove that there is no such playlist.
pub(crate) async fn of_playlist(
    services: &Arc<Services>,
    ctx: &Context,
    id: &PlaylistId,
) -> Result<(FeedAnswer, Duration)> {
    let ctx = &ctx.for_parts();
    let first = async {
        let page = page::read(services, ctx, id, "").await?;
        let ids = page.body.entries.iter().filter_map(|entry| entry.video);
        // An entry without a video is private or deleted.
        let (videos, _) = video::list_json(services, ctx, &ids.collect::<Vec<_>>()).await?;
        Ok((videos.decode()?, page.age.max(videos.age)))
    };
    fetch(services, ctx, &FeedId::Playlist(id.clone()), first).await
}

/// Fetches a feed, or replaces it by the videos of `from_data_api`.
async fn fetch(
    services: &Arc<Services>,
    ctx: &Context,
    of: &FeedId,
    from_data_api: impl Future<Output = Result<(Vec<Video>, Duration)>>,
) -> Result<(FeedAnswer, Duration)> {
    let feed_error = match services.web.feed(ctx, of).await {
        Ok(feed) if !feed.items.is_empty() => {
            return Ok((
                FeedAnswer { source: FeedSource::Feed, items: feed.items },
                Duration::ZERO,
            ));
        }
        // Feeds of channels with videos are sometimes empty.
        Ok(_) => None,
        Err(error) if error.is_for_one_caller() => return Err(error),
        Err(error) => Some(error),
    };
    if let Some(error) = &feed_error {
        let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        tracing::debug!(reason = error.reason().code(), source, "feed replaced by Data API");
    }
    match (from_data_api.await, feed_error) {
        (Ok((videos, age)), _) => {
            let items = videos.into_iter().take(ITEMS).map(FeedItem::from).collect();
            Ok((FeedAnswer { source: FeedSource::DataApi, items }, age))
        }
        (Err(error), None) if allows_stale(&error) && !error.is_for_one_caller() => {
            // Nothing says that the empty feed is wrong.
            Ok((FeedAnswer { source: FeedSource::Feed, items: vec![] }, Duration::ZERO))
        }
        (Err(error), Some(feed_error)) if allows_stale(&error) => {
            Err(error.with_detail(format!("feed: {}", feed_error.message())))
        }
        (Err(error), _) => Err(error),
    }
}
