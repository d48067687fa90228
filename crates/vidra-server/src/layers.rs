//! What every request passes, from the outside in, each with the reason it stands where it does.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::HeaderName;
use axum::middleware::{self, Next};
use axum::response::Response;
use tower_http::catch_panic::CatchPanicLayer;
use vidra::Vidra;

use crate::{problem, reply};

const QUOTA_COST: HeaderName = HeaderName::from_static("x-quota-cost");

/// Wraps the routes. The last layer added is the first to see a request.
pub(crate) fn around(routes: Router, vidra: Vidra) -> Router {
    routes
        // Innermost: it needs the finished answer and nothing else.
        .layer(middleware::from_fn(reply::not_modified))
        // Inside the log, so that a bug is logged as the 500 that the caller sees.
        .layer(CatchPanicLayer::custom(problem::after_panic))
        // Outermost: every answer, also 404 and 405, has a cost and a line in the log.
        .layer(middleware::from_fn(move |request, next| bill(vidra.clone(), request, next)))
}

/// Gives the request a bill of its own, tells it in the answer, and logs one line.
async fn bill(vidra: Vidra, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let vidra = vidra.metered();
    let method = request.method().clone();
    // The path only: a query may hold what somebody pasted there by mistake.
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(vidra.clone());
    let mut response = next.run(request).await;
    let cost = vidra.cost().units();
    response.headers_mut().insert(QUOTA_COST, cost.into());
    tracing::info!(
        %method,
        path = path.as_str(),
        route = route.as_ref().map(MatchedPath::as_str),
        status = response.status().as_u16(),
        cost,
        elapsed_ms = started.elapsed().as_secs_f64() * 1e3,
        "request"
    );
    response
}
