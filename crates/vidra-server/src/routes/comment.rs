//! `/api/comments/…` and `/api/comment-replies/…`.

use axum::http::HeaderMap;
use utoipa::ToSchema;
use vidra::{
    Comment, CommentId, CommentOrder, CommentQuery, CommentThread, Lookup, Resource, VideoId,
};

use super::list::{ListForm, PageQuery};
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::{Id, Query};
use crate::stream::ListLine;

/// The longest search text, in characters.
const MAX_SEARCH_CHARS: usize = 200;

/// Comment threads of a video.
///
/// `search` finds threads in which the comment or one of its replies contains all the words, in any case of letters.
/// The service reads up to 20 pages for it, in the order of `order`. Beyond them YouTube's own search finds comments,
/// but no replies. With `replies=preview` it reads the few replies that YouTube sends with a thread, with
/// `replies=all` all of them.
///
/// Cost: 1 unit per page of 100 threads. With `replies=all` 1 more for each page of replies that YouTube did not send
/// with a thread. A search reads pages until it has found `maxResults` threads, which costs up to 20 units and 1 for
/// each further page of matches.
#[utoipa::path(
    get, path = "/api/comments/{videoId}", tag = "Comments",
    params(
        ("videoId" = String, Path),
        ("order" = Option<String>, Query, description = "`time` (newest first, the default) or `relevance`", example = "time"),
        ("maxResults" = Option<u32>, Query, description = "The maximum number of threads; 100 if not given", minimum = 1, maximum = 2000, example = 100),
        ("search" = Option<String>, Query, description = "Only threads in which the comment or a reply contains these words; all threads if not given", max_length = 200, example = "the"),
        ("replies" = Option<String>, Query, description = "`preview` (the few that YouTube sends with a thread, the default) or `all`", example = "preview"),
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
    let comments = read(&mut query, |query| query.whole("maxResults", 1..=2000, 100));
    let form = ListForm::read::<CommentThread>(&mut query, &headers);
    query.check()?;
    responder.fetch_list::<CommentThread>(&form, Lookup::Comments(video, comments)).await
}

/// Reads the parameters that select comments. `limit` reads their number.
fn read(query: &mut Query, limit: impl Fn(&mut Query) -> usize) -> CommentQuery {
    let order = [("time", CommentOrder::Time), ("relevance", CommentOrder::Relevance)];
    let comments = CommentQuery::default()
        .with_order(query.choice("order", &order))
        .with_limit(limit(query))
        .with_search(query.text("search").map(str::to_owned))
        .with_all_replies(query.choice("replies", &[("preview", false), ("all", true)]));
    let words = comments.search.as_deref().unwrap_or_default();
    if words.chars().count() > MAX_SEARCH_CHARS || words.contains(char::is_control) {
        query.fault("search", format!("must be plain text of up to {MAX_SEARCH_CHARS} characters"));
    }
    comments
}

/// A page of comment threads.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `vidra::Page` is sent")]
pub(super) struct ThreadPage {
    /// The threads of this page. A search can find none, although there is a next page.
    items: Vec<CommentThread>,
    /// The cursor of the next page. Absent on the last one.
    #[schema(nullable = false, example = "b5ad2bb6.100.0.QURTSl9pM0")]
    next_cursor: Option<String>,
}

/// All comment threads of a video, page by page.
///
/// `search` finds threads in which the comment or one of its replies contains all the words, in any case of letters. It
/// reads the pages of YouTube one after the other. With `replies=preview` it reads the few replies that YouTube sends
/// with a thread, with `replies=all` all of them. A request ends after 20 pages without a match, or after the replies of
/// 100 threads; `nextCursor` continues the search. With `Accept: application/x-ndjson` the answer is a stream of all
/// pages from `cursor` on: a line for each thread (`type` is `result`), `waiting` if nothing came for 15 seconds, and a
/// `summary` or an `error` at the end.
///
/// Cost: 1 unit per 100 threads that are read. With `replies=all` 1 more for each page of replies that YouTube did not
/// send with a thread.
#[utoipa::path(
    get, path = "/api/comments/{videoId}/threads", tag = "Comments",
    params(
        ("videoId" = String, Path),
        ("order" = Option<String>, Query, description = "`time` (newest first, the default) or `relevance`", example = "time"),
        ("search" = Option<String>, Query, description = "Only threads in which the comment or a reply contains these words; all threads if not given", max_length = 200, example = "the"),
        ("replies" = Option<String>, Query, description = "`preview` (the few that YouTube sends with a thread, the default) or `all`", example = "preview"),
        ("limit" = Option<u32>, Query, description = "The maximum number of threads on a page; 50 if not given", minimum = 1, maximum = 500, example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of threads; in CSV every reply has a row of its own", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (ThreadPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_threads(
    responder: Responder,
    Id(video): Id<VideoId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let comments = read(&mut query, |_| limit);
    let form = ListForm::read_paged::<CommentThread>(&mut query, &headers);
    query.check()?;
    let cursor = cursor.as_deref();
    if form.is_stream() {
        let threads = responder.vidra.comment_threads_from(video, &comments, cursor);
        return responder.stream_list(form, threads).await;
    }
    let page = responder.vidra.comment_threads_page(video, &comments, cursor, limit).await?;
    responder.send_page(&form, Resource::Comments, page).await
}

/// The comment threads that YouTube ranks highest.
///
/// Each with the few replies that YouTube sends with it.
///
/// Cost: 1 unit per 100 threads.
#[utoipa::path(
    get, path = "/api/comments/{videoId}/top", tag = "Comments",
    params(
        ("videoId" = String, Path),
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
///
/// The id of a reply selects its thread.
///
/// Cost: 1 unit per 100 replies.
#[utoipa::path(
    get, path = "/api/comment-replies/{id}", tag = "Comments",
    params(
        ("id" = String, Path),
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
