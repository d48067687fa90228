//! Changes of a job: pause, resume, cancel, retry, delete.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use vidra::{Error, Reason};
use vidra_library::{Job, JobId};

use crate::error_body::{BodyErrors, JobChangeErrors, JobErrors, Result};
use crate::extract::{Id, JsonBody};
use crate::routes::library_caller::{LibraryCaller, changed};

/// Pauses a job. Items in flight end.
///
/// A paused job stays as it is until it is resumed. Pausing it again changes nothing.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    post, path = "/api/jobs/{id}/pause", tag = "Jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = Job), JobErrors, JobChangeErrors)
)]
pub(in crate::routes) async fn pause_job(jobs: LibraryCaller, Id(id): Id<JobId>) -> Result {
    Ok(changed(jobs.library.pause(id, &jobs.access).await?))
}

/// Continues a paused job.
///
/// Resuming a job that is not paused changes nothing.
///
/// Cost: none by itself; the job pays for what it lists.
#[utoipa::path(
    post, path = "/api/jobs/{id}/resume", tag = "Jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = Job), JobErrors, JobChangeErrors)
)]
pub(in crate::routes) async fn resume_job(jobs: LibraryCaller, Id(id): Id<JobId>) -> Result {
    Ok(changed(jobs.library.resume(id, &jobs.access).await?))
}

/// Cancels a job. Items in flight end, and the others stay pending.
///
/// The results so far stay available.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    post, path = "/api/jobs/{id}/cancel", tag = "Jobs", params(("id" = String, Path)),
    responses((status = 200, description = "The job", body = Job), JobErrors, JobChangeErrors)
)]
pub(in crate::routes) async fn cancel_job(jobs: LibraryCaller, Id(id): Id<JobId>) -> Result {
    Ok(changed(jobs.library.cancel(id, &jobs.access).await?))
}

/// The failed items to try again.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "documentation: `reasons` reads it")]
pub(in crate::routes) struct RetryBody {
    /// Only items that failed for these reasons; all if not given.
    #[schema(nullable = false, max_items = 100)]
    reasons: Option<Vec<Reason>>,
}

/// A job whose failed items are tried again.
#[derive(Serialize, ToSchema)]
pub(in crate::routes) struct RetriedJob {
    /// The number of items that are pending again.
    retried: u64,
    #[serde(flatten)]
    job: Job,
}

/// Tries failed items of a job again: those with the given reasons, or all.
///
/// A job that has ended runs again. A cancelled job cannot be retried. Videos that were private or deleted in their list
/// are tried again too.
///
/// Cost: none; the transcripts cost nothing.
#[utoipa::path(
    post, path = "/api/jobs/{id}/retry", tag = "Jobs", params(("id" = String, Path)),
    request_body(content = Option<RetryBody>, example = json!({"reasons": ["captions_disabled"]})),
    responses((status = 200, description = "The job", body = RetriedJob), JobErrors, BodyErrors, JobChangeErrors)
)]
pub(in crate::routes) async fn retry_job(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
    JsonBody(body): JsonBody,
) -> Result {
    let reasons = body.as_ref().map(reasons).transpose()?.flatten();
    let (job, retried) = jobs.library.retry(id, &jobs.access, reasons).await?;
    Ok(changed(RetriedJob { retried, job }))
}

/// Reads `{"reasons": […]}`. `None` for all reasons.
fn reasons(body: &Value) -> vidra::Result<Option<Vec<Reason>>> {
    const SHOWN: usize = 40;
    let mut faults = vec![];
    let mut found = None;
    let Some(members) = body.as_object() else {
        return Err(invalid(vec!["body: must be an object".to_owned()]));
    };
    for (name, value) in members {
        match (name.as_str(), value) {
            ("reasons", Value::Null) => {}
            ("reasons", Value::Array(codes)) if codes.len() <= 100 => {
                let reasons = found.insert(vec![]);
                for (position, code) in (1..).zip(codes) {
                    match code.as_str().and_then(Reason::from_code) {
                        Some(reason) => reasons.push(reason),
                        None => faults.push(format!("reasons.{position}: is not a known reason")),
                    }
                }
            }
            ("reasons", _) => faults.push("reasons: must be a list of at most 100 reasons".into()),
            (name, _) => {
                let shown: String = name.chars().take(SHOWN).collect();
                faults.push(format!("{}: unknown field", shown.escape_debug()));
            }
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(invalid(faults)) }
}

fn invalid(faults: Vec<String>) -> Error {
    Error::invalid("The request is not valid", faults)
}

/// Deletes a job with its items and events.
///
/// A running job is stopped. Its transcripts stay in the library.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    delete, path = "/api/jobs/{id}", tag = "Jobs", params(("id" = String, Path)),
    responses((status = 204, description = "The job is deleted"), JobErrors)
)]
pub(in crate::routes) async fn delete_job(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
) -> Result<StatusCode> {
    jobs.library.delete(id, &jobs.access).await?;
    Ok(StatusCode::NO_CONTENT)
}
