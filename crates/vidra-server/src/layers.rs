//! What every request passes, from the outside in, each with the reason it stands where it does.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Extension, Router};
use bytes::Bytes;
use http_body::Frame;
use tower_http::catch_panic::CatchPanicLayer;
use vidra::{Cost, Vidra};

use crate::config::Config;
use crate::drain::{self, Drain};
use crate::ready::Shelf;
use crate::typed_url::shown_path;
use crate::{problem, reply};

pub(crate) const QUOTA_COST: HeaderName = HeaderName::from_static("x-quota-cost");

/// Wraps the routes. The last layer added is the first to see a request.
pub(crate) fn around(
    routes: Router,
    vidra: Vidra,
    shelf: Arc<Shelf>,
    drain: &Drain,
    config: Config,
) -> Router {
    routes
        // Innermost: handlers of streams, and of readiness, have to know.
        .layer(Extension(drain.clone()))
        // Around the handlers alone: what it says is an answer like theirs.
        .layer(middleware::from_fn_with_state(drain.clone(), drain::within))
        // It needs the handler's answer and nothing else.
        .layer(middleware::from_fn_with_state(shelf, reply::finished))
        // Inside the log, so that a bug is logged as the 500 that the caller sees.
        .layer(CatchPanicLayer::custom(problem::after_panic))
        // Outermost: every answer, also 404 and 405, has a cost and a line in the log.
        .layer(middleware::from_fn(move |request: Request, next| {
            let wants_newest = config.callers_may_refresh && asks_for_newest(request.headers());
            let vidra = if wants_newest { vidra.refreshing() } else { vidra.clone() };
            bill(vidra, request, next)
        }))
}

/// Whether a caller will not do with what is kept.
fn asks_for_newest(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|it| it.to_str().ok());
    let mut directives = values.flat_map(|value| value.split(',')).map(str::trim);
    directives.any(|directive| directive.eq_ignore_ascii_case("no-cache"))
}

/// Gives the request a bill of its own, tells it in the answer, and logs one line.
async fn bill(vidra: Vidra, mut request: Request, next: Next) -> Response {
    let vidra = vidra.metered();
    let mut line = LogLine {
        started: Instant::now(),
        method: request.method().clone(),
        path: shown_path(request.extensions(), request.uri()),
        cost: vidra.cost().clone(),
        status: None,
        is_whole: false,
    };
    request.extensions_mut().insert(vidra);
    let mut response = next.run(request).await;
    line.status = Some(response.status());
    line.is_whole = true;
    let is_stream = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value == "application/x-ndjson" || value == "text/event-stream");
    if is_stream {
        // It has hardly begun: what it costs is not known yet, and its line is written at its end.
        line.is_whole = false;
        return response.map(|body| Body::new(Logged { body, line }));
    }
    response.headers_mut().insert(QUOTA_COST, line.cost.units().into());
    response
}

/// A stream, and its line of the log.
struct Logged {
    body: Body,
    line: LogLine,
}

impl http_body::Body for Logged {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(None) = polled {
            self.line.is_whole = true;
        }
        polled
    }
}

/// One line of the log, written when the request is over: also when its caller went away and it is
/// dropped in the middle, because it may have cost something all the same.
struct LogLine {
    started: Instant,
    method: Method,
    path: String,
    cost: Cost,
    /// `None` where there was nobody left to answer.
    status: Option<StatusCode>,
    /// Whether the caller stayed to the end.
    is_whole: bool,
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let Self { method, path, .. } = self;
        let elapsed_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let cost = self.cost.units();
        let status = self.status.map(|status| status.as_u16());
        if self.is_whole {
            tracing::info!(%method, path, status, cost, elapsed_ms, "request");
        } else {
            tracing::info!(%method, path, status, cost, elapsed_ms, "request abandoned by its caller");
        }
    }
}
