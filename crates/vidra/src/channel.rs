//! Channels and their uploads.

use serde::{Deserialize, Serialize};

use crate::format::Moment;
use crate::ident::{PlaylistId, VideoId, or_empty};
use crate::thumbnail::Thumbnails;
use crate::video::HiddenCount;

/// A channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Channel {
    /// The channel's id, as YouTube sends it: empty or odd in some answers that are otherwise fine.
    #[cfg_attr(feature = "openapi", schema(example = "UC_x5XG1OV2P6uZZ5FSM9Ttw"))]
    pub id: String,
    /// The title.
    #[cfg_attr(feature = "openapi", schema(example = "Google for Developers"))]
    pub name: String,
    /// The handle with one `@`. A channel without a handle gets one derived from its title.
    #[cfg_attr(feature = "openapi", schema(example = "@googledevelopers"))]
    pub username: String,
    /// The number of subscribers, rounded by YouTube. 0 if YouTube hides it.
    pub subscribers: u64,
    /// `subscribers` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "2.3M"))]
    pub subscribers_fmt: String,
    /// The total views of all its videos.
    pub total_views: u64,
    /// `totalViews` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "235M"))]
    pub total_views_fmt: String,
    /// The number of public videos.
    pub video_count: u64,
    /// The country as a two-letter code. Absent if the channel has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "US"))]
    pub country: Option<String>,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
    /// The playlist of all public uploads. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "UU_x5XG1OV2P6uZZ5FSM9Ttw"))]
    pub uploads_playlist_id: Option<PlaylistId>,
    /// The counts that YouTube hides. Absent if it hides none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<HiddenCount>,
}

/// A recent upload of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChannelVideo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
    /// The number of views.
    pub views: u64,
    /// `views` as text for people.
    pub views_fmt: String,
    /// The number of likes.
    pub likes: u64,
    /// `likes` as text for people.
    pub likes_fmt: String,
    /// The length in whole seconds.
    pub duration: u64,
    /// `duration` as hours, minutes and seconds.
    pub duration_fmt: String,
    /// The URL of the thumbnail, or empty.
    pub thumbnail: String,
    /// The age of the upload as text, computed for this response.
    #[cfg_attr(feature = "openapi", schema(example = "3 weeks ago"))]
    pub upload_age: String,
    /// The publication time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The counts that YouTube hides. Absent if it hides none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<HiddenCount>,
}
