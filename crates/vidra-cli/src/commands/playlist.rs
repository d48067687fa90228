//! `vidra playlist` and `vidra query`.

use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

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
    sort: Option<SortField>,

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
enum SortField {
    Duration,
    Views,
    Likes,
}

impl SortField {
    fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::Views => "views",
            Self::Likes => "likes",
        }
    }
}

pub(super) async fn show(args: &PlaylistArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    let playlist = |id: &str| RestRequest::get("playlist").segment(id);
    match (args.info, args.only_ids) {
        (true, _) => {
            let request = |id: &str| playlist(id).segment("info");
            context.show_each(&args.ids, request, cards::playlist_info).await
        }
        (_, true) => {
            context
                .show_each(&args.ids, |id| playlist(id).segment("ids"), cards::playlist_ids)
                .await
        }
        _ => context.show_each(&args.ids, playlist, cards::playlist).await,
    }
}

pub(super) async fn query(args: &QueryArgs) -> Result<(), Failure> {
    let mut context = args.common.open()?;
    let request = RestRequest::get("playlist").segment(&one(&args.playlist)?).segment("query");
    context.show(&request.post(args.body()), cards::selected).await
}

impl QueryArgs {
    /// The body of the request, with only the flags that were set.
    fn body(&self) -> Value {
        let whole = |length: Duration| length.as_secs();
        let bounds = |min: Option<u64>, max: Option<u64>| {
            object_of([("min", min.map(Value::from)), ("max", max.map(Value::from))])
        };
        let filter = object_of([
            ("duration", bounds(self.min_duration.map(whole), self.max_duration.map(whole))),
            ("views", bounds(self.min_views, self.max_views)),
            ("likes", bounds(self.min_likes, self.max_likes)),
        ]);
        let order = if self.ascending { "asc" } else { "desc" };
        let sort = self.sort.map(|field| json!({"field": field.name(), "order": order}));
        let range =
            object_of([("start", self.from.map(Value::from)), ("end", self.to.map(Value::from))]);
        let body = object_of([("filter", filter), ("sort", sort), ("range", range)]);
        body.unwrap_or_else(|| json!({}))
    }
}

/// An object of the fields with a value, or `None` without any.
fn object_of<const N: usize>(fields: [(&str, Option<Value>); N]) -> Option<Value> {
    let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let fields: Map<String, Value> = fields.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
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
    fn a_query_says_what_was_given_and_nothing_else() {
        let body = |flags: &[&str]| {
            Line::try_parse_from([&["query", "PLa"], flags].concat()).unwrap().query.body()
        };
        assert_eq!(body(&[]), json!({}));
        assert_eq!(
            body(&["--min-duration=1:30", "--max-views=10", "--sort=likes", "--to=5"]),
            json!({
                "filter": {"duration": {"min": 90}, "views": {"max": 10}},
                "sort": {"field": "likes", "order": "desc"},
                "range": {"end": 5},
            })
        );
    }
}
