//! The results of searches.

use jiff::Timestamp;
use serde::Serialize;
use vidra::{Seconds, VideoId};

use crate::job::{iso, optional_iso};

/// A moment in a video where the words of a search were said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Hit {
    /// The video.
    #[serde(flatten)]
    pub video: HitVideo,
    /// The moment.
    #[serde(flatten)]
    pub moment: HitMoment,
}

/// A video with its best moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VideoHit {
    /// The video.
    #[serde(flatten)]
    pub video: HitVideo,
    /// The number of moments of the video.
    pub moment_count: u64,
    /// The best moments, at most three.
    pub moments: Vec<HitMoment>,
}

/// The video of a hit, and the track that was searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HitVideo {
    /// The video's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub video_id: VideoId,
    /// The title. Empty if YouTube does not send it.
    pub title: String,
    /// The title of the channel. Empty if YouTube does not send it.
    pub channel: String,
    /// The id of the channel. Empty if YouTube does not send it.
    pub channel_id: String,
    /// The publication time. Absent if it is not known.
    #[serde(serialize_with = "optional_iso", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime, nullable = false, required = false))]
    pub published_at: Option<Timestamp>,
    /// The language code of the track.
    #[cfg_attr(feature = "openapi", schema(example = "en"))]
    pub lang: String,
    /// Whether the captions come from speech recognition. For a translation, whether its source does.
    pub is_auto_generated: bool,
}

/// A moment of a video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HitMoment {
    /// The start in seconds: that of the caption in which the words begin. 0 for a title or a description.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 43))]
    pub start: Seconds,
    /// The end in seconds: that of the caption in which the words end.
    #[cfg_attr(feature = "openapi", schema(value_type = f64, example = 46.4))]
    pub end: Seconds,
    /// A link to the moment.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=43s")
    )]
    pub url: String,
    /// The title of the chapter. Absent if the video has no chapters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub chapter: Option<String>,
    /// `title` or `description` if the words are there. Absent if they were said.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, nullable = false, required = false, example = "title"))]
    pub field: Option<&'static str>,
    /// The text around the moment.
    pub text: String,
    /// The ranges of the words in `text`: the first character, and the one after the last. Characters are Unicode
    /// code points.
    pub highlights: Vec<[usize; 2]>,
}

/// A page of hits.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HitPage {
    /// The hits.
    pub items: Vec<HitItem>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub next_cursor: Option<String>,
    /// The number of all hits.
    pub total: HitTotal,
    /// The part of the library that was searched.
    pub coverage: SearchCoverage,
    /// Why there are no hits. Absent if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub note: Option<String>,
}

/// An item of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
#[non_exhaustive]
pub enum HitItem {
    /// With `group=moment`.
    Moment(Hit),
    /// With `group=video`.
    Video(VideoHit),
}

/// The number of all hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HitTotal {
    /// Videos that match.
    pub videos: u64,
    /// Moments of these videos.
    pub moments: u64,
    /// `true` if the words are too frequent: `moments` is an estimate then, and only moments of the newest videos (or the
    /// oldest, with `sort=oldest`) are ranked. Absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub approximate: bool,
}

/// A part of the library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchCoverage {
    /// Videos with a transcript that the filters include.
    pub videos: u64,
    /// Their hours, with two decimals.
    pub hours: f64,
}

/// How often something was said, by time of publication.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Trends {
    /// The periods in which videos were published, the oldest first.
    pub items: Vec<Trend>,
    /// Videos without a publication time. Absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub undated: Option<Trend>,
    /// The part of the library that was searched.
    pub coverage: SearchCoverage,
    /// `true` if a phrase is too frequent to count each time it was said: the counts are those of passages then. Absent
    /// otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub approximate: bool,
    /// Why there are no matches. Absent if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub note: Option<String>,
}

/// How often something was said in a period.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Trend {
    /// The period in UTC: `2026-03`, `2026-W13` or `2026`. Absent for videos without a publication time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, required = false, example = "2026-03")
    )]
    pub period: Option<String>,
    /// How often the words and phrases of the query were said in the videos that match.
    pub count: u64,
    /// The number of words in all videos of the period.
    pub words: u64,
    /// `count` for each million of `words`.
    pub per_million: f64,
    /// The number of videos that match.
    pub videos: u64,
}

/// A video of the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LibraryVideo {
    /// The video, and the track that is searched.
    #[serde(flatten)]
    pub video: HitVideo,
    /// A link to the video.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "https://www.youtube.com/watch?v=dQw4w9WgXcQ")
    )]
    pub url: String,
    /// The length in seconds. 0 if YouTube does not send it.
    pub duration: u64,
    /// The language code of the track that YouTube translated. Absent if there is no translation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = false))]
    pub translated_from: Option<String>,
    /// The number of words.
    pub words: u64,
    /// When the transcript was stored.
    #[serde(serialize_with = "iso")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub stored_at: Timestamp,
}
