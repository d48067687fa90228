//! The error responses of the OpenAPI document. Operations refer to them by name.

use std::collections::BTreeMap;

use serde_json::json;
use utoipa::openapi::{ContentBuilder, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, Type};
use vidra::Reason;

use super::status;

/// An error response with an example. Its status is that of its reason.
struct ErrorResponse {
    name: &'static str,
    description: &'static str,
    reason: Reason,
    message: &'static str,
    details: &'static [&'static str],
    /// The name and the description of a header that belongs to it.
    header: Option<(&'static str, &'static str)>,
}

impl ErrorResponse {
    const fn new(
        name: &'static str,
        description: &'static str,
        reason: Reason,
        message: &'static str,
    ) -> Self {
        Self { name, description, reason, message, details: &[], header: None }
    }

    const fn details(self, details: &'static [&'static str]) -> Self {
        Self { details, ..self }
    }

    const fn header(self, name: &'static str, description: &'static str) -> Self {
        Self { header: Some((name, description)), ..self }
    }

    /// Adds `Retry-After`.
    const fn with_wait(self) -> Self {
        self.header("Retry-After", "Seconds to wait, where that is known")
    }

    fn status(&self) -> String {
        status(self.reason).as_str().to_owned()
    }

    fn response(&self) -> Response {
        let Self { reason, message, details, .. } = self;
        let code = status(*reason).as_u16();
        let error = json!({"code": code, "reason": reason, "message": message, "details": details});
        let content = ContentBuilder::new()
            .schema(Some(Ref::from_schema_name("ErrorBody")))
            .example(Some(json!({"error": error})))
            .build();
        let mut response = Response::new(self.description);
        response.content.insert("application/json".to_owned(), content.into());
        if let Some((name, description)) = self.header {
            let kind = if name == "Retry-After" { Type::Integer } else { Type::String };
            let schema = ObjectBuilder::new().schema_type(kind);
            let header = HeaderBuilder::new().schema(Some(schema)).description(Some(description));
            response.headers.insert(name.to_owned(), header.build().into());
        }
        response
    }
}

/// All error responses of the document.
const ALL: [ErrorResponse; 42] = [
    ErrorResponse::new(
        "InvalidRequest",
        "Not a valid identifier, query or body. The service sent nothing to YouTube.",
        Reason::InvalidInput,
        "Not a valid video identifier: nope",
    )
    .details(&["video: expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet"]),
    ErrorResponse::new(
        "InvalidBody",
        "Not a valid identifier or body. The service sent nothing to YouTube.",
        Reason::InvalidInput,
        "The query is not valid",
    )
    .details(&["range: start is greater than end"]),
    ErrorResponse::new(
        "InvalidBatch",
        "Not a valid identifier or body. The service sent nothing to YouTube.",
        Reason::InvalidInput,
        "The request is not valid",
    )
    .details(&["concurrency: must be a whole number from 1 to 20", "from: is greater than to"]),
    ErrorResponse::new(
        "CallerKeyRequired",
        "The service requires a caller key, and the key is missing or not valid.",
        Reason::CallerKeyMissing,
        "This service requires a key",
    )
    .details(&["send it as Authorization: Bearer KEY or as X-API-Key: KEY"])
    .header("WWW-Authenticate", "The scheme that the service accepts"),
    ErrorResponse::new(
        "OperatorKeyRequired",
        "The key is not that of an operator.",
        Reason::OperatorKeyRequired,
        "Only operators may see the usage of callers",
    ),
    ErrorResponse::new(
        "AccessDenied",
        "YouTube denies access: comments are disabled, or the playlist is private.",
        Reason::CommentsDisabled,
        "Comments are disabled: dQw4w9WgXcQ",
    ),
    ErrorResponse::new(
        "PlaylistDenied",
        "The playlist is private.",
        Reason::NotAccessible,
        "Playlist is not accessible: PLquirkPrivate",
    ),
    ErrorResponse::new(
        "VideoDenied",
        "YouTube denies access to the video: `video_private`, `age_restricted`, `region_blocked`, `members_only`, \
         `unplayable`.",
        Reason::VideoPrivate,
        "Video is private: dQw4w9WgXcQ",
    ),
    ErrorResponse::new(
        "NotFound",
        "YouTube does not have it.",
        Reason::VideoNotFound,
        "Video not found: dQw4w9WgXcQ",
    ),
    ErrorResponse::new(
        "PlaylistNotFound",
        "The playlist does not exist.",
        Reason::PlaylistNotFound,
        "Playlist not found: PLquirkUnknown",
    ),
    ErrorResponse::new(
        "TranscriptNotFound",
        "The transcript does not exist: `video_not_found`, `not_started`, `not_ended`, `captions_disabled`, \
         `language_unavailable`, `captions_kind_unavailable`.",
        Reason::LanguageUnavailable,
        "Video has no captions in that language: dQw4w9WgXcQ",
    )
    .details(&["available: de, en"]),
    ErrorResponse::new(
        "InvalidJob",
        "Not a valid job: `invalid_input`, `too_many_sources`. The service sent nothing to YouTube.",
        Reason::InvalidInput,
        "The request is not valid",
    )
    .details(&["sources: is required", "concurrency: must be a whole number from 1 to 20"]),
    ErrorResponse::new(
        "InvalidJobQuery",
        "Not a valid query: `invalid_input`, `invalid_cursor`.",
        Reason::InvalidInput,
        "The query parameters are not valid",
    )
    .details(&["limit: must be a whole number from 1 to 500"]),
    ErrorResponse::new(
        "JobNotFound",
        "There is no such job, or it belongs to another caller: `job_not_found`. The operator has switched the library \
         off: `library_off`.",
        Reason::JobNotFound,
        "There is no such job",
    ),
    ErrorResponse::new(
        "InvalidCollection",
        "Not a valid collection: `invalid_input`, `too_many_sources`. The service sent nothing to YouTube.",
        Reason::InvalidInput,
        "The request is not valid",
    )
    .details(&["sources: is required", "every: must be a time from 15m to 30d, such as 6h"]),
    ErrorResponse::new(
        "CollectionNotFound",
        "There is no such collection, or it belongs to another caller: `collection_not_found`. The operator has switched \
         the library off: `library_off`.",
        Reason::CollectionNotFound,
        "There is no collection news",
    ),
    ErrorResponse::new(
        "CollectionLimitReached",
        "The caller has too many collections (`too_many_collections`), or sends too many requests.",
        Reason::TooManyCollections,
        "You have 100 collections, and 100 are allowed",
    )
    .with_wait(),
    ErrorResponse::new(
        "InvalidSearch",
        "Not a valid search: `invalid_input` with the positions of faults in the query, `invalid_cursor`.",
        Reason::InvalidInput,
        "The query parameters are not valid",
    )
    .details(&["q: position 5: the quotation mark is not closed"]),
    ErrorResponse::new(
        "LibraryPartNotFound",
        "There is no such collection, job or channel: `collection_not_found`, `job_not_found`, `channel_not_found`. The \
         operator has switched the library off: `library_off`.",
        Reason::CollectionNotFound,
        "There is no collection news",
    ),
    ErrorResponse::new(
        "SearchLimitReached",
        "The caller runs too many searches (`too_many_searches`), or sends too many requests.",
        Reason::TooManySearches,
        "You run too many searches at the same time",
    )
    .with_wait(),
    ErrorResponse::new(
        "SearchTimedOut",
        "The search took longer than 2 seconds.",
        Reason::SearchTimedOut,
        "The search took too long; use rarer words, longer prefixes, or filters",
    ),
    ErrorResponse::new(
        "LibraryOff",
        "The operator has switched the library off, or a source does not exist.",
        Reason::LibraryOff,
        "The library is switched off",
    ),
    ErrorResponse::new(
        "JobStateConflict",
        "The job has ended, or is in a state that does not allow this.",
        Reason::JobStateConflict,
        "The job is completed",
    ),
    ErrorResponse::new(
        "IdempotencyKeyReused",
        "The `Idempotency-Key` was used for another request in the last 24 hours.",
        Reason::IdempotencyKeyReused,
        "The Idempotency-Key was used for another request",
    ),
    ErrorResponse::new(
        "JobLimitReached",
        "The caller has too many unfinished jobs (`too_many_jobs`), has no more room in the library (`library_limit_reached`), or sends too many requests. A dry run also fails if a quota is used up.",
        Reason::TooManyJobs,
        "You have 100 unfinished jobs, and 100 are allowed",
    )
    .with_wait(),
    ErrorResponse::new(
        "JobTypeUnsupported",
        "The body has another media type than the operation supports.",
        Reason::UnsupportedMediaType,
        "The body has to be application/json, text/plain or application/x-ndjson",
    ),
    ErrorResponse::new(
        "LibraryUnavailable",
        "The library cannot be used: `library_unavailable`, `library_damaged`. The service is shutting down: \
         `shutting_down`.",
        Reason::LibraryUnavailable,
        "The library cannot be used now",
    )
    .with_wait(),
    ErrorResponse::new(
        "MethodNotAllowed",
        "The path does not support this method.",
        Reason::MethodNotAllowed,
        "DELETE is not possible on /api/quota",
    )
    .header("Allow", "The methods that the path supports"),
    ErrorResponse::new(
        "NotAcceptable",
        "The operation has no media type that `Accept` allows.",
        Reason::NotAcceptable,
        "The service has no answer of a media type that Accept allows",
    )
    .details(&["accept: possible are application/json"]),
    ErrorResponse::new(
        "BodyTimeout",
        "The body did not arrive in time.",
        Reason::BodyTimeout,
        "The body did not arrive in time",
    ),
    ErrorResponse::new(
        "BodyTooLarge",
        "The body is too large.",
        Reason::BodyTooLarge,
        "The body is larger than 131072 bytes",
    ),
    ErrorResponse::new(
        "UnsupportedMediaType",
        "The body is not `application/json`.",
        Reason::UnsupportedMediaType,
        "The body has to be application/json",
    ),
    ErrorResponse::new(
        "UnknownHost",
        "The request names a host that the service does not serve.",
        Reason::UnknownHost,
        "This service does not serve that host name",
    ),
    ErrorResponse::new(
        "RateLimited",
        "The caller sends more requests than its rate limit allows; see `Retry-After`.",
        Reason::CallerRateLimited,
        "Too many requests to this service",
    )
    .details(&["the next is allowed in 3 s"])
    .with_wait(),
    ErrorResponse::new(
        "LimitReached",
        "The daily quota or the caller's budget is used up, the caller sends too many requests, or YouTube limits \
         the requests of the service; see `Retry-After`.",
        Reason::QuotaExhausted,
        "The daily YouTube quota of this service is used up; it is renewed at midnight Pacific time",
    )
    .with_wait(),
    ErrorResponse::new(
        "TranscriptLimitReached",
        "A limit is reached: `upstream_rate_limited`, `translation_rate_limited`, `paced`, `caller_rate_limited`; \
         see `Retry-After`.",
        Reason::TranslationLimited,
        "YouTube limits translations for the address of this service",
    )
    .with_wait(),
    ErrorResponse::new(
        "Internal",
        "A bug of the service.",
        Reason::Internal,
        "Something went wrong inside the service",
    ),
    ErrorResponse::new(
        "UpstreamFailed",
        "YouTube answered with an error or with something unreadable, after retries.",
        Reason::UpstreamFailed,
        "YouTube answered with an error",
    ),
    ErrorResponse::new(
        "TranscriptFailed",
        "YouTube refuses or fails: `blocked` (with `Retry-After`), `po_token_required`, `no_po_token`, \
         `unreachable`, `upstream_failed`, `platform_changed`.",
        Reason::Blocked,
        "YouTube blocks requests from the address of this service",
    )
    .with_wait(),
    ErrorResponse::new(
        "Unavailable",
        "The service's key for the YouTube Data API is missing or was rejected. With `Retry-After`: a circuit \
         breaker is open, or the service is at its limit or shutting down.",
        Reason::UpstreamKeyMissing,
        "The service has no key for the YouTube Data API",
    )
    .with_wait(),
    ErrorResponse::new(
        "ShuttingDown",
        "The service is shutting down.",
        Reason::ShuttingDown,
        "The service is shutting down",
    )
    .with_wait(),
    ErrorResponse::new(
        "TimedOut",
        "YouTube did not answer in time: `timed_out`.",
        Reason::TimedOut,
        "YouTube did not answer in time (videos)",
    ),
];

/// The error responses by name, for the components of the document.
pub(crate) fn error_responses() -> impl Iterator<Item = (&'static str, Response)> {
    ALL.iter().map(|error| (error.name, error.response()))
}

/// References to the error responses with these names, by status.
///
/// # Panics
///
/// If a name is unknown. Tests build the document.
pub(crate) fn references(names: &[&str]) -> BTreeMap<String, RefOr<Response>> {
    let named = names.iter().map(|name| {
        let error = ALL.iter().find(|error| error.name == *name);
        let error = error.unwrap_or_else(|| panic!("no error response has the name {name}"));
        (error.status(), Ref::from_response_name(*name).into())
    });
    named.collect()
}
