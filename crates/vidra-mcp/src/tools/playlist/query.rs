//! Which videos of a playlist, and in which order.

use schemars::JsonSchema;
use serde::Deserialize;
use vidra::selection::{Bounds, Filter, Sort, SortField, SortOrder};
use vidra::{LiveState, Selection};

use super::position_range;
use crate::call_error::CallError;
use crate::params::{
    Cursor, IncludeArgs, MaxChars, PlaylistArg, Position, SearchWords, SinceArg, UntilArg, Whole,
    date_range,
};

/// Inclusive bounds, either of which may be left out.
#[derive(Deserialize, JsonSchema, Clone, Copy, Default)]
#[serde(deny_unknown_fields)]
struct Within {
    min: Option<Whole<0, 1_000_000_000_000, 0>>,
    max: Option<Whole<0, 1_000_000_000_000, 0>>,
}

impl Within {
    /// The bounds of the argument `name`.
    fn bounds(given: Option<Self>, name: &str) -> Result<Bounds, CallError> {
        let Self { min, max } = given.unwrap_or_default();
        let bounds = Bounds { min: min.map(Whole::get), max: max.map(Whole::get) };
        match bounds {
            Bounds { min: Some(min), max: Some(max) } if min > max => {
                Err(CallError::bad(format!("{name}: min is greater than max")))
            }
            bounds => Ok(bounds),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum By {
    Duration,
    Views,
    Likes,
    Comments,
    Published,
    Title,
    Position,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Broadcast {
    None,
    Upcoming,
    Live,
    Ended,
}

impl From<Broadcast> for LiveState {
    fn from(broadcast: Broadcast) -> Self {
        match broadcast {
            Broadcast::None => Self::None,
            Broadcast::Upcoming => Self::Upcoming,
            Broadcast::Live => Self::Live,
            Broadcast::Ended => Self::Ended,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaylistQuery {
    /// Id or URL
    pub(super) playlist: PlaylistArg,
    /// Seconds
    duration: Option<Within>,
    views: Option<Within>,
    likes: Option<Within>,
    /// Published on this date or later
    since: Option<SinceArg>,
    until: Option<UntilArg>,
    /// Part of the title
    title: Option<SearchWords>,
    live: Option<Broadcast>,
    /// Only Shorts, or with false none
    is_short: Option<bool>,
    sort_by: Option<By>,
    order: Option<Order>,
    /// First position, counted from 1
    from: Option<Position>,
    /// Last position
    to: Option<Position>,
    /// Also tags, category, languages (details) or chapters
    pub(super) include: Option<IncludeArgs>,
    /// Length limit of the answer
    #[serde(default)]
    pub(super) max_chars: MaxChars,
    /// nextCursor of the last answer
    pub(super) cursor: Option<Cursor>,
}

impl PlaylistQuery {
    pub(super) fn selection(&self) -> Result<Selection, CallError> {
        let filter = Filter::default()
            .with_duration(Within::bounds(self.duration, "duration")?)
            .with_views(Within::bounds(self.views, "views")?)
            .with_likes(Within::bounds(self.likes, "likes")?)
            .with_published(date_range(self.since.clone(), self.until.clone())?)
            .with_title(self.title.clone().map(|SearchWords(title)| title))
            .with_live(self.live.map(LiveState::from))
            .with_is_short(self.is_short);
        let order = match (&self.order, &self.sort_by) {
            (Some(Order::Asc), _) | (None, Some(By::Title | By::Position)) => SortOrder::Asc,
            _ => SortOrder::Desc,
        };
        let field = self.sort_by.as_ref().map(|by| match by {
            By::Duration => SortField::Duration,
            By::Views => SortField::Views,
            By::Likes => SortField::Likes,
            By::Comments => SortField::Comments,
            By::Published => SortField::Published,
            By::Title => SortField::Title,
            By::Position => SortField::Position,
        });
        let sort = field.map(|field| Sort { field, order });
        Ok(Selection { filter, sort, range: position_range(self.from, self.to)? })
    }
}
