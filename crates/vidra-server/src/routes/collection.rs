//! `/api/collections`: named sets of sources that stay up to date.

mod body;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use vidra::Reason;
use vidra_library::{
    Collection, CollectionDetails, CollectionName, CollectionRequest, CollectionVideo, Job,
    PutCollection, VideoFilter, VideoState,
};

use super::library_caller::{LibraryCaller, NO_STORE, all_pages, changed};
use super::list::{ListForm, PageQuery};
use crate::error_body::{
    ApiError, BodyErrors, CollectionErrors, CollectionListErrors, PutCollectionErrors, Result,
};
use crate::extract::{Id, JsonBody, Query};
use crate::respond::Tagged;
use crate::stream::ListLine;
use body::CollectionRequestBody;

/// Creates a collection, or replaces its sources and options.
///
/// A collection is a set of channels, playlists, videos and searches (`search:` and words). The service syncs it at once,
/// and then by its schedule: it finds new videos, and fetches their transcripts into the library. Videos without captions
/// are tried again for a week, broadcasts after their end.
///
/// The same request again changes nothing. Videos of sources that are left out leave the collection; their transcripts
/// stay in the library. Other languages, or another kind of captions, mean that all videos are fetched again.
///
/// Cost: none by itself. The syncs pay: the first one 1 unit per 50 entries of playlists and channels, 1 for each channel
/// by handle, and 1 per 50 sources; later ones as the guide says.
#[utoipa::path(
    put, path = "/api/collections/{name}", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    request_body(content = CollectionRequestBody, example = json!({"sources": ["@fermata"], "every": "6h", "limit": 3})),
    responses(
        (status = 200, description = "The changed collection", body = CollectionDetails),
        (status = 201, description = "The new collection", body = CollectionDetails, headers(("Location" = String, description = "The path of the collection"))),
        CollectionErrors, BodyErrors, PutCollectionErrors
    )
)]
pub(super) async fn put_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result {
    let owner = caller.owner_of(&query)?;
    let body = body.unwrap_or_else(|| json!({}));
    let (request, sources) = CollectionRequest::from_json(&body)?;
    caller.check_webhook(request.webhook.as_deref())?;
    let location = match owner == caller.owner {
        true => format!("/api/collections/{name}"),
        false => format!("/api/collections/{name}?owner={owner}"),
    };
    let put = PutCollection { owner, name, request, sources };
    let (details, is_new) = caller.library.put_collection(put).await?;
    if !is_new {
        return Ok(changed(details));
    }
    let location = HeaderValue::try_from(location).map_err(ApiError::internal)?;
    let headers = [(header::LOCATION, location), NO_STORE];
    Ok((StatusCode::CREATED, headers, Json(details)).into_response())
}

/// The caller's collections, the oldest first.
///
/// The keys of operators see the collections of all callers.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/collections", tag = "Collections",
    params(
        ("limit" = Option<u64>, Query, description = "The number of collections on a page, from 1 to 500", example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each collection; all if not given", example = "name,state,nextSync")
    ),
    responses(
        (status = 200, description = "A page of collections", content(
            (CollectionPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        CollectionListErrors
    )
)]
pub(super) async fn list_collections(
    caller: LibraryCaller,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read_paged::<Collection>(&mut query, &headers);
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    query.check()?;
    let LibraryCaller { library, access, drain, .. } = caller;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, access) = (library.clone(), access.clone());
            async move { library.collections(&access, cursor.as_deref(), limit).await }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let (items, next) = library.collections(&access, cursor.as_deref(), limit).await?;
    let next = next.as_deref();
    form.page::<Collection>(&CollectionPage { items: &items, next_cursor: next }, &items, next)
}

/// A page of collections.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CollectionPage<'a> {
    /// The collections.
    #[schema(value_type = Vec<Collection>)]
    items: &'a [Collection],
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<&'a str>,
}

/// A collection: its sources, the counts of its videos, the last and the next sync, and the units of the last days.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/collections/{name}", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    responses((status = 200, description = "The collection", body = CollectionDetails), CollectionErrors)
)]
pub(super) async fn get_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
) -> Result<Tagged<CollectionDetails>> {
    let owner = caller.owner_of(&query)?;
    Ok(Tagged(caller.library.collection(&owner, &name).await?))
}

/// The videos of a collection in the order in which they were found, with the reasons of those without a transcript.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/collections/{name}/videos", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given"),
        ("state" = Option<String>, Query, description = "Only videos in this state; all if not given", example = "transcribed"),
        ("reason" = Option<String>, Query, description = "Only videos with this reason; all if not given", example = "captions_disabled"),
        ("limit" = Option<u64>, Query, description = "The number of videos on a page, from 1 to 500; 50 if not given", example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each video; all if not given", example = "videoId,state,publishedAt")
    ),
    responses(
        (status = 200, description = "A page of videos", content(
            (CollectionVideoPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        CollectionErrors
    )
)]
pub(super) async fn get_collection_videos(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let owner = caller.owner_of(&query)?;
    let form = ListForm::read_paged::<CollectionVideo>(&mut query, &headers);
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let state = query.optional_choice("state", &VideoState::ALL);
    let unknown = "must be a reason of the reference";
    let reason = query.parsed("reason", |code| Reason::from_code(code).ok_or(unknown));
    query.check()?;
    let filter = VideoFilter { state, reason };
    let LibraryCaller { library, drain, .. } = caller;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, owner, name) = (library.clone(), owner.clone(), name.clone());
            async move {
                library.collection_videos(&owner, &name, filter, cursor.as_deref(), limit).await
            }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let page = library.collection_videos(&owner, &name, filter, cursor.as_deref(), limit).await?;
    let (items, next) = (page.0, page.1.as_deref());
    form.page::<CollectionVideo>(
        &CollectionVideoPage { items: &items, next_cursor: next },
        &items,
        next,
    )
}

/// A page of the videos of a collection.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CollectionVideoPage<'a> {
    /// The videos.
    #[schema(value_type = Vec<CollectionVideo>)]
    items: &'a [CollectionVideo],
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<&'a str>,
}

/// Syncs a collection now.
///
/// The answer is the job of the sync, which can be followed like any other. If a sync is running, it is that one: it reads
/// the feeds again.
///
/// Cost: none by itself; the job pays for what it lists.
#[utoipa::path(
    post, path = "/api/collections/{name}/sync", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    responses(
        (status = 202, description = "The job", body = Job, headers(("Location" = String, description = "The path of the job"))),
        CollectionErrors
    )
)]
pub(super) async fn sync_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
) -> Result {
    let owner = caller.owner_of(&query)?;
    let job = caller.library.sync_collection(&owner, &name).await?;
    let location = format!("/api/jobs/{}", job.id);
    let location = HeaderValue::try_from(location).map_err(ApiError::internal)?;
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location), NO_STORE], Json(job)).into_response())
}

/// Pauses a collection with its running sync. Transcripts in flight end.
///
/// Pausing it again changes nothing.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    post, path = "/api/collections/{name}/pause", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    responses((status = 200, description = "The collection", body = CollectionDetails), CollectionErrors)
)]
pub(super) async fn pause_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
) -> Result {
    let owner = caller.owner_of(&query)?;
    Ok(changed(caller.library.pause_collection(&owner, &name).await?))
}

/// Continues a paused collection. A sync that was missed starts at once.
///
/// Resuming a collection that is not paused changes nothing.
///
/// Cost: none by itself; its syncs pay for what they list.
#[utoipa::path(
    post, path = "/api/collections/{name}/resume", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    responses((status = 200, description = "The collection", body = CollectionDetails), CollectionErrors)
)]
pub(super) async fn resume_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
) -> Result {
    let owner = caller.owner_of(&query)?;
    Ok(changed(caller.library.resume_collection(&owner, &name).await?))
}

/// Deletes a collection and its jobs.
///
/// A running sync is stopped. The transcripts stay in the library.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    delete, path = "/api/collections/{name}", tag = "Collections",
    params(
        ("name" = String, Path),
        ("owner" = Option<String>, Query, description = "For operators: the name of the key that the collection belongs to; the caller's own if not given")
    ),
    responses((status = 204, description = "The collection is deleted"), CollectionErrors)
)]
pub(super) async fn delete_collection(
    caller: LibraryCaller,
    Id(name): Id<CollectionName>,
    query: Query,
) -> Result<StatusCode> {
    let owner = caller.owner_of(&query)?;
    caller.library.delete_collection(&owner, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
