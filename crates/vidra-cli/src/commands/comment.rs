//! `vidra comments` and `vidra replies`.

use clap::ValueEnum;

use super::{Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;
use crate::values::count_in;

#[derive(Debug, clap::Args)]
pub(crate) struct CommentsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Order of the threads
    #[arg(long, value_enum, default_value_t)]
    order: Order,

    /// Maximum number of threads per video, at most 2000
    #[arg(long, short, value_name = "COUNT", default_value_t = 20, value_parser = count_in::<u32>(1..=2_000))]
    limit: u32,

    /// Only threads in which the comment or a reply contains these words; costs 1 unit for each 100 threads read, up to 20, and 1 for each further page of matches
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,

    /// Which replies to fetch
    ///
    /// `all` costs 1 unit for each page of replies that YouTube did not send with the thread
    #[arg(long, value_enum, default_value_t)]
    replies: Replies,

    /// The same as --replies all
    #[arg(long, hide = true)]
    all_replies: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Order {
    /// Ranked by YouTube.
    #[default]
    #[value(alias = "top")]
    Relevance,
    /// Newest first.
    #[value(alias = "new")]
    Time,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Replies {
    /// Up to five.
    #[default]
    Preview,
    /// All.
    All,
}

/// The threads that a unit pays for.
const THREADS_PER_UNIT: u64 = 100;

pub(super) async fn show(args: &CommentsArgs) -> Result<(), Failure> {
    let order = match args.order {
        Order::Relevance => "relevance",
        Order::Time => "time",
    };
    let all_replies = args.all_replies || args.replies == Replies::All;
    let request = |id: &str| {
        RestRequest::get("comments")
            .segment(id)
            .parameter("order", Some(order))
            .parameter("maxResults", Some(args.limit))
            .parameter("search", args.search.as_ref())
            .parameter("replies", all_replies.then_some("all"))
    };
    let limit = u64::from(args.limit);
    let units = limit.div_ceil(THREADS_PER_UNIT) + if all_replies { limit } else { 0 };
    let wanted = Wanted::new(Kind::Video, units);
    args.common.show_each(wanted, &args.ids, request, cards::threads).await
}

pub(super) async fn replies(args: &ItemsArgs) -> Result<(), Failure> {
    let request = |id: &str| RestRequest::get("comment-replies").segment(id);
    let wanted = Wanted::new(Kind::Comment, 1);
    args.common.show_each(wanted, &args.ids, request, cards::comments).await
}
