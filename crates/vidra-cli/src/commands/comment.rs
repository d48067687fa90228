//! `vidra comments` and `vidra replies`.

use clap::ValueEnum;

use super::{Common, Ids, ItemsArgs};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::RestRequest;

#[derive(Debug, clap::Args)]
pub(crate) struct CommentsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Order of the threads
    #[arg(long, value_enum, default_value_t)]
    order: Order,

    /// Maximum number of threads per video
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: u32,

    /// Only threads in which the comment or a reply contains these words; costs up to 20 units
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,

    /// Fetch all replies, not only those sent with the thread; costs a unit per thread with more replies
    #[arg(long)]
    all_replies: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Order {
    /// Ranked by YouTube.
    #[default]
    Top,
    /// Newest first.
    New,
}

pub(super) async fn show(args: &CommentsArgs) -> Result<(), Failure> {
    let order = match args.order {
        Order::Top => "relevance",
        Order::New => "time",
    };
    let request = |id: &str| {
        RestRequest::get("comments")
            .segment(id)
            .parameter("order", Some(order))
            .parameter("maxResults", Some(args.limit))
            .parameter("search", args.search.as_ref())
            .parameter("replies", args.all_replies.then_some("all"))
    };
    args.common.show_each(&args.ids, request, cards::threads).await
}

pub(super) async fn replies(args: &ItemsArgs) -> Result<(), Failure> {
    let request = |id: &str| RestRequest::get("comment-replies").segment(id);
    args.common.show_each(&args.ids, request, cards::comments).await
}
