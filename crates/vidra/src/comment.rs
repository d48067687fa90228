//! Comments, and which of them to list.

use serde::{Deserialize, Serialize};

use crate::format::Moment;

/// A comment on a video, with the replies to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
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
#[non_exhaustive]
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
