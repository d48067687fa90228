//! The middleware of every routed request, from the outside in. A comment beside each layer says why it
//! is at that position.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;

use crate::drain::{Drain, REQUEST_LIMIT};
use crate::error_body::{self, ApiError};
use crate::extract::{list_items, request_timeout};
use crate::gate::{Caller, CallerId};
use crate::hot::RouteInfo;
use crate::respond::{self, X_QUOTA_COST, is_stream};
use crate::state::AppState;

/// Wraps the routes. The last layer added is the first to see a request.
pub(crate) fn wrap(routes: Router<AppState>, state: &AppState) -> Router {
    routes
        .with_state(state.clone())
        // Innermost: it cancels handlers only, and its 503 is a response like theirs.
        .layer(middleware::from_fn_with_state(state.drain.clone(), until_shutdown))
        // It needs the `ETag` of the handler's response.
        .layer(middleware::from_fn(respond::conditional))
        // Inside the bill, so that the response to a panic has a cost too.
        .layer(CatchPanicLayer::custom(error_body::after_panic))
        // Outermost: every response, also 404 and 405, has a cost.
        .layer(middleware::from_fn_with_state(state.clone(), bill))
}

/// Answers with 503 if shutdown leaves a request no more time, before its connection is closed.
async fn until_shutdown(State(drain): State<Drain>, request: Request, next: Next) -> Response {
    tokio::select! {
        // A finished response is sent even when the time is up.
        biased;
        response = next.run(request) => response,
        () = drain.has_lasted(REQUEST_LIMIT) => {
            ApiError::shutting_down().into_response()
        }
    }
}

/// Whether `Cache-Control` of a request contains `no-cache`.
fn has_no_cache(headers: &HeaderMap) -> bool {
    list_items(headers, header::CACHE_CONTROL).any(|it| it.eq_ignore_ascii_case("no-cache"))
}

/// Gives the request a client with its own bill, and reports the bill in the response.
async fn bill(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let AppState { vidra, observers, refreshes, open_account, .. } = state;
    // A caller with a key pays from the allowance of that key.
    let caller = request.extensions().get::<Arc<Caller>>();
    let account = caller.map(|caller| caller.account.allowance.clone()).or(open_account);
    let vidra = account.map_or_else(|| vidra.clone(), |it| vidra.on_allowance(it)).metered();
    let cost = vidra.cost().clone();
    RouteInfo::record(request.extensions(), &observers.counters, &cost);
    let vidra = match refreshes.filter(|_| has_no_cache(request.headers())) {
        Some(budget) => match request.extensions().get::<CallerId>() {
            Some(caller) => match budget.begin(caller.clone(), cost.clone()) {
                Some(refresh) => {
                    RouteInfo::hold(request.extensions(), refresh);
                    vidra.refreshing()
                }
                None => vidra,
            },
            None => vidra.refreshing(),
        },
        None => vidra,
    };
    let mut response = match request_timeout(request.headers()) {
        Ok(timeout) => {
            let vidra = timeout.map_or_else(|| vidra.clone(), |limit| vidra.within(limit));
            request.extensions_mut().insert(vidra);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    // The cost of a stream is not known yet. Its log line has it at the end.
    if !is_stream(&response) {
        response.headers_mut().insert(X_QUOTA_COST, cost.units().into());
    }
    response
}
