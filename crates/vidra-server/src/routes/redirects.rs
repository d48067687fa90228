//! Redirects from a path with a slash at its end to the route without it.

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, OriginalUri, RawPathParams};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::no_such_route;
use crate::state::AppState;

/// The characters of a path segment that need no encoding, and the `@` of a handle.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// Routes for these paths with a slash at their end.
pub(crate) fn from_slashes<'a>(paths: impl IntoIterator<Item = &'a str>) -> Router<AppState> {
    let add = |routes: Router<AppState>, path| routes.route(&format!("{path}/"), any(to_route));
    paths.into_iter().fold(Router::new(), add)
}

/// Redirects to the matched route. The target is built from the route and its parameters: a copy of the given path
/// could lead to another host.
async fn to_route(
    route: MatchedPath,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    uri: OriginalUri,
) -> Response {
    let Ok(parameters) = parameters else { return no_such_route(uri).await.into_response() };
    let mut target = route.as_str().trim_end_matches('/').to_owned();
    for (name, value) in &parameters {
        let value = utf8_percent_encode(value, ENCODED).to_string();
        target = target.replace(&format!("{{{name}}}"), &value);
    }
    if let Some(query) = uri.query() {
        target = format!("{target}?{query}");
    }
    match HeaderValue::try_from(target) {
        Ok(target) => {
            (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, target)]).into_response()
        }
        Err(_) => no_such_route(uri).await.into_response(),
    }
}
