//! What every request passes, from the outside in, each with the reason it stands where it does.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use tower_http::catch_panic::CatchPanicLayer;
use vidra::{Error, Vidra};

use crate::config::Config;
use crate::gate::Caller;
use crate::metrics::page::Inside;
use crate::problem::{self, Problem};
use crate::visit::{Notes, is_stream};
use crate::{drain, reply};

const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout");
pub(crate) const QUOTA_COST: HeaderName = HeaderName::from_static("x-quota-cost");

/// Wraps the routes. The last layer added is the first to see a request.
pub(crate) fn around(routes: Router, vidra: Vidra, inside: Arc<Inside>, config: &Config) -> Router {
    let may_refresh = config.callers_may_refresh;
    routes
        // Innermost: some handlers tell of the service itself, or have to know that it ends.
        .layer(Extension(Arc::clone(&inside)))
        // Around the handlers alone: what it says is an answer like theirs.
        .layer(middleware::from_fn_with_state(inside.drain.clone(), drain::within))
        // It needs the handler's answer and nothing else.
        .layer(middleware::from_fn_with_state(Arc::clone(&inside), reply::finished))
        // Inside the bill, so that a bug has a cost like every answer.
        .layer(CatchPanicLayer::custom(problem::after_panic))
        // Outermost: every answer, also 404 and 405, has a cost.
        .layer(middleware::from_fn(move |request: Request, next| {
            let wants_newest = may_refresh && asks_for_newest(request.headers());
            let vidra = if wants_newest { vidra.refreshing() } else { vidra.clone() };
            let inside = Arc::clone(&inside);
            async move { bill(vidra, &inside, request, next).await }
        }))
}

/// Whether a caller will not do with what is kept.
fn asks_for_newest(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|it| it.to_str().ok());
    let mut directives = values.flat_map(|value| value.split(',')).map(str::trim);
    directives.any(|directive| directive.eq_ignore_ascii_case("no-cache"))
}

/// How long a caller will wait: a number of seconds, with `s` or without, or of milliseconds with `ms`.
fn patience(headers: &HeaderMap) -> Result<Option<Duration>, Error> {
    let Some(value) = headers.get(REQUEST_TIMEOUT) else { return Ok(None) };
    let text = value.to_str().unwrap_or_default().trim();
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, number) => (number.unwrap_or(text), 1.0),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| is_plain).map(|number| number * unit);
    match seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds)) {
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => {
            let fault = "x-request-timeout: expected a time such as 2, 2.5s or 300ms".to_owned();
            Err(Error::invalid("A header is not valid", vec![fault]))
        }
    }
}

/// Gives the request a bill of its own, and tells it in the answer.
async fn bill(vidra: Vidra, inside: &Inside, mut request: Request, next: Next) -> Response {
    // Who has a key pays with what that key may spend.
    let vidra = match request.extensions().get::<Arc<Caller>>() {
        Some(caller) => vidra.on_allowance(caller.allowance().clone()).metered(),
        None => vidra.metered(),
    };
    let cost = vidra.cost().clone();
    Notes::take(request.extensions(), &inside.metrics, &cost);
    let mut response = match patience(request.headers()) {
        Ok(patience) => {
            let vidra = patience.map_or_else(|| vidra.clone(), |limit| vidra.within(limit));
            request.extensions_mut().insert(vidra);
            next.run(request).await
        }
        Err(error) => Problem::from(error).into_response(),
    };
    // What a stream costs is not known yet; its line in the log tells it at its end.
    if !is_stream(&response) {
        response.headers_mut().insert(QUOTA_COST, cost.units().into());
    }
    response
}
