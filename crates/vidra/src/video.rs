//! Videos.

mod category;
mod details;

use serde::{Deserialize, Serialize};

use crate::chapter::Chapter;
use crate::format::Moment;
use crate::ident::{ChannelId, VideoId, or_empty};
use crate::thumbnail::Thumbnails;

pub use category::Category;
pub use details::{Broadcast, LiveState, RegionRestriction, ShortBasis, VideoDetails};

/// A video with all its public data.
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
    /// The title of the channel.
    pub channel: String,
    /// The id of the channel. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub channel_id: Option<ChannelId>,
    /// The number of views. 0 if YouTube hides it; see `hidden`.
    #[cfg_attr(feature = "openapi", schema(example = 1763613349_u64))]
    pub views: u64,
    /// `views` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "1.8B"))]
    pub views_fmt: String,
    /// The number of likes. 0 if YouTube hides it.
    pub likes: u64,
    /// `likes` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "19M"))]
    pub likes_fmt: String,
    /// The number of comments. 0 if comments are disabled.
    pub comments: u64,
    /// `comments` as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "2.4M"))]
    pub comments_fmt: String,
    /// The length in whole seconds. 0 for live and upcoming broadcasts.
    #[cfg_attr(feature = "openapi", schema(example = 214))]
    pub duration: u64,
    /// `duration` as hours, minutes and seconds.
    #[cfg_attr(feature = "openapi", schema(example = "3:34"))]
    pub duration_fmt: String,
    /// The publication date (UTC) as text for people.
    #[cfg_attr(feature = "openapi", schema(example = "October 25, 2009"))]
    pub published: String,
    /// The publication time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2009-10-25T06:57:33.000Z"))]
    pub published_at: Moment,
    /// The available thumbnails.
    pub thumbnails: Thumbnails,
    /// The counts that YouTube hides. Absent if it hides none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub hidden: Vec<HiddenCount>,
    /// More details. Absent unless they are requested ([`Include`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub details: Option<Box<VideoDetails>>,
    /// The chapters, from the description. Absent unless they are requested, and empty if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub chapters: Option<Vec<Chapter>>,
}

/// Members of videos that are absent unless they are requested. They cost nothing more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Include {
    /// `details`.
    pub details: bool,
    /// `chapters`.
    pub chapters: bool,
    /// The `comments` of the videos of a playlist, to sort by them.
    pub(crate) comments: bool,
}

impl Include {
    /// The details of videos.
    pub const DETAILS: Self = Self { details: true, chapters: false, comments: false };

    /// The chapters of videos.
    pub const CHAPTERS: Self = Self { details: false, chapters: true, comments: false };

    /// The words in requests, which are the names of the members.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("details", Self::DETAILS), ("chapters", Self::CHAPTERS)];

    /// These members and others.
    pub fn and(self, other: Self) -> Self {
        Self {
            details: self.details || other.details,
            chapters: self.chapters || other.chapters,
            comments: self.comments || other.comments,
        }
    }

    /// Adds and removes members of a video, whose details are known.
    #[cfg(feature = "client")]
    pub(crate) fn apply(self, video: &mut Video) {
        if !self.details {
            video.details = None;
        }
        let chapters = || Chapter::parse_all(&video.description, video.duration);
        video.chapters = self.chapters.then(chapters);
    }
}

/// A count that YouTube hides. Its value is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Withheld))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum HiddenCount {
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

impl HiddenCount {
    /// The name in responses.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct VideoTitle {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub id: VideoId,
    /// The title.
    pub title: String,
}

/// The hidden counts of a video, for models without a comment count.
pub(crate) fn without_comments(mut hidden: Vec<HiddenCount>) -> Vec<HiddenCount> {
    hidden.retain(|name| *name != HiddenCount::Comments);
    hidden
}
