//! Responses that are rendered for each request: JSON with an `ETag`, and 304 where the caller has that
//! version. Responses that come from the cache are rendered in `hot`.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::TryStreamExt;
use http_body::{Frame, SizeHint};
use http_body_util::Full;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;
use vidra::{AnswerMemory, SpooledBody};

use crate::error_body::ApiError;
use crate::extract::list_items;

/// The upstream units that a request cost.
pub(crate) const X_QUOTA_COST: HeaderName = HeaderName::from_static("x-quota-cost");

/// The size from which a body is hashed beside other work.
const LARGE_BYTES: usize = 1 << 20;

/// A document of this type, with a strong `ETag`, from memory or from a file.
pub(crate) async fn document(
    content_type: &'static str,
    body: vidra::Body,
) -> Result<Response, ApiError> {
    let (response, etag) = match body {
        vidra::Body::Memory(bytes, memory) => {
            let etag = body_etag(&bytes).await;
            let body = HeldBody { body: Full::new(bytes), memory };
            (Response::new(Body::new(body)), etag)
        }
        vidra::Body::File(body) => {
            let etag = spooled_etag(&body).await.map_err(ApiError::internal)?;
            (with_spooled(Response::default(), body), etag)
        }
        _ => return Err(ApiError::internal("an unknown kind of body")),
    };
    Ok((headers(content_type, etag), response).into_response())
}

/// A body whose bytes hold their share of the budget of memory until they are sent. A connection takes the bytes and drops the
/// body before that.
pub(crate) struct HeldBody {
    pub(crate) body: Full<Bytes>,
    pub(crate) memory: Option<Arc<AnswerMemory>>,
}

struct HeldBytes {
    bytes: Bytes,
    _memory: Arc<AnswerMemory>,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        // All bytes are in one frame.
        let Some(memory) = self.memory.take() else { return polled };
        let held = |bytes| Bytes::from_owner(HeldBytes { bytes, _memory: memory });
        polled.map_ok(|frame| frame.map_data(held))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The response with a body from a file.
pub(crate) fn with_spooled(response: Response, body: Arc<SpooledBody>) -> Response {
    let length = body.length();
    let mut response = response.map(|_| Body::from_stream(body.pieces()));
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    response.extensions_mut().insert(SentInPieces { length: Some(length) });
    response
}

/// Marks a response whose body is read while it is sent.
#[derive(Clone, Copy)]
pub(crate) struct SentInPieces {
    /// `None` if only the end of the body tells.
    pub(crate) length: Option<u64>,
}

/// The type of a JSON document.
pub(crate) const JSON: &str = "application/json";

fn headers(content_type: &'static str, etag: HeaderValue) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        // A cache may store the response but must revalidate it.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, etag),
    ]
}

/// The headers of a body of this type, with a strong `ETag`.
pub(crate) fn tagged_headers(
    content_type: &'static str,
    body: &[u8],
) -> [(HeaderName, HeaderValue); 3] {
    headers(content_type, etag(body))
}

/// A value as JSON, with a strong `ETag` that changes only when the bytes do.
pub(crate) struct Tagged<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let bytes = match serde_json::to_vec(&self.0) {
            Ok(bytes) => bytes,
            Err(error) => return ApiError::internal(error).into_response(),
        };
        (headers(JSON, etag(&bytes)), bytes).into_response()
    }
}

pub(crate) fn etag(bytes: &[u8]) -> HeaderValue {
    digest_etag(Sha256::digest(bytes).into())
}

/// The `ETag` of a body. That of a large one takes milliseconds, on a thread that may be kept so long.
pub(crate) async fn body_etag(body: &Bytes) -> HeaderValue {
    if body.len() <= LARGE_BYTES {
        return etag(body);
    }
    let shared = body.clone();
    let digest = spawn_blocking(move || etag(&shared)).await;
    // A panic, or a runtime that shuts down.
    digest.unwrap_or_else(|_| etag(body))
}

/// The `ETag` of a body in a file.
pub(crate) async fn spooled_etag(body: &Arc<SpooledBody>) -> io::Result<HeaderValue> {
    let hash = |mut hash: Sha256, piece: Bytes| async move {
        hash.update(&piece);
        Ok(hash)
    };
    let hash = Arc::clone(body).pieces().try_fold(Sha256::new(), hash).await?;
    Ok(digest_etag(hash.finalize().into()))
}

fn digest_etag(digest: [u8; 32]) -> HeaderValue {
    let first_half = u128::from_be_bytes(std::array::from_fn(|at| digest[at]));
    let tag = format!("\"{first_half:032x}\"");
    HeaderValue::try_from(tag).expect("hexadecimal digits in quotes")
}

/// Middleware that answers a conditional read with 304 if the caller has the current version.
pub(crate) async fn conditional(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_conditional = is_read && request.headers().contains_key(header::IF_NONE_MATCH);
    let headers = is_conditional.then(|| request.headers().clone());
    let mut response = next.run(request).await;
    let etag = response.headers().get(header::ETAG);
    let is_known = headers.zip(etag).is_some_and(|(headers, etag)| names_etag(&headers, etag));
    if is_known && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.extensions_mut().remove::<SentInPieces>();
        response.headers_mut().remove(header::CONTENT_TYPE);
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Whether any line of `If-None-Match` names this tag, by the weak comparison that RFC 9110 requires.
pub(crate) fn names_etag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let Ok(etag) = etag.to_str() else { return false };
    let mut tags = list_items(headers, header::IF_NONE_MATCH);
    tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

/// Whether a response is a stream, which has hardly begun when its head is sent.
pub(crate) fn is_stream<B>(response: &Response<B>) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|it| it == "application/x-ndjson" || it == "text/event-stream")
}
