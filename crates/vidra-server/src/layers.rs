//! The middleware of every routed request, from the outside in. A comment beside each layer says why it
//! is at that position.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower_http::catch_panic::CatchPanicLayer;

use crate::drain::{Drain, REQUEST_LIMIT};
use crate::error_body::{self, ApiError, Result};
use crate::extract::{invalid, list_items};
use crate::gate::{Caller, CallerId};
use crate::hot::RouteInfo;
use crate::respond::{self, X_QUOTA_COST, is_stream};
use crate::state::AppState;

const X_REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout");

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

/// The caller's deadline: seconds, with `s` or without, or milliseconds with `ms`.
fn request_timeout(headers: &HeaderMap) -> Result<Option<Duration>> {
    let Some(value) = headers.get(X_REQUEST_TIMEOUT) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, number) => (number.unwrap_or(text), 1.0),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| is_plain).map(|number| number * unit);
    let seconds = seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds));
    let fault = "x-request-timeout: expected a time such as 2, 2.5s or 300ms";
    let seconds = seconds.ok_or_else(|| invalid("A header is not valid", fault))?;
    Ok(Some(Duration::from_secs_f64(seconds)))
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
