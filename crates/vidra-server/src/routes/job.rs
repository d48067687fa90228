//! `/api/jobs`: durable jobs over many videos.

mod body;
mod change;
mod events;
mod results;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;
use vidra::{Bucket, Quota, Reason, Vidra};
use vidra_library::{Create, Estimate, Item, ItemFilter, ItemState, Job, JobId, JobState};

use super::library_caller::{LibraryCaller, NO_STORE, all_pages};
use super::list::{ListForm, PageQuery};
use crate::error_body::{ApiError, FetchErrors, JobErrors, JobListErrors, Result, StartErrors};
use crate::extract::{Id, Query, invalid};
use crate::gate::Caller;
use crate::respond::Tagged;
use crate::state::AppState;
use crate::stream::ListLine;
pub(super) use body::webhook;
use body::{JobBody, JobRequestBody};

pub(super) use change::{
    __path_cancel_job, __path_delete_job, __path_pause_job, __path_resume_job, __path_retry_job,
    cancel_job, delete_job, pause_job, resume_job, retry_job,
};
pub(super) use events::{__path_get_job_events, get_job_events};
pub(super) use results::{__path_get_job_results, get_job_results};

/// Says that an earlier request with the same key started the job.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Chosen by the caller, so that a repeated request starts no second job.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The longest time of an estimate.
const ESTIMATE_TIME: Duration = Duration::from_secs(60);

/// The longest wait for a change of a job.
const MAX_WAIT: usize = 60;

/// Starts a job, which fetches the transcripts of many videos.
///
/// The job outlives the connection and restarts of the service. It waits for quota and blocked addresses by itself. A
/// video that appears twice is fetched once, and the library's own transcripts are not fetched again.
///
/// A JSON body has up to 500 sources: links or ids of videos, playlists and channels. With `Content-Type: text/plain` or
/// `application/x-ndjson` the body has up to 50,000, one a line, of which 500 may be playlists and channels. Options are
/// members of the JSON body or query parameters; a member of the body wins.
///
/// With an `Idempotency-Key` the same request returns the same job for 24 hours, with `Idempotency-Replayed: true`. Another
/// request with that key is 422.
///
/// With `dryRun=true` the answer is an estimate, and no job starts.
///
/// Cost: none by itself. The job pays 1 unit per 50 entries of playlists and channels, and 1 more for each channel. A
/// dry run costs 1 unit for each playlist and channel whose size is not cached, at most 100.
#[utoipa::path(
    post, path = "/api/jobs", tag = "Jobs",
    params(
        ("dryRun" = Option<String>, Query, description = "Whether to estimate the cost only; `false` if not given", example = "true"),
        ("name" = Option<String>, Query, description = "A name for people; none if not given", example = "Night"),
        ("since" = Option<String>, Query, description = "The earliest publication of videos in playlists and channels: a date (UTC) or a time; no limit if not given", example = "2005-01-31"),
        ("until" = Option<String>, Query, description = "The latest publication of videos in playlists and channels; no limit if not given", example = "2037-12-31"),
        ("limit" = Option<u64>, Query, description = "The maximum number of items; no limit if not given", example = 100),
        ("lang" = Option<String>, Query, description = "One language code, or several by preference; the spoken language if not given", example = "de,en"),
        ("translate" = Option<String>, Query, description = "The language that YouTube translates to; not translated if not given", example = "fr"),
        ("captions" = Option<String>, Query, description = "The kind of captions; both if not given, and those by people are preferred", example = "manual"),
        ("concurrency" = Option<u64>, Query, description = "How many items run at once, from 1 to 20; 4 if not given", example = 4),
        ("unitBudget" = Option<u64>, Query, description = "How many quota units the job may cost; no limit if not given", example = 100),
        ("refresh" = Option<String>, Query, description = "Whether to fetch transcripts again that the library has; `false` if not given", example = "false"),
        ("webhook" = Option<String>, Query, description = "The name of a webhook of this service, which gets the changes of the job; none if not given"),
        ("Idempotency-Key" = Option<String>, Header, description = "A key of 1 to 255 visible ASCII characters, so that a repeated request starts no second job; none if not given", example = "2026-11-17-night")
    ),
    request_body(content(
        (JobRequestBody = "application/json", example = json!({"sources": ["txManualAsr", "PLsize1"], "lang": "en"})),
        (String = "text/plain", example = "txManualAsr\nhttps://youtu.be/txNoCaption\n"),
        (String = "application/x-ndjson", example = "\"txManualAsr\"\n{\"id\": \"txNoCaption\"}\n")
    )),
    responses(
        (status = 200, description = "The estimated cost of a dry run", body = Estimate),
        (status = 202, description = "The job", body = Job, headers(("Location" = String, description = "The path of the job"))),
        FetchErrors, StartErrors
    )
)]
pub(super) async fn start_job(
    jobs: LibraryCaller,
    State(state): State<AppState>,
    Extension(vidra): Extension<Vidra>,
    caller: Option<Extension<Arc<Caller>>>,
    headers: HeaderMap,
    mut query: Query,
    body: JobBody,
) -> Result {
    let is_dry = query.choice("dryRun", &[("false", false), ("true", true)]);
    let options = body::options(&query);
    query.check()?;
    let idempotency_key = idempotency_key(&headers)?;
    let (request, sources) = body.parse(options).await?;
    jobs.check_webhook(request.webhook.as_deref())?;
    if is_dry {
        let per_day = units_per_day(&state, &vidra, caller.as_ref()).await?;
        // An estimate must not use what the job itself leaves to interactive requests.
        let reserve = state.library.as_ref().map_or(0, |it| it.worker.reserve_units);
        let vidra = vidra.in_background(reserve);
        let estimate = Estimate::new(&vidra, &request, &sources, per_day);
        let late = |_| ApiError::new(Reason::TimedOut, "The estimate takes too long");
        let estimate = timeout(ESTIMATE_TIME, estimate).await.map_err(late)??;
        return Ok(Tagged(estimate).into_response());
    }
    let create = Create { owner: jobs.owner, request, sources, idempotency_key };
    let created = jobs.library.create(create).await?;
    let location = format!("/api/jobs/{}", created.job.id);
    let location = HeaderValue::try_from(location).map_err(ApiError::internal)?;
    let headers = [(header::LOCATION, location), NO_STORE];
    let mut response = (StatusCode::ACCEPTED, headers, Json(created.job)).into_response();
    if !created.is_new {
        response.headers_mut().insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Reads `Idempotency-Key`.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let bytes = key.as_bytes();
    let is_valid = (1..=255).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    match key.to_str().ok().filter(|_| is_valid && keys.next().is_none()) {
        Some(key) => Ok(Some(key.to_owned())),
        None => {
            let fault = "idempotency-key: must be one value of 1 to 255 visible ASCII characters";
            Err(invalid("A header is not valid", fault))
        }
    }
}

/// The units that the jobs of a caller can spend in a day.
async fn units_per_day(
    state: &AppState,
    vidra: &Vidra,
    caller: Option<&Extension<Arc<Caller>>>,
) -> Result<u64> {
    let Quota { buckets, .. } = vidra.quota().await?;
    let limit = buckets.iter().find(|bucket| bucket.name == Bucket::Default.name());
    let reserve = state.library.as_ref().map_or(0, |it| it.worker.reserve_units);
    let all = limit.map_or(0, |bucket| bucket.limit.saturating_sub(reserve));
    let own = caller.and_then(|caller| caller.account.allowance.limit(Bucket::Default));
    Ok(u64::from(own.map_or(all, |own| own.min(all))))
}

/// The caller's jobs, the newest first.
///
/// The keys of operators see the jobs of all callers.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/jobs", tag = "Jobs",
    params(
        ("state" = Option<String>, Query, description = "Only jobs in this state; all if not given", example = "completed"),
        ("limit" = Option<u64>, Query, description = "The number of jobs on a page, from 1 to 500", example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each job; all if not given", example = "id,state,succeeded")
    ),
    responses(
        (status = 200, description = "A page of jobs", content(
            (JobPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        JobListErrors
    )
)]
pub(super) async fn list_jobs(jobs: LibraryCaller, mut query: Query, headers: HeaderMap) -> Result {
    let form = ListForm::read_paged::<Job>(&mut query, &headers);
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let state = query.optional_choice("state", &JobState::ALL);
    query.check()?;
    let LibraryCaller { library, access, drain, .. } = jobs;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, access) = (library.clone(), access.clone());
            async move { library.jobs(&access, state, cursor.as_deref(), limit).await }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let (items, next_cursor) = library.jobs(&access, state, cursor.as_deref(), limit).await?;
    form.page::<Job>(
        &JobPage { items: &items, next_cursor: next_cursor.as_deref() },
        &items,
        next_cursor.as_deref(),
    )
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobPage<'a> {
    /// The jobs.
    #[schema(value_type = Vec<Job>)]
    items: &'a [Job],
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<&'a str>,
}

/// A page of the items of a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ItemPage<'a> {
    /// The items.
    #[schema(value_type = Vec<Item>)]
    items: &'a [Item],
    /// The cursor of the next page. Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<&'a str>,
}

/// The state of a job.
///
/// With `wait` and `seen` the answer comes when the job has a later `version` than `seen`, or after `wait` seconds.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/jobs/{id}", tag = "Jobs",
    params(
        ("id" = String, Path),
        ("wait" = Option<u64>, Query, minimum = 0, maximum = 60, description = "Seconds to wait for a change; 0 if not given", example = 0),
        ("seen" = Option<u64>, Query, description = "The `version` that the caller has; 0 if not given", example = 1)
    ),
    responses((status = 200, description = "The job", body = Job), JobErrors)
)]
pub(super) async fn get_job(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
    mut query: Query,
) -> Result<Tagged<Job>> {
    let wait = query.whole("wait", 0..=MAX_WAIT, 0);
    let seen = query.whole("seen", 0..=usize::MAX, 0);
    query.check()?;
    let _slot = if wait > 0 { Some(jobs.follow()?) } else { None };
    let LibraryCaller { library, access, drain, .. } = jobs;
    let wait = Duration::from_secs(wait as u64);
    tokio::select! {
        biased;
        job = library.changed_job(id, &access, seen as u64, wait) => Ok(Tagged(job?)),
        // The caller asks the next instance of the service again.
        () = drain.has_lasted(Duration::ZERO) => Ok(Tagged(library.job(id, &access).await?)),
    }
}

/// The items of a job: one for each of its videos.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/jobs/{id}/items", tag = "Jobs",
    params(
        ("id" = String, Path),
        ("state" = Option<String>, Query, description = "Only items in this state; all if not given", example = "failed"),
        ("reason" = Option<String>, Query, description = "Only items with this reason; all if not given", example = "captions_disabled"),
        ("limit" = Option<u64>, Query, description = "The number of items on a page, from 1 to 500", example = 50),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page; the first page if not given"),
        ("format" = Option<String>, Query, description = "`json` or `csv`; if not given, the format that `Accept` prefers, or `json`", example = "json"),
        ("fields" = Option<String>, Query, description = "Only these members of each item; all if not given", example = "position,videoId,state")
    ),
    responses(
        (status = 200, description = "A page of items", content(
            (ItemPage = "application/json"), (String = "text/csv"), (ListLine = "application/x-ndjson")
        )),
        JobErrors
    )
)]
pub(super) async fn get_job_items(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let form = ListForm::read_paged::<Item>(&mut query, &headers);
    let PageQuery { cursor, limit } = PageQuery::read(&mut query);
    let state = query.optional_choice("state", &ItemState::ALL);
    let unknown = "must be a reason of the reference";
    let reason = query.parsed("reason", |code| Reason::from_code(code).ok_or(unknown));
    query.check()?;
    let filter = ItemFilter { state, reason };
    let LibraryCaller { library, access, drain, .. } = jobs;
    if form.is_stream() {
        let page = move |cursor: Option<String>| {
            let (library, access) = (library.clone(), access.clone());
            async move { library.items(id, &access, filter, cursor.as_deref(), limit).await }
        };
        return form.stream(all_pages(cursor, page), drain).await;
    }
    let (items, next) = library.items(id, &access, filter, cursor.as_deref(), limit).await?;
    form.page::<Item>(
        &ItemPage { items: &items, next_cursor: next.as_deref() },
        &items,
        next.as_deref(),
    )
}
