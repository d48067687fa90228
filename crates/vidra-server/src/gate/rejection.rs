//! The responses of the gate.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use vidra::{Error, Reason};

use super::cors;
use crate::error_body::ApiError;
use crate::respond::X_QUOTA_COST;

/// The challenge to a request without a key.
const CHALLENGE: &str = "Bearer realm=\"vidra\"";

/// The challenge to a request with an invalid key.
const INVALID: &str = "Bearer realm=\"vidra\", error=\"invalid_token\"";

/// Why the gate answers a request itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RejectReason {
    /// `Host` is missing, repeated or not a host.
    MalformedHost,
    /// The request is for another host.
    UnknownHost,
    /// A page of another origin sent the request.
    ForeignOrigin,
    /// A CORS preflight of an allowed origin.
    Preflight(HeaderValue),
    NoKey,
    WrongKey,
    /// The request has two different keys.
    SeveralKeys,
    /// Seconds to wait.
    RateLimited(u64),
}

impl RejectReason {
    pub(crate) fn response(self) -> Response<Body> {
        let (error, challenge) = match self {
            Self::Preflight(origin) => return cors::preflight_response(origin),
            Self::MalformedHost => {
                (ApiError::new(Reason::InvalidInput, "A request has to name one host"), None)
            }
            Self::UnknownHost => {
                let message = "This service does not serve that host name";
                (ApiError::new(Reason::UnknownHost, message), None)
            }
            Self::ForeignOrigin => {
                let message = "Web pages of that origin may not use this service";
                (ApiError::new(Reason::OriginNotAllowed, message), None)
            }
            Self::RateLimited(wait) => (rate_limited(wait).into(), None),
            Self::NoKey => (
                key_error(Reason::CallerKeyMissing, "This service requires a key"),
                Some(CHALLENGE),
            ),
            Self::WrongKey => {
                (key_error(Reason::CallerKeyInvalid, "The key is not valid"), Some(INVALID))
            }
            Self::SeveralKeys => {
                let message = "The request has two different keys";
                (key_error(Reason::CallerKeyInvalid, message), Some(INVALID))
            }
        };
        let mut response = error.into_response();
        response.headers_mut().insert(X_QUOTA_COST, HeaderValue::from_static("0"));
        let challenge = challenge.map(|it| (WWW_AUTHENTICATE, HeaderValue::from_static(it)));
        response.headers_mut().extend(challenge);
        response
    }
}

/// The error of a caller that has to wait so many seconds.
pub(super) fn rate_limited(wait: u64) -> Error {
    Error::new(Reason::CallerRateLimited, "Too many requests to this service")
        .with_detail(format!("the next is allowed in {wait} s"))
        .with_retry_after(Some(Duration::from_secs(wait)))
}

fn key_error(reason: Reason, message: &str) -> ApiError {
    let how = "send it as Authorization: Bearer KEY or as X-API-Key: KEY";
    ApiError::new(reason, message).with_detail(how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rejection_has_a_status_and_a_reason() {
        let table = [
            (RejectReason::MalformedHost, Some(Reason::InvalidInput), 400),
            (RejectReason::UnknownHost, Some(Reason::UnknownHost), 421),
            (RejectReason::ForeignOrigin, Some(Reason::OriginNotAllowed), 403),
            (RejectReason::NoKey, Some(Reason::CallerKeyMissing), 401),
            (RejectReason::WrongKey, Some(Reason::CallerKeyInvalid), 401),
            (RejectReason::SeveralKeys, Some(Reason::CallerKeyInvalid), 401),
            (RejectReason::RateLimited(7), Some(Reason::CallerRateLimited), 429),
            (RejectReason::Preflight(HeaderValue::from_static("https://a.b")), None, 204),
        ];
        for (rejection, reason, status) in table {
            let response = rejection.response();
            assert_eq!(response.status(), status, "{reason:?}");
            let error = response.extensions().get::<Error>();
            assert_eq!(error.map(Error::reason), reason, "the metrics count it by its reason");
        }
    }
}
