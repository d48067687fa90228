//! Errors as HTTP: one mapping of [`ErrorKind`] to status, headers and body.

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};
use vidra::{Error, ErrorKind};

/// The body of every answer that is not a success.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"error": {"code": 404, "message": "Video not found: dQw4w9WgXcQ", "details": []}}))]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorInfo,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorInfo {
    /// The HTTP status.
    pub code: u16,
    /// A sentence for people.
    pub message: String,
    /// More where there is more; for bad input one line per fault, `field: what is wrong`.
    pub details: Vec<String>,
}

/// An error on its way to the caller: of the library, or of HTTP itself.
#[derive(Debug)]
pub(crate) enum Problem {
    Failed(Error),
    Http(StatusCode, String),
    /// Not let in, with details.
    Refused(StatusCode, String, Vec<String>),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The one mapping. Exhaustive, so that a new kind does not compile before it has a status.
fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::QuotaExhausted | ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::UpstreamKey | ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Upstream | ErrorKind::Blocked => StatusCode::BAD_GATEWAY,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Problem {
    /// A bug of ours, told to the log and to nobody else.
    pub(crate) fn after_bug(what: impl std::fmt::Display) -> Self {
        tracing::error!("a bug: {what}");
        let message = "Something went wrong inside the service".to_owned();
        Self::Http(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl ErrorBody {
    /// One without details.
    pub(crate) fn plain(status: StatusCode, message: &str) -> Self {
        let (code, message) = (status.as_u16(), message.to_owned());
        Self { error: ErrorInfo { code, message, details: vec![] } }
    }

    /// The body of an error of the library.
    pub(crate) fn of(error: &Error) -> Self {
        let code = status(error.kind()).as_u16();
        let (message, details) = (error.message().to_owned(), error.details().to_vec());
        Self { error: ErrorInfo { code, message, details } }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let error = match self {
            Self::Http(status, message) => {
                let mut response = Self::Refused(status, message, vec![]).into_response();
                if matches!(status.as_u16(), 429 | 503) {
                    response.headers_mut().insert(header::RETRY_AFTER, 1.into());
                }
                return response;
            }
            Self::Refused(status, message, details) => {
                let error = ErrorInfo { code: status.as_u16(), message, details };
                return response(status, ErrorBody { error });
            }
            Self::Failed(error) => error,
        };
        let mut response = response(status(error.kind()), ErrorBody::of(&error));
        // For the request's line in the log: what the platform said stays with the operator.
        response.extensions_mut().insert(Arc::new(error.clone()));
        if let Some(wait) = error.retry_after() {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn response(status: StatusCode, body: ErrorBody) -> Response {
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A panic; its text has gone to the log by the panic hook.
pub(crate) fn after_panic(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    Problem::after_bug("a panic").into_response()
}

/// The errors of an operation that asks the platform, for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum AskErrors {
    /// Not a valid identifier, query or body. Nothing was sent upstream.
    #[response(status = 400, example = json!({"error": {"code": 400, "message": "Not a valid video identifier: nope", "details": ["video: expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet"]}}))]
    BadRequest(ErrorBody),
    /// The platform does not show it: comments disabled, private playlist.
    #[response(status = 403, example = json!({"error": {"code": 403, "message": "Comments are disabled: dQw4w9WgXcQ", "details": []}}))]
    Forbidden(ErrorBody),
    /// The platform does not know it.
    #[response(status = 404, example = json!({"error": {"code": 404, "message": "Video not found: dQw4w9WgXcQ", "details": []}}))]
    NotFound(ErrorBody),
    /// The day's quota is used up, or the platform asks to slow down; see `Retry-After`.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 429, "message": "The day's YouTube quota is used up; it is renewed at midnight Pacific time", "details": []}}))]
    QuotaExhausted(ErrorBody),
    /// A bug of the service.
    #[response(status = 500, example = json!({"error": {"code": 500, "message": "Something went wrong inside the service", "details": []}}))]
    Internal(ErrorBody),
    /// The platform answered with an error or with something unreadable, after retries.
    #[response(status = 502, example = json!({"error": {"code": 502, "message": "YouTube answered with an error", "details": []}}))]
    Upstream(ErrorBody),
    /// The service's key to the platform is missing or was rejected; or, with `Retry-After`, the platform fails and is left alone for a while, or the service is busy.
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait, where that is known")), example = json!({"error": {"code": 503, "message": "No YouTube API key is configured", "details": ["set YOUTUBE_API_KEY or --api-key-file and start the service again"]}}))]
    NoKey(ErrorBody),
    /// The platform did not answer in time.
    #[response(status = 504, example = json!({"error": {"code": 504, "message": "YouTube did not answer in time (videos)", "details": []}}))]
    Timeout(ErrorBody),
}

/// The errors of an operation that takes a JSON body, for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum BodyErrors {
    /// Not a valid body.
    #[response(status = 400, example = json!({"error": {"code": 400, "message": "The query is not valid", "details": ["range: start is greater than end"]}}))]
    BadRequest(ErrorBody),
    /// The body did not come in time.
    #[response(status = 408, example = json!({"error": {"code": 408, "message": "The body did not come in time", "details": []}}))]
    TooSlow(ErrorBody),
    /// The body is too large.
    #[response(status = 413, example = json!({"error": {"code": 413, "message": "The body is larger than 65536 bytes", "details": []}}))]
    TooLarge(ErrorBody),
    /// The body is not `application/json`.
    #[response(status = 415, example = json!({"error": {"code": 415, "message": "The body has to be application/json", "details": []}}))]
    NotJson(ErrorBody),
}

/// The errors of an operation that asks for the captions of a video, for the OpenAPI document. The first
/// of the details is the machine's word for why.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum TranscriptErrors {
    /// Not a valid identifier or query. Nothing was sent upstream.
    #[response(status = 400, example = json!({"error": {"code": 400, "message": "Not a valid video identifier: nope", "details": ["video: expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet"]}}))]
    BadRequest(ErrorBody),
    /// The platform does not show the video: `video_private`, `age_restricted`, `region_blocked`, `members_only`, `unplayable`.
    #[response(status = 403, example = json!({"error": {"code": 403, "message": "Video is private: dQw4w9WgXcQ", "details": ["reason: video_private"]}}))]
    Forbidden(ErrorBody),
    /// There is none: `video_unavailable`, `not_started`, `captions_disabled`, `language_unavailable`.
    #[response(status = 404, example = json!({"error": {"code": 404, "message": "Video has no captions in that language: dQw4w9WgXcQ", "details": ["reason: language_unavailable", "available: de, en"]}}))]
    NotFound(ErrorBody),
    /// Not now: `rate_limited`, `translation_rate_limited`, `paced`; see `Retry-After`.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 429, "message": "YouTube limits translations for this service's address", "details": ["reason: translation_rate_limited", "the captions themselves may still be had"]}}))]
    RateLimited(ErrorBody),
    /// A bug of the service.
    #[response(status = 500, example = json!({"error": {"code": 500, "message": "Something went wrong inside the service", "details": []}}))]
    Internal(ErrorBody),
    /// The platform does not serve us: `blocked` (with `Retry-After`), `po_token_required`, `no_po_token`, `unreachable`, `upstream_failed`, `platform_changed`.
    #[response(status = 502, headers(("Retry-After" = u64, description = "Seconds to wait, where that is known")), example = json!({"error": {"code": 502, "message": "YouTube blocks requests from this service's address", "details": ["reason: blocked", "ask through another address: --proxy takes one or several"]}}))]
    Upstream(ErrorBody),
    /// Not now: the platform fails and is left alone for a while (`upstream_failing`), or the service is busy.
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 503, "message": "YouTube fails; it is asked again in a moment", "details": ["reason: upstream_failing"]}}))]
    Unavailable(ErrorBody),
    /// The platform did not answer in time: `timed_out`.
    #[response(status = 504, example = json!({"error": {"code": 504, "message": "YouTube did not answer in time: dQw4w9WgXcQ", "details": ["reason: timed_out"]}}))]
    Timeout(ErrorBody),
}

/// The errors of the transcripts of a playlist that are not those of others, for the OpenAPI document.
/// Those of single videos are in the results.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum BatchErrors {
    /// Not a valid identifier or body. Nothing was sent upstream.
    #[response(status = 400, example = json!({"error": {"code": 400, "message": "The request is not valid", "details": ["concurrency: must be a whole number from 1 to 20", "from: is greater than to"]}}))]
    BadRequest(ErrorBody),
    /// The playlist is private.
    #[response(status = 403, example = json!({"error": {"code": 403, "message": "Playlist is not accessible: PLquirkPrivate", "details": []}}))]
    Forbidden(ErrorBody),
    /// There is no such playlist.
    #[response(status = 404, example = json!({"error": {"code": 404, "message": "Playlist not found: PLquirkUnknown", "details": []}}))]
    NotFound(ErrorBody),
    /// The playlist could not be read, after retries.
    #[response(status = 502, example = json!({"error": {"code": 502, "message": "YouTube answered with an error", "details": []}}))]
    Upstream(ErrorBody),
    /// The playlist did not come in time.
    #[response(status = 504, example = json!({"error": {"code": 504, "message": "YouTube did not answer in time (playlistItems)", "details": []}}))]
    Timeout(ErrorBody),
}
