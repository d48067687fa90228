//! `/mcp`: the tools for AI agents, over the protocol that they speak.
//!
//! The gate has looked at host, origin and key before; the bill that each request brings is its caller's.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Router};
use futures_util::StreamExt;
use http_body_util::{BodyExt, Full};
use vidra::Vidra;
use vidra_mcp::{BatchPlaces, HttpService, SessionLimits, TooManySessions};

use crate::drain::{Drain, STREAMS_END_AFTER};
use crate::extract::{MOST_BODY, collected};
use crate::gate::Who;
use crate::metrics::page::Inside;
use crate::problem::Problem;
use crate::routes::Document;
use crate::visit::is_stream;

pub(crate) const PATH: &str = "/mcp";

/// The one route that there is.
pub(crate) fn route(vidra: &Vidra) -> Router<Document> {
    let service = HttpService::<Who>::new(vidra.clone(), MOST_BODY, SessionLimits::default());
    Router::new().route(PATH, any(answer)).layer(Extension(service))
}

async fn answer(
    Extension(service): Extension<HttpService<Who>>,
    Extension(inside): Extension<Arc<Inside>>,
    who: Option<Extension<Who>>,
    request: Request,
) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    if let Some(Extension(who)) = who {
        parts.extensions.insert(places_of(&inside, who));
    }
    let method = parts.method.clone();
    let body = collected(body).await?;
    let response = service.answer(Request::from_parts(parts, Full::new(body))).await;
    let mut response = response.map_err(refused)?.map(Body::new);
    if method == Method::DELETE && response.status() == StatusCode::ACCEPTED {
        // It is done, not only heard; some clients take 202 for a failure.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    if is_stream(&response) {
        return Ok(until_the_end(response, &method, inside.drain.clone()));
    }
    if response.status().is_success() || is_json(response.headers()) {
        return Ok(response);
    }
    Ok(in_our_words(response).await)
}

/// Sessions are counted by key or else by address. Those of a key are closed to others; an address says
/// too little about who asks, and may change while somebody talks.
impl vidra_mcp::Caller for Who {
    fn is_known(&self) -> bool {
        match self {
            Self::Key(_) => true,
            Self::Address(_) => false,
        }
    }
}

fn refused(why: TooManySessions) -> Problem {
    let (status, message) = match why {
        TooManySessions::OfAll => (
            StatusCode::SERVICE_UNAVAILABLE,
            "There are too many MCP sessions; come again in a minute",
        ),
        TooManySessions::OfOne => (
            StatusCode::TOO_MANY_REQUESTS,
            "You have too many MCP sessions; close some, or come again in a minute",
        ),
    };
    Problem::Http(status, message.to_owned())
}

/// The share that a caller has in what may be transcribed together.
pub(crate) fn places_of(inside: &Arc<Inside>, who: Who) -> BatchPlaces {
    let batches = Arc::clone(&inside.batches);
    BatchPlaces::new(move || Some(Box::new(batches.hold(who.clone())?)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("application/json"))
}

/// A stream that ends when the service does. One that waits for news that never come, as agents keep
/// open, need not be waited for.
fn until_the_end(response: Response, method: &Method, drain: Drain) -> Response {
    let patience = if method == Method::GET { Duration::ZERO } else { STREAMS_END_AFTER };
    let mut response = response.map(|body| {
        let end = Box::pin(drain.has_lasted(patience));
        Body::from_stream(body.into_data_stream().take_until(end))
    });
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What the protocol's library says in plain text, as every other error of the service is said.
async fn in_our_words(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let said = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let problem = match parts.status.is_server_error() {
        true => Problem::after_bug(said),
        false => Problem::Http(parts.status, said),
    };
    let mut response = problem.into_response();
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    response
}
