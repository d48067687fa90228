//! Filters, sorts and slices the videos of a playlist. It sends no requests.

mod parse;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::fold::folded;
use crate::list::DateRange;
use crate::playlist::{Playlist, PlaylistVideo};
#[cfg(feature = "client")]
use crate::video::Include;
use crate::video::LiveState;

/// A filter, an order and a range for the videos of a playlist. The default selects all videos.
///
/// It serialises to the JSON that [`Selection::from_json`] parses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "First filter, then sort, then slice"))]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Selects the videos within these bounds, as the first step.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub filter: Filter,
    /// Sorts the videos, as the second step. The sort is stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub sort: Option<Sort>,
    /// Selects these positions, as the last step.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub range: PositionRange,
}

/// Conditions for a video, which must meet all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[non_exhaustive]
pub struct Filter {
    /// The length in seconds.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub duration: Bounds,
    /// The views.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub views: Bounds,
    /// The likes.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub likes: Bounds,
    /// The publication time.
    #[serde(skip_serializing_if = "DateRange::is_open")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub published: DateRange,
    /// Text that the title contains. The case of letters and accents do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, min_length = 1, max_length = 200, example = "live")
    )]
    pub title: Option<String>,
    /// The state of the broadcast: `none` for videos that are not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub live: Option<LiveState>,
    /// Whether the video is a Short. Videos for which this is unknown meet neither condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub is_short: Option<bool>,
}

impl Filter {
    /// Sets the bounds of the length in seconds.
    pub fn with_duration(self, duration: Bounds) -> Self {
        Self { duration, ..self }
    }

    /// Sets the bounds of the views.
    pub fn with_views(self, views: Bounds) -> Self {
        Self { views, ..self }
    }

    /// Sets the bounds of the likes.
    pub fn with_likes(self, likes: Bounds) -> Self {
        Self { likes, ..self }
    }

    /// Sets the range of publication times.
    pub fn with_published(self, published: DateRange) -> Self {
        Self { published, ..self }
    }

    /// Sets the text that titles contain.
    pub fn with_title(self, title: impl Into<Option<String>>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Sets the state of broadcasts.
    pub fn with_live(self, live: impl Into<Option<LiveState>>) -> Self {
        Self { live: live.into(), ..self }
    }

    /// Sets whether videos are Shorts.
    pub fn with_is_short(self, is_short: impl Into<Option<bool>>) -> Self {
        Self { is_short: is_short.into(), ..self }
    }

    /// Whether a video meets the conditions. `title` is [`Filter::title`], folded.
    fn holds(&self, video: &PlaylistVideo, title: Option<&str>) -> bool {
        let details = video.details.as_deref();
        self.duration.hold(video.duration)
            && self.views.hold(video.views)
            && self.likes.hold(video.likes)
            && self.published.contains(video.published_at.timestamp())
            && title.is_none_or(|title| folded(&video.title).contains(title))
            && self.live.is_none_or(|live| details.is_some_and(|it| it.live == Some(live)))
            && self.is_short.is_none_or(|is| details.is_some_and(|it| it.is_short == Some(is)))
    }
}

/// Inclusive bounds. Either can be open, and `min` must not exceed `max`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The minimum.
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 60))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// The maximum.
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = 3600))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

impl Bounds {
    fn hold(self, value: u64) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

/// The field and direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Sort {
    /// The field to compare.
    pub field: SortField,
    /// The direction. The default is ascending.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub order: SortOrder,
}

impl Sort {
    /// Sorts videos that are in playlist order. It is stable, so equal videos stay in that order.
    fn apply(self, videos: &mut [PlaylistVideo]) {
        match self.field {
            SortField::Duration => self.by_key(videos, |video| video.duration),
            SortField::Views => self.by_key(videos, |video| video.views),
            SortField::Likes => self.by_key(videos, |video| video.likes),
            SortField::Published => self.by_key(videos, |video| video.published_at),
            SortField::Title => self.by_key(videos, |video| folded(&video.title)),
            SortField::Comments => self.by_key(videos, |video| video.comments.unwrap_or(0)),
            SortField::Position if self.order == SortOrder::Desc => videos.reverse(),
            SortField::Position => {}
        }
    }

    fn by_key<K: Ord>(self, videos: &mut [PlaylistVideo], key: impl Fn(&PlaylistVideo) -> K) {
        match self.order {
            SortOrder::Asc => videos.sort_by_cached_key(key),
            SortOrder::Desc => videos.sort_by_cached_key(|video| Reverse(key(video))),
        }
    }
}

/// A sortable field of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SortField {
    /// The length.
    Duration,
    /// The views.
    Views,
    /// The likes.
    Likes,
    /// The publication time.
    Published,
    /// The title, without regard to case and accents.
    Title,
    /// The comments. A playlist that was stored as JSON does not have their number.
    Comments,
    /// The position in the playlist.
    Position,
}

/// A sort direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// Ascending.
    #[default]
    Asc,
    /// Descending.
    Desc,
}

/// Positions counted from 1, both ends included. Either end can be open, and `start` must not
/// exceed `end`. A range beyond the last video selects nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Places))]
#[serde(deny_unknown_fields)]
pub struct PositionRange {
    /// The first position.
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, example = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The last position.
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 1, example = 10))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
}

/// A playlist with the selected videos and their totals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Selected {
    /// The playlist with only the selected videos.
    #[serde(flatten)]
    pub playlist: Playlist,
    /// The number of videos before the selection. For a range without filter and sort it is the
    /// number of entries in the playlist, because the rest of the playlist is not fetched.
    pub original_count: usize,
}

impl Selection {
    /// Filters, sorts and slices a playlist. It also works on a playlist that was stored as JSON:
    ///
    /// ```
    /// use vidra::{Playlist, Selection};
    /// let video = |id: &str, views: u64| serde_json::json!({
    ///     "id": id, "title": "", "description": "", "channelTitle": "", "publishedAt": "", "duration": 60,
    ///     "durationFmt": "1:00", "views": views, "viewsFmt": "", "likes": 0, "likesFmt": "", "thumbnails": {},
    /// });
    /// let playlist: Playlist = serde_json::from_value(serde_json::json!({
    ///     "id": "PL123", "title": "Two", "description": "", "thumbnails": {}, "videoCount": 2,
    ///     "totalDuration": 120, "totalDurationFmt": "2m",
    ///     "videos": [video("dQw4w9WgXcQ", 5), video("fda4eREcaTQ", 7)],
    /// }))?;
    ///
    /// let most_watched = serde_json::json!({"sort": {"field": "views", "order": "desc"}, "range": {"end": 1}});
    /// let selected = Selection::from_json(&most_watched)?.apply(playlist);
    /// assert_eq!(selected.playlist.videos[0].id.as_str(), "fda4eREcaTQ");
    /// assert_eq!((selected.playlist.total_duration, selected.original_count), (60, 2));
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&self, mut playlist: Playlist) -> Selected {
        let original_count = playlist.video_count;
        let mut videos = std::mem::take(&mut playlist.videos);
        let title = self.filter.title.as_deref().map(folded);
        videos.retain(|video| self.filter.holds(video, title.as_deref()));
        if let Some(sort) = self.sort {
            sort.apply(&mut videos);
        }
        let skip = self.range.start.unwrap_or(1).saturating_sub(1);
        let take = self.range.end.unwrap_or(u64::MAX).saturating_sub(skip);
        let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let videos = videos.into_iter().skip(clamp(skip)).take(clamp(take)).collect();
        Selected { playlist: playlist.with_videos(videos), original_count }
    }

    /// The members of videos that the selection needs.
    #[cfg(feature = "client")]
    pub(crate) fn include(&self) -> Include {
        let needs_details = self.filter.live.is_some() || self.filter.is_short.is_some();
        let by_comments = self.sort.is_some_and(|sort| sort.field == SortField::Comments);
        let include = if needs_details { Include::DETAILS } else { Include::default() };
        Include { comments: by_comments, ..include }
    }

    /// The number of videos from the first one on that determine the result. `None` if all do,
    /// because of a filter, a sort or an open end.
    #[cfg(feature = "client")]
    pub(crate) fn needed(&self) -> Option<usize> {
        let Self { filter, sort, range } = self;
        let end = range.end.filter(|_| *filter == Filter::default() && sort.is_none())?;
        usize::try_from(end).ok()
    }
}
