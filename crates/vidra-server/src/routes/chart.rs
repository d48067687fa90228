//! `/api/charts/…`.

use axum::http::HeaderMap;
use vidra::{ChartQuery, Resource, Video};

use super::channel::VideoPage;
use super::list::{ListForm, PageQuery};
use super::region::{category_id, region_code};
use super::responder::Responder;
use crate::error_body::{FetchErrors, Result};
use crate::extract::Query;
use crate::stream::ListLine;

/// The videos that are popular in a region, page by page.
///
/// YouTube lists at most 200 videos. Since July 2025 a chart without a category has music, films and games only. A region
/// that YouTube does not know is 400 `rejected_by_upstream`. A category without a chart is 404 `chart_not_found`. With
/// `Accept: application/x-ndjson` the answer is a stream of all pages from `cursor` on: a line for each video (`type` is
/// `result`), and a `summary` or an `error` at the end.
///
/// Cost: 1 unit per 50 videos of the page.
#[utoipa::path(
    get, path = "/api/charts/popular", tag = "Videos",
    params(
        ("region" = Option<String>, Query, description = "The two-letter code of the region; the United States if not given", example = "DE"),
        ("category" = Option<String>, Query, description = "The id of a video category; all categories if not given", example = "10"),
        ("limit" = Option<u32>, Query, description = "The maximum number of videos on a page; 50 if not given", minimum = 1, maximum = 500, example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of videos", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (VideoPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_popular(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let chart = ChartQuery::default()
        .with_region(query.parsed("region", region_code))
        .with_category(query.parsed("category", category_id));
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let form = ListForm::read_paged::<Video>(&mut query, &headers);
    query.check()?;
    let responder = responder.including(form.include());
    let cursor = cursor.as_deref();
    if form.is_stream() {
        let videos = responder.vidra.popular_videos_from(&chart, cursor);
        return responder.stream_list(form, videos).await;
    }
    let page = responder.vidra.popular_videos_page(&chart, cursor, limit).await?;
    responder.send_page(&form, Resource::Chart, page).await
}
