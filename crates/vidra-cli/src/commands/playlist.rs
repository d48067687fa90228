//! `vidra playlist` and `vidra query`.

use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;
use vidra::Selection;
use vidra::selection::{Bounds, Filter, PositionRange, Sort, SortField, SortOrder};

use super::{Common, Ids, one};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;
use crate::values::length;

#[derive(Debug, clap::Args)]
pub(crate) struct PlaylistArgs {
    #[command(flatten)]
    ids: Ids,

    /// Show only title and description; costs one unit
    #[arg(long, conflicts_with = "only_ids")]
    info: bool,

    /// Show only the ids of the entries, one per line
    #[arg(long = "ids")]
    only_ids: bool,

    #[command(flatten)]
    common: Common,
}

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

    /// Minimum number of views
    #[arg(long, value_name = "COUNT")]
    min_views: Option<u64>,

    /// Maximum number of views
    #[arg(long, value_name = "COUNT")]
    max_views: Option<u64>,

    /// Minimum number of likes
    #[arg(long, value_name = "COUNT")]
    min_likes: Option<u64>,

    /// Maximum number of likes
    #[arg(long, value_name = "COUNT")]
    max_likes: Option<u64>,

    /// Sort field [default: playlist order]
    #[arg(long, value_enum)]
    sort: Option<Field>,

    /// Sort in ascending order instead of descending
    #[arg(long, requires = "sort")]
    ascending: bool,

    /// First position to show after filter and sort, from 1
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,

    /// Last position to show after filter and sort
    #[arg(long, value_name = "POSITION", value_parser = clap::value_parser!(u64).range(1..))]
    to: Option<u64>,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Field {
    Duration,
    Views,
    Likes,
}

pub(super) async fn show(args: &PlaylistArgs) -> Result<(), Failure> {
    let PlaylistArgs { ids, info, only_ids, common } = args;
    let playlist = |id: &str| RestRequest::get("playlist").segment(id);
    if *info {
        common.show_each(ids, |id| playlist(id).segment("info"), cards::playlist_info).await
    } else if *only_ids {
        common.show_each(ids, |id| playlist(id).segment("ids"), cards::playlist_ids).await
    } else {
        common.show_each(ids, playlist, cards::playlist).await
    }
}

pub(super) async fn query(args: &QueryArgs) -> Result<(), Failure> {
    let request = RestRequest::get("playlist").segment(&one(&args.playlist)?).segment("query");
    args.common.show(&request.post(json!(args.selection())), cards::selected).await
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
            .with_likes(Bounds { min: self.min_likes, max: self.max_likes });
        let field = self.sort.map(|field| match field {
            Field::Duration => SortField::Duration,
            Field::Views => SortField::Views,
            Field::Likes => SortField::Likes,
        });
        let order = if self.ascending { SortOrder::Asc } else { SortOrder::Desc };
        let sort = field.map(|field| Sort { field, order });
        Selection { filter, sort, range: PositionRange { start: self.from, end: self.to } }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        query: QueryArgs,
    }

    #[test]
    fn query_contains_only_the_given_flags() {
        let selection = |flags: &[&str]| {
            Line::try_parse_from([&["query", "PLa"], flags].concat()).unwrap().query.selection()
        };
        assert_eq!(selection(&[]), Selection::default());
        let flags = ["--min-duration=1:30", "--max-views=10", "--sort=likes", "--to=5"];
        let given = json!({
            "filter": {"duration": {"min": 90}, "views": {"max": 10}},
            "sort": {"field": "likes", "order": "desc"},
            "range": {"end": 5},
        });
        assert_eq!(selection(&flags), Selection::from_json(&given).unwrap());
    }
}
