//! The responses of the gate.

use axum::body::Body;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use vidra::Reason;

use super::cors;
use super::host::HostError;
use crate::error_body::ApiError;
use crate::respond::X_QUOTA_COST;

/// The challenge to a request without a key.
const CHALLENGE: &str = "Bearer realm=\"vidra\"";

/// The challenge to a request with an invalid key.
const INVALID: &str = "Bearer realm=\"vidra\", error=\"invalid_token\"";

/// A response of the gate, in place of the one that was requested.
pub(crate) struct Rejection {
    /// The label of the metric; `None` for a preflight, which is no rejection.
    pub(crate) reason: Option<&'static str>,
    pub(crate) response: Response<Body>,
}

impl From<RejectReason> for Rejection {
    fn from(reason: RejectReason) -> Self {
        Self { reason: reason.label(), response: reason.response() }
    }
}

/// Why the gate answers a request itself.
#[derive(Debug)]
pub(super) enum RejectReason {
    Host(HostError),
    /// A CORS preflight, with the origin if it is allowed.
    Preflight(Option<HeaderValue>),
    NoKey,
    WrongKey,
    SeveralKeys,
    /// Seconds to wait.
    RateLimited(u64),
}

impl From<HostError> for RejectReason {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl RejectReason {
    fn label(&self) -> Option<&'static str> {
        match self {
            Self::Host(HostError::Malformed | HostError::Unknown) => Some("host"),
            Self::Host(HostError::ForeignOrigin) => Some("origin"),
            Self::NoKey => Some("no_key"),
            Self::WrongKey | Self::SeveralKeys => Some("wrong_key"),
            Self::RateLimited(_) => Some("rate"),
            Self::Preflight(_) => None,
        }
    }

    fn response(self) -> Response<Body> {
        let rejected = |error: ApiError| {
            let mut response = error.into_response();
            response.headers_mut().insert(X_QUOTA_COST, HeaderValue::from_static("0"));
            response
        };
        let unauthorized = |reason, message: &str, challenge| {
            let how = "send it as Authorization: Bearer KEY or as X-API-Key: KEY".to_owned();
            let error = ApiError::new(reason, message).with_details([how]);
            let mut response = rejected(error);
            let challenge = HeaderValue::from_static(challenge);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            response
        };
        match self {
            Self::Host(HostError::Malformed) => {
                rejected(ApiError::new(Reason::InvalidInput, "A request has to name one host"))
            }
            Self::Host(HostError::Unknown) => {
                let message = "This service does not serve that host name";
                rejected(ApiError::new(Reason::UnknownHost, message))
            }
            Self::Host(HostError::ForeignOrigin) => {
                let message = "Web pages of that origin may not use this service";
                rejected(ApiError::new(Reason::OriginNotAllowed, message))
            }
            Self::Preflight(origin) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                if let Some(origin) = origin {
                    cors::allow_sending(response.headers_mut(), &origin);
                }
                response
            }
            Self::NoKey => {
                unauthorized(Reason::CallerKeyMissing, "This service requires a key", CHALLENGE)
            }
            Self::WrongKey => {
                unauthorized(Reason::CallerKeyInvalid, "The key is not valid", INVALID)
            }
            Self::SeveralKeys => unauthorized(
                Reason::CallerKeyInvalid,
                "The request has two different keys",
                INVALID,
            ),
            Self::RateLimited(wait) => {
                let message = "Too many requests to this service";
                let error = ApiError::new(Reason::CallerRateLimited, message);
                let error = error.with_details([format!("the next is allowed in {wait} s")]);
                rejected(error.with_retry_after(wait))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_callers_get_the_same_reason() {
        let table = [
            (RejectReason::Host(HostError::Malformed), Some("host"), 400),
            (RejectReason::Host(HostError::Unknown), Some("host"), 421),
            (RejectReason::Host(HostError::ForeignOrigin), Some("origin"), 403),
            (RejectReason::NoKey, Some("no_key"), 401),
            (RejectReason::WrongKey, Some("wrong_key"), 401),
            (RejectReason::SeveralKeys, Some("wrong_key"), 401),
            (RejectReason::RateLimited(7), Some("rate"), 429),
            (RejectReason::Preflight(None), None, 204),
        ];
        for (why, reason, status) in table {
            let rejection = Rejection::from(why);
            assert_eq!(rejection.reason, reason);
            assert_eq!(rejection.response.status(), status, "{reason:?}");
        }
    }
}
