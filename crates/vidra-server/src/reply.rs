//! Answers: JSON with an `ETag`, and 304 for callers who have it already.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// A value as JSON, with a strong `ETag` that changes only when the bytes do.
pub(crate) struct Reply<T>(pub(crate) T);

/// What handlers return.
pub(crate) type Answer<T> = Result<Reply<T>, Problem>;

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => tagged("application/json", bytes),
            Err(error) => Problem::after_bug(error).into_response(),
        }
    }
}

impl Reply<()> {
    /// Text of another type, with the same headers.
    pub(crate) fn text(content_type: &'static str, text: String) -> Response {
        tagged(content_type, text.into_bytes())
    }
}

fn tagged(content_type: &'static str, bytes: Vec<u8>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        // Every answer is asked for anew; a caller's copy is good if its ETag still matches.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag(&bytes)),
    ];
    (headers, bytes).into_response()
}

fn etag(bytes: &[u8]) -> HeaderValue {
    use std::fmt::Write;
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(34);
    text.push('"');
    for byte in &digest[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('"');
    HeaderValue::try_from(text).expect("hexadecimal digits in quotes")
}

/// Turns a success into 304 where the caller named its `ETag`.
pub(crate) async fn not_modified(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let mut response = next.run(request).await;
    let Some(known) = known.filter(|_| is_read && response.status() == StatusCode::OK) else {
        return response;
    };
    let is_known = response.headers().get(header::ETAG).is_some_and(|etag| names(&known, etag));
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Whether an `If-None-Match` list names this tag; by the weak comparison that the header asks for.
fn names(known: &HeaderValue, etag: &HeaderValue) -> bool {
    let (Ok(known), Ok(etag)) = (known.to_str(), etag.to_str()) else { return false };
    known.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}
