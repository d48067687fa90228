//! Cacheable requests: their keys, and how to fetch them.

#[cfg(test)]
mod canonical;

use std::sync::Arc;

use bytes::Bytes;
use percent_encoding::utf8_percent_encode;
use serde::Serialize;

use crate::cache::freshness::Kind;
use crate::cache::{Fetched, Key};
use crate::chart::ChartQuery;
use crate::comment::{CommentOrder, CommentQuery};
use crate::context::Context;
use crate::context::waiters::Urgency;
use crate::error::{Error, Result};
use crate::ident::{ChannelId, ChannelRef, CommentId, PlaylistId, VideoId};
use crate::language::LanguageCode;
use crate::region::CategoryQuery;
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::{channel, chart, comment, feed, playlist, region, search, video};
use crate::search::SearchQuery;
use crate::store::to_exact_bytes;
use crate::transcript::{CaptionKind, TranscriptQuery};
use crate::transport::BoxFuture;
use crate::transport::ESCAPED;
use crate::web::{TranscriptContext, transcript as web};

/// A cacheable request. Equal requests have equal keys in any spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// A [`Video`](crate::Video).
    Video(VideoId),
    /// A [`Channel`](crate::Channel).
    Channel(ChannelRef),
    /// The newest uploads of a channel, up to fifty: a list of [`ChannelVideo`](crate::ChannelVideo).
    Uploads(ChannelRef),
    /// The ids of the newest uploads of a channel: a list of [`VideoId`]s.
    UploadIds(ChannelRef),
    /// A [`Playlist`](crate::Playlist).
    Playlist(PlaylistId),
    /// A [`PlaylistInfo`](crate::PlaylistInfo).
    PlaylistInfo(PlaylistId),
    /// The entries of a playlist, with their titles.
    PlaylistEntries(PlaylistId),
    /// One page of the entries of a playlist, by its token, which is empty for the first page.
    PlaylistPage(PlaylistId, String),
    /// A page of the playlists of a channel by its token, which is empty for the first page.
    ChannelPlaylists(ChannelId, String),
    /// A [`FeedAnswer`](crate::FeedAnswer) of a channel.
    ChannelFeed(ChannelRef),
    /// A [`FeedAnswer`](crate::FeedAnswer) of a playlist.
    PlaylistFeed(PlaylistId),
    /// A list of [`CommentThread`](crate::CommentThread)s.
    Comments(VideoId, CommentQuery),
    /// A page of comment threads by its token, which is empty for the first page. It has the replies that YouTube
    /// includes.
    ThreadPage(VideoId, CommentOrder, String),
    /// A list of [`Comment`](crate::Comment)s.
    Replies(CommentId),
    /// A page of search results by its token, which is empty for the first page. The channel of the query is an id.
    Search(SearchQuery, String),
    /// A page of a chart of [`Video`](crate::Video)s by its token, which is empty for the first page.
    ChartPage(ChartQuery, String),
    /// A list of [`Region`](crate::Region)s, named in a language.
    Regions(Option<String>),
    /// A list of [`Language`](crate::Language)s, named in a language.
    Languages(Option<String>),
    /// A list of [`VideoCategory`](crate::VideoCategory)s, named in a language.
    Categories(CategoryQuery, Option<String>),
    /// A list of [`CaptionTrack`](crate::CaptionTrack)s.
    Tracks(VideoId),
    /// A [`Transcript`](crate::Transcript). [`Vidra::full_transcript`](crate::Vidra::full_transcript) returns more.
    Transcript(VideoId, TranscriptQuery),
}

/// The format of stored records. Every change of a stored model raises it: records of an older release are misses
/// then.
pub(crate) const SCHEMA: u16 = 6;

impl Lookup {
    /// The kind of the resource.
    pub fn resource(&self) -> Resource {
        match self {
            Self::Video(_) => Resource::Video,
            Self::Channel(_) => Resource::Channel,
            Self::Uploads(_) | Self::UploadIds(_) => Resource::Uploads,
            Self::Playlist(_)
            | Self::PlaylistInfo(_)
            | Self::PlaylistEntries(_)
            | Self::PlaylistPage(..)
            | Self::ChannelPlaylists(..) => Resource::Playlist,
            Self::ChannelFeed(_) | Self::PlaylistFeed(_) => Resource::Feed,
            Self::Comments(..) | Self::ThreadPage(..) | Self::Replies(_) => Resource::Comments,
            Self::Search(..) => Resource::Search,
            Self::ChartPage(..) => Resource::Chart,
            Self::Regions(_) | Self::Languages(_) | Self::Categories(..) => Resource::Regions,
            Self::Tracks(_) => Resource::Tracks,
            Self::Transcript(..) => Resource::Transcript,
        }
    }

    /// The kind of the record under a key.
    pub(crate) fn kind_of(key: &str) -> Option<Kind> {
        let resource = match key.split('/').next()? {
            "video" => Resource::Video,
            "channel" => Resource::Channel,
            "uploads" | "upload-ids" => Resource::Uploads,
            "playlist" | "playlist-info" | "playlist-entries" | "playlist-start"
            | "playlist-page" | "channel-playlists" => Resource::Playlist,
            "channel-feed" | "playlist-feed" => Resource::Feed,
            "comments" | "thread-page" | "replies" => Resource::Comments,
            "search" => Resource::Search,
            "chart" => Resource::Chart,
            "regions" | "languages" | "categories" => Resource::Regions,
            "tracks" => Resource::Tracks,
            "transcript" => Resource::Transcript,
            _ => return None,
        };
        Some(resource.kind())
    }

    /// Whether its fetch follows a walk through a playlist, which may have begun earlier.
    pub(crate) fn follows_walk(&self) -> bool {
        match self {
            Self::PlaylistEntries(_) | Self::UploadIds(_) => true,
            Self::PlaylistPage(_, token) => token.is_empty(),
            _ => false,
        }
    }

    pub(crate) fn key(&self) -> Key {
        Key { kind: self.resource().kind(), text: self.text() }
    }

    /// The canonical form: equal requests have equal texts. Slashes separate its parts, and text
    /// that may contain one is escaped.
    fn text(&self) -> String {
        let hl =
            |hl: &Option<String>| escaped(&hl.as_deref().unwrap_or_default().to_ascii_lowercase());
        match self {
            Self::Video(id) => format!("video/{id}"),
            Self::Channel(channel) => format!("channel/{}", name(channel)),
            Self::Uploads(channel) => format!("uploads/{}", name(channel)),
            Self::UploadIds(channel) => format!("upload-ids/{}", name(channel)),
            Self::Playlist(id) => format!("playlist/{id}"),
            Self::PlaylistInfo(id) => format!("playlist-info/{id}"),
            Self::PlaylistEntries(id) => format!("playlist-entries/{id}"),
            Self::PlaylistPage(id, token) => format!("playlist-page/{id}/{}", escaped(token)),
            Self::ChannelPlaylists(id, token) => {
                format!("channel-playlists/{id}/{}", escaped(token))
            }
            Self::ChannelFeed(channel) => format!("channel-feed/{}", name(channel)),
            Self::PlaylistFeed(id) => format!("playlist-feed/{id}"),
            Self::Comments(video, query) => {
                let order = order_word(query.order);
                let replies = if query.all_replies { "all" } else { "preview" };
                let words = comment::words_of(query.search.as_deref().unwrap_or_default());
                let search = escaped(&words.join(" "));
                format!("comments/{video}/{order}/{}/{replies}/{search}", query.limit)
            }
            Self::ThreadPage(video, order, token) => {
                format!("thread-page/{video}/{}/{}", order_word(*order), escaped(token))
            }
            Self::Replies(id) => format!("replies/{}", id.thread()),
            Self::Search(query, token) => {
                format!("search/{}/{}", search_text(query), escaped(token))
            }
            Self::ChartPage(ChartQuery { region, category }, token) => {
                // The chart of the United States is YouTube's default.
                let region = region.as_deref().unwrap_or("US").to_ascii_uppercase();
                let category = category.as_deref().unwrap_or_default();
                let parts = [&region, category, token].map(escaped);
                format!("chart/{}", parts.join("/"))
            }
            Self::Regions(language) => format!("regions/{}", hl(language)),
            Self::Languages(language) => format!("languages/{}", hl(language)),
            Self::Categories(CategoryQuery::Region(code), language) => {
                format!("categories/of/{}/{}", escaped(code), hl(language))
            }
            Self::Categories(CategoryQuery::Ids(ids), language) => {
                format!("categories/by/{}/{}", escaped(&ids.join(",")), hl(language))
            }
            Self::Tracks(id) => format!("tracks/{id}"),
            Self::Transcript(id, query) => {
                let languages = query.languages.to_string().to_ascii_lowercase();
                let translate = query.translate.as_ref().map(LanguageCode::as_str);
                let translate = translate.unwrap_or_default().to_ascii_lowercase();
                let captions = query.captions.map_or("", CaptionKind::word);
                format!("transcript/{id}/{languages}/{translate}/{captions}")
            }
        }
    }

    /// Fetches a record as JSON. A composite is an internal error, because it is not a record.
    pub(crate) fn fetch(
        self,
        services: Arc<Services>,
        ctx: Context,
    ) -> BoxFuture<'static, Result<Fetched>> {
        Box::pin(async move {
            let (services, ctx) = (&services, &ctx);
            let body = match &self {
                Self::Video(id) => video::record::encode(video::one(services, ctx, *id).await?),
                Self::Channel(channel) => json(&channel::one(services, ctx, channel).await?),
                Self::UploadIds(channel) => {
                    let (ids, age) = channel::upload_ids(services, ctx, channel).await?;
                    return Ok(Fetched { body: json(&ids)?, age });
                }
                Self::Playlist(_) | Self::Uploads(_) => {
                    Err(Error::internal("a composite has no record"))
                }
                Self::PlaylistInfo(id) => json(&playlist::info(services, ctx, id).await?),
                Self::PlaylistEntries(id) => {
                    let (entries, age) = playlist::all_entries(services, ctx, id).await?;
                    return Ok(Fetched { body: json(&entries)?, age });
                }
                Self::PlaylistPage(id, token) => {
                    let (page, age) = playlist::page::fetch(services, ctx, id, token).await?;
                    return Ok(Fetched { body: json(&page)?, age });
                }
                Self::ChannelPlaylists(id, token) => {
                    json(&playlist::of_channel::fetch(services, ctx, id, token).await?)
                }
                Self::ChannelFeed(ChannelRef::Id(id)) => {
                    let (feed, age) = feed::of_channel(services, ctx, id).await?;
                    return Ok(Fetched { body: json(&feed)?, age });
                }
                // The record is that of the id.
                Self::ChannelFeed(_) => Err(Error::internal("a composite has no record")),
                Self::PlaylistFeed(id) => {
                    let (feed, age) = feed::of_playlist(services, ctx, id).await?;
                    return Ok(Fetched { body: json(&feed)?, age });
                }
                Self::Comments(video, query) => {
                    let (threads, age) = comment::threads(services, ctx, *video, query).await?;
                    return Ok(Fetched { body: json(&threads)?, age });
                }
                Self::ThreadPage(video, order, token) => {
                    json(&comment::threads::fetch(services, ctx, *video, *order, token).await?)
                }
                Self::Replies(id) => json(&comment::replies(services, ctx, id).await?),
                Self::Search(query, token) => {
                    json(&search::fetch(services, ctx, query, token).await?)
                }
                Self::ChartPage(query, token) => {
                    json(&chart::fetch(services, ctx, query, token).await?)
                }
                Self::Regions(hl) => json(&region::regions(services, ctx, hl.as_deref()).await?),
                Self::Languages(hl) => {
                    json(&region::languages(services, ctx, hl.as_deref()).await?)
                }
                Self::Categories(query, hl) => {
                    json(&region::categories(services, ctx, query, hl.as_deref()).await?)
                }
                Self::Tracks(id) => {
                    let fetch = TranscriptContext { web: &services.web, id: *id, ctx };
                    json(&web::tracks(&fetch).await?)
                }
                Self::Transcript(id, query) => {
                    let fetch = TranscriptContext { web: &services.web, id: *id, ctx };
                    let record = to_exact_bytes(&web::one(&fetch, query).await?.to_record());
                    if let Some(observer) = &services.on_transcript
                        && ctx.urgency != Urgency::Background
                    {
                        observer(*id, query, &record);
                    }
                    Ok(record)
                }
            };
            body.map(Fetched::from)
        })
    }
}

/// The parts of a search in a fixed order. YouTube ignores the case of letters.
fn search_text(query: &SearchQuery) -> String {
    let SearchQuery { text, kind, channel, order, range, length, live, region, language, safe } =
        query;
    let date = |at: Option<jiff::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let parts = [
        kind.word().to_owned(),
        order.word().to_owned(),
        channel.as_ref().map(name).unwrap_or_default(),
        date(range.since),
        date(range.until),
        length.map_or("", |length| length.word()).to_owned(),
        live.map_or("", |live| live.word()).to_owned(),
        region.as_deref().unwrap_or_default().to_ascii_uppercase(),
        language.as_ref().map_or("", LanguageCode::as_str).to_ascii_lowercase(),
        safe.word().to_owned(),
        text.to_lowercase(),
    ];
    parts.map(|part| escaped(&part)).join("/")
}

/// The word for an order, in keys and in calls.
pub(super) fn order_word(order: CommentOrder) -> &'static str {
    match order {
        CommentOrder::Time => "time",
        CommentOrder::Relevance => "relevance",
    }
}

/// Handles and names are case-insensitive. Ids are not.
pub(super) fn name(channel: &ChannelRef) -> String {
    match channel {
        ChannelRef::Id(id) => by_id(id),
        ChannelRef::Handle(handle) => by_handle(handle.as_str()),
        ChannelRef::Username(name) => format!("user/{}", escaped(&name.to_lowercase())),
        ChannelRef::Name(name) => format!("name/{}", escaped(&name.to_lowercase())),
    }
}

fn by_id(id: &ChannelId) -> String {
    format!("id/{id}")
}

fn by_handle(handle: &str) -> String {
    format!("handle/{}", escaped(&handle.to_lowercase()))
}

/// The other keys of a known channel.
pub(crate) fn channel_keys(id: &str, handle: Option<&str>) -> Vec<Key> {
    let id = ChannelId::bare(id).map(|id| by_id(&id));
    let handle = handle.map(by_handle);
    let text = |name| format!("channel/{name}");
    let key = |name| Key { kind: Resource::Channel.kind(), text: text(name) };
    id.into_iter().chain(handle).map(key).collect()
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

pub(crate) fn json(value: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(value).map(|body| to_exact_bytes(&body)).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_determines_the_kind() {
        let video = VideoId::parse("dQw4w9WgXcQ").unwrap();
        let playlist = PlaylistId::parse("PLa").unwrap();
        let channel = ChannelRef::parse("@a").unwrap();
        let comment = CommentId::parse("Ugab").unwrap();
        let all = [
            Lookup::Video(video),
            Lookup::Channel(channel.clone()),
            Lookup::Uploads(channel.clone()),
            Lookup::ChannelFeed(channel.clone()),
            Lookup::UploadIds(channel),
            Lookup::Playlist(playlist.clone()),
            Lookup::PlaylistInfo(playlist.clone()),
            Lookup::PlaylistEntries(playlist.clone()),
            Lookup::PlaylistFeed(playlist.clone()),
            Lookup::PlaylistPage(playlist, "token".to_owned()),
            Lookup::ChannelPlaylists(
                ChannelId::bare("UCuAXFkgsw1L7xaCfnd5JJOw").unwrap(),
                String::new(),
            ),
            Lookup::ThreadPage(video, CommentOrder::Time, String::new()),
            Lookup::ChartPage(ChartQuery::default(), String::new()),
            Lookup::Comments(video, CommentQuery::default()),
            Lookup::Replies(comment),
            Lookup::Search(SearchQuery::parse("a").unwrap(), String::new()),
            Lookup::Regions(None),
            Lookup::Languages(None),
            Lookup::Categories(CategoryQuery::Region("US".to_owned()), None),
            Lookup::Tracks(video),
            Lookup::Transcript(video, TranscriptQuery::default()),
        ];
        for lookup in all {
            let Key { kind, text } = lookup.key();
            assert_eq!(Lookup::kind_of(&text), Some(kind), "{text}");
        }
    }
}
