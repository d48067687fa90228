//! `/api/comments/…` and `/api/comment-replies/…`.

use axum::http::HeaderMap;
use vidra::{Comment, CommentId, CommentOrder, CommentQuery, CommentThread, Lookup, VideoId};

use super::list::ListForm;
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::{Id, Query};

/// The longest search text, in characters.
const MAX_SEARCH_CHARS: usize = 200;

/// Comment threads of a video.
#[utoipa::path(
    get, path = "/api/comments/{videoId}", tag = "Comments",
    params(
        ("videoId" = String, Path, description = "Video id or URL", example = "fda4eREcaTQ"),
        ("order" = Option<String>, Query, description = "`time` (newest first, the default) or `relevance`", example = "time"),
        ("maxResults" = Option<u32>, Query, description = "The maximum number of threads; 100 if not given", minimum = 1, maximum = 2000, example = 100),
        ("search" = Option<String>, Query, description = "Only threads that match these words", max_length = 200, example = "the"),
        ("replies" = Option<String>, Query, description = "`preview` (the few that the platform returns with a thread, the default) or `all`", example = "preview"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The threads; in CSV every reply has a row of its own", content(
            (Vec<CommentThread> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_comments(
    responder: Responder,
    Id(video): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let order = [("time", CommentOrder::Time), ("relevance", CommentOrder::Relevance)];
    let comments = CommentQuery::default()
        .with_order(query.choice("order", &order))
        .with_limit(query.whole("maxResults", 1..=2000, 100))
        .with_search(query.text("search").map(str::to_owned))
        .with_all_replies(query.choice("replies", &[("preview", false), ("all", true)]));
    let words = comments.search.as_deref().unwrap_or_default();
    if words.chars().count() > MAX_SEARCH_CHARS || words.contains(char::is_control) {
        query.fault("search", format!("must be plain text of up to {MAX_SEARCH_CHARS} characters"));
    }
    let form = ListForm::read::<CommentThread>(&mut query, &headers);
    query.check()?;
    responder.fetch_list::<CommentThread>(&form, Lookup::Comments(video, comments)).await
}

/// The comment threads that the platform ranks highest.
#[utoipa::path(
    get, path = "/api/comments/{videoId}/top", tag = "Comments",
    params(
        ("videoId" = String, Path, description = "Video id or encoded URL", example = "fda4eREcaTQ"),
        ("limit" = Option<u32>, Query, description = "The maximum number of threads; 10 if not given", minimum = 1, maximum = 1000, example = 10),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The threads; in CSV every reply has a row of its own", content(
            (Vec<CommentThread> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_top_comments(
    responder: Responder,
    Id(video): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let limit = query.whole("limit", 1..=1000, 10);
    let form = ListForm::read::<CommentThread>(&mut query, &headers);
    query.check()?;
    let top = Lookup::Comments(video, CommentQuery::top(limit));
    responder.fetch_list::<CommentThread>(&form, top).await
}

/// All replies to a comment.
#[utoipa::path(
    get, path = "/api/comment-replies/{id}", tag = "Comments",
    params(
        ("id" = String, Path, description = "Comment id, or a video URL with lc=", example = "UgquirkManyReplies04AaABAg"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The replies", content(
            (Vec<Comment> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_comment_replies(
    responder: Responder,
    Id(id): Id<CommentId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<Comment>(&mut query, &headers);
    query.check()?;
    responder.fetch_list::<Comment>(&form, Lookup::Replies(id)).await
}
