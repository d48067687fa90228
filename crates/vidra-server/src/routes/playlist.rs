//! `/api/playlist/…`.

use axum::Extension;
use axum::http::HeaderMap;
use utoipa::ToSchema;
use vidra::{
    FeedAnswer, FeedItem, ListedVideo, Lookup, Playlist, PlaylistId, PlaylistIds, PlaylistInfo,
    PlaylistVideo, Resource, Selected, Selection, Vidra,
};

use super::list::{ListForm, PageQuery, read_include};
use super::responder::Responder;
use crate::error_body::{BodyErrors, FetchErrors, Result};
use crate::extract::{Id, JsonBody, Query};
use crate::hot::Answer;
use crate::stream::ListLine;

/// A playlist with all its videos.
///
/// With the totals of their counts and lengths. Private and deleted entries are counted in `unavailableCount`.
///
/// Cost: 1 unit, and 2 per 50 videos.
#[utoipa::path(
    get, path = "/api/playlist/{id}", tag = "Playlists",
    params(
        ("id" = String, Path),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters")
    ),
    responses((status = 200, description = "The playlist", body = Playlist), FetchErrors)
)]
pub(super) async fn get_playlist(
    responder: Responder,
    Id(id): Id<PlaylistId>,
    mut query: Query,
) -> Result {
    let include = read_include(&mut query);
    query.check()?;
    responder.including(include).fetch(Lookup::Playlist(id)).await
}

/// A playlist without its videos.
///
/// `itemCount` is the number of entries, from which the cost of the whole playlist can be estimated.
///
/// Cost: 1 unit.
#[utoipa::path(
    get, path = "/api/playlist/{id}/info", tag = "Playlists",
    params(("id" = String, Path)),
    responses((status = 200, description = "Title, description, pictures, owner and number of entries", body = PlaylistInfo), FetchErrors)
)]
pub(super) async fn get_playlist_info(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    responder.fetch(Lookup::PlaylistInfo(id)).await
}

/// The ids of all entries of a playlist.
///
/// Private and deleted entries are included.
///
/// Cost: 1 unit per 50 entries.
#[utoipa::path(
    get, path = "/api/playlist/{id}/ids", tag = "Playlists",
    params(("id" = String, Path)),
    responses((status = 200, description = "The ids", body = PlaylistIds), FetchErrors)
)]
pub(super) async fn get_playlist_ids(responder: Responder, Id(id): Id<PlaylistId>) -> Result {
    let entries = responder.vidra.lookup(&Lookup::PlaylistEntries(id.clone())).await?;
    let ids = PlaylistIds::from_entries(id, &entries)?;
    let answer = Answer::new(Resource::Playlist, entries).with_json(&ids)?;
    Ok(responder.send(&answer).await)
}

/// A page of videos of a playlist.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `vidra::Page` is sent")]
pub(super) struct ListedVideoPage {
    /// The videos of this page.
    items: Vec<ListedVideo>,
    /// The cursor of the next page. Absent on the last one.
    #[schema(nullable = false, example = "b5ad2bb6.50.0.EAAaBlBUOkNESQ")]
    next_cursor: Option<String>,
}

/// The available videos of a playlist, page by page.
///
/// With `Accept: application/x-ndjson` the answer is a stream of all pages from `cursor` on: a line for each video
/// (`type` is `result`), `waiting` if nothing came for 15 seconds, and a `summary` or an `error` at the end.
///
/// Cost: 2 units per 50 videos of the page. Pages that are not requested cost nothing.
#[utoipa::path(
    get, path = "/api/playlist/{id}/videos", tag = "Playlists",
    params(
        ("id" = String, Path),
        ("limit" = Option<u32>, Query, description = "The maximum number of videos on a page; 50 if not given", minimum = 1, maximum = 500, example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of videos", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (ListedVideoPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_playlist_videos(
    responder: Responder,
    Id(id): Id<PlaylistId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let form = ListForm::read_paged::<ListedVideo>(&mut query, &headers);
    query.check()?;
    let responder = responder.including(form.include());
    let cursor = cursor.as_deref();
    if form.is_stream() {
        let videos = responder.vidra.playlist_videos_from(&id, cursor);
        return responder.stream_list(form, videos).await;
    }
    let page = responder.vidra.playlist_videos_page(&id, cursor, limit).await?;
    responder.send_page(&form, Resource::Playlist, page).await
}

/// The first videos of a playlist, from its public feed.
///
/// About 15 videos in the order of the playlist, with fewer data than other videos have. They come from YouTube's public
/// feed, which needs no key for the YouTube Data API. YouTube sometimes does not serve a feed, or an empty one; then they
/// come from the Data API, and `source` is `data_api`. `fields` applies to the elements of `items`, and CSV has only
/// them.
///
/// Cost: none. If YouTube does not serve the feed, 2 units.
#[utoipa::path(
    get, path = "/api/playlist/{id}/feed", tag = "Playlists",
    params(
        ("id" = String, Path),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The first videos", content(
        (FeedAnswer = "application/json"),
        (String = "text/csv")
    )), FetchErrors)
)]
pub(super) async fn get_playlist_feed(
    responder: Responder,
    Id(id): Id<PlaylistId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<FeedItem>(&mut query, &headers);
    query.check()?;
    responder.fetch_items::<FeedItem>(&form, Lookup::PlaylistFeed(id)).await
}

/// A playlist, filtered, then sorted, then sliced.
///
/// Without a body it is complete. A range with an end, without filter and sort, costs only the pages that it needs.
/// `originalCount` is then YouTube's own count of entries, and `unavailableCount` is left out. `fields`
/// applies to the elements of `videos`; the other members stay. CSV has only the videos, without totals.
///
/// Cost: as the playlist, 1 unit and 2 per 50 videos; with such a range only the part up to its end.
#[utoipa::path(
    post, path = "/api/playlist/{id}/query", tag = "Playlists",
    params(
        ("id" = String, Path),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    request_body(
        content = Option<Selection>,
        example = json!({"filter": {"duration": {"min": 60}}, "sort": {"field": "views", "order": "desc"}, "range": {"start": 1, "end": 10}})
    ),
    responses((status = 200, description = "The selected part of the playlist", content(
        (Selected = "application/json"),
        (String = "text/csv")
    )), FetchErrors, BodyErrors)
)]
pub(super) async fn query_playlist(
    Extension(vidra): Extension<Vidra>,
    Id(id): Id<PlaylistId>,
    mut query: Query,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result {
    let form = ListForm::read::<PlaylistVideo>(&mut query, &headers);
    query.check()?;
    let selection = body.as_ref().map(Selection::from_json).transpose()?.unwrap_or_default();
    form.query_playlist(&vidra.including(form.include()), &id, &selection).await
}
