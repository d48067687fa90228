//! `vidra search-videos`.

use vidra::{SafeSearch, SearchKind, SearchLength, SearchLive, SearchOrder};

use super::include::IncludeArgs;
use super::pages::PageArgs;
use super::{Common, Kind, Wanted};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;
use crate::values::{date, words_of};

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words to search for; | means or, and - before a word means not (after --)
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,

    /// Type of results
    #[arg(long = "type", value_name = "TYPE", value_parser = words_of(SearchKind::ALL), default_value = SearchKind::Video.word())]
    kind: String,

    /// Only results of this channel: its id, @handle or URL
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,

    /// Order of results
    #[arg(long, value_parser = words_of(SearchOrder::ALL), default_value = SearchOrder::Relevance.word())]
    order: String,

    /// Only results of this day or time or later: 2026-03-26 or 2026-03-26T18:30:00Z
    #[arg(long, value_name = "DATE", value_parser = date)]
    since: Option<String>,

    /// Only results of this day or time or earlier; days are in UTC
    #[arg(long, value_name = "DATE", value_parser = date)]
    until: Option<String>,

    /// Only videos of less than 4 minutes, of 4 to 20 minutes, or longer ones
    #[arg(long, value_name = "LENGTH", value_parser = words_of(SearchLength::ALL))]
    duration: Option<String>,

    /// Only broadcasts in this state
    #[arg(long, value_name = "STATE", value_parser = words_of(SearchLive::ALL))]
    live: Option<String>,

    /// Only videos that can be played in this region, by its two-letter code
    #[arg(long, value_name = "CODE")]
    region: Option<String>,

    /// Preferred language of results; YouTube may return others
    #[arg(long, value_name = "LANGUAGE")]
    lang: Option<String>,

    /// How strictly YouTube filters results
    #[arg(long, value_name = "FILTER", value_parser = words_of(SafeSearch::ALL), default_value = SafeSearch::Moderate.word())]
    safe: String,

    #[command(flatten)]
    include: IncludeArgs,

    #[command(flatten)]
    part: PageArgs,

    #[command(flatten)]
    common: Common,
}

pub(super) async fn search(args: &SearchArgs) -> Result<(), Failure> {
    let request = |query: &str| {
        RestRequest::get("search")
            .parameter("q", Some(query))
            .parameter("type", Some(&args.kind))
            .parameter("channel", args.channel.as_ref())
            .parameter("order", Some(&args.order))
            .parameter("since", args.since.as_ref())
            .parameter("until", args.until.as_ref())
            .parameter("duration", args.duration.as_ref())
            .parameter("live", args.live.as_ref())
            .parameter("region", args.region.as_ref())
            .parameter("lang", args.lang.as_ref())
            .parameter("safe", Some(&args.safe))
            .parameter("include", args.include.names())
    };
    let part = PageArgs { is_search: true, ..args.part.clone() };
    let (query, wanted) = (args.query.join(" "), Wanted::new(Kind::NoId, 0));
    args.common.open()?.pages(wanted, &[query], true, &part, request, cards::results).await
}
