//! YouTube's public feeds: the newest videos of a channel or playlist, and WebSub notifications.
//!
//! A feed needs no key and costs no quota, but YouTube sometimes serves none for days. [`parse`] reads
//! a feed without network access.

mod parse;
mod xml;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::format::Moment;
use crate::ident::{ChannelId, PlaylistId, VideoId, or_empty};
use crate::video::{HiddenCount, Video};

pub use parse::parse;

/// A feed, or a WebSub notification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feed {
    /// The channel or playlist of the feed. `None` if YouTube does not name it.
    pub id: Option<FeedId>,
    /// The title of the channel or playlist. A notification has the same title for all channels.
    pub title: String,
    /// The videos in the order of the feed. An entry without a video id is omitted.
    pub items: Vec<FeedItem>,
    /// The deleted videos of a notification. Other feeds have none.
    pub deleted: Vec<DeletedVideo>,
}

/// The channel or playlist of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedId {
    /// The uploads of a channel.
    Channel(ChannelId),
    /// A playlist.
    Playlist(PlaylistId),
}

/// A video of a feed.
///
/// It is also made of a [`Video`], for the times when YouTube serves no feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FeedItem {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
    /// The title of the channel.
    pub channel: String,
    /// The id of the channel. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UCuAXFkgsw1L7xaCfnd5JJOw"))]
    pub channel_id: Option<ChannelId>,
    /// The publication time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The time of the last change. Only feeds contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2026-08-14T19:30:55.000Z"))]
    pub updated_at: Option<Moment>,
    /// The description, with its line breaks. Empty in a notification, which contains none.
    pub description: String,
    /// The URL of a thumbnail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, example = "https://i.ytimg.com/vi/dQw4w9WgXcQ/hqdefault.jpg")
    )]
    pub thumbnail: Option<String>,
    /// The number of views. Absent if YouTube does not send it. 0 for an upcoming broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 66195))]
    pub views: Option<u64>,
    /// The number of likes. Absent if YouTube does not send it. Feeds call it the count of ratings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 2541))]
    pub likes: Option<u64>,
    /// `true` if the feed links to the video as a Short. Otherwise absent: YouTube does not link to
    /// all Shorts in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub is_short: Option<bool>,
}

/// The newest videos of a channel, or the first ones of a playlist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct FeedAnswer {
    /// Where the videos come from.
    pub source: FeedSource,
    /// The videos, about 15. Those of a channel are newest first, those of a playlist in its order.
    pub items: Vec<FeedItem>,
}

/// Where the videos of a [`FeedAnswer`] come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FeedSource {
    /// YouTube's public feed, which costs nothing.
    Feed,
    /// The YouTube Data API, because YouTube did not serve the feed.
    DataApi,
}

/// A deleted video of a WebSub notification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedVideo {
    /// The video's id.
    pub id: VideoId,
    /// The title of the channel.
    pub channel: String,
    /// The id of the channel. `None` if YouTube does not name it.
    pub channel_id: Option<ChannelId>,
    /// The time of the deletion.
    pub deleted_at: Moment,
}

impl From<Video> for FeedItem {
    /// Counts that YouTube hides are absent.
    fn from(video: Video) -> Self {
        let shown = |count, name| (!video.hidden.contains(&name)).then_some(count);
        let thumbnail = video.thumbnails.best_url();
        Self {
            views: shown(video.views, HiddenCount::Views),
            likes: shown(video.likes, HiddenCount::Likes),
            thumbnail: (!thumbnail.is_empty()).then(|| thumbnail.to_owned()),
            id: video.id,
            title: video.title,
            channel: video.channel,
            channel_id: video.channel_id,
            published_at: video.published_at,
            updated_at: None,
            description: video.description,
            is_short: None,
        }
    }
}

/// Why a body is not a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedError {
    /// The body is something else, for example a web page. YouTube sends one for unknown channels, and
    /// at times for known ones.
    NotAFeed,
    /// The body is a damaged feed: truncated, too large, or invalid.
    Malformed(String),
}

impl fmt::Display for FeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAFeed => f.write_str("the response is not a feed"),
            Self::Malformed(why) => write!(f, "the feed is malformed: {why}"),
        }
    }
}

impl std::error::Error for FeedError {}
