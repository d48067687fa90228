//! `/api/library`: what the stored transcripts say.

use axum::http::HeaderMap;
use futures_util::stream;
use serde::Serialize;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};
use vidra::{ChannelRef, DateRange, LanguageCode, VideoId, Vidra};
use vidra_library::{
    Access, CollectionName, Hit, HitPage, JobId, LibraryFilter, LibraryVideo, Period, SearchFields,
    SearchGroup, SearchSort, TextQuery, TextSearch, Trend, Trends, VideoHit,
};

use super::library_caller::{LibraryCaller, all_pages};
use super::list::{ListForm, PageQuery};
use super::query_parameters::optional_texts;
use super::responder::Responder;
use crate::error_body::{ApiError, Result, SearchErrors};
use crate::extract::Query;
use crate::stream::ListLine;

/// The parameters of [`read_filter`], for the document.
enum FilterParameters {}

impl IntoParams for FilterParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        optional_texts([
            (
                "collection",
                "Only videos of this collection; all videos of the library if not given",
                "news",
            ),
            (
                "owner",
                "For operators: the name of the key that the collection belongs to; the caller's own if not given",
                "",
            ),
            ("job", "Only videos of this job; all videos of the library if not given", ""),
            (
                "channel",
                "Only videos of this channel: an id, a handle or a URL; all channels if not given",
                "@fermata",
            ),
            (
                "video",
                "Only these videos: ids or URLs, separated by commas, at most 500; all videos if not given",
                "fda4eREcaTQ",
            ),
            (
                "lang",
                "Only tracks in this language; the original track of each video if not given",
                "en",
            ),
            (
                "since",
                "The earliest publication: a date (UTC) or a time; no limit if not given",
                "2010-01-31",
            ),
            (
                "until",
                "The latest publication: a date (UTC), to its end, or a time; no limit if not given",
                "2030-01-31",
            ),
        ])
    }
}

/// The most videos that a filter names.
const MOST_VIDEOS: usize = 500;

/// The items on a page of a stream. Each page is another search.
const STREAM_PAGE: usize = 500;

/// Finds what was said in the videos of the library, and at which second.
///
/// All words have to be in a video; `"exact phrase"`, `OR`, `-without`, `prefix*` and `title:word` work too. A moment is
/// the part of a passage of about 100 words that has the words. If a video has no passage with all words, its moments
/// are the passages with the most of them. Upper and lower case, accents and vowel marks make no difference. In Chinese,
/// Japanese, Thai, Lao, Khmer and Burmese every part of the text is found. There is no stemming.
///
/// The original track of a video is searched: captions by people, otherwise recognised speech. `lang` searches tracks in
/// one language, also translations.
///
/// Cost: none; 1 unit if `channel` is a handle that is in no collection that the caller may search.
#[utoipa::path(
    get, path = "/api/library/search", tag = "Library",
    params(
        ("q" = String, Query, description = "The query, at most 500 characters", example = "session"),
        FilterParameters,
        ("in" = Option<String>, Query, description = "The texts to search, separated by commas: `speech`, `title`, `description`; `speech` if not given", example = "speech,title"),
        ("sort" = Option<String>, Query, description = "`relevance`, `newest` or `oldest` by publication; `relevance` if not given", example = "relevance"),
        ("group" = Option<String>, Query, description = "`moment`, or `video` for one item a video with its best moments; `moment` if not given", example = "moment"),
        ("context" = Option<u64>, Query, description = "The seconds of text around a moment, from 0 to 300; 30 if not given", example = 30),
        ("limit" = Option<u64>, Query, description = "The number of items on a page, from 1 to 500; 20 if not given", example = 20),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each item; all if not given", example = "videoId,start,text")
    ),
    responses(
        (status = 200, description = "A page of hits", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
            (HitPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        SearchErrors
    )
)]
pub(super) async fn search_library(
    caller: LibraryCaller,
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let group = query.choice("group", &SearchGroup::ALL);
    let form = match group {
        SearchGroup::Moment => ListForm::read_paged::<Hit>(&mut query, &headers),
        SearchGroup::Video => ListForm::read_paged::<VideoHit>(&mut query, &headers),
    };
    let limit = query.whole("limit", 1..=500, 20);
    let cursor = query.text("cursor").map(str::to_owned);
    let sort = query.choice("sort", &SearchSort::ALL);
    let context = query.whole("context", 0..=300, 30) as u64;
    let fields = read_search_fields(&mut query);
    let request = read_search(&caller, &responder.vidra, query).await?;
    let request = TextSearch { fields, sort, group, context, ..request };
    let slot = caller.search()?;
    let LibraryCaller { library, drain, .. } = caller;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, request) = (library.clone(), request.clone());
            let _slot = &slot;
            async move {
                let page = library.search(&request, cursor.as_deref(), STREAM_PAGE).await?;
                Ok((page.items, page.next_cursor))
            }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let page = library.search(&request, cursor.as_deref(), limit).await?;
    let next = page.next_cursor.as_deref();
    match group {
        SearchGroup::Moment => form.page::<Hit>(&page, &page.items, next),
        SearchGroup::Video => form.page::<VideoHit>(&page, &page.items, next),
    }
}

/// How often something was said, by the time of publication.
///
/// `count` is the number of times that the words and phrases of the query were said in the videos that match, `words` the
/// number of all words of the period. Periods without videos are left out. One track of a video counts, as in a search. In
/// CSV and NDJSON, videos without a publication time are the last row, without `period`.
///
/// Cost: none; 1 unit if `channel` is a handle that is in no collection that the caller may search.
#[utoipa::path(
    get, path = "/api/library/trends", tag = "Library",
    params(
        ("q" = String, Query, description = "The query, as in a search", example = "session"),
        ("by" = Option<String>, Query, description = "The length of a period in UTC: `month`, `week` or `year`; `month` if not given", example = "month"),
        FilterParameters,
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each period; all if not given", example = "period,count")
    ),
    responses(
        (status = 200, description = "The periods", content(
            (Trends = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        SearchErrors
    )
)]
pub(super) async fn get_trends(
    caller: LibraryCaller,
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read_paged::<Trend>(&mut query, &headers);
    let period = query.choice("by", &Period::ALL);
    let request = read_search(&caller, &responder.vidra, query).await?;
    let _slot = caller.search()?;
    let trends = caller.library.trends(&request, period).await?;
    if form.is_json() {
        return form.page::<Trend>(&trends, &trends.items, None);
    }
    // CSV and NDJSON have no member `undated`, so it is the last row.
    let rows: Vec<Trend> = trends.items.iter().cloned().chain(trends.undated.clone()).collect();
    if form.is_stream() {
        return form.stream(stream::iter(rows.into_iter().map(Ok)), caller.drain).await;
    }
    form.page::<Trend>(&trends, &rows, None)
}

/// The videos of the library with a transcript, by the time of publication.
///
/// Videos without a publication time come last.
///
/// Cost: none; 1 unit if `channel` is a handle that is in no collection that the caller may search.
#[utoipa::path(
    get, path = "/api/library/videos", tag = "Library",
    params(
        FilterParameters,
        ("sort" = Option<String>, Query, description = "`newest` or `oldest`; `newest` if not given", example = "newest"),
        ("limit" = Option<u64>, Query, description = "The number of videos on a page, from 1 to 500; 50 if not given", example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each video; all if not given", example = "videoId,title,words")
    ),
    responses(
        (status = 200, description = "A page of videos", headers(("X-Next-Cursor" = String, description = "The cursor of the next page; CSV only")), content(
            (LibraryVideoPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        SearchErrors
    )
)]
pub(super) async fn get_library_videos(
    caller: LibraryCaller,
    responder: Responder,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read_paged::<LibraryVideo>(&mut query, &headers);
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let sort = query.choice("sort", &SearchSort::ALL[1..]);
    let filter = read_filter(&caller, &responder.vidra, query).await?;
    let slot = caller.search()?;
    let LibraryCaller { library, drain, .. } = caller;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, filter) = (library.clone(), filter.clone());
            let _slot = &slot;
            async move { library.videos(&filter, sort, cursor.as_deref(), STREAM_PAGE).await }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let (items, next) = library.videos(&filter, sort, cursor.as_deref(), limit).await?;
    let next = next.as_deref();
    form.page::<LibraryVideo>(&LibraryVideoPage { items: &items, next_cursor: next }, &items, next)
}

/// A page of the videos of the library.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LibraryVideoPage<'a> {
    /// The videos.
    #[schema(value_type = Vec<LibraryVideo>)]
    items: &'a [LibraryVideo],
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<&'a str>,
}

/// Reads the query and the filter of a search.
async fn read_search(
    caller: &LibraryCaller,
    vidra: &Vidra,
    mut query: Query,
) -> Result<TextSearch> {
    if query.text("q").is_none() {
        query.fault("q", "must not be empty");
    }
    let mut words = None;
    if let Some(text) = query.text("q").map(str::to_owned) {
        match TextQuery::parse(&text) {
            Ok(parsed) => words = Some(parsed),
            Err(error) => query.add_faults::<()>(&error),
        }
    }
    let filter = read_filter(caller, vidra, query).await?;
    // Without words there was a fault.
    let words = words.ok_or_else(|| ApiError::internal("a search without words"))?;
    Ok(TextSearch { filter, ..TextSearch::new(words) })
}

/// Reads `in`: the texts to search.
fn read_search_fields(query: &mut Query) -> SearchFields {
    let words: Vec<String> = query.list("in").into_iter().map(str::to_owned).collect();
    let mut fields = None::<SearchFields>;
    for word in words {
        match SearchFields::ALL.iter().find(|(known, _)| *known == word) {
            Some((_, field)) => fields = Some(fields.map_or(*field, |it| it.and(*field))),
            None => query.fault("in", "must be a list of speech, title and description"),
        }
    }
    fields.unwrap_or_default()
}

/// Reads the filter, and checks all parameters.
async fn read_filter(
    caller: &LibraryCaller,
    vidra: &Vidra,
    mut query: Query,
) -> Result<LibraryFilter> {
    let owner = caller.owner_of(&query)?;
    let collection = query.parsed("collection", CollectionName::parse);
    if query.given("owner").is_some() && query.text("collection").is_none() {
        query.fault("owner", "names the owner of a collection, and collection is not given");
    }
    let job = query.parsed("job", |text| {
        JobId::parse(text).map_err(|_| "must be the id of a job: 32 hexadecimal digits")
    });
    let channel = query.parsed("channel", ChannelRef::parse);
    let lang = query.parsed("lang", LanguageCode::parse);
    let since = query.parsed("since", DateRange::parse_since);
    let until = query.parsed("until", DateRange::parse_until);
    let range = DateRange::new(since, until).unwrap_or_else(|error| query.add_faults(&error));
    let named: Vec<String> = query.list("video").into_iter().map(str::to_owned).collect();
    let mut videos = vec![];
    for text in named.iter().take(MOST_VIDEOS) {
        match VideoId::parse(text) {
            Ok(id) => videos.push(id),
            Err(error) => query.fault("video", error),
        }
    }
    if named.len() > MOST_VIDEOS {
        query.fault("video", format!("must name at most {MOST_VIDEOS} videos"));
    }
    query.check()?;
    if let Some(id) = job {
        // It belongs to the caller, or it is not found.
        caller.library.job(id, &caller.access).await?;
    }
    let own = match &caller.access {
        Access::Owner(name) if caller.sees_own_only() => Some(name.clone()),
        _ => None,
    };
    let channel = match channel {
        Some(named) => Some(caller.library.channel_id(vidra, &named, own.as_deref()).await?),
        None => None,
    };
    let mut filter = LibraryFilter::default();
    filter.collection = collection.map(|name| (owner, name));
    (filter.job, filter.channel, filter.videos) = (job, channel, videos);
    (filter.lang, filter.range) = (lang, range);
    filter.owner = own;
    Ok(filter)
}
