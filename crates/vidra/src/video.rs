//! Videos.

use serde::{Deserialize, Serialize};

use crate::format::Moment;
use crate::ident::VideoId;
use crate::thumbnail::Thumbnails;

/// A video with everything the platform tells about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Video {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
    /// The description, with its line breaks.
    pub description: String,
    /// The title of the channel that published it.
    pub channel: String,
    /// The id of that channel.
    pub channel_id: String,
    /// How often it was watched; 0 where that is withheld, see `hidden`.
    #[cfg_attr(feature = "openapi", schema(example = 1763613349_u64))]
    pub views: u64,
    /// `views` for people.
    #[cfg_attr(feature = "openapi", schema(example = "1.8B"))]
    pub views_fmt: String,
    /// How many liked it; 0 where that is withheld.
    pub likes: u64,
    /// `likes` for people.
    #[cfg_attr(feature = "openapi", schema(example = "19M"))]
    pub likes_fmt: String,
    /// How many comments there are; 0 where comments are off.
    pub comments: u64,
    /// `comments` for people.
    #[cfg_attr(feature = "openapi", schema(example = "2.4M"))]
    pub comments_fmt: String,
    /// The length in whole seconds; 0 for live and upcoming broadcasts.
    #[cfg_attr(feature = "openapi", schema(example = 214))]
    pub duration: u64,
    /// `duration` as a clock.
    #[cfg_attr(feature = "openapi", schema(example = "3:34"))]
    pub duration_fmt: String,
    /// The day of publication (UTC) for people.
    #[cfg_attr(feature = "openapi", schema(example = "October 25, 2009"))]
    pub published: String,
    /// The moment of publication.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The pictures there are.
    pub thumbnails: Thumbnails,
    /// The counts that the platform withholds; absent when it withholds none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<Withheld>,
}

/// A count that the platform does not tell, and that is therefore 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Withheld {
    /// Views of a video.
    Views,
    /// Likes of a video.
    Likes,
    /// Comments of a video.
    Comments,
    /// Subscribers of a channel.
    Subscribers,
    /// Views of a whole channel.
    TotalViews,
    /// Videos of a channel.
    VideoCount,
}

impl Withheld {
    /// Its name, as answers have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Views => "views",
            Self::Likes => "likes",
            Self::Comments => "comments",
            Self::Subscribers => "subscribers",
            Self::TotalViews => "totalViews",
            Self::VideoCount => "videoCount",
        }
    }
}

/// The id and title of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VideoTitle {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
}

/// The withheld counts of a video as told where its comments are not.
pub(crate) fn without_comments(mut hidden: Vec<Withheld>) -> Vec<Withheld> {
    hidden.retain(|name| *name != Withheld::Comments);
    hidden
}
