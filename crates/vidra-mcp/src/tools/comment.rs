//! `get_comments`, `get_top_comments`, `search_comments`.

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vidra::{Comment, CommentOrder, CommentQuery, CommentThread, VideoId};

use super::list::ListPage;
use super::video::{day, video_url};
use super::{Call, ToolInput, ToolResult};
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

/// The most threads that the library returns at once.
const MOST_AT_ONCE: usize = 2_000;

/// A comment or a reply to one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentFacts {
    id: String,
    url: String,
    author: String,
    text: String,
    /// Whether the text was shortened; a greater max_chars shows more of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    text_cut: bool,
    likes: u64,
    /// When it was written, ISO 8601.
    published_at: String,
    /// The number of all its replies; absent on a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_count: Option<u64>,
    /// The id of the comment that it replies to; absent on a top-level comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
}

impl CommentFacts {
    fn new(video: VideoId, comment: Comment, most: usize) -> Self {
        let (text, text_cut) = clip(&comment.text, most);
        Self {
            url: format!("https://www.youtube.com/watch?v={video}&lc={}", comment.id),
            id: comment.id,
            author: comment.author_name,
            text,
            text_cut,
            likes: comment.like_count,
            published_at: comment.published_at.to_string(),
            reply_count: None,
            parent_id: None,
        }
    }

    /// The comments of a thread: the top-level comment, then its replies.
    fn from_thread(
        video: VideoId,
        thread: CommentThread,
        most: usize,
    ) -> impl Iterator<Item = Self> {
        let CommentThread { id, top_level_comment, total_reply_count, replies, .. } = thread;
        let reply_count = Some(total_reply_count);
        let first = Self { reply_count, ..Self::new(video, top_level_comment, most) };
        let parent_id = Some(id).filter(|id| !id.is_empty());
        let replies = replies.into_iter().map(move |reply| Self {
            parent_id: parent_id.clone(),
            ..Self::new(video, reply, most)
        });
        std::iter::once(first).chain(replies)
    }

    fn line(&self) -> String {
        let Self { author, text, likes, published_at, .. } = self;
        let (author, text) = (one_line(author), one_line(text));
        let day = day(published_at);
        match self.reply_count {
            Some(replies) => format!("- {author}, {day}, {likes} likes, {replies} replies: {text}"),
            None => format!("  > {author}, {day}, {likes} likes: {text}"),
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
        ..=MOST_AT_ONCE => {
            let threads = call.vidra.comments(video, query).await?;
            stream::iter(threads.into_iter().map(Ok)).left_stream()
        }
        _ => call.vidra.comment_threads(video, query).right_stream(),
    };
    let most = text_limit(max_chars.count());
    let write = |thread| {
        CommentFacts::from_thread(video, thread, most).map(|comment| {
            let line = comment.line();
            (comment, line)
        })
    };
    let list = ListPage::read(call, threads, query.limit, (cursor, max_chars), write).await?;
    let (shown, count, url) = (list.page.items.len(), list.count, video_url(video));
    let head = format!("{shown} comments and replies from {count} threads on {url}.");
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
    /// The video: its 11-character id or any YouTube URL that holds it.
    video: VideoArg,
    /// time for the newest first, relevance as YouTube ranks them; time if not given.
    order: Option<Order>,
    /// The maximum number of threads.
    #[serde(default)]
    limit: Whole<1, 10_000, 50>,
    /// preview for the few replies that YouTube sends along, all for every reply, which costs more;
    /// preview if not given.
    replies: Option<Replies>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl ToolInput for GetComments {
    const NAME: &'static str = "get_comments";
    const TITLE: &'static str = "Get comments";
    const DESCRIPTION: &'static str = "Comments on a YouTube video with their replies, newest first or as \
        YouTube ranks them. Costs 1 quota unit for each 100 threads, and with all replies 1 more for \
        most threads that have many.";
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let order = match self.order {
            None | Some(Order::Time) => CommentOrder::Time,
            Some(Order::Relevance) => CommentOrder::Relevance,
        };
        let all_replies = matches!(self.replies, Some(Replies::All));
        let query = CommentQuery::default().with_order(order).with_limit(self.limit.count());
        let query = query.with_all_replies(all_replies);
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetTopComments {
    /// The video: its 11-character id or any YouTube URL that holds it.
    video: VideoArg,
    /// The number of threads.
    #[serde(default)]
    limit: Whole<1, 100, 10>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl ToolInput for GetTopComments {
    const NAME: &'static str = "get_top_comments";
    const TITLE: &'static str = "Get the top comments";
    const DESCRIPTION: &'static str = "The comments on a YouTube video that YouTube ranks highest, with some of \
        their replies: the reactions at a glance. Costs 1 quota unit.";
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let query = CommentQuery::top(self.limit.count());
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchComments {
    /// The video: its 11-character id or any YouTube URL that holds it.
    video: VideoArg,
    /// The words that comments must contain.
    query: SearchWords,
    /// The maximum number of threads.
    #[serde(default)]
    limit: Whole<1, 1_000, 20>,
    /// The maximum length of the answer, in characters.
    #[serde(default)]
    max_chars: MaxChars,
    /// The nextCursor of an earlier answer to the same call, for the next page.
    cursor: Option<Cursor>,
}

impl ToolInput for SearchComments {
    const NAME: &'static str = "search_comments";
    const TITLE: &'static str = "Search comments";
    const DESCRIPTION: &'static str = "Comments on a YouTube video that contain certain words, or have a reply that \
        does, as YouTube ranks them. Costs 1 quota unit for each 100 threads read, up to 20, and 1 for each further page of matches.";
    type Output = Comments;

    async fn run(self, call: &Call<'_>) -> ToolResult<Comments> {
        let SearchWords(words) = self.query;
        let query = CommentQuery::top(self.limit.count()).with_search(words);
        threads(call, self.video, &query, self.max_chars, self.cursor).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// YouTube sometimes omits the parent of a reply; the thread knows it.
    #[test]
    fn replies_name_their_parent_comment() {
        let moment = "2019-06-23T08:24:24.000Z";
        let comment = |id: &str| {
            json!({"id": id, "authorName": "", "authorProfileImage": "", "authorChannelUrl": "",
                "authorChannelId": "", "text": "", "likeCount": 0, "publishedAt": moment,
                "updatedAt": moment})
        };
        for (thread, parent) in [("Ugthread", json!("Ugthread")), ("", Value::Null)] {
            let thread = json!({"id": thread, "videoId": "", "channelId": "", "canReply": true,
                "topLevelComment": comment("Ugthread"), "totalReplyCount": 1, "isPublic": true,
                "replies": [comment("Ugthread.reply")]});
            let thread: CommentThread = serde_json::from_value(thread).unwrap();
            let video = VideoId::parse("dQw4w9WgXcQ").unwrap();
            let facts: Vec<Value> = CommentFacts::from_thread(video, thread, 10)
                .map(|comment| json!(comment))
                .collect();
            assert_eq!((&facts[0]["replyCount"], &facts[0]["parentId"]), (&json!(1), &Value::Null));
            assert_eq!((&facts[1]["replyCount"], &facts[1]["parentId"]), (&Value::Null, &parent));
        }
    }
}
