//! Searches. A page of results is one record, which lives longer than the videos on it: searches are scarce.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{channel, video};
use crate::cache::freshness::Life;
use crate::cache::{Cached, Parts};
use crate::context::Context;
use crate::data_api::call::{Call, Endpoint, What};
use crate::data_api::pages::Pages;
use crate::data_api::wire;
use crate::error::Result;
use crate::format::Moment;
use crate::ident::{ChannelId, ChannelRef, PlaylistId, VideoId};
use crate::list::{DateRange, Position, invalid_cursor};
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::Lookup;
use crate::resource::paged::{Items, PagedList, Progress, rejected_token};
use crate::search::{FoundChannel, FoundPlaylist, SearchItem, SearchKind, SearchQuery};
use crate::video::Video;

/// The most results that one call returns. A full call costs no more than a small one.
pub(crate) const MAX_RESULTS: usize = 50;

/// A page of results, as it is cached.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResultPage {
    pub(crate) results: Vec<Found>,
    /// The token of the next page.
    next: Option<String>,
    total: Option<u64>,
}

/// A result. The data of a video comes from its own record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Found {
    Video(VideoId),
    Channel(FoundChannel),
    Playlist(FoundPlaylist),
}

impl Found {
    /// `None` for a result of another kind, which YouTube sometimes sends, and for one without an id.
    fn from_wire(result: wire::SearchResult, kind: SearchKind) -> Option<Self> {
        let id = result.id.unwrap_or_default();
        let snippet = result.snippet.unwrap_or_default();
        // Only the titles of search results are escaped.
        let title = htmlize::unescape(snippet.title.unwrap_or_default()).into_owned();
        let description = snippet.description.unwrap_or_default();
        let published_at = Moment::parse(snippet.published_at.as_deref());
        let thumbnails = snippet.thumbnails.unwrap_or_default();
        match kind {
            SearchKind::Video => VideoId::bare(&id.video_id?).map(Self::Video),
            SearchKind::Channel => {
                let id = ChannelId::bare(&id.channel_id?)?;
                let found = FoundChannel { id, name: title, description, published_at, thumbnails };
                Some(Self::Channel(found))
            }
            SearchKind::Playlist => Some(Self::Playlist(FoundPlaylist {
                id: PlaylistId::bare(&id.playlist_id?)?,
                title,
                description,
                channel: snippet.channel_title.unwrap_or_default(),
                channel_id: snippet.channel_id.as_deref().and_then(ChannelId::bare),
                published_at,
                thumbnails,
            })),
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Video(id) => id.as_str(),
            Self::Channel(channel) => channel.id.as_str(),
            Self::Playlist(playlist) => playlist.id.as_str(),
        }
    }
}

/// Fetches the page of results with this token, which is empty for the first page. It costs one search.
pub(crate) async fn fetch(
    services: &Arc<Services>,
    ctx: &Context,
    query: &SearchQuery,
    token: &str,
) -> Result<ResultPage> {
    let mut pages = Pages::at(call(query), token);
    let page = pages.next(&services.data_api, ctx).await;
    let page = page.map_err(|error| rejected_token(error, token))?;
    let page: Vec<wire::SearchResult> = page.unwrap_or_default();
    let mut seen = HashSet::new();
    let results = page.into_iter().filter_map(|result| Found::from_wire(result, query.kind));
    let results = results.filter(|found| seen.insert(found.id().to_owned())).collect();
    Ok(ResultPage { results, next: pages.token().map(str::to_owned), total: pages.total() })
}

fn call(query: &SearchQuery) -> Call {
    // The snippet of a video is shorter than its own record.
    let part = if query.kind == SearchKind::Video { "id" } else { "snippet" };
    let channel = query.channel.as_ref().map(ToString::to_string);
    let DateRange { since, until } = query.range;
    // YouTube accepts whole seconds.
    let time = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (since, until) = (since.map(time), until.map(time));
    Call::new(Endpoint::Search, What::Search, &query.text)
        .with("part", part)
        .with("type", query.kind.upstream())
        .with("maxResults", MAX_RESULTS.to_string())
        .with("q", &*query.text)
        .with("order", query.order.upstream())
        .with("safeSearch", query.safe.upstream())
        .with_some("channelId", channel.as_deref())
        .with_some("publishedAfter", since.as_deref())
        .with_some("publishedBefore", until.as_deref())
        .with_some("videoDuration", query.length.map(|length| length.upstream()))
        .with_some("eventType", query.live.map(|live| live.upstream()))
        .with_some("regionCode", query.region.as_deref())
        .with_some("relevanceLanguage", query.language.as_ref().map(|code| code.as_str()))
}

/// A search, as a list that is read page by page.
#[derive(Debug, Clone)]
pub(crate) struct Search(pub(crate) SearchQuery);

impl PagedList for Search {
    type Item = SearchItem;

    /// YouTube returns about 500 results, which are 10 full pages.
    const MAX_PAGES: usize = 20;

    fn key(&self) -> String {
        Lookup::Search(self.0.clone(), String::new()).key().text
    }

    /// It costs one search for each upstream page, and 1 unit for the videos on it.
    async fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> Result<Cached<Items<SearchItem>>> {
        let read = read(services, ctx, &self.0, from, limit.unwrap_or(MAX_RESULTS)).await?;
        let (outcome, age, life) = (read.outcome, read.age, read.life);
        let (items, next, _) = read.body;
        let next = match next {
            Some(Position { token, start, skip: 0 }) => progress.next(Some(token), start)?,
            // In the middle of an upstream page, or the end.
            next => next,
        };
        Ok(Cached { body: (items, next), outcome, age, life })
    }
}

/// Results, the position after them, and YouTube's estimate of their number.
pub(crate) type Results = (Vec<SearchItem>, Option<Position>, Option<u64>);

/// Reads up to `limit` results from `from` on, all of them from one upstream page. It costs one search, and 1 unit
/// for the videos on that page. A video that no longer exists is left out.
pub(crate) async fn read(
    services: &Arc<Services>,
    ctx: &Context,
    query: &SearchQuery,
    from: &Position,
    limit: usize,
) -> Result<Cached<Results>> {
    let ctx = &ctx.for_parts();
    let (query, parts) = with_channel_id(services, ctx, query).await?;
    let page = services.read_record(ctx, &Lookup::Search(query, from.token.clone())).await?;
    let mut parts = parts.with(page.outcome);
    let ResultPage { results, next, total } = page.decode()?;
    if from.skip > results.len() {
        return Err(invalid_cursor());
    }
    // Videos expire sooner than the page.
    let (mut age, mut fresh_for) = (page.age, page.fresh_for());
    let ids = results.iter().filter_map(|found| match found {
        Found::Video(id) => Some(*id),
        _ => None,
    });
    let ids: Vec<VideoId> = ids.collect();
    let mut videos: HashMap<VideoId, Video> = HashMap::new();
    if !ids.is_empty() {
        // All of the page, because one call is enough for them, and the next request may need the others.
        let (list, of_videos) = video::list_json(services, ctx, &ids).await?;
        parts = parts.with(of_videos);
        (age, fresh_for) = (age.max(list.age), fresh_for.min(list.fresh_for()));
        let list: Vec<Video> = list.decode()?;
        videos.extend(list.into_iter().map(|video| (video.id, video)));
    }
    let count = results.len();
    let mut items = vec![];
    let mut skip = from.skip;
    for found in results.into_iter().skip(from.skip) {
        if items.len() == limit {
            break;
        }
        skip += 1;
        items.extend(match found {
            Found::Video(id) => videos.remove(&id).map(|video| SearchItem::Video(video.into())),
            Found::Channel(channel) => Some(SearchItem::Channel(channel)),
            Found::Playlist(playlist) => Some(SearchItem::Playlist(playlist)),
        });
    }
    let next = match next {
        _ if skip < count => Some(Position { skip, ..from.clone() }),
        Some(token) => Some(Position { token, start: from.start + count, skip: 0 }),
        None => None,
    };
    services.cache.count(Resource::Search.kind(), parts.worst());
    let life = Life { ttl: age + fresh_for, ..page.life };
    Ok(Cached::composite((items, next, total), parts, age, life))
}

/// The query with its channel by id, because YouTube accepts no other reference.
async fn with_channel_id(
    services: &Arc<Services>,
    ctx: &Context,
    query: &SearchQuery,
) -> Result<(SearchQuery, Parts)> {
    let Some(channel) = &query.channel else { return Ok((query.clone(), Parts::default())) };
    let (id, parts) = channel::id_of(services, ctx, channel).await?;
    Ok((query.clone().with_channel(ChannelRef::Id(id)), parts))
}

/// The first channel that YouTube finds by this name.
pub(crate) async fn channel_by_name(
    services: &Arc<Services>,
    ctx: &Context,
    name: &str,
) -> Result<Option<ChannelId>> {
    let Ok(query) = SearchQuery::parse(name) else { return Ok(None) };
    let query = query.with_kind(SearchKind::Channel);
    let page = services.read_record(ctx, &Lookup::Search(query, String::new())).await?;
    let ResultPage { results, .. } = page.decode()?;
    Ok(results.into_iter().find_map(|found| match found {
        Found::Channel(channel) => Some(channel.id),
        _ => None,
    }))
}
