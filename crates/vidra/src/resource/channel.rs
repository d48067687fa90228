//! Channels and their uploads, by the cheapest lookup.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::playlist::walk::{Needed, Walks};
use super::search;
use super::video::{self, count_or_hide};
use crate::cache::{Cached, Parts};
use crate::channel::{Channel, ChannelVideo};
use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::{DataApi, wire};
use crate::error::{ErrorKind, Result};
use crate::format;
use crate::ident::{ChannelId, ChannelRef, Handle, PlaylistId, VideoId};
use crate::resource::gather::MAX_IDS;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::{self, Lookup};
use crate::resource::{Services, many};
use crate::spool::Body;
use crate::video::{HiddenCount, Video, without_comments};

impl Channel {
    pub(crate) fn from_wire(channel: wire::Channel) -> Self {
        let snippet = channel.snippet.unwrap_or_default();
        let statistics = channel.statistics.unwrap_or_default();
        let related = channel.content_details.unwrap_or_default().related_playlists;
        let uploads = related.unwrap_or_default().uploads;
        let name = snippet.title.unwrap_or_default();
        let mut hidden = vec![];
        let mut count_of = |count, name| count_or_hide(count, name, &mut hidden);
        // YouTube can still send a hidden count, as "0".
        let is_hidden = statistics.hidden_subscriber_count == Some(true);
        let subscribers = statistics.subscriber_count.filter(|_| !is_hidden);
        let subscribers = count_of(subscribers, HiddenCount::Subscribers);
        let total_views = count_of(statistics.view_count, HiddenCount::TotalViews);
        let video_count = count_of(statistics.video_count, HiddenCount::VideoCount);
        Self {
            id: channel.id.unwrap_or_default(),
            username: username(snippet.custom_url.as_deref(), &name),
            name,
            subscribers,
            subscribers_fmt: format::compact(subscribers),
            total_views,
            total_views_fmt: format::compact(total_views),
            video_count,
            country: snippet.country.filter(|country| !country.is_empty()),
            thumbnails: snippet.thumbnails.unwrap_or_default(),
            uploads_playlist_id: uploads.as_deref().and_then(PlaylistId::bare),
            hidden,
        }
    }
}

/// Since 2022 `customUrl` starts with `@`. Older values have none, and it can be missing.
fn username(custom_url: Option<&str>, title: &str) -> String {
    match custom_url.map(|url| url.trim_start_matches('@')).filter(|url| !url.is_empty()) {
        Some(handle) => format!("@{handle}"),
        None => {
            let words = title.chars().filter(|c| !c.is_whitespace());
            format!("@{}", words.collect::<String>().to_lowercase())
        }
    }
}

impl ChannelVideo {
    fn new(video: Video, now: Timestamp) -> Self {
        Self {
            id: video.id,
            title: video.title,
            views: video.views,
            views_fmt: video.views_fmt,
            likes: video.likes,
            likes_fmt: video.likes_fmt,
            duration: video.duration,
            duration_fmt: video.duration_fmt,
            thumbnail: video.thumbnails.best_url().to_owned(),
            upload_age: video.published_at.age(now),
            published_at: video.published_at,
            hidden: without_comments(video.hidden),
        }
    }

    /// The newest `limit` videos of an [`Lookup::Uploads`] answer, with their current age. Also
    /// returns the time at which one of the ages changes.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`](crate::Reason::Internal) if `uploads` is not such an answer.
    pub fn newest(
        uploads: &Cached,
        limit: usize,
        now: Timestamp,
    ) -> Result<(Vec<Self>, Option<Timestamp>)> {
        let mut videos: Vec<Self> = uploads.decode()?;
        videos.truncate(limit);
        for video in &mut videos {
            video.upload_age = video.published_at.age(now);
        }
        let changes = videos.iter().filter_map(|video| video.published_at.age_changes(now)).min();
        Ok((videos, changes))
    }
}

/// Finds a channel by the cheapest lookup for its reference.
pub(crate) async fn one(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<Channel> {
    let found = match channel {
        ChannelRef::Id(id) => by_id(services, ctx, id).await?,
        ChannelRef::Handle(handle) => {
            list(services, ctx, channel, "forHandle", handle.as_str()).await?
        }
        ChannelRef::Username(name) => list(services, ctx, channel, "forUsername", name).await?,
        ChannelRef::Name(name) => by_name(services, ctx, channel, name).await?,
    };
    let found = found.ok_or_else(|| What::Channel.not_found(channel))?;
    let custom_url = found.snippet.as_ref().and_then(|snippet| snippet.custom_url.clone());
    // A `customUrl` without `@` predates handles and can be another channel's handle today.
    let handle = custom_url.as_deref().and_then(|url| url.strip_prefix('@'));
    let found = Channel::from_wire(found);
    store(services, &found, handle);
    Ok(found)
}

/// Caches a channel under its id and its handle, whichever reference found it.
fn store(services: &Services, channel: &Channel, handle: Option<&str>) {
    for key in lookup::channel_keys(&channel.id, handle) {
        // This serves other requests. A channel that cannot be cached is fetched again.
        let _ = services.cache.store(&key, lookup::json(channel), Duration::ZERO);
    }
}

/// Looks up a channel by its id, together with other concurrent lookups.
async fn by_id(
    services: &Arc<Services>,
    ctx: &Context,
    id: &ChannelId,
) -> Result<Option<wire::Channel>> {
    services.channels.get(ctx, id.as_str().to_owned()).await
}

/// Fetches up to fifty channels in one call. An item without an id belongs to the only requested
/// one.
pub(crate) async fn list_by_id(
    data_api: &DataApi,
    ctx: &Context,
    ids: &[String],
) -> Result<HashMap<String, wire::Channel>> {
    let call = Call::new(Endpoint::Channels, What::Channel, &ids.join(","))
        .with("part", PARTS)
        .with("id", ids.join(","));
    let items: Vec<wire::Channel> = found(data_api.list(ctx, &call).await)?;
    let only = if let [only] = ids { Some(only) } else { None };
    let with_id = |item: wire::Channel| Some((item.id.clone().or_else(|| only.cloned())?, item));
    Ok(items.into_iter().filter_map(with_id).collect())
}

/// Reads several channels through the cache, and fetches the uncached ones in calls of fifty. Unknown ones are left out.
pub(crate) async fn several(
    services: &Arc<Services>,
    ctx: &Context,
    ids: &[ChannelId],
) -> Result<Vec<Channel>> {
    let fetch = |services: Arc<Services>, ctx, ids: Vec<ChannelId>| async move {
        let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let found = list_by_id(&services.data_api, &ctx, &texts).await;
        let by_id = |(id, channel): (String, wire::Channel)| {
            Some((ChannelId::bare(&id)?, Channel::from_wire(channel)))
        };
        let found = found.map(|found| found.into_iter().filter_map(by_id).collect());
        many::records(&ids, found, What::Channel, "channel", |channel| lookup::json(&channel))
    };
    let lookup = |id: &ChannelId| Lookup::Channel(ChannelRef::Id(id.clone()));
    let read = many::read(services, ctx, Resource::Channel, ids, lookup, fetch).await?;
    read.into_iter().filter_map(|answered| answered.result.ok()).map(|it| it.decode()).collect()
}

/// All parts that we serve. They do not change the cost.
const PARTS: &str = "snippet,statistics,contentDetails";

/// Some lookups report "not found" with 404, others with an empty list.
fn found<T>(items: Result<Vec<T>>) -> Result<Vec<T>> {
    match items {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        other => other,
    }
}

/// Finds a channel by its custom name, which can be a handle, a user name, or known only to search.
async fn by_name(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
    name: &str,
) -> Result<Option<wire::Channel>> {
    // A name rarely changes its owner. The cached id avoids up to three calls and a search.
    let before = services.cache.get_any_age(&Lookup::Channel(channel.clone()).key(), ctx).await;
    if let Some(before) = before
        && let Ok(Channel { id, .. }) = before.decode()
        && let Some(id) = ChannelId::bare(&id)
        && let Some(found) = by_id(services, ctx, &id).await?
    {
        return Ok(Some(found));
    }
    let could_be_handle = Handle::bare(name).is_some();
    let filters = could_be_handle.then_some("forHandle").into_iter().chain(["forUsername"]);
    for filter in filters {
        if let Some(found) = list(services, ctx, channel, filter, name).await? {
            return Ok(Some(found));
        }
    }
    if !services.may_search {
        return Ok(None);
    }
    match search::channel_by_name(services, ctx, name).await? {
        Some(id) => by_id(services, ctx, &id).await,
        None => Ok(None),
    }
}

async fn list(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
    filter: &'static str,
    value: &str,
) -> Result<Option<wire::Channel>> {
    let call = Call::new(Endpoint::Channels, What::Channel, channel)
        .with("part", PARTS)
        .with(filter, value);
    let items: Vec<wire::Channel> = found(services.data_api.list(ctx, &call).await)?;
    Ok(items.into_iter().next())
}

/// The reference by id to a channel, because it has one list of uploads, whatever reference was used.
pub(crate) async fn with_id(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<(ChannelRef, Parts)> {
    if let ChannelRef::Id(_) = channel {
        return Ok((channel.clone(), Parts::default()));
    }
    let found = services.read_record(ctx, &Lookup::Channel(channel.clone())).await?;
    let id = ChannelId::bare(&found.decode::<Channel>()?.id);
    Ok((id.map_or_else(|| channel.clone(), ChannelRef::Id), Parts::from(found.outcome)))
}

/// The id of a channel. It costs nothing for an id, and as much as the channel itself for other references.
pub(crate) async fn id_of(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<(ChannelId, Parts)> {
    match with_id(services, ctx, channel).await? {
        (ChannelRef::Id(id), parts) => Ok((id, parts)),
        (other, _) => Err(What::Channel.not_found(other)),
    }
}

/// The playlist that probably has the uploads of a channel. A caller that does not find it has to use
/// [`named_uploads`].
pub(crate) async fn uploads_playlist(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<(PlaylistId, Parts)> {
    let (channel, parts) = with_id(services, ctx, channel).await?;
    if let ChannelRef::Id(id) = &channel {
        return Ok((likely_uploads(id), parts));
    }
    let found = named_uploads(services, ctx, &channel).await?;
    let named = found.body.ok_or_else(|| What::Channel.not_found(&channel))?;
    Ok((named, parts.with(found.outcome)))
}

/// The playlist of uploads that a channel names. `None` if it names none.
pub(crate) async fn named_uploads(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<Cached<Option<PlaylistId>>> {
    let found = services.read_record(ctx, &Lookup::Channel(channel.clone())).await?;
    let named = found.decode::<Channel>()?.uploads_playlist_id;
    Ok(found.with_body(named))
}

/// Assembles the newest uploads of a channel, newest first, from the list of ids and the videos.
pub(crate) async fn uploads(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<Cached<Body>> {
    let (channel, parts) = with_id(services, ctx, channel).await?;
    let ids = services.read_record(ctx, &Lookup::UploadIds(channel)).await?;
    let (videos, of_videos) =
        video::list_json(services, ctx, &ids.decode::<Vec<VideoId>>()?).await?;
    let mut newest: Vec<Video> = videos.decode()?;
    // Stable, so that videos with the same time stay in YouTube's order.
    newest.sort_by_key(|video| std::cmp::Reverse(video.published_at));
    let now = services.data_api.clock.now();
    let newest: Vec<_> = newest.into_iter().map(|video| ChannelVideo::new(video, now)).collect();
    let parts = parts.with(ids.outcome).with(of_videos);
    let body = Body::Memory(lookup::json(&newest)?, None);
    Ok(Cached::composite(body, parts, ids.age, ids.life))
}

/// Fetches the ids of the newest uploads, as many as one call for videos takes, and returns them
/// with their age. A full call costs no more than a small one. The uploads playlist of a channel id
/// is known without a call.
pub(crate) async fn upload_ids(
    services: &Arc<Services>,
    ctx: &Context,
    channel: &ChannelRef,
) -> Result<(Vec<VideoId>, Duration)> {
    let likely = match channel {
        ChannelRef::Id(id) => Some(likely_uploads(id)),
        _ => None,
    };
    if let Some(likely) = &likely
        && let Some(recent) = recent_ids(services, ctx, likely).await?
    {
        return Ok(recent);
    }
    let named = named_uploads(services, ctx, channel).await?.body;
    match named.filter(|named| likely.as_ref() != Some(named)) {
        Some(named) => Ok(recent_ids(services, ctx, &named).await?.unwrap_or_default()),
        // The channel has no uploads.
        None => Ok((vec![], Duration::ZERO)),
    }
}

/// The uploads playlist has the channel's id with the prefix `UU`. YouTube does not guarantee this,
/// so a caller must handle "not found".
pub(crate) fn likely_uploads(channel: &ChannelId) -> PlaylistId {
    let id = channel.as_str().replacen("UC", "UU", 1);
    PlaylistId::bare(&id).expect("it has the alphabet of a channel's id")
}

/// The latest entries of an uploads playlist, as many as one call for videos takes, with their age.
/// `None` if there is no such playlist, as for a channel without uploads.
async fn recent_ids(
    services: &Arc<Services>,
    ctx: &Context,
    uploads: &PlaylistId,
) -> Result<Option<(Vec<VideoId>, Duration)>> {
    let mut follower = Walks::follow(services, ctx, uploads, Needed::Part);
    let mut ids: Vec<VideoId> = vec![];
    while ids.len() < MAX_IDS {
        match follower.next().await {
            Ok(Some(page)) => ids.extend(page.iter().filter_map(|entry| entry.video)),
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    ids.truncate(MAX_IDS);
    Ok(Some((ids, follower.age())))
}
