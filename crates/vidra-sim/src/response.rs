//! HTTP responses, and dropped connections.

use axum::body::Body;
use http::{Response, header};

/// The connection was dropped before or within an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection dropped")
    }
}

impl std::error::Error for Dropped {}

/// Sets a header, unless the value is invalid.
pub(crate) fn set(response: &mut Response<Body>, name: header::HeaderName, value: &str) {
    if let Ok(value) = value.parse() {
        response.headers_mut().insert(name, value);
    }
}

/// Builds a response. An invalid status becomes 500, because faults may arrive over HTTP.
pub(crate) fn reply(status: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut response, header::CONTENT_TYPE, content_type);
    response
}
