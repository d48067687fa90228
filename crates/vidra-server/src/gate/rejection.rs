//! The responses of the gate.

use axum::body::Body;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Response};
use axum::response::IntoResponse;
use vidra::Reason;

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
    /// A CORS preflight, with the origin if it is allowed.
    Preflight(Option<HeaderValue>),
    NoKey,
    WrongKey,
    /// The request has two different keys.
    SeveralKeys,
    /// Seconds to wait.
    RateLimited(u64),
}

impl RejectReason {
    /// The label of the metric; `None` for a preflight, which is no rejection.
    pub(crate) fn label(&self) -> Option<&'static str> {
        match self {
            Self::MalformedHost | Self::UnknownHost => Some("host"),
            Self::ForeignOrigin => Some("origin"),
            Self::NoKey => Some("no_key"),
            Self::WrongKey | Self::SeveralKeys => Some("wrong_key"),
            Self::RateLimited(_) => Some("rate"),
            Self::Preflight(_) => None,
        }
    }

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
            Self::RateLimited(wait) => {
                let message = "Too many requests to this service";
                let error = ApiError::new(Reason::CallerRateLimited, message);
                let error = error.with_detail(format!("the next is allowed in {wait} s"));
                (error.with_retry_after(wait), None)
            }
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

fn key_error(reason: Reason, message: &str) -> ApiError {
    let how = "send it as Authorization: Bearer KEY or as X-API-Key: KEY";
    ApiError::new(reason, message).with_detail(how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rejection_has_a_metric_label_and_a_status() {
        let table = [
            (RejectReason::MalformedHost, Some("host"), 400),
            (RejectReason::UnknownHost, Some("host"), 421),
            (RejectReason::ForeignOrigin, Some("origin"), 403),
            (RejectReason::NoKey, Some("no_key"), 401),
            (RejectReason::WrongKey, Some("wrong_key"), 401),
            (RejectReason::SeveralKeys, Some("wrong_key"), 401),
            (RejectReason::RateLimited(7), Some("rate"), 429),
            (RejectReason::Preflight(None), None, 204),
        ];
        for (reason, label, status) in table {
            assert_eq!(reason.label(), label);
            assert_eq!(reason.response().status(), status, "{label:?}");
        }
    }
}
