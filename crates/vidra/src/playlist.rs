//! Playlists.

use serde::{Deserialize, Serialize};

use crate::format::{self, Moment};
use crate::ident::{PlaylistId, VideoId};
use crate::thumbnail::Thumbnails;
use crate::video::{Video, Withheld, without_comments};

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
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// How many videos are listed here.
    pub video_count: usize,
    /// Their length together, in whole seconds.
    pub total_duration: u64,
    /// `totalDuration` in words.
    #[cfg_attr(feature = "openapi", schema(example = "2d 5h 32m 10s"))]
    pub total_duration_fmt: String,
    /// The videos in playlist order; one that stands twice is listed twice.
    pub videos: Vec<PlaylistVideo>,
    /// How many entries are private or deleted and therefore not listed; absent when none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unavailable_count: usize,
}

/// A video as a playlist lists it.
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
    /// When the video was published (not when it was added to the playlist).
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The length in whole seconds.
    pub duration: u64,
    /// `duration` as a clock.
    pub duration_fmt: String,
    /// How often it was watched.
    pub views: u64,
    /// `views` for people.
    pub views_fmt: String,
    /// How many liked it.
    pub likes: u64,
    /// `likes` for people.
    pub likes_fmt: String,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// The counts that the platform withholds; absent when it withholds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
}

/// A playlist without its videos.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PlaylistInfo {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub id: PlaylistId,
    /// The title.
    pub title: String,
    /// The description.
    pub description: String,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
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
    /// All entries in order, private and deleted ones included as long as their id is told.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub video_ids: Vec<VideoId>,
    /// How many they are.
    pub count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Playlist {
    pub(crate) fn new(info: PlaylistInfo, videos: Vec<PlaylistVideo>, unavailable: usize) -> Self {
        let total_duration = videos.iter().map(|video| video.duration).sum();
        Self {
            id: info.id,
            title: info.title,
            description: info.description,
            thumbnails: info.thumbnails,
            video_count: videos.len(),
            total_duration,
            total_duration_fmt: format::span(total_duration),
            videos,
            unavailable_count: unavailable,
        }
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
        }
    }
}
