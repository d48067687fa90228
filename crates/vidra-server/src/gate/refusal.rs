//! What is answered at the gate.

use axum::body::Body;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;

use super::cors;
use super::host::Stranger;
use crate::layers::QUOTA_COST;
use crate::problem::Problem;

/// What is asked of who has shown no key.
const CHALLENGE: &str = "Bearer realm=\"vidra\"";

/// The same of who has shown one that will not do.
const INVALID: &str = "Bearer realm=\"vidra\", error=\"invalid_token\"";

/// Why a request goes no further than the gate.
#[derive(Debug)]
pub(super) enum Refusal {
    Stranger(Stranger),
    /// It is answered, in full: what a page of the origin may send.
    Preflight(Option<HeaderValue>),
    NoKey,
    WrongKey,
    SeveralKeys,
    /// Seconds to wait.
    TooFast(u64),
}

impl Refusal {
    /// What metrics call it; `None` where all went as it should.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Stranger(Stranger::NoHost | Stranger::Host) => Some("host"),
            Self::Stranger(Stranger::Origin) => Some("origin"),
            Self::NoKey => Some("no_key"),
            Self::WrongKey | Self::SeveralKeys => Some("wrong_key"),
            Self::TooFast(_) => Some("rate"),
            Self::Preflight(_) => None,
        }
    }

    pub(super) fn response(self) -> Response<Body> {
        let problem = |status, message: &str, details: &[&str]| {
            let details = details.iter().map(|line| (*line).to_owned()).collect();
            let mut response =
                Problem::Refused(status, message.to_owned(), details).into_response();
            response.headers_mut().insert(QUOTA_COST, HeaderValue::from_static("0"));
            response
        };
        let unauthorized = |message, challenge| {
            let how = "send it as Authorization: Bearer KEY or as X-API-Key: KEY";
            let mut response = problem(StatusCode::UNAUTHORIZED, message, &[how]);
            let challenge = HeaderValue::from_static(challenge);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            response
        };
        match self {
            Self::Stranger(Stranger::NoHost) => {
                problem(StatusCode::BAD_REQUEST, "A request has to name one host", &[])
            }
            Self::Stranger(Stranger::Host) => problem(
                StatusCode::MISDIRECTED_REQUEST,
                "This service does not answer under that host name",
                &["the operator can name it with --allowed-host"],
            ),
            Self::Stranger(Stranger::Origin) => problem(
                StatusCode::FORBIDDEN,
                "Web pages of that origin may not use this service",
                &["the operator can list it with --cors-origin"],
            ),
            Self::Preflight(origin) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                if let Some(origin) = origin {
                    cors::allow_sending(response.headers_mut(), &origin);
                }
                response
            }
            Self::NoKey => unauthorized("A key is needed", CHALLENGE),
            Self::WrongKey => unauthorized("The key is not valid", INVALID),
            Self::SeveralKeys => unauthorized("Two different keys were sent", INVALID),
            Self::TooFast(wait) => {
                let details = format!("the next is allowed in {wait} s");
                let message = "Too many requests to this service";
                let mut response = problem(StatusCode::TOO_MANY_REQUESTS, message, &[&details]);
                response.headers_mut().insert(RETRY_AFTER, wait.into());
                response
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_and_callers_are_told_the_same_reason() {
        let table = [
            (Refusal::Stranger(Stranger::NoHost), Some("host"), 400),
            (Refusal::Stranger(Stranger::Host), Some("host"), 421),
            (Refusal::Stranger(Stranger::Origin), Some("origin"), 403),
            (Refusal::NoKey, Some("no_key"), 401),
            (Refusal::WrongKey, Some("wrong_key"), 401),
            (Refusal::SeveralKeys, Some("wrong_key"), 401),
            (Refusal::TooFast(7), Some("rate"), 429),
            (Refusal::Preflight(None), None, 204),
        ];
        for (refusal, reason, status) in table {
            assert_eq!(refusal.reason(), reason, "{refusal:?}");
            assert_eq!(refusal.response().status(), status, "{reason:?}");
        }
    }
}
