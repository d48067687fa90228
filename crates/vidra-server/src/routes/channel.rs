//! `/api/channel/…`.

use axum::http::HeaderMap;
use utoipa::ToSchema;
use vidra::{
    Channel, ChannelRef, ChannelVideo, DateRange, FeedAnswer, FeedItem, Lookup, PlaylistInfo,
    Resource, Video,
};

use super::list::{ListForm, PageQuery};
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::{Id, Query};
use crate::hot::Answer;
use crate::stream::ListLine;

/// One channel.
///
/// With its description, counts, thumbnails and the id of the playlist of its uploads. A custom name, as in `/c/name`,
/// may need a search.
///
/// Cost: 1 unit. A custom name costs up to 3 units and one search.
#[utoipa::path(
    get, path = "/api/channel/{id}", tag = "Channels",
    params(("id" = String, Path)),
    responses((status = 200, description = "The channel", body = Channel), FetchErrors)
)]
pub(super) async fn get_channel(responder: Responder, Id(channel): Id<ChannelRef>) -> Result {
    responder.fetch(Lookup::Channel(channel)).await
}

/// The newest uploads of a channel.
///
/// `uploadAge` is relative to the time of the answer.
///
/// Cost: 2 units with a channel id, 3 with a handle.
#[utoipa::path(
    get, path = "/api/channel/{id}/videos", tag = "Channels",
    params(
        ("id" = String, Path),
        ("limit" = Option<u32>, Query, description = "The maximum number of videos; 5 if not given", minimum = 1, maximum = 50, example = 5),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The uploads, newest first", content(
            (Vec<ChannelVideo> = "application/json"),
            (String = "text/csv")
        )), FetchErrors)
)]
pub(super) async fn get_channel_videos(
    responder: Responder,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let limit = query.whole("limit", 1..=50, 5);
    let form = ListForm::read::<ChannelVideo>(&mut query, &headers);
    query.check()?;
    let uploads = responder.vidra.lookup(&Lookup::Uploads(channel)).await?;
    let now = responder.vidra.clock().now();
    let (newest, changes) = ChannelVideo::newest(&uploads, limit, now)?;
    let mut answer = Answer::new(Resource::Uploads, uploads).with_json(&newest)?;
    answer.valid_for = changes.map(|changes| changes.duration_since(now).unsigned_abs());
    responder.send_list::<ChannelVideo>(&form, answer).await
}

/// A page of videos.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `vidra::Page` is sent")]
pub(super) struct VideoPage {
    /// The videos of this page.
    items: Vec<Video>,
    /// The cursor of the next page. Absent on the last one.
    #[schema(nullable = false, example = "b5ad2bb6.50.0.EAAaBlBUOkNESQ")]
    next_cursor: Option<String>,
}

/// All uploads of a channel, newest first, page by page.
///
/// With `since` the list ends at the first page of YouTube whose videos are all older. With
/// `Accept: application/x-ndjson` the answer is a stream of all pages from `cursor` on: a line for each video (`type`
/// is `result`), `waiting` if nothing came for 15 seconds, and a `summary` or an `error` at the end.
///
/// Cost: 2 units per 50 videos of the page. A handle costs 1 more, a custom name up to 3 more and one search.
#[utoipa::path(
    get, path = "/api/channel/{id}/uploads", tag = "Channels",
    params(
        ("id" = String, Path),
        ("since" = Option<String>, Query, description = "The earliest publication: a date (UTC) or a time; no limit if not given", example = "2020-01-31"),
        ("until" = Option<String>, Query, description = "The latest publication: a date, to its end, or a time; no limit if not given", example = "2030-01-31T18:30:00Z"),
        ("limit" = Option<u32>, Query, description = "The maximum number of videos on a page; 50 if not given", minimum = 1, maximum = 500, example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of uploads", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (VideoPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_uploads(
    responder: Responder,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let since = query.parsed("since", DateRange::parse_since);
    let until = query.parsed("until", DateRange::parse_until);
    let range = DateRange::new(since, until).unwrap_or_else(|error| query.add_faults(&error));
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let form = ListForm::read_paged::<Video>(&mut query, &headers);
    query.check()?;
    let responder = responder.including(form.include());
    let cursor = cursor.as_deref();
    if form.is_stream() {
        let uploads = responder.vidra.uploads_from(&channel, range, cursor);
        return responder.stream_list(form, uploads).await;
    }
    let page = responder.vidra.uploads_page(&channel, range, cursor, limit).await?;
    responder.send_page(&form, Resource::Uploads, page).await
}

/// A page of playlists.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `vidra::Page` is sent")]
pub(super) struct PlaylistPage {
    /// The playlists of this page.
    items: Vec<PlaylistInfo>,
    /// The cursor of the next page. Absent on the last one.
    #[schema(nullable = false, example = "b5ad2bb6.50.0.CDIQAA")]
    next_cursor: Option<String>,
}

/// The public playlists of a channel, page by page.
///
/// With `Accept: application/x-ndjson` the answer is a stream of all pages from `cursor` on: a line for each playlist
/// (`type` is `result`), `waiting` if nothing came for 15 seconds, and a `summary` or an `error` at the end.
///
/// Cost: 1 unit per 50 playlists of the page. A handle costs 1 more, a custom name up to 3 more and one search.
#[utoipa::path(
    get, path = "/api/channel/{id}/playlists", tag = "Channels",
    params(
        ("id" = String, Path),
        ("limit" = Option<u32>, Query, description = "The maximum number of playlists on a page; 50 if not given", minimum = 1, maximum = 500, example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of playlists", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (PlaylistPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_channel_playlists(
    responder: Responder,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let form = ListForm::read_paged::<PlaylistInfo>(&mut query, &headers);
    query.check()?;
    let cursor = cursor.as_deref();
    if form.is_stream() {
        let playlists = responder.vidra.channel_playlists_from(&channel, cursor);
        return responder.stream_list(form, playlists).await;
    }
    let page = responder.vidra.channel_playlists_page(&channel, cursor, limit).await?;
    responder.send_page(&form, Resource::Playlist, page).await
}

/// The newest videos of a channel, from its public feed.
///
/// About 15 videos, newest first, with fewer data than other videos have. They come from YouTube's public feed, which
/// needs no key for the YouTube Data API. YouTube sometimes does not serve a feed, or an empty one; then they come from
/// the Data API, and `source` is `data_api`. `fields` applies to the elements of `items`, and CSV has only them.
///
/// Cost: none with a channel id. A handle costs 1 unit, a custom name up to 3 units and one search. If YouTube does not
/// serve the feed, 2 units more.
#[utoipa::path(
    get, path = "/api/channel/{id}/feed", tag = "Channels",
    params(
        ("id" = String, Path),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "The newest videos", content(
        (FeedAnswer = "application/json"),
        (String = "text/csv")
    )), FetchErrors)
)]
pub(super) async fn get_channel_feed(
    responder: Responder,
    Id(channel): Id<ChannelRef>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read::<FeedItem>(&mut query, &headers);
    query.check()?;
    responder.fetch_items::<FeedItem>(&form, Lookup::ChannelFeed(channel)).await
}
