//! Comments: threads, replies, and their text as people wrote it.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result};
use crate::format::Moment;
use crate::html;
use crate::ident::{CommentId, VideoId};
use crate::upstream::call::{Call, Endpoint};
use crate::upstream::{Scope, wire};

/// A comment on a video, with the replies to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommentThread {
    /// The thread's id, which is also that of its first comment.
    #[cfg_attr(feature = "openapi", schema(example = "UgydxWWoeA7F1OdqypJ4AaABAg"))]
    pub id: String,
    /// The video it is about.
    #[cfg_attr(feature = "openapi", schema(example = "dQw4w9WgXcQ"))]
    pub video_id: String,
    /// The channel that the video belongs to.
    pub channel_id: String,
    /// The comment that began it.
    pub top_level_comment: Comment,
    /// How many replies there are, whether or not they are listed here.
    pub total_reply_count: u64,
    /// Whether replying is possible.
    pub can_reply: bool,
    /// Whether everybody can see it.
    pub is_public: bool,
    /// Replies; absent when there are none to show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub replies: Vec<Comment>,
}

/// A comment or a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// The comment's id; a reply's is `parent.child`.
    #[cfg_attr(feature = "openapi", schema(example = "UgydxWWoeA7F1OdqypJ4AaABAg"))]
    pub id: String,
    /// The author's name as shown.
    pub author_name: String,
    /// The URL of the author's picture.
    pub author_profile_image: String,
    /// The URL of the author's channel.
    pub author_channel_url: String,
    /// The id of the author's channel; empty where the account is gone.
    pub author_channel_id: String,
    /// Plain text: no HTML, no entities.
    pub text: String,
    /// How many liked it.
    pub like_count: u64,
    /// When it was written.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2019-06-23T08:24:24.000Z"))]
    pub published_at: Moment,
    /// When it was last edited; equal to `publishedAt` where it never was.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2019-06-23T08:24:24.000Z"))]
    pub updated_at: Moment,
    /// The comment that it answers to; absent on a top-level comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub parent_id: Option<String>,
}

/// Which comments of a video to list, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentQuery {
    /// The order of threads.
    pub order: CommentOrder,
    /// The most threads to list.
    pub limit: usize,
    /// Only threads that match these words.
    pub search: Option<String>,
    /// All replies of each thread, rather than the few that the platform sends along for free.
    pub all_replies: bool,
}

/// The order of comment threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentOrder {
    /// Newest first.
    Time,
    /// As the platform ranks them.
    Relevance,
}

impl CommentQuery {
    /// The `limit` threads that the platform ranks highest.
    pub fn top(limit: usize) -> Self {
        Self { order: CommentOrder::Relevance, limit, search: None, all_replies: false }
    }
}

impl Default for CommentQuery {
    fn default() -> Self {
        Self { order: CommentOrder::Time, limit: 100, search: None, all_replies: false }
    }
}

impl CommentThread {
    pub(crate) fn from_wire(thread: wire::CommentThread) -> Self {
        let snippet = thread.snippet.unwrap_or_default();
        let replies = thread.replies.unwrap_or_default().comments.unwrap_or_default();
        let first = snippet.top_level_comment.unwrap_or_default();
        Self {
            id: thread.id.unwrap_or_default(),
            video_id: snippet.video_id.unwrap_or_default(),
            channel_id: snippet.channel_id.unwrap_or_default(),
            top_level_comment: Comment::from_wire(first),
            total_reply_count: snippet.total_reply_count.unwrap_or(0),
            can_reply: snippet.can_reply.unwrap_or(false),
            is_public: snippet.is_public.unwrap_or(false),
            replies: replies.into_iter().map(Comment::from_wire).collect(),
        }
    }
}

impl Comment {
    pub(crate) fn from_wire(comment: wire::Comment) -> Self {
        let snippet = comment.snippet.unwrap_or_default();
        let text = match snippet.text_original.filter(|text| !text.is_empty()) {
            Some(original) => original,
            None => html::to_text(&snippet.text_display.unwrap_or_default()),
        };
        let author = snippet.author_channel_id.unwrap_or_default();
        Self {
            id: comment.id.unwrap_or_default(),
            author_name: snippet.author_display_name.unwrap_or_default(),
            author_profile_image: snippet.author_profile_image_url.unwrap_or_default(),
            author_channel_url: snippet.author_channel_url.unwrap_or_default(),
            author_channel_id: author.value.unwrap_or_default(),
            text,
            like_count: snippet.like_count.unwrap_or(0),
            published_at: Moment::parse(snippet.published_at.as_deref()),
            updated_at: Moment::parse(snippet.updated_at.as_deref()),
            parent_id: snippet.parent_id.filter(|id| !id.is_empty()),
        }
    }
}

/// The most comments on one page.
const PAGE: usize = 100;

/// How many threads get their replies at the same time.
const THREADS_AT_ONCE: usize = 5;

/// The threads of a video.
pub(crate) async fn threads(
    scope: &Scope,
    video: VideoId,
    query: &CommentQuery,
) -> Result<Vec<CommentThread>> {
    let order = match query.order {
        CommentOrder::Time => "time",
        CommentOrder::Relevance => "relevance",
    };
    let call = Call::new(Endpoint::CommentThreads, "Video", &video)
        .with("part", "snippet,replies")
        .with("videoId", video.as_str())
        .with("order", order)
        .with("textFormat", "plainText")
        .with("maxResults", query.limit.min(PAGE).to_string())
        .with_some("searchTerms", query.search.as_deref());
    let found: Vec<wire::CommentThread> = up_to(query.limit, scope, call).await?;
    let threads: Vec<CommentThread> = found.into_iter().map(CommentThread::from_wire).collect();
    if !query.all_replies {
        return Ok(threads);
    }
    stream::iter(threads)
        .map(|thread| with_all_replies(scope, thread))
        .buffered(THREADS_AT_ONCE)
        .try_collect()
        .await
}

/// Asks only where the platform did not send all replies along.
async fn with_all_replies(scope: &Scope, mut thread: CommentThread) -> Result<CommentThread> {
    let complete = thread.replies.len() as u64 >= thread.total_reply_count;
    if let (false, Some(id)) = (complete, CommentId::bare(&thread.id)) {
        match replies(scope, &id).await {
            Ok(all) => thread.replies = all,
            // Deleted since the page was made: what came along is all there is.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(thread)
}

/// All replies to a comment. Asked with a reply's own id, those of its thread.
pub(crate) async fn replies(scope: &Scope, id: &CommentId) -> Result<Vec<Comment>> {
    let call = Call::new(Endpoint::Comments, "Comment", id)
        .with("part", "snippet")
        .with("parentId", id.thread())
        .with("textFormat", "plainText")
        .with("maxResults", PAGE.to_string());
    let found: Vec<wire::Comment> = up_to(usize::MAX, scope, call).await?;
    Ok(found.into_iter().map(Comment::from_wire).collect())
}

/// Follows pages until there are enough items, and asks for none beyond.
async fn up_to<T: DeserializeOwned>(limit: usize, scope: &Scope, call: Call) -> Result<Vec<T>> {
    let mut pages = std::pin::pin!(scope.pages(call));
    let mut found: Vec<T> = vec![];
    while found.len() < limit {
        let Some(page) = pages.try_next().await? else { break };
        found.extend(page);
    }
    found.truncate(limit);
    Ok(found)
}
