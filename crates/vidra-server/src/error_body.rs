//! Errors as HTTP: the only mapping of [`Reason`] to status, headers and body.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};
use vidra::{Error, ErrorKind, Reason};

/// The body of every error response.
#[derive(Debug, Serialize, ToSchema)]
#[schema(example = json!({"error": {"code": 404, "reason": "video_not_found", "message": "Video not found: dQw4w9WgXcQ", "details": []}}))]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorInfo,
}

/// The error of a failed request.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorInfo {
    /// The HTTP status.
    pub code: u16,
    /// The reason in one word, for programs.
    pub reason: Reason,
    /// A sentence for people.
    pub message: String,
    /// More facts, if there are any; for invalid input one line for each fault, `field: fault`.
    pub details: Vec<String>,
    /// Seconds until a retry can help, in the last line of a stream. Other responses have the header
    /// `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 900)]
    pub retry_after: Option<u64>,
}

/// An error as it is sent to the caller.
#[derive(Debug)]
pub(crate) struct ApiError {
    /// The request log reads it from the response: its source, the platform's own words, is for the
    /// operator only.
    error: Error,
    /// Seconds to wait, for `Retry-After`.
    retry_after: Option<u64>,
}

/// The result of a handler, a response if no other type is given.
pub(crate) type Result<T = Response, E = ApiError> = std::result::Result<T, E>;

/// The status of a reason: the one of its kind, unless HTTP has a better one. The list of kinds is
/// exhaustive, so a new kind does not compile without a status.
pub(crate) fn status(reason: Reason) -> StatusCode {
    match reason {
        Reason::CallerKeyMissing | Reason::CallerKeyInvalid => StatusCode::UNAUTHORIZED,
        Reason::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Reason::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
        Reason::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
        Reason::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Reason::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
        reason => match reason.kind() {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Forbidden => StatusCode::FORBIDDEN,
            ErrorKind::QuotaExhausted | ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::UpstreamKey | ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Upstream | ErrorKind::Unreachable | ErrorKind::Blocked => {
                StatusCode::BAD_GATEWAY
            }
            ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self { retry_after: error.retry_after_seconds(), error }
    }
}

impl ApiError {
    /// An error of the service itself. A caller may retry a 429 and a 503 after a second.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        let retry_after = matches!(status(reason).as_u16(), 429 | 503).then_some(1);
        Self { error: Error::new(reason, message), retry_after }
    }

    /// A bug of the service. Only the log names the cause.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "internal error");
        Self::new(Reason::Internal, "Something went wrong inside the service")
    }

    /// The service is shutting down.
    pub(crate) fn shutting_down() -> Self {
        Self::new(Reason::ShuttingDown, "The service is shutting down")
    }

    pub(crate) fn status(&self) -> StatusCode {
        status(self.error.reason())
    }

    /// Adds a line to the details.
    pub(crate) fn with_detail(self, line: impl Into<String>) -> Self {
        Self { error: self.error.with_detail(line), ..self }
    }

    /// Sets the seconds of `Retry-After`.
    pub(crate) fn with_retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// The last line of a stream, which has sent its headers already.
    pub(crate) fn into_line(self) -> ErrorBody {
        let retry_after = self.retry_after;
        let ErrorBody { error } = self.into_body();
        ErrorBody { error: ErrorInfo { retry_after, ..error } }
    }

    /// The body alone, for a response that is not built here.
    pub(crate) fn into_body(self) -> ErrorBody {
        let (code, reason) = (self.status().as_u16(), self.error.reason());
        let (message, details) = (self.error.message().to_owned(), self.error.details().to_vec());
        ErrorBody { error: ErrorInfo { code, reason, message, details, retry_after: None } }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, error) = (self.status(), self.error.clone());
        let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        let retry_after = self.retry_after.map(|seconds| (header::RETRY_AFTER, seconds.into()));
        let mut response =
            (status, no_store, Extension(error), Json(self.into_body())).into_response();
        response.headers_mut().extend(retry_after);
        response
    }
}

/// The response after a panic, whose message the panic hook has logged.
pub(crate) fn after_panic(_: Box<dyn std::any::Any + Send + 'static>) -> Response {
    ApiError::internal("a handler panicked").into_response()
}

/// The errors of an operation that calls the platform, for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum FetchErrors {
    /// Not a valid identifier, query or body. Nothing was sent upstream.
    #[response(status = 400, example = json!({"error": {"code": 400, "reason": "invalid_input", "message": "Not a valid video identifier: nope", "details": ["video: expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet"]}}))]
    BadRequest(ErrorBody),
    /// The platform denies access: comments are disabled, or the playlist is private.
    #[response(status = 403, example = json!({"error": {"code": 403, "reason": "comments_disabled", "message": "Comments are disabled: dQw4w9WgXcQ", "details": []}}))]
    Forbidden(ErrorBody),
    /// The platform does not have it.
    #[response(status = 404, example = json!({"error": {"code": 404, "reason": "video_not_found", "message": "Video not found: dQw4w9WgXcQ", "details": []}}))]
    NotFound(ErrorBody),
    /// The daily quota or the caller's budget is used up, or YouTube limits the requests of the service; see `Retry-After`.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 429, "reason": "quota_exhausted", "message": "The daily YouTube quota of this service is used up; it is renewed at midnight Pacific time", "details": []}}))]
    QuotaExhausted(ErrorBody),
    /// A bug of the service.
    #[response(status = 500, example = json!({"error": {"code": 500, "reason": "internal", "message": "Something went wrong inside the service", "details": []}}))]
    Internal(ErrorBody),
    /// The platform answered with an error or with something unreadable, after retries.
    #[response(status = 502, example = json!({"error": {"code": 502, "reason": "upstream_failed", "message": "YouTube answered with an error", "details": []}}))]
    Upstream(ErrorBody),
    /// The service's key for the YouTube Data API is missing or was rejected. With `Retry-After`: a circuit breaker is open, or the service is at its limit.
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait, where that is known")), example = json!({"error": {"code": 503, "reason": "upstream_key_missing", "message": "The service has no key for the YouTube Data API", "details": []}}))]
    NoKey(ErrorBody),
    /// The platform did not answer in time.
    #[response(status = 504, example = json!({"error": {"code": 504, "reason": "timed_out", "message": "YouTube did not answer in time (videos)", "details": []}}))]
    Timeout(ErrorBody),
}

/// The errors of an operation that takes a JSON body, for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum BodyErrors {
    /// Not a valid body.
    #[response(status = 400, example = json!({"error": {"code": 400, "reason": "invalid_input", "message": "The query is not valid", "details": ["range: start is greater than end"]}}))]
    BadRequest(ErrorBody),
    /// The body did not arrive in time.
    #[response(status = 408, example = json!({"error": {"code": 408, "reason": "body_timeout", "message": "The body did not arrive in time", "details": []}}))]
    TooSlow(ErrorBody),
    /// The body is too large.
    #[response(status = 413, example = json!({"error": {"code": 413, "reason": "body_too_large", "message": "The body is larger than 65536 bytes", "details": []}}))]
    TooLarge(ErrorBody),
    /// The body is not `application/json`.
    #[response(status = 415, example = json!({"error": {"code": 415, "reason": "unsupported_media_type", "message": "The body has to be application/json", "details": []}}))]
    NotJson(ErrorBody),
}

/// The errors of an operation that fetches the captions of a video, as far as they differ from
/// [`FetchErrors`], for the OpenAPI document.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum TranscriptErrors {
    /// The platform denies access to the video: `video_private`, `age_restricted`, `region_blocked`, `members_only`, `unplayable`.
    #[response(status = 403, example = json!({"error": {"code": 403, "reason": "video_private", "message": "Video is private: dQw4w9WgXcQ", "details": []}}))]
    Forbidden(ErrorBody),
    /// The transcript does not exist: `video_not_found`, `not_started`, `captions_disabled`, `language_unavailable`.
    #[response(status = 404, example = json!({"error": {"code": 404, "reason": "language_unavailable", "message": "Video has no captions in that language: dQw4w9WgXcQ", "details": ["available: de, en"]}}))]
    NotFound(ErrorBody),
    /// A limit is reached: `upstream_rate_limited`, `translation_rate_limited`, `paced`; see `Retry-After`.
    #[response(status = 429, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 429, "reason": "translation_rate_limited", "message": "YouTube limits translations for the address of this service", "details": []}}))]
    RateLimited(ErrorBody),
    /// The platform refuses or fails: `blocked` (with `Retry-After`), `po_token_required`, `no_po_token`, `unreachable`, `upstream_failed`, `platform_changed`.
    #[response(status = 502, headers(("Retry-After" = u64, description = "Seconds to wait, where that is known")), example = json!({"error": {"code": 502, "reason": "blocked", "message": "YouTube blocks requests from the address of this service", "details": []}}))]
    Upstream(ErrorBody),
    /// A circuit breaker is open (`upstream_failing`), or the service is at its limit (`overloaded`).
    #[response(status = 503, headers(("Retry-After" = u64, description = "Seconds to wait")), example = json!({"error": {"code": 503, "reason": "upstream_failing", "message": "YouTube fails; the service retries in a moment", "details": []}}))]
    Unavailable(ErrorBody),
    /// The platform did not answer in time: `timed_out`.
    #[response(status = 504, example = json!({"error": {"code": 504, "reason": "timed_out", "message": "YouTube did not answer in time: dQw4w9WgXcQ", "details": []}}))]
    Timeout(ErrorBody),
}

/// The errors of a playlist batch that differ from those of other operations, for the OpenAPI document.
/// Errors of single videos are in the results.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "documentation: only its derive is used")]
pub(crate) enum BatchErrors {
    /// Not a valid identifier or body. Nothing was sent upstream.
    #[response(status = 400, example = json!({"error": {"code": 400, "reason": "invalid_input", "message": "The request is not valid", "details": ["concurrency: must be a whole number from 1 to 20", "from: is greater than to"]}}))]
    BadRequest(ErrorBody),
    /// The playlist is private.
    #[response(status = 403, example = json!({"error": {"code": 403, "reason": "not_accessible", "message": "Playlist is not accessible: PLquirkPrivate", "details": []}}))]
    Forbidden(ErrorBody),
    /// The playlist does not exist.
    #[response(status = 404, example = json!({"error": {"code": 404, "reason": "playlist_not_found", "message": "Playlist not found: PLquirkUnknown", "details": []}}))]
    NotFound(ErrorBody),
    /// The playlist could not be read, after retries.
    #[response(status = 502, example = json!({"error": {"code": 502, "reason": "upstream_failed", "message": "YouTube answered with an error", "details": []}}))]
    Upstream(ErrorBody),
    /// The platform did not return the playlist in time.
    #[response(status = 504, example = json!({"error": {"code": 504, "reason": "timed_out", "message": "YouTube did not answer in time (playlistItems)", "details": []}}))]
    Timeout(ErrorBody),
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/errors.md");

    const INTRODUCTION: &str = "\
# Errors

Every error has a `reason`: one word of this list. It is in the body of a response, beside the `error` of a failed
result in a batch, and in `vidra::Error::reason()`. The list grows with releases, so accept unknown words.

```json
{\"error\": {\"code\": 404, \"reason\": \"video_not_found\", \"message\": \"Video not found: dQw4w9WgXcQ\", \"details\": []}}
```

`message` is a sentence for people. `details` has one line for each fault of an invalid request, and sometimes more
facts. `Retry-After` is the number of seconds to wait, if it is known. *retry* says whether the same request can
succeed later although nobody changes anything.

A test generates this page from `crates/vidra/src/error/reason.rs`:
`VIDRA_UPDATE_DOCS=1 cargo test -p vidra-server --lib reference`.

| reason | status | meaning | retry | what to do |
|---|--:|---|---|---|
";

    /// Run with `VIDRA_UPDATE_DOCS=1` to regenerate the file.
    #[test]
    fn the_reference_of_errors_is_current() {
        let row = |reason: &Reason| {
            let retry = if reason.is_retryable() { "yes" } else { "no" };
            let (code, status) = (reason.code(), status(*reason).as_u16());
            format!(
                "| `{code}` | {status} | {} | {retry} | {} |\n",
                reason.meaning(),
                reason.advice()
            )
        };
        let current = INTRODUCTION.to_owned() + &Reason::ALL.iter().map(row).collect::<String>();
        if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
            std::fs::write(FILE, &current).unwrap();
        }
        let written = std::fs::read_to_string(FILE).unwrap();
        assert!(
            written == current,
            "docs/reference/errors.md is out of date: regenerate it with VIDRA_UPDATE_DOCS=1"
        );
    }
}
