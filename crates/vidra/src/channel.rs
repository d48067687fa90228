//! Channels and their uploads.

use serde::{Deserialize, Serialize};

use crate::format::Moment;
use crate::ident::VideoId;
use crate::thumbnail::Thumbnails;
use crate::video::Withheld;

/// A channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Channel {
    /// The channel's own id.
    #[cfg_attr(feature = "openapi", schema(example = "UC_x5XG1OV2P6uZZ5FSM9Ttw"))]
    pub id: String,
    /// The title.
    #[cfg_attr(feature = "openapi", schema(example = "Google for Developers"))]
    pub name: String,
    /// The handle with one `@`; where there is none, made from the title.
    #[cfg_attr(feature = "openapi", schema(example = "@googledevelopers"))]
    pub username: String,
    /// How many subscribed, as rounded by the platform; 0 where that is withheld.
    pub subscribers: u64,
    /// `subscribers` for people.
    #[cfg_attr(feature = "openapi", schema(example = "2.3M"))]
    pub subscribers_fmt: String,
    /// Views of all its videos.
    pub total_views: u64,
    /// `totalViews` for people.
    #[cfg_attr(feature = "openapi", schema(example = "235M"))]
    pub total_views_fmt: String,
    /// How many public videos it has.
    pub video_count: u64,
    /// The country it is assigned to, a two-letter code; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "US"))]
    pub country: Option<String>,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// The playlist of all its public uploads.
    #[cfg_attr(feature = "openapi", schema(example = "UU_x5XG1OV2P6uZZ5FSM9Ttw"))]
    pub uploads_playlist_id: String,
    /// The counts that the platform withholds; absent when it withholds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
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
    /// How often it was watched.
    pub views: u64,
    /// `views` for people.
    pub views_fmt: String,
    /// How many liked it.
    pub likes: u64,
    /// `likes` for people.
    pub likes_fmt: String,
    /// The length in whole seconds.
    pub duration: u64,
    /// `duration` as a clock.
    pub duration_fmt: String,
    /// The URL of its picture, or empty.
    pub thumbnail: String,
    /// How long ago it was published, computed when this answer was made.
    #[cfg_attr(feature = "openapi", schema(example = "3 weeks ago"))]
    pub upload_age: String,
    /// The moment of publication.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The counts that the platform withholds; absent when it withholds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
}
