//! Answers that are made anew each time: JSON with an `ETag`, and 304 for callers who have it already.
//! Those that come from the cache are in [`ready`](crate::ready).

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use vidra::{Ask, Vidra};

use crate::Target;
use crate::metrics::page::Inside;
use crate::problem::Problem;
use crate::ready::Kept;
use crate::visit::Notes;

/// A value as JSON, with a strong `ETag` that changes only when the bytes do.
pub(crate) struct Reply<T>(pub(crate) T);

/// What handlers return that ask nobody.
pub(crate) type Answer<T> = Result<Reply<T>, Problem>;

/// What handlers return whose answers are kept.
pub(crate) type KeptAnswer = Result<Kept, Problem>;

/// The answer to `ask`, as it is kept.
pub(crate) async fn kept(vidra: &Vidra, ask: Ask) -> KeptAnswer {
    Ok(Kept::new(ask.resource(), vidra.ask(&ask).await?))
}

impl Kept {
    /// Reads what is kept.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        serde_json::from_slice(&self.body).map_err(Problem::after_bug)
    }

    /// Something else that is made of it.
    pub(crate) fn map<T: DeserializeOwned, U: Serialize>(self, make: fn(T) -> U) -> KeptAnswer {
        let made = make(self.decode()?);
        self.with(&made)
    }

    /// The same with another body.
    pub(crate) fn with(mut self, value: &impl Serialize) -> KeptAnswer {
        let body = serde_json::to_vec(value).map_err(Problem::after_bug)?;
        self.body = body.into_boxed_slice().into();
        Ok(self)
    }
}

/// Left to be finished by a layer that knows what the caller has and takes.
impl IntoResponse for Kept {
    fn into_response(self) -> Response {
        Extension(Arc::new(self)).into_response()
    }
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => tagged(bytes),
            Err(error) => Problem::after_bug(error).into_response(),
        }
    }
}

fn tagged(bytes: Vec<u8>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        // Every answer is asked for anew; a caller's copy is good if its ETag still matches.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag(&bytes)),
    ];
    (headers, bytes).into_response()
}

pub(crate) fn etag(bytes: &[u8]) -> HeaderValue {
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

/// Finishes answers: those that are kept, and 304 where the caller named its `ETag`.
pub(crate) async fn finished(
    State(inside): State<Arc<Inside>>,
    request: Request,
    next: Next,
) -> Response {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let is_read = matches!(method, Method::GET | Method::HEAD);
    let target = request.extensions().get::<Target>().cloned();
    let route = Notes::route_of(request.extensions(), &inside.metrics);
    let mut response = next.run(request).await;
    if let Some(kept) = response.extensions_mut().remove::<Arc<Kept>>() {
        let target = target.as_ref().map_or("", |Target(target)| target.as_str());
        return inside.shelf.finish(target, route, &headers, &kept);
    }
    let is_known = response.headers().get(header::ETAG).is_some_and(|etag| names(&headers, etag));
    if is_known && is_read && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Whether `If-None-Match` names this tag, in any of its lines; by the weak comparison that the header
/// asks for.
pub(crate) fn names(asked: &HeaderMap, etag: &HeaderValue) -> bool {
    let Ok(etag) = etag.to_str() else { return false };
    let lines = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}
