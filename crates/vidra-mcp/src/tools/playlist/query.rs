//! `query_playlist`: filter, sort, slice.

use schemars::JsonSchema;
use serde::Deserialize;
use vidra::selection::{Bounds, Filter, Sort, SortField, SortOrder};
use vidra::{LiveState, Selection};

use super::{PageOptions, PlaylistPage, position_range, selection_page};
use crate::call_error::CallError;
use crate::params::{
    Cursor, IncludeArgs, MaxChars, PlaylistArg, Position, SearchWords, SinceArg, UntilArg, Whole,
    date_range,
};
use crate::tools::{Call, ToolInput, ToolResult};

/// Inclusive bounds, either of which may be left out.
#[derive(Deserialize, JsonSchema, Clone, Copy, Default)]
#[serde(deny_unknown_fields)]
struct Within {
    /// The minimum.
    min: Option<Whole<0, 1_000_000_000_000, 0>>,
    /// The maximum.
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
pub(in crate::tools) struct QueryPlaylist {
    /// The playlist: its id or any YouTube URL with list=.
    playlist: PlaylistArg,
    /// Select videos of this length, in seconds.
    duration: Option<Within>,
    /// Select videos with this number of views.
    views: Option<Within>,
    /// Select videos with this number of likes.
    likes: Option<Within>,
    /// Select videos of this date (UTC) or time or later.
    since: Option<SinceArg>,
    /// Select videos of this date (UTC) or time or earlier.
    until: Option<UntilArg>,
    /// Select videos whose title contains this text, without regard to case and accents.
    title: Option<SearchWords>,
    /// Select broadcasts in this state; none selects videos that are no broadcast.
    live: Option<Broadcast>,
    /// Select Shorts, or with false all other videos.
    is_short: Option<bool>,
    /// Sort by this field; playlist order if not given.
    sort_by: Option<By>,
    /// asc for ascending, desc for descending; if not given asc for title and position, desc for others.
    order: Option<Order>,
    /// The first position to return after filtering and sorting, counted from 1.
    from: Option<Position>,
    /// The last position to return after filtering and sorting, inclusive.
    to: Option<Position>,
    /// More about each video: details (tags, category, broadcast, language and more), chapters.
    include: Option<IncludeArgs>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl QueryPlaylist {
    fn selection(&self) -> Result<Selection, CallError> {
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

impl ToolInput for QueryPlaylist {
    const NAME: &'static str = "query_playlist";
    const TITLE: &'static str = "Filter and sort a playlist";
    const DESCRIPTION: &'static str = "The videos of a YouTube playlist, filtered by length, views, likes, \
        date, title, broadcast or Shorts, then sorted, then cut to a range: for example the ten most watched videos under five minutes. \
        Costs 1 quota unit and 2 for each 50 videos of the playlist.";
    type Output = PlaylistPage;

    async fn run(self, call: &Call<'_>) -> ToolResult<PlaylistPage> {
        let selection = self.selection()?;
        let Self { playlist, include, max_chars, cursor, .. } = self;
        let include = IncludeArgs::members(include);
        let options = PageOptions { max_chars, cursor, is_described: false, include };
        selection_page(call, playlist, &selection, options).await
    }
}
