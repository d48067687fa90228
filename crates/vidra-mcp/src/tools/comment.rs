//! `get_comments`, `get_top_comments`, `search_comments`.

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{Comment, CommentOrder, CommentQuery, CommentThread};

use super::list::ListPage;
use super::video::day;
use super::{Call, Offer, ToolInput, ToolResult};
use crate::page::{clip, one_line, text_limit};
use crate::params::{Cursor, MaxChars, SearchWords, VideoArg, Whole};
use crate::reply::ToolOutput;

/// Comments of a video; a reply follows the comment that it answers to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comments {
    video_id: String,
    comments: Vec<CommentFacts>,
    /// Why there are fewer threads than requested, and what to do. Absent if nothing failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken_off: Option<String>,
}

/// The most threads that are fetched at once. A longer list is read page by page, so that it can end early.
const MOST_AT_ONCE: usize = 200;

/// A comment or a reply to one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentFacts {
    author: String,
    text: String,
    likes: u64,
    /// When it was written, ISO 8601.
    published_at: String,
    /// The number of all its replies. Absent on a reply, which follows the comment that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_count: Option<u64>,
}

impl CommentFacts {
    fn new(comment: Comment, reply_count: Option<u64>, most: usize) -> Self {
        Self {
            author: comment.author_name,
            text: clip(&comment.text, most).0,
            likes: comment.like_count,
            published_at: comment.published_at.to_string(),
            reply_count,
        }
    }

    /// The comments of a thread: the top-level comment, then its replies.
    fn from_thread(thread: CommentThread, most: usize) -> impl Iterator<Item = Self> {
        let CommentThread { top_level_comment, total_reply_count, replies, .. } = thread;
        let first = Self::new(top_level_comment, Some(total_reply_count), most);
        let replies = replies.into_iter().map(move |reply| Self::new(reply, None, most));
        std::iter::once(first).chain(replies)
    }

    fn line(&self) -> String {
        let Self { author, text, likes, published_at, .. } = self;
        let (author, text, day) = (one_line(author), one_line(text), day(published_at));
        let likes = if *likes > 0 { format!(" +{likes}") } else { String::new() };
        match self.reply_count {
            Some(0) => format!("{author} {day}{likes}: {text}"),
            Some(replies) => format!("{author} {day}{likes} ({replies} replies): {text}"),
            None => format!("> {author} {day}{likes}: {text}"),
        }
    }
}

/// Fetches threads, and writes as many of their comments as fit.
async fn threads(
    call: &Call<'_>,
    VideoArg(video): VideoArg,
    query: &CommentQuery,
    max_chars: MaxChars,
    cursor: Option<Cursor>,
) -> ToolResult<Comments> {
    let threads = match query.limit {
        ..=MOST_AT_ONCE if !query.all_replies => {
            let threads = call.vidra.comments(video, query).await?;
            stream::iter(threads.into_iter().map(Ok)).left_stream()
        }
        _ => call.vidra.comment_threads(video, query).right_stream(),
    };
    let most = text_limit(max_chars.count());
    let write = |thread| {
        CommentFacts::from_thread(thread, most).map(|comment| {
            let line = comment.line();
            (comment, line)
        })
    };
    let list = ListPage::read(call, threads, query.limit, (cursor, max_chars), write).await?;
    let (shown, count) = (list.page.items.len(), list.count);
    let head = format!(
        "{shown} comments and replies of {count} threads on {video}. Likes are +N. Replies begin with >."
    );
    let (head, body, video_id) = (list.with_reason(head), list.page.body(), video.to_string());
    let found = Comments { video_id, comments: list.page.items, broken_off: list.broken_off };
    Ok(ToolOutput { head, body, next: list.page.next, found })
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Order {
    Time,
    Relevance,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Replies {
    Preview,
    All,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetComments {
    /// Id or URL
    video: VideoArg,
    /// time (newest first) or relevance; time if not given
    order: Option<Order>,
    /// Only threads with these words
    search: Option<SearchWords>,
    /// Most threads; 50 if not given
    #[serde(default)]
    limit: Whole<1, 10_000, 50>,
    /// preview (a few), or all, which costs more
    replies: Option<Replies>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

impl ToolInput for GetComments {
    const NAME: &'static str = "get_comments";
    const TITLE: &'static str = "Get comments";
    const DESCRIPTION: &'static str = "Comments on a YouTube video, with replies.";
    const OFFER: Offer = Offer::Always;
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let order = match self.order {
            None | Some(Order::Time) => CommentOrder::Time,
            Some(Order::Relevance) => CommentOrder::Relevance,
        };
        let all_replies = matches!(self.replies, Some(Replies::All));
        let query = CommentQuery::default().with_order(order).with_limit(self.limit.count());
        let query = match self.search {
            Some(SearchWords(words)) => query.with_search(words),
            None => query,
        };
        let query = query.with_all_replies(all_replies);
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetTopComments {
    /// Id or URL
    video: VideoArg,
    /// Most threads
    #[serde(default)]
    limit: Whole<1, 100, 10>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

impl ToolInput for GetTopComments {
    const NAME: &'static str = "get_top_comments";
    const TITLE: &'static str = "Get the top comments";
    const DESCRIPTION: &'static str = "The comments on a YouTube video that YouTube ranks highest, with some of \
        their replies: the reactions at a glance.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let query = CommentQuery::top(self.limit.count());
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchComments {
    /// Id or URL
    video: VideoArg,
    /// Words that comments must contain
    query: SearchWords,
    /// Most threads
    #[serde(default)]
    limit: Whole<1, 1_000, 20>,
    /// Length limit of the answer
    #[serde(default)]
    max_chars: MaxChars,
    /// nextCursor of the last answer
    cursor: Option<Cursor>,
}

impl ToolInput for SearchComments {
    const NAME: &'static str = "search_comments";
    const TITLE: &'static str = "Search comments";
    const DESCRIPTION: &'static str = "Comments on a YouTube video that contain certain words, or have a reply that \
        does, as YouTube ranks them.";
    const OFFER: Offer = Offer::OnRequest;
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let SearchWords(words) = self.query;
        let query = CommentQuery::top(self.limit.count()).with_search(words);
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}
