//! Filters, sorts and slices the videos of a playlist. It sends no requests.

mod parse;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::playlist::{Playlist, PlaylistVideo};

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

/// Bounds for the numbers of a video. A video must be within all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
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

/// A sortable field of a video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
        videos.retain(|video| {
            self.filter.duration.hold(video.duration)
                && self.filter.views.hold(video.views)
                && self.filter.likes.hold(video.likes)
        });
        if let Some(Sort { field, order }) = self.sort {
            let number = |video: &PlaylistVideo| match field {
                SortField::Duration => video.duration,
                SortField::Views => video.views,
                SortField::Likes => video.likes,
            };
            // Both sorts are stable, so equal videos stay in playlist order.
            match order {
                SortOrder::Asc => videos.sort_by_key(number),
                SortOrder::Desc => videos.sort_by_key(|video| Reverse(number(video))),
            }
        }
        let skip = self.range.start.unwrap_or(1).saturating_sub(1);
        let take = self.range.end.unwrap_or(u64::MAX).saturating_sub(skip);
        let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let videos = videos.into_iter().skip(clamp(skip)).take(clamp(take)).collect();
        Selected { playlist: playlist.with_videos(videos), original_count }
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
