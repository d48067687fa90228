//! `vidra comments` and `vidra replies`.

use bytes::Bytes;
use clap::ValueEnum;
use serde::Deserialize;
use vidra::VideoId;

use super::pages::PageArgs;
use super::video::MOST_AT_ONCE;
use super::{CommandContext, Common, Ids, ItemsArgs, Kind, Wanted};
use crate::failure::Failure;
use crate::output::{Output, cards, read};
use crate::service::RestRequest;
use crate::values::count_in;

#[derive(Debug, clap::Args)]
pub(crate) struct CommentsArgs {
    #[command(flatten)]
    ids: Ids,

    /// Order of the threads
    #[arg(long, value_enum, default_value_t)]
    order: Order,

    /// Maximum number of threads per video
    ///
    /// More than 2000 are fetched page by page
    #[arg(long, short, value_name = "COUNT", default_value_t = 20, value_parser = count_in::<u64>(1..=u64::MAX))]
    limit: u64,

    /// Fetch all threads, page by page
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Continue where an earlier command stopped, with the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    /// Only threads in which the comment or a reply contains these words
    ///
    /// It costs 1 unit for each 100 threads read, up to 20, and 1 for each further page of matches. Page by page it
    /// costs 1 unit for each 100 threads read
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

/// The most threads that the service sends without pages.
const MOST_THREADS: u64 = 2_000;

/// The threads or replies that a unit pays for.
const PER_UNIT: u64 = 100;

pub(super) async fn show(args: &CommentsArgs) -> Result<(), Failure> {
    let order = match args.order {
        Order::Relevance => "relevance",
        Order::Time => "time",
    };
    let all_replies = args.all_replies || args.replies == Replies::All;
    let selected = |request: RestRequest| {
        request
            .parameter("order", Some(order))
            .parameter("search", args.search.as_ref())
            .parameter("replies", all_replies.then_some("all"))
    };
    let (ids, is_one) = (args.ids.all()?, args.ids.is_one());
    let mut context = args.common.open()?;
    let limit = if args.all { u64::MAX } else { args.limit };
    let agreed = context.confirm_comments(&ids, limit, all_replies).await;
    context.begin(agreed).await?;
    let comments = |id: &str| RestRequest::get("comments").segment(id);
    if limit > MOST_THREADS || args.cursor.is_some() {
        let request = |id: &str| selected(comments(id).segment("threads"));
        let part = PageArgs {
            limit: Some(limit),
            all: args.all,
            cursor: args.cursor.clone(),
            is_search: false,
            summary: None,
        };
        let wanted = Wanted::new(Kind::Video, 0);
        return context.pages(wanted, &ids, is_one, &part, request, cards::threads).await;
    }
    let request = |id: &str| selected(comments(id).parameter("maxResults", Some(limit)));
    let write =
        |output: &mut Output, id: &str, body: Bytes| output.answer(id, &body, cards::threads);
    context.each(Wanted::new(Kind::Video, 0), &ids, is_one, request, write).await
}

impl CommandContext {
    /// Asks before the comments on these videos become expensive. Few videos have as many comments as the flags
    /// allow, so that the estimate needs their number.
    async fn confirm_comments(
        &self,
        ids: &[String],
        limit: u64,
        all_replies: bool,
    ) -> Result<(), Failure> {
        let spending = self.service.spending();
        let most = limit.div_ceil(PER_UNIT);
        let most = most.saturating_add(if all_replies { limit } else { 0 });
        let most = most.saturating_mul(ids.len() as u64);
        if !spending.would_ask(most) {
            return Ok(());
        }
        let ids: Vec<VideoId> = ids.iter().filter_map(|id| VideoId::parse(id).ok()).collect();
        let mut units = 0;
        for part in ids.chunks(MOST_AT_ONCE) {
            let part: Vec<&str> = part.iter().map(VideoId::as_str).collect();
            let request = RestRequest::get("videos").parameter("ids", Some(part.join(",")));
            // The command itself reports a failure.
            let Ok(body) = self.service.fetch(&request.allow_cached()).await else { continue };
            let videos = read::<Vec<Counted>>(&body)?.into_iter();
            units += videos.map(|it| most_units(it.comments, limit, all_replies)).sum::<u64>();
        }
        let videos = if ids.len() == 1 { "video" } else { "videos" };
        spending.confirm(units, &format!("the comments on {} {videos}", ids.len()))
    }
}

/// The number of comments on a video.
#[derive(Deserialize)]
struct Counted {
    comments: u64,
}

/// The most units for the comments on a video with so many comments and replies.
fn most_units(comments: u64, limit: u64, all_replies: bool) -> u64 {
    let threads = limit.min(comments);
    let pages = threads.div_ceil(PER_UNIT);
    if !all_replies {
        return pages;
    }
    // YouTube sends up to five replies with a thread. A thread with more has at least seven comments.
    let long_threads = threads.min(comments / 7);
    // Each of them has an incomplete page, and all together have these complete ones.
    pages + long_threads + comments / PER_UNIT
}

pub(super) async fn replies(args: &ItemsArgs) -> Result<(), Failure> {
    let request = |id: &str| RestRequest::get("comment-replies").segment(id);
    let wanted = Wanted::new(Kind::Comment, 1);
    args.common.show_each(wanted, &args.ids, request, cards::comments).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_the_number_of_comments() {
        let table = [
            (0, 2_000, true, 0),
            (7, 2_000, true, 2),
            (267, 2_000, false, 3),
            (267, 2_000, true, 3 + 38 + 2),
            (1_000_000, 20, false, 1),
            (1_000_000, 2_000, false, 20),
            (10_000, 2_000, true, 20 + 1_428 + 100),
        ];
        for (comments, limit, all_replies, units) in table {
            assert_eq!(most_units(comments, limit, all_replies), units, "{comments} {limit}");
        }
    }
}
