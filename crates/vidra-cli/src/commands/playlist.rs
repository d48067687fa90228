//! `vidra playlist` and `vidra query`.

use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::{Common, Ids, one};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::Question;
use crate::values::length;

#[derive(Debug, clap::Args)]
pub(crate) struct PlaylistArgs {
    #[command(flatten)]
    ids: Ids,

    /// Only title and description: costs one unit
    #[arg(long, conflicts_with = "only_ids")]
    info: bool,

    /// Only the ids of the entries, one a line
    #[arg(long = "ids")]
    only_ids: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// The id or URL of a playlist; - reads it from standard input
    #[arg(value_name = "PLAYLIST")]
    playlist: String,

    /// The least length: 90, 1:30 or 90s
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    min_duration: Option<Duration>,

    /// The greatest length
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    max_duration: Option<Duration>,

    /// The least number of views
    #[arg(long, value_name = "COUNT")]
    min_views: Option<u64>,

    /// The greatest number of views
    #[arg(long, value_name = "COUNT")]
    max_views: Option<u64>,

    /// The least number of likes
    #[arg(long, value_name = "COUNT")]
    min_likes: Option<u64>,

    /// The greatest number of likes
    #[arg(long, value_name = "COUNT")]
    max_likes: Option<u64>,

    /// What to sort by [default: as in the playlist]
    #[arg(long, value_enum)]
    sort: Option<SortField>,

    /// Sort upwards rather than downwards
    #[arg(long, requires = "sort")]
    ascending: bool,

    /// Of what is left, the first place to show, counted from 1
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
    from: Option<u64>,

    /// Of what is left, the last place to show
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u64).range(1..))]
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
    let mut desk = args.common.open()?;
    let playlist = |id: &str| Question::about("playlist").of(id);
    match (args.info, args.only_ids) {
        (true, _) => {
            let question = |id: &str| playlist(id).of("info");
            desk.show_each(&args.ids, question, cards::playlist_info).await
        }
        (_, true) => {
            desk.show_each(&args.ids, |id| playlist(id).of("ids"), cards::playlist_ids).await
        }
        _ => desk.show_each(&args.ids, playlist, cards::playlist).await,
    }
}

pub(super) async fn query(args: &QueryArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let question = Question::about("playlist").of(&one(&args.playlist)?).of("query");
    desk.show(&question.posting(args.body()), cards::selected).await
}

impl QueryArgs {
    /// The body of the request, with what was given alone.
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

/// An object of the fields that there are, or nothing where there are none.
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
