//! Comments and queries for them.

use serde::{Deserialize, Serialize};

use crate::format::Moment;
use crate::ident::{ChannelId, VideoId, or_empty};

/// A comment on a video, with its replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CommentThread {
    /// The thread's id, which is also the id of its top-level comment. It is as YouTube sends it, because the form
    /// of comment ids has changed several times.
    #[cfg_attr(feature = "openapi", schema(example = "UgydxWWoeA7F1OdqypJ4AaABAg"))]
    pub id: String,
    /// The id of the video. Empty in JSON for a comment on a channel.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "dQw4w9WgXcQ"))]
    pub video_id: Option<VideoId>,
    /// The id of the video's channel. Empty in JSON if YouTube does not name it.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub channel_id: Option<ChannelId>,
    /// The top-level comment.
    pub top_level_comment: Comment,
    /// The total number of replies, including those not listed here.
    pub total_reply_count: u64,
    /// Whether viewers can reply.
    pub can_reply: bool,
    /// Whether the thread is public.
    pub is_public: bool,
    /// The replies. Absent if there are none to list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub replies: Vec<Comment>,
}

/// A comment or a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Comment {
    /// The comment's id, as YouTube sends it. The id of a reply is `parent.child`.
    #[cfg_attr(feature = "openapi", schema(example = "UgydxWWoeA7F1OdqypJ4AaABAg"))]
    pub id: String,
    /// The author's display name.
    pub author_name: String,
    /// The URL of the author's picture.
    pub author_profile_image: String,
    /// The URL of the author's channel.
    pub author_channel_url: String,
    /// The id of the author's channel. Empty in JSON if the account no longer exists.
    #[serde(with = "or_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub author_channel_id: Option<ChannelId>,
    /// Plain text without HTML and entities.
    pub text: String,
    /// The number of likes.
    pub like_count: u64,
    /// The publication time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2019-06-23T08:24:24.000Z"))]
    pub published_at: Moment,
    /// The time of the last edit. Equal to `publishedAt` if there was none.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "2019-06-23T08:24:24.000Z"))]
    pub updated_at: Moment,
    /// The id of the comment that this reply answers, as YouTube sends it. Absent on a top-level comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub parent_id: Option<String>,
}

/// The order, number and content of the comments to list.
///
/// ```
/// use vidra::CommentQuery;
/// let query = CommentQuery::top(20).with_all_replies(true);
/// assert_eq!((query.limit, query.all_replies), (20, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommentQuery {
    /// The order of threads.
    pub order: CommentOrder,
    /// The maximum number of threads. Each page of 100 costs 1 unit.
    pub limit: usize,
    /// Lists only threads in which the comment or a reply contains all these words, in any case of letters. The search
    /// reads pages until it has found `limit` threads, at most 20 pages for 20 units. Beyond them YouTube's own search
    /// finds comments, but no replies. It reads the replies that YouTube includes, or all with `all_replies`.
    pub search: Option<String>,
    /// Lists all replies of each thread, instead of the few that YouTube includes for free. Each
    /// further page of replies costs 1 unit.
    pub all_replies: bool,
}

/// The order of comment threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommentOrder {
    /// Newest first.
    Time,
    /// In YouTube's ranking.
    Relevance,
}

impl CommentQuery {
    /// The `limit` threads with the highest rank.
    pub fn top(limit: usize) -> Self {
        Self { order: CommentOrder::Relevance, limit, search: None, all_replies: false }
    }

    /// Sets the order of threads.
    pub fn with_order(self, order: CommentOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets the maximum number of threads.
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Sets the words that threads must match.
    pub fn with_search(self, words: impl Into<Option<String>>) -> Self {
        Self { search: words.into(), ..self }
    }

    /// Sets whether all replies of each thread are listed.
    pub fn with_all_replies(self, all_replies: bool) -> Self {
        Self { all_replies, ..self }
    }
}

impl Default for CommentQuery {
    fn default() -> Self {
        Self { order: CommentOrder::Time, limit: 100, search: None, all_replies: false }
    }
}
