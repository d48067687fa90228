//! Errors as HTTP: the only mapping of [`Reason`] to status, headers and body.

mod error_sets;
mod responses;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;
use vidra::{Error, ErrorKind, Reason};

pub(crate) use error_sets::{
    BatchErrors, BodyErrors, CollectionErrors, CollectionListErrors, FetchErrors, JobChangeErrors,
    JobErrors, JobListErrors, OperatorErrors, PutCollectionErrors, ReadinessErrors, SearchErrors,
    StartErrors, TranscriptBatchErrors, TranscriptErrors,
};
pub(crate) use responses::{error_responses, references};

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
        Reason::JobStateConflict => StatusCode::CONFLICT,
        Reason::IdempotencyKeyReused => StatusCode::UNPROCESSABLE_ENTITY,
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

    pub(crate) fn reason(&self) -> Reason {
        self.error.reason()
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
