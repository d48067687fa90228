//! `vidra query`.

use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::json;
use vidra::selection::{Bounds, Filter, PositionRange, Sort, SortField, SortOrder};
use vidra::{DateRange, LiveState, Selection};

use super::include::IncludeArgs;
use super::{Common, Kind, one};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;
use crate::values::{count, count_in, length};

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// Id or URL of a playlist; - reads it from standard input
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// Minimum duration: 90, 1:30 or 90s
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    min_duration: Option<Duration>,

    /// Maximum duration
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    max_duration: Option<Duration>,

    /// Minimum number of views: 500, 1k or 1.5M
    #[arg(long, value_name = "COUNT", value_parser = count)]
    min_views: Option<u64>,

    /// Maximum number of views
    #[arg(long, value_name = "COUNT", value_parser = count)]
    max_views: Option<u64>,

    /// Minimum number of likes
    #[arg(long, value_name = "COUNT", value_parser = count)]
    min_likes: Option<u64>,

    /// Maximum number of likes
    #[arg(long, value_name = "COUNT", value_parser = count)]
    max_likes: Option<u64>,

    /// Only videos of this day or time or later: 2026-03-26 or 2026-03-26T18:30:00Z
    #[arg(long, value_name = "DATE", value_parser = DateRange::parse_since)]
    since: Option<Timestamp>,

    /// Only videos of this day or time or earlier; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = DateRange::parse_until)]
    until: Option<Timestamp>,

    /// Only videos whose title contains this text
    ///
    /// The case of letters and accents do not count
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,

    /// Only broadcasts in this state
    ///
    /// none selects videos that are no broadcast
    #[arg(long, value_name = "STATE", value_enum)]
    live: Option<Broadcast>,

    /// Only Shorts
    #[arg(long, conflicts_with = "no_shorts")]
    shorts: bool,

    /// Only videos that are no Shorts
    #[arg(long)]
    no_shorts: bool,

    /// Sort field [default: playlist order]
    #[arg(long, value_enum)]
    sort: Option<Field>,

    /// Sort order [default: desc; asc for title and position]
    #[arg(long, value_enum, requires = "sort")]
    order: Option<Order>,

    /// The same as --order asc
    #[arg(long, requires = "sort", conflicts_with = "order", hide = true)]
    ascending: bool,

    /// First position to show after filter and sort, from 1
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    from: Option<u64>,

    /// Last position to show after filter and sort
    #[arg(long, value_name = "POSITION", value_parser = count_in::<u64>(1..=u64::MAX))]
    to: Option<u64>,

    #[command(flatten)]
    include: IncludeArgs,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Field {
    Duration,
    Views,
    Likes,
    Comments,
    Published,
    Title,
    /// The position in the playlist.
    Position,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// Smallest first.
    Asc,
    /// Largest first.
    Desc,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Broadcast {
    None,
    Upcoming,
    Live,
    Ended,
}

pub(super) async fn query(args: &QueryArgs) -> Result<(), Failure> {
    let id = one(&args.playlist)?;
    let mut context = args.common.open()?;
    let selection = args.selection();
    // Filters and sorting need the whole list.
    let is_part = selection.filter == Filter::default() && selection.sort.is_none();
    let last = selection.range.end.filter(|_| is_part);
    let agreed = context.confirm_entries(std::slice::from_ref(&id), last, 2).await;
    context.begin(agreed).await?;
    let request = RestRequest::get("playlist").segment(&id).segment("query");
    let request = request.parameter("include", args.include.names());
    let request = context.shaped(request.post(json!(selection)));
    let answer = context.service.fetch(&request).await;
    let answer = answer.map_err(|failure| Kind::Playlist.hint(&id, failure));
    let done = answer.and_then(|body| context.output.answer(&id, &body, cards::selected));
    context.end(done).await
}

impl QueryArgs {
    fn selection(&self) -> Selection {
        let seconds = |length: Option<Duration>| length.map(|length| length.as_secs());
        let filter = Filter::default()
            .with_duration(Bounds {
                min: seconds(self.min_duration),
                max: seconds(self.max_duration),
            })
            .with_views(Bounds { min: self.min_views, max: self.max_views })
            .with_likes(Bounds { min: self.min_likes, max: self.max_likes })
            .with_published(DateRange { since: self.since, until: self.until })
            .with_title(self.title.clone())
            .with_live(self.live.map(|live| match live {
                Broadcast::None => LiveState::None,
                Broadcast::Upcoming => LiveState::Upcoming,
                Broadcast::Live => LiveState::Live,
                Broadcast::Ended => LiveState::Ended,
            }))
            .with_is_short((self.shorts || self.no_shorts).then_some(self.shorts));
        let field = self.sort.map(|field| match field {
            Field::Duration => SortField::Duration,
            Field::Views => SortField::Views,
            Field::Likes => SortField::Likes,
            Field::Comments => SortField::Comments,
            Field::Published => SortField::Published,
            Field::Title => SortField::Title,
            Field::Position => SortField::Position,
        });
        let order = |field| match self.order {
            Some(Order::Asc) => SortOrder::Asc,
            Some(Order::Desc) => SortOrder::Desc,
            None if self.ascending => SortOrder::Asc,
            None if matches!(field, SortField::Title | SortField::Position) => SortOrder::Asc,
            None => SortOrder::Desc,
        };
        let sort = field.map(|field| Sort { field, order: order(field) });
        Selection { filter, sort, range: PositionRange { start: self.from, end: self.to } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed;
    use super::*;

    #[test]
    fn query_contains_only_the_given_flags() {
        let selection =
            |flags: &[&str]| parsed::<QueryArgs>(&[&["query", "PLa"], flags].concat()).selection();
        assert_eq!(selection(&[]), Selection::default());
        let flags = ["--min-duration=1:30", "--max-views=10", "--sort=likes", "--to=5"];
        let given = json!({
            "filter": {"duration": {"min": 90}, "views": {"max": 10}},
            "sort": {"field": "likes", "order": "desc"},
            "range": {"end": 5},
        });
        assert_eq!(selection(&flags), Selection::from_json(&given).unwrap());
        let ascending = selection(&["--sort=views", "--order=asc", "--min-views=1.5k"]);
        assert_eq!(ascending.filter.views.min, Some(1_500));
        assert_eq!(
            selection(&["--sort=views", "--ascending"]).sort,
            ascending.sort,
            "the old word"
        );
        let flags = ["--since=2024-01-01", "--until=2024-06-30T12:00:00Z", "--title=Café"];
        let flags = [&flags[..], &["--live=ended", "--no-shorts", "--sort=title"]].concat();
        let given = json!({
            "filter": {
                "published": {"since": "2024-01-01", "until": "2024-06-30T12:00:00Z"},
                "title": "Café",
                "live": "ended",
                "isShort": false,
            },
            "sort": {"field": "title", "order": "asc"},
        });
        assert_eq!(selection(&flags), Selection::from_json(&given).unwrap());
        assert_eq!(selection(&["--shorts"]).filter.is_short, Some(true));
    }
}
