//! `vidra comments` and `vidra replies`.

use clap::ValueEnum;
use vidra::{Comment, CommentThread};

use super::{Common, Ids, ItemsArgs};
use crate::failure::Failure;
use crate::output::cards;
use crate::service::Question;

#[derive(Debug, clap::Args)]
pub(crate) struct CommentsArgs {
    #[command(flatten)]
    ids: Ids,

    /// In which order
    #[arg(long, value_enum, default_value_t)]
    order: Order,

    /// The most threads of each video
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: u32,

    /// Only threads that match these words
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,

    /// All replies, rather than the few that come along: costs a unit for each thread that has more
    #[arg(long)]
    all_replies: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Order {
    /// As YouTube ranks them.
    #[default]
    Top,
    /// The newest first.
    New,
}

pub(super) async fn show(args: &CommentsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let order = match args.order {
        Order::Top => "relevance",
        Order::New => "time",
    };
    let question = |id: &str| {
        Question::about("comments")
            .of(id)
            .with("order", Some(order))
            .with("maxResults", Some(args.limit))
            .with("search", args.search.as_ref())
            .with("replies", args.all_replies.then_some("all"))
    };
    let shown = |threads: &Vec<CommentThread>, width| cards::threads(threads, width);
    desk.show_each(&args.ids, question, shown).await
}

pub(super) async fn replies(args: &ItemsArgs) -> Result<(), Failure> {
    let mut desk = args.common.open()?;
    let question = |id: &str| Question::about("comment-replies").of(id);
    let shown = |replies: &Vec<Comment>, width| cards::comments(replies, width);
    desk.show_each(&args.ids, question, shown).await
}
