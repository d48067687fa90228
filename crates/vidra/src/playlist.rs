//! Playlists.

use serde::{Deserialize, Serialize};

use crate::chapter::Chapter;
use crate::format::{self, Moment};
use crate::ident::{ChannelId, PlaylistId, VideoId, or_empty};
use crate::thumbnail::Thumbnails;
use crate::video::{HiddenCount, Video, VideoDetails, without_comments};

/// A playlist with all its videos.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Playlist {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
    /// The number of listed videos.
    pub video_count: usize,
    /// The total length of the videos in whole seconds.
    pub total_duration: u64,
    /// `totalDuration` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "2d 5h 32m 10s"))]
    pub total_duration_fmt: String,
    /// The videos in playlist order. A video that occurs twice is listed twice.
    pub videos: Vec<PlaylistVideo>,
    /// The number of private or deleted entries, which are not listed. Absent if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unavailable_count: usize,
}

/// A video of a playlist.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlaylistVideo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The title of the channel that published the video.
    pub channel_title: String,
    /// The publication time of the video, not the time of its addition to the playlist.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The length in whole seconds.
    pub duration: u64,
    /// `duration` as hours, minutes and seconds.
    pub duration_fmt: String,
    /// The number of views.
    pub views: u64,
    /// `views` as text for people.
    pub views_fmt: String,
    /// The number of likes.
    pub likes: u64,
    /// `likes` as text for people.
    pub likes_fmt: String,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
    /// The counts that YouTube hides. Absent if it hides none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<HiddenCount>,
    /// The number of comments, while a query sorts by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(ignore))]
    pub(crate) comments: Option<u64>,
    /// More details. Absent unless they are requested ([`Include`](crate::Include)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub details: Option<Box<VideoDetails>>,
    /// The chapters, from the description. Absent unless they are requested, and empty if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub chapters: Option<Vec<Chapter>>,
}

/// A playlist without its videos.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlaylistInfo {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
    /// YouTube's own count of the entries, including private and deleted videos. Absent if YouTube
    /// sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 25))]
    pub item_count: Option<u64>,
    /// The title of the channel that owns the playlist.
    #[serde(default)]
    pub channel: String,
    /// The id of that channel. Empty in JSON if YouTube does not name it.
    #[serde(default, with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UCuAXFkgsw1L7xaCfnd5JJOw"))]
    pub channel_id: Option<ChannelId>,
    /// The creation time of the playlist.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
}

/// The ids of a playlist's entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PlaylistIds {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The ids of all entries in order, including private and deleted videos if YouTube reveals
    /// their id.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub video_ids: Vec<VideoId>,
    /// The number of ids.
    pub count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Playlist {
    /// A playlist whose videos and totals are filled in later.
    #[cfg(feature = "client")]
    pub(crate) fn without_videos(info: PlaylistInfo, unavailable: usize) -> Self {
        Self {
            id: info.id,
            title: info.title,
            description: info.description,
            thumbnails: info.thumbnails,
            video_count: 0,
            total_duration: 0,
            total_duration_fmt: String::new(),
            videos: vec![],
            unavailable_count: unavailable,
        }
    }

    /// The same playlist with other videos, and with their totals.
    pub(crate) fn with_videos(self, videos: Vec<PlaylistVideo>) -> Self {
        let total_duration = videos.iter().map(|video| video.duration).sum();
        let playlist = self.with_totals(videos.len(), total_duration);
        Self { videos, ..playlist }
    }

    /// The same playlist with these totals.
    pub(crate) fn with_totals(self, video_count: usize, total_duration: u64) -> Self {
        let total_duration_fmt = format::span(total_duration);
        Self { video_count, total_duration, total_duration_fmt, ..self }
    }
}

impl From<Video> for PlaylistVideo {
    fn from(video: Video) -> Self {
        Self {
            id: video.id,
            title: video.title,
            description: video.description,
            channel_title: video.channel,
            published_at: video.published_at,
            duration: video.duration,
            duration_fmt: video.duration_fmt,
            views: video.views,
            views_fmt: video.views_fmt,
            likes: video.likes,
            likes_fmt: video.likes_fmt,
            thumbnails: video.thumbnails,
            hidden: without_comments(video.hidden),
            comments: None,
            details: video.details,
            chapters: video.chapters,
        }
    }
}
