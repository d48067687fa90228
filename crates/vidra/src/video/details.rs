//! Details of a video that few callers need.

use serde::{Deserialize, Serialize};

use super::category::Category;
use crate::format::Moment;

/// Details of a video. A member that YouTube does not send is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VideoDetails {
    /// The keywords of the uploader. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, example = json!(["rick astley", "official video"])))]
    pub tags: Vec<String>,
    /// The category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub category: Option<Category>,
    /// Whether the video is a live broadcast, and in which state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub live: Option<LiveState>,
    /// The times of the live broadcast or premiere. Absent for other videos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub broadcast: Option<Broadcast>,
    /// Whether the video is a Short. YouTube does not report it, so this is inferred; `isShortBasis`
    /// says how. Absent if it cannot be inferred: the length is unknown (live and upcoming
    /// broadcasts), or it is at most 180 seconds and neither the aspect ratio nor a hashtag is known.
    ///
    /// Before October 15, 2024, Shorts lasted at most 60 seconds. Older vertical videos of 61 to 180
    /// seconds count as Shorts here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub is_short: Option<bool>,
    /// How `isShort` was inferred. Present exactly if `isShort` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub is_short_basis: Option<ShortBasis>,
    /// The definition: `hd` or `sd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "hd"))]
    pub definition: Option<String>,
    /// The dimension: `2d` or `3d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "2d"))]
    pub dimension: Option<String>,
    /// Whether the uploader added captions. Automatic captions do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub has_captions: Option<bool>,
    /// The language of the title and description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "en"))]
    pub language: Option<String>,
    /// The spoken language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "en-US"))]
    pub audio_language: Option<String>,
    /// Whether the video is made for children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub made_for_kids: Option<bool>,
    /// The licence: `youtube` or `creativeCommon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "youtube"))]
    pub license: Option<String>,
    /// Whether other sites can embed the video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub embeddable: Option<bool>,
    /// The topics, as titles of the English Wikipedia. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false, example = json!(["Music", "Lifestyle (sociology)"])))]
    pub topics: Vec<String>,
    /// The countries in which the video can or cannot be watched. Absent without a restriction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub region_restriction: Option<RegionRestriction>,
    /// Whether the uploader declared a paid promotion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub paid_promotion: Option<bool>,
}

/// The state of a live broadcast or premiere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LiveState {
    /// The video is not a broadcast.
    None,
    /// The broadcast has not started.
    Upcoming,
    /// The broadcast is running.
    Live,
    /// The broadcast is over; the video is its recording.
    Ended,
}

/// The times of a live broadcast or premiere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Broadcast {
    /// The planned start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2026-08-14T19:00:00.000Z"))]
    pub scheduled_start: Option<Moment>,
    /// The planned end. Absent if the broadcast has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2026-08-14T20:00:00.000Z"))]
    pub scheduled_end: Option<Moment>,
    /// The start. Absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2026-08-14T19:01:12.000Z"))]
    pub actual_start: Option<Moment>,
    /// The end. Absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, required = false, example = "2026-08-14T20:03:45.000Z"))]
    pub actual_end: Option<Moment>,
}

/// How it was inferred whether a video is a Short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ShortBasis {
    /// From the aspect ratio: a Short is vertical or square, and lasts at most 180 seconds.
    Aspect,
    /// From `#shorts` in the title or description. Only if the aspect ratio is unknown.
    Hashtag,
    /// From the length: more than 180 seconds, so the video is not a Short.
    Length,
}

/// The countries in which a video can or cannot be watched. YouTube sends one of the two lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RegionRestriction {
    /// The two-letter codes of the only countries with access. An empty list means no country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = json!(["US"])))]
    pub allowed: Option<Vec<String>>,
    /// The two-letter codes of the countries without access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = json!(["BY", "RU"])))]
    pub blocked: Option<Vec<String>>,
}

#[cfg(feature = "client")]
impl LiveState {
    /// The state from `liveBroadcastContent`, which is `none` also for a recording, and the times of
    /// the broadcast. `None` if YouTube sent neither.
    pub(crate) fn infer(content: Option<&str>, broadcast: Option<&Broadcast>) -> Option<Self> {
        let started = broadcast.is_some_and(|times| times.actual_start.is_some());
        let ended = broadcast.is_some_and(|times| times.actual_end.is_some());
        match (content, broadcast) {
            (Some("upcoming"), _) => Some(Self::Upcoming),
            (Some("live"), _) => Some(Self::Live),
            (Some("completed"), _) => Some(Self::Ended),
            (Some("none"), _) if started || ended => Some(Self::Ended),
            (Some("none"), _) => Some(Self::None),
            (_, Some(_)) if ended => Some(Self::Ended),
            (_, Some(_)) if started => Some(Self::Live),
            (_, Some(_)) => Some(Self::Upcoming),
            (_, None) => None,
        }
    }
}

/// The maximum length of a Short in seconds.
#[cfg(feature = "client")]
const MAX_SHORT: u64 = 180;

#[cfg(feature = "client")]
impl ShortBasis {
    /// Infers whether a video is a Short. `None` if it cannot be inferred. `size` is the width and
    /// height of the player.
    pub(crate) fn infer(
        duration: u64,
        size: Option<(u64, u64)>,
        texts: [&str; 2],
    ) -> Option<(bool, Self)> {
        match (duration, size) {
            (0, _) => None,
            (duration, _) if duration > MAX_SHORT => Some((false, Self::Length)),
            (_, Some((width, height))) => Some((width <= height, Self::Aspect)),
            (_, None) => texts.into_iter().any(has_hashtag).then_some((true, Self::Hashtag)),
        }
    }
}

/// Whether the text contains `#shorts` as a whole word, in any case.
#[cfg(feature = "client")]
fn has_hashtag(text: &str) -> bool {
    const TAG: &[u8] = b"#shorts";
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.as_bytes().windows(TAG.len()).enumerate().any(|(at, word)| {
        word.eq_ignore_ascii_case(TAG) && !text[at + TAG.len()..].starts_with(is_letter)
    })
}
