//! Channels and their uploads: the cheapest way to each.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::TryStreamExt;
use jiff::Timestamp;

use super::playlist;
use super::video::{self, count_or_hide};
use crate::ask::{self, Ask};
use crate::cache::gather::MOST_IDS;
use crate::cache::{Cached, Known};
use crate::channel::{Channel, ChannelVideo};
use crate::error::{Error, ErrorKind, Result};
use crate::format;
use crate::ident::{ChannelId, ChannelRef, Handle, PlaylistId, VideoId};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, wire};
use crate::video::{Video, Withheld, without_comments};

impl Channel {
    pub(crate) fn from_wire(channel: wire::Channel) -> Self {
        let snippet = channel.snippet.unwrap_or_default();
        let statistics = channel.statistics.unwrap_or_default();
        let related = channel.content_details.unwrap_or_default().related_playlists;
        let name = snippet.title.unwrap_or_default();
        let mut hidden = vec![];
        let mut told = |count, name| count_or_hide(count, name, &mut hidden);
        // A hidden count may still come along, as "0".
        let is_hidden = statistics.hidden_subscriber_count == Some(true);
        let subscribers = statistics.subscriber_count.filter(|_| !is_hidden);
        let subscribers = told(subscribers, Withheld::Subscribers);
        let total_views = told(statistics.view_count, Withheld::TotalViews);
        let video_count = told(statistics.video_count, Withheld::VideoCount);
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
            uploads_playlist_id: related.unwrap_or_default().uploads.unwrap_or_default(),
            hidden,
        }
    }
}

/// `customUrl` has its `@` since 2022, had none before, and may be missing.
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

    /// The newest of the uploads that [`Ask::Uploads`] gives, saying anew how long ago each was published, and until when that is true.
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

/// Finds a channel by the cheapest way that its name allows.
pub(crate) async fn one(scope: &Scope, channel: &ChannelRef, search: bool) -> Result<Channel> {
    let found = match channel {
        ChannelRef::Id(id) => by_id(scope, id).await?,
        ChannelRef::Handle(handle) => list(scope, channel, "forHandle", handle.as_str()).await?,
        ChannelRef::Username(name) => list(scope, channel, "forUsername", name).await?,
        ChannelRef::Name(name) => by_name(scope, channel, name, search).await?,
    };
    let found = found.ok_or_else(|| Error::not_found("Channel", channel))?;
    let custom_url = found.snippet.as_ref().and_then(|snippet| snippet.custom_url.clone());
    // Without its `@` it is a custom name from before handles, which may be another's handle today.
    let handle = custom_url.as_deref().and_then(|url| url.strip_prefix('@'));
    let found = Channel::from_wire(found);
    keep(scope, &found, handle);
    Ok(found)
}

/// Keeps a channel under every name that it has, whichever it was found by.
fn keep(scope: &Scope, channel: &Channel, handle: Option<&str>) {
    for key in ask::channel_keys(&channel.id, handle) {
        // Kept or not: this is for others.
        let _ = scope.cache.keep(&key, ask::json(channel));
    }
}

/// By its own id, in a call with others that are asked for at the same time.
async fn by_id(scope: &Scope, id: &ChannelId) -> Result<Option<wire::Channel>> {
    scope.gathers.channels.ask(scope, id.as_str().to_owned()).await
}

/// Up to fifty channels in one call. One that does not tell its id is the one that was asked for.
pub(crate) async fn list_by_id(
    scope: &Scope,
    ids: &[String],
) -> Result<HashMap<String, wire::Channel>> {
    let call = Call::new(Endpoint::Channels, "Channel", &ids.join(","))
        .with("part", PARTS)
        .with("id", ids.join(","));
    let items: Vec<wire::Channel> = found(scope.list(&call).await)?;
    let only = if let [only] = ids { Some(only) } else { None };
    let with_id = |item: wire::Channel| Some((item.id.clone().or_else(|| only.cloned())?, item));
    Ok(items.into_iter().filter_map(with_id).collect())
}

/// All parts that we ever serve: they do not change the cost.
const PARTS: &str = "snippet,statistics,contentDetails";

/// Some lookups say "not found" with 404, others with an empty list.
fn found<T>(items: Result<Vec<T>>) -> Result<Vec<T>> {
    match items {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
        other => other,
    }
}

/// The same from memory, where it is there.
async fn known(scope: &Scope, channel: &ChannelRef, search: bool) -> Result<Channel> {
    let key = Ask::Channel(channel.clone()).key();
    match scope.known_one(&key).await {
        Some(Known::Nothing(error)) => return Err(error),
        Some(Known::Body(channel)) => return channel.decode(),
        None => {}
    }
    let found = one(scope, channel, search).await;
    // Kept or not: this is for others.
    let _ = scope.cache.keep(&key, found.as_ref().map_err(Error::clone).and_then(ask::json));
    found
}

/// A custom name may live on as a handle, as a user name, or only in search.
async fn by_name(
    scope: &Scope,
    channel: &ChannelRef,
    name: &str,
    search: bool,
) -> Result<Option<wire::Channel>> {
    // Whose name it was, it still is: what may take three calls and a search is found out once.
    if let Some(before) = scope.cache.remembered(&Ask::Channel(channel.clone()).key()).await
        && let Ok(Channel { id, .. }) = before.decode()
        && let Some(id) = ChannelId::bare(&id)
        && let Some(found) = by_id(scope, &id).await?
    {
        return Ok(Some(found));
    }
    let could_be_handle = Handle::bare(name).is_some();
    let filters = could_be_handle.then_some("forHandle").into_iter().chain(["forUsername"]);
    for filter in filters {
        if let Some(found) = list(scope, channel, filter, name).await? {
            return Ok(Some(found));
        }
    }
    if !search {
        return Ok(None);
    }
    let call = Call::new(Endpoint::Search, "Channel", channel)
        .with("part", "snippet")
        .with("type", "channel")
        .with("maxResults", "1")
        .with("q", name);
    let results: Vec<wire::SearchResult> = scope.list(&call).await?;
    let id = results.into_iter().find_map(|result| result.id?.channel_id);
    match id.and_then(|id| ChannelId::bare(&id)) {
        Some(id) => by_id(scope, &id).await,
        None => Ok(None),
    }
}

async fn list(
    scope: &Scope,
    channel: &ChannelRef,
    filter: &'static str,
    value: &str,
) -> Result<Option<wire::Channel>> {
    let call =
        Call::new(Endpoint::Channels, "Channel", channel).with("part", PARTS).with(filter, value);
    let items: Vec<wire::Channel> = found(scope.list(&call).await)?;
    Ok(items.into_iter().next())
}

/// The newest uploads, as many as one detail call takes: a full call costs no more than a small one.
/// For a channel's own id the uploads playlist is known without asking.
pub(crate) async fn uploads(
    scope: &Scope,
    channel: &ChannelRef,
    search: bool,
) -> Result<Vec<ChannelVideo>> {
    if let ChannelRef::Id(id) = channel {
        let likely = likely_uploads(id);
        let recent = match recent_ids(scope, channel, &likely).await? {
            Some(recent) => recent,
            None => {
                let found = known(scope, channel, search).await?;
                named_uploads(scope, channel, &found, Some(&likely)).await?
            }
        };
        return detailed(scope, &recent).await;
    }
    let found = known(scope, channel, search).await?;
    // By whatever name it was asked for, they are the same.
    let key = ChannelId::bare(&found.id).map(|id| Ask::Uploads(ChannelRef::Id(id)).key());
    if let Some(key) = &key
        && let Some(Known::Body(uploads)) = scope.known_one(key).await
    {
        return uploads.decode();
    }
    let videos = detailed(scope, &named_uploads(scope, channel, &found, None).await?).await?;
    if let Some(key) = key {
        // Kept or not: this is for others.
        let _ = scope.cache.keep(&key, ask::json(&videos));
    }
    Ok(videos)
}

/// The playlist that lists a channel's uploads has the channel's id with `UU` in front. The platform does
/// not promise this, so whoever uses it must be ready for "not found".
fn likely_uploads(channel: &ChannelId) -> PlaylistId {
    let id = channel.as_str().replacen("UC", "UU", 1);
    PlaylistId::bare(&id).expect("it has the alphabet of a channel's id")
}

/// Newest first, with their details.
async fn detailed(scope: &Scope, recent: &[VideoId]) -> Result<Vec<ChannelVideo>> {
    let mut videos: Vec<Video> = video::many(&scope.for_parts(), recent).await?;
    // Stable, so that videos of the same moment stay as the platform lists them.
    videos.sort_by_key(|video| std::cmp::Reverse(video.published_at));
    let now = scope.upstream.clock.now();
    Ok(videos.into_iter().map(|video| ChannelVideo::new(video, now)).collect())
}

/// The latest entries of the playlist that a channel names for its uploads, unless that is the one
/// that was not found.
async fn named_uploads(
    scope: &Scope,
    channel: &ChannelRef,
    found: &Channel,
    not_found: Option<&PlaylistId>,
) -> Result<Vec<VideoId>> {
    let named = PlaylistId::bare(&found.uploads_playlist_id);
    match named.filter(|named| not_found != Some(named)) {
        Some(named) => Ok(recent_ids(scope, channel, &named).await?.unwrap_or_default()),
        // The channel has no uploads.
        None => Ok(vec![]),
    }
}

/// The latest entries of an uploads playlist, as many as one detail call takes. `None` where there is
/// no such playlist; a channel without uploads has none.
async fn recent_ids(
    scope: &Scope,
    channel: &ChannelRef,
    uploads: &PlaylistId,
) -> Result<Option<Vec<VideoId>>> {
    let mut pages = pin!(playlist::pages(scope, uploads, "Channel", channel));
    let mut ids: Vec<VideoId> = vec![];
    loop {
        match pages.try_next().await {
            Ok(Some(page)) => ids.extend(page.into_iter().filter_map(|entry| entry.video)),
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        if ids.len() >= MOST_IDS {
            break;
        }
    }
    ids.truncate(MOST_IDS);
    Ok(Some(ids))
}
