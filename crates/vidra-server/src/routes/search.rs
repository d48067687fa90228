//! `/api/search`.

use axum::http::HeaderMap;
use utoipa::ToSchema;
use vidra::{
    ChannelRef, DateRange, LanguageCode, Resource, SafeSearch, SearchItem, SearchKind,
    SearchLength, SearchLive, SearchOrder, SearchQuery,
};

use super::list::ListForm;
use super::region::region_code;
use super::responder::Responder;
use crate::error_body::{ApiError, FetchErrors, Result};
use crate::extract::Query;
use crate::stream::ListLine;

/// A page of search results.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `vidra::Page` is sent")]
pub(super) struct SearchPage {
    /// The results of this page. It can be empty although there is a next page.
    items: Vec<SearchItem>,
    /// The cursor of the next page. Absent on the last one.
    #[schema(nullable = false, example = "b5ad2bb6.50.0.CDIQAA")]
    next_cursor: Option<String>,
    /// YouTube's estimate of all results, up to 1,000,000. It is often wrong. Absent if YouTube sends none.
    #[schema(nullable = false, example = 4065)]
    total_estimate: Option<u64>,
}

/// Videos, channels or playlists that match words.
///
/// YouTube allows 100 searches a day, so results are cached for 6 hours, and their videos as long as other videos.
/// A video has all its data, a channel and a playlist only what YouTube sends with results. Videos that no longer
/// exist are left out, so that a page can have fewer results than `limit`, or none, although there is a next page.
/// YouTube returns about 500 results in all. With `Accept: application/x-ndjson` the answer is a stream of all pages
/// from `cursor` on: a line for each result (`type` is `result`, and `result` has the type of the result), and a
/// `summary` or an `error` at the end.
///
/// Cost: 1 search and 1 unit per 50 results. A `channel` that is a handle costs 1 more.
#[utoipa::path(
    get, path = "/api/search", tag = "Search",
    params(
        ("q" = String, Query, description = "The words; `|` means or, and `-` before a word means not", min_length = 1, max_length = 200, example = "trio"),
        ("type" = Option<String>, Query, description = "`video` (the default), `channel` or `playlist`", example = "video"),
        ("channel" = Option<String>, Query, description = "Only results of this channel: its id, `@handle` or URL; all if not given", example = "@fermata"),
        ("order" = Option<String>, Query, description = "`relevance` (the default), `date`, `viewCount`, `rating` or `title`", example = "relevance"),
        ("since" = Option<String>, Query, description = "The earliest publication: a date (UTC) or a time; no limit if not given", example = "2010-01-31"),
        ("until" = Option<String>, Query, description = "The latest publication: a date, to its end, or a time; no limit if not given", example = "2030-01-31T18:30:00Z"),
        ("duration" = Option<String>, Query, description = "Only videos of less than 4 minutes (`short`), of 4 to 20 minutes (`medium`), or longer ones (`long`); all if not given", example = "medium"),
        ("live" = Option<String>, Query, description = "Only broadcasts that are `upcoming`, `live` or `ended`; all videos if not given", example = "ended"),
        ("region" = Option<String>, Query, description = "Only videos that can be played in this region, by its two-letter code; all if not given", example = "DE"),
        ("lang" = Option<String>, Query, description = "The preferred language of results, although YouTube may return others; no preference if not given", example = "en"),
        ("safe" = Option<String>, Query, description = "How strictly YouTube filters results: `moderate` (the default), `none` or `strict`", example = "moderate"),
        ("limit" = Option<u32>, Query, description = "The maximum number of results on a page; 50 if not given", minimum = 1, maximum = 50, example = 10),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("include" = Option<String>, Query, description = "More members of each video, separated by commas: `details` (tags, category, broadcast, language and more) and `chapters`; none if not given. It costs nothing more", example = "details,chapters"),
        ("fields" = Option<String>, Query, description = "Only these members of each item, separated by commas, such as `id,thumbnails.high.url`; all if not given", example = "id"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json")
    ),
    responses((status = 200, description = "A page of results", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
        (SearchPage = "application/json"),
        (String = "text/csv"),
        (ListLine = "application/x-ndjson")
    )), FetchErrors)
)]
pub(super) async fn get_search(
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let search = read(&mut query);
    let cursor = query.text("cursor").map(str::to_owned);
    let limit = query.whole("limit", 1..=50, 50);
    let form = ListForm::read_paged::<SearchItem>(&mut query, &headers);
    query.check()?;
    // Without words there was a fault.
    let Some(search) = search else { return Err(ApiError::internal("a search without words")) };
    let (cursor, responder) = (cursor.as_deref(), responder.including(form.include()));
    if form.is_stream() {
        let results = responder.vidra.search_all(&search, cursor);
        return responder.stream_list(form, results).await;
    }
    let page = responder.vidra.search(&search, cursor, limit).await?;
    responder.send_page(&form, Resource::Search, page).await
}

/// Reads the parameters of a search. `None` if `q` has a fault.
fn read(query: &mut Query) -> Option<SearchQuery> {
    if query.text("q").is_none() {
        query.fault("q", "must not be empty");
    }
    let words = query.parsed("q", SearchQuery::parse);
    let kind = query.choice("type", SearchKind::ALL);
    let channel = query.parsed("channel", ChannelRef::parse);
    let order = query.choice("order", SearchOrder::ALL);
    let range = DateRange {
        since: query.parsed("since", DateRange::parse_since),
        until: query.parsed("until", DateRange::parse_until),
    };
    let length = query.optional_choice("duration", SearchLength::ALL);
    let live = query.optional_choice("live", SearchLive::ALL);
    let region = query.parsed("region", region_code);
    let language = query.parsed("lang", LanguageCode::parse);
    let safe = query.choice("safe", SafeSearch::ALL);
    let search = words?
        .with_kind(kind)
        .with_channel(channel)
        .with_order(order)
        .with_range(range)
        .with_length(length)
        .with_live(live)
        .with_region(region)
        .with_language(language)
        .with_safe(safe);
    for (name, fault) in search.faults() {
        query.fault(name, fault);
    }
    Some(search)
}
