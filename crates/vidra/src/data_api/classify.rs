//! Classifies error responses. The `reason` decides, then the reasons in `details[]`, then the HTTP
//! status. A 403 alone can mean an exhausted quota, a bad key, a private playlist or disabled
//! comments.

use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;

use super::call::{Call, Subject};
use super::fault::slow_down;
use super::wire::Refusal;
use crate::error::{Error, Reason};
use crate::quota::Bucket;
use crate::resilience::outcome::CallOutcome;
use crate::resilience::send::Fault;
use crate::transport::Answer;

/// A classified error response.
pub(crate) struct Classified {
    /// For counters and circuit breakers.
    pub(crate) outcome: CallOutcome,
    pub(crate) fault: Fault,
    /// Set if YouTube reports that a bucket is exhausted for the day.
    pub(crate) empty: Option<Empty>,
    /// The pause that YouTube requests.
    pub(crate) pause: Option<Duration>,
}

/// An exhausted bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Empty {
    /// `None` if YouTube does not name the bucket. It is then the one that was charged.
    pub(crate) named: Option<Bucket>,
}

/// The meaning of an error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    BucketEmpty,
    SlowDown,
    BadKey,
    CommentsDisabled,
    NotShown,
    NotFound,
    BadRequest,
    Broken,
}

/// The pause after a rate limit without `Retry-After`. YouTube's short limits are per minute.
const USUAL_RATE_WINDOW: Duration = Duration::from_secs(60);

/// Classifies an error response to `call`.
///
/// The source of the error contains YouTube's message, filtered by `clean`, for the log.
pub(crate) fn refusal(
    answer: &Answer,
    call: &Call,
    now: Timestamp,
    clean: impl Fn(&str) -> String,
) -> Classified {
    let read: Option<Refusal> = serde_json::from_slice(&answer.body).ok();
    let is_page = read.is_none();
    let refusal = read.unwrap_or_default();
    let meaning = match meaning(answer.status, &refusal) {
        // The page comes from an intermediary and says nothing about the requested object.
        Meaning::NotFound | Meaning::NotShown if is_page => Meaning::Broken,
        meaning => meaning,
    };
    let retry_after = answer.retry_after(now);
    let cause = format!("{} {}: {}", answer.status.as_u16(), refusal.reason(), refusal.message());
    let error = error(meaning, &call.subject, &refusal).with_source(clean(&cause));
    let error = match meaning {
        Meaning::SlowDown => error.with_retry_after(Some(retry_after.unwrap_or(USUAL_RATE_WINDOW))),
        _ => error,
    };
    // By status alone: the same reason comes with 400 for a permanent error and with 503 for a
    // temporary one.
    let is_transient =
        answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status.is_server_error();
    let named = refusal.message().contains("Search Queries").then_some(Bucket::Search);
    let empty = (meaning == Meaning::BucketEmpty).then_some(Empty { named });
    let pause = retry_after.filter(|_| meaning == Meaning::SlowDown);
    let outcome = match meaning {
        Meaning::BadKey if !answer.status.is_server_error() => CallOutcome::KeyRejected,
        Meaning::BucketEmpty if !answer.status.is_server_error() => CallOutcome::QuotaExhausted,
        _ => CallOutcome::of_answer(answer),
    };
    Classified { outcome, fault: Fault { error, is_transient, retry_after }, empty, pause }
}

fn meaning(status: StatusCode, refusal: &Refusal) -> Meaning {
    by_reason(refusal.reason(), refusal.message())
        .or_else(|| {
            refusal.detail_reasons().find_map(|reason| by_reason(reason, refusal.message()))
        })
        .or_else(|| refusal.message().contains("API key").then_some(Meaning::BadKey))
        .unwrap_or_else(|| by_status(status))
}

/// `None` for reasons without a meaning of their own, such as `badRequest` and `forbidden`.
fn by_reason(reason: &str, message: &str) -> Option<Meaning> {
    Some(match reason {
        "quotaExceeded" | "dailyLimitExceeded" | "dailyLimitExceededUnreg" => Meaning::BucketEmpty,
        "rateLimitExceeded" | "userRateLimitExceeded" | "RATE_LIMIT_EXCEEDED"
            if message.contains("per day") =>
        {
            Meaning::BucketEmpty
        }
        "rateLimitExceeded" | "userRateLimitExceeded" | "RATE_LIMIT_EXCEEDED" => Meaning::SlowDown,
        "keyInvalid"
        | "keyExpired"
        | "ipRefererBlocked"
        | "accessNotConfigured"
        | "authError"
        | "SERVICE_DISABLED"
        | "CREDENTIALS_MISSING" => Meaning::BadKey,
        "commentsDisabled" => Meaning::CommentsDisabled,
        "backendError" | "internalError" | "processingFailure" | "SERVICE_UNAVAILABLE" => {
            Meaning::Broken
        }
        "playlistOperationUnsupported"
        | "playlistIdRequired"
        | "incompatibleParameters"
        | "missingRequiredParameter"
        | "unexpectedParameter" => Meaning::BadRequest,
        _ if reason.starts_with("API_KEY_") || reason.starts_with("CONSUMER_") => Meaning::BadKey,
        _ if reason.ends_with("NotFound") => Meaning::NotFound,
        _ if reason.ends_with("Forbidden") || reason.ends_with("NotAccessible") => {
            Meaning::NotShown
        }
        _ if reason.starts_with("invalid") => Meaning::BadRequest,
        _ => return None,
    })
}

fn by_status(status: StatusCode) -> Meaning {
    match status {
        StatusCode::UNAUTHORIZED => Meaning::BadKey,
        StatusCode::FORBIDDEN => Meaning::NotShown,
        StatusCode::NOT_FOUND => Meaning::NotFound,
        StatusCode::TOO_MANY_REQUESTS => Meaning::SlowDown,
        _ => Meaning::Broken,
    }
}

/// The error with our own message. YouTube's text stays in the log.
fn error(meaning: Meaning, subject: &Subject, refusal: &Refusal) -> Error {
    let Subject { what, id } = subject;
    match meaning {
        Meaning::BucketEmpty => Error::new(Reason::QuotaExhausted, "The daily quota is used up"),
        Meaning::SlowDown => slow_down(),
        Meaning::BadKey => {
            Error::new(Reason::UpstreamKeyRejected, "YouTube rejected the API key of this service")
        }
        Meaning::CommentsDisabled => {
            Error::new(Reason::CommentsDisabled, format!("Comments are disabled: {id}"))
        }
        Meaning::NotShown => {
            Error::new(Reason::NotAccessible, format!("{what} is not accessible: {id}"))
        }
        Meaning::NotFound => what.not_found(id),
        Meaning::BadRequest => {
            let message = format!("YouTube does not accept this request: {id}");
            let detail = format!("{}: {}", what.to_string().to_lowercase(), refusal.reason());
            Error::new(Reason::UpstreamRejected, message).with_detail(detail)
        }
        Meaning::Broken => Error::new(Reason::UpstreamFailed, "YouTube answered with an error"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_precede_details_message_and_status() {
        let body = |reason: &str, detail: &str, message: &str| {
            let text = serde_json::json!({"error": {
                "message": message, "errors": [{"reason": reason}], "details": [{"reason": detail}],
            }});
            serde_json::from_value::<Refusal>(text).unwrap()
        };
        let per_day =
            "Quota exceeded for quota metric 'Search Queries' and limit 'Search Queries per day'";
        let table = [
            (403, "quotaExceeded", "", "", Meaning::BucketEmpty),
            (429, "rateLimitExceeded", "", per_day, Meaning::BucketEmpty),
            (429, "rateLimitExceeded", "", "Queries per minute", Meaning::SlowDown),
            (403, "userRateLimitExceeded", "", "", Meaning::SlowDown),
            (400, "badRequest", "API_KEY_INVALID", "", Meaning::BadKey),
            (
                400,
                "badRequest",
                "",
                "API key not valid. Please pass a valid API key.",
                Meaning::BadKey,
            ),
            (403, "forbidden", "", "The request is missing a valid API key.", Meaning::BadKey),
            (403, "forbidden", "API_KEY_SERVICE_BLOCKED", "", Meaning::BadKey),
            (403, "accessNotConfigured", "", "", Meaning::BadKey),
            (403, "forbidden", "CONSUMER_SUSPENDED", "", Meaning::BadKey),
            (401, "required", "", "", Meaning::BadKey),
            (403, "commentsDisabled", "", "", Meaning::CommentsDisabled),
            (403, "playlistItemsNotAccessible", "", "", Meaning::NotShown),
            (403, "forbidden", "", "", Meaning::NotShown),
            (403, "SERVICE_UNAVAILABLE", "", "", Meaning::Broken),
            (404, "playlistNotFound", "", "", Meaning::NotFound),
            (400, "processingFailure", "", "", Meaning::Broken),
            (400, "invalidRegionCode", "", "", Meaning::BadRequest),
            (400, "badRequest", "", "", Meaning::Broken),
            (503, "", "", "", Meaning::Broken),
            (429, "", "", "", Meaning::SlowDown),
            (302, "", "", "", Meaning::Broken),
        ];
        for (status, reason, detail, message, expected) in table {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                meaning(status, &body(reason, detail, message)),
                expected,
                "{status} {reason}"
            );
        }
    }

    /// Every known reason, with a status that alone would mean something else.
    #[test]
    fn a_reason_overrides_the_status() {
        let table: [(u16, Meaning, &[&str]); 8] = [
            (
                404,
                Meaning::BucketEmpty,
                &["quotaExceeded", "dailyLimitExceeded", "dailyLimitExceededUnreg"],
            ),
            (
                404,
                Meaning::SlowDown,
                &["rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"],
            ),
            (
                404,
                Meaning::BadKey,
                &[
                    "keyInvalid",
                    "keyExpired",
                    "ipRefererBlocked",
                    "accessNotConfigured",
                    "authError",
                    "SERVICE_DISABLED",
                    "CREDENTIALS_MISSING",
                    "API_KEY_INVALID",
                    "API_KEY_HTTP_REFERRER_BLOCKED",
                    "CONSUMER_SUSPENDED",
                    "CONSUMER_INVALID",
                ],
            ),
            (404, Meaning::CommentsDisabled, &["commentsDisabled"]),
            (
                404,
                Meaning::Broken,
                &["backendError", "internalError", "processingFailure", "SERVICE_UNAVAILABLE"],
            ),
            (
                404,
                Meaning::BadRequest,
                &[
                    "playlistOperationUnsupported",
                    "playlistIdRequired",
                    "incompatibleParameters",
                    "missingRequiredParameter",
                    "unexpectedParameter",
                    "invalidPageToken",
                    "invalidChannelId",
                ],
            ),
            (403, Meaning::NotFound, &["videoNotFound", "channelNotFound", "playlistNotFound"]),
            (
                404,
                Meaning::NotShown,
                &["channelForbidden", "playlistForbidden", "playlistItemsNotAccessible"],
            ),
        ];
        for (status, expected, reasons) in table {
            let status = StatusCode::from_u16(status).unwrap();
            assert_ne!(by_status(status), expected);
            for reason in reasons {
                let body = serde_json::json!({"error": {"errors": [{"reason": reason}]}});
                let refusal: Refusal = serde_json::from_value(body).unwrap();
                assert_eq!(meaning(status, &refusal), expected, "{reason}");
            }
        }
        for unknown in ["", "forbidden", "badRequest", "required", "NotFoundAtAll", "isinvalid"] {
            assert_eq!(by_reason(unknown, "per day"), None, "{unknown}");
        }
    }

    #[test]
    fn retry_after_in_seconds_or_as_a_date() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let wait = |value: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert(http::header::RETRY_AFTER, value.parse().unwrap());
            let body = bytes::Bytes::new();
            let answer = Answer { status: StatusCode::SERVICE_UNAVAILABLE, headers, body };
            answer.retry_after(now).map(|wait| wait.as_secs())
        };
        assert_eq!(wait("7"), Some(7));
        assert_eq!(wait("Sun, 15 Nov 2026 12:00:07 GMT"), Some(7));
        assert_eq!(wait("Sun, 15 Nov 2026 11:00:00 GMT"), Some(0));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-3"), None);
    }
}
