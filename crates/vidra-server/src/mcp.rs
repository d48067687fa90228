//! `/mcp`: the tools for AI agents, over the Model Context Protocol.
//!
//! The gate has checked host, origin and key before. Each request is billed to its own caller. Only calls of tools and
//! reads of resources count against the caller's rate: handshakes, lists and notifications are no work. A call over
//! the limit gets a result that names the wait, because agents show a model no bare HTTP error.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Router};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use vidra::{Reason, Vidra};
use vidra_mcp::{CallRefusal, HttpService, OnFailure, SessionLimits, TooManySessions, ToolList};

use crate::accept::accepts;
use crate::drain::{Drain, STREAM_LIMIT};
use crate::error_body::ApiError;
use crate::extract::{BodyLimits, MAX_BODY_BYTES, read_body};
pub(crate) use crate::gate::MCP_PATH as PATH;
use crate::gate::{CallerId, CallerRate};
use crate::respond::is_stream;
use crate::routes::library_of_tools;
use crate::state::AppState;

/// The last event that the client of a lost stream received.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The types of the answer to a message. The protocol requires that a client accepts both.
const BOTH_TYPES: [&str; 2] = ["application/json", "text/event-stream"];

/// The route of the endpoint.
pub(crate) fn route(vidra: &Vidra, list: ToolList) -> Router<AppState> {
    let limits = SessionLimits::default();
    let service = HttpService::<CallerId>::new(vidra.clone(), MAX_BODY_BYTES, limits);
    let service = service.with_list(list);
    Router::new().route(PATH, any(answer)).layer(Extension(service))
}

async fn answer(
    Extension(service): Extension<HttpService<CallerId>>,
    State(state): State<AppState>,
    caller: Option<Extension<CallerId>>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    if let Some(Extension(caller)) = caller {
        parts.extensions.insert(state.batch_slots(caller));
    }
    parts.extensions.insert(library_of_tools(&state, &parts.extensions));
    let counters = Arc::clone(&state.observers.counters);
    parts.extensions.insert(OnFailure::new(move |error| counters.note_error(error)));
    let method = parts.method.clone();
    let rate = parts.extensions.remove::<CallerRate>();
    let body = read_body(body, BodyLimits::default()).await?;
    if let Some(rate) = rate.filter(|_| method == Method::POST) {
        match Message::parse(&body) {
            Message::Free => {}
            Message::Work => {
                if let Err(error) = rate.admit_work() {
                    parts.extensions.insert(CallRefusal(error));
                }
            }
            Message::Unknown => rate.admit_work()?,
        }
    }
    if method == Method::POST && BOTH_TYPES.iter().all(|it| accepts(&parts.headers, it)) {
        // rmcp looks for the two names, and does not know `*/*`.
        let both = HeaderValue::from_static("application/json, text/event-stream");
        parts.headers.insert(header::ACCEPT, both);
    }
    let has_json = is_json(&parts.headers);
    let is_standalone = method == Method::GET && !parts.headers.contains_key(LAST_EVENT_ID);
    let response = service.answer(Request::from_parts(parts, Full::new(body))).await;
    let mut response = response.map_err(too_many_sessions)?.map(Body::new);
    if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
        // The session is closed now, and some clients treat 202 as a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if is_stream(&response) {
        let limit = if is_standalone { Duration::ZERO } else { STREAM_LIMIT };
        return Ok(until_shutdown(response, limit, state.drain));
    }
    if response.status().is_success() || is_json(response.headers()) {
        return Ok(response);
    }
    Ok(rewrite_error(response, has_json).await)
}

/// A message of a client, as far as the rate limit is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    /// It needs no data of the platform.
    Free,
    /// It may need some. A caller over its limit gets a result that says so.
    Work,
    /// No message, or a batch. It counts as work, and a caller over its limit gets 429.
    Unknown,
}

impl Message {
    fn parse(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow)]
            method: Cow<'a, str>,
        }
        match serde_json::from_slice(body).map(|Head { method }| method) {
            Ok(method) if matches!(&*method, "tools/call" | "resources/read") => Self::Work,
            Ok(_) => Self::Free,
            Err(_) => Self::Unknown,
        }
    }
}

/// Sessions are counted by key, or by address without one. Only the sessions of a key are closed to other
/// callers: an address identifies nobody, and may change during a session.
impl vidra_mcp::Caller for CallerId {
    fn is_known(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

fn too_many_sessions(limit: TooManySessions) -> ApiError {
    match limit {
        TooManySessions::OfAll => {
            ApiError::new(Reason::Overloaded, "There are too many MCP sessions; retry in a minute")
        }
        TooManySessions::OfOne => ApiError::new(
            Reason::CallerRateLimited,
            "You have too many MCP sessions; close some, or retry in a minute",
        ),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// Ends a stream when shutdown has lasted for `limit`. The standalone stream that agents open with GET ends at once,
/// because nothing is sent on it. A GET that resumes a stream may bring an answer.
fn until_shutdown(response: Response, limit: Duration, drain: Drain) -> Response {
    let mut response = response.map(|body| {
        let end = Box::pin(drain.has_lasted(limit));
        Body::from_stream(body.into_data_stream().take_until(end))
    });
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Replaces the plain text of an error of the protocol library by the error body of the service. The library reports a JSON
/// body that is no message as 415.
async fn rewrite_error(response: Response, has_json: bool) -> Response {
    let (parts, body) = response.into_parts();
    let text = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let error = match parts.status {
        status if status.is_server_error() => ApiError::internal(text),
        StatusCode::NOT_FOUND => ApiError::new(Reason::NotFound, text),
        StatusCode::METHOD_NOT_ALLOWED => ApiError::new(Reason::MethodNotAllowed, text),
        StatusCode::UNSUPPORTED_MEDIA_TYPE if !has_json => {
            ApiError::new(Reason::UnsupportedMediaType, text)
        }
        StatusCode::NOT_ACCEPTABLE => ApiError::new(Reason::NotAcceptable, text),
        _ => ApiError::new(Reason::InvalidInput, text),
    };
    let mut response = error.into_response();
    let allowed = parts.headers.get(header::ALLOW).cloned();
    response.headers_mut().extend(allowed.map(|allowed| (header::ALLOW, allowed)));
    response
}
