//! Rejects requests whose `Accept` allows none of the media types of a route.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr};
use vidra::Reason;

use crate::accept::accepts;
use crate::error_body::ApiError;

/// The media types of the answers of each route, by its path.
pub(super) type MediaTypes = Arc<HashMap<String, RouteTypes>>;

/// The media types of a route by method.
pub(super) struct RouteTypes {
    get: Vec<String>,
    post: Vec<String>,
}

/// Reads the media types of every route from the document. Health checks and metrics always answer: a rejected
/// monitor would take the service for dead.
pub(super) fn offered(document: &OpenApi) -> MediaTypes {
    let is_checked =
        |path: &str| path.starts_with("/api/") || matches!(path, "/openapi.json" | "/llms.txt");
    let paths = document.paths.paths.iter().filter(|(path, _)| is_checked(path));
    let routes = paths.map(|(path, item)| {
        let [get, post] =
            [&item.get, &item.post].map(|it| it.as_ref().map(types).unwrap_or_default());
        (path.clone(), RouteTypes { get, post })
    });
    Arc::new(routes.collect())
}

/// The media types of a successful response.
fn types(operation: &Operation) -> Vec<String> {
    let responses = &operation.responses.responses;
    match ["200", "202"].iter().find_map(|status| responses.get(*status)) {
        Some(RefOr::T(success)) => success.content.keys().cloned().collect(),
        _ => vec![],
    }
}

/// Answers with 406 if the request accepts none of the types of its route. The error is JSON nevertheless.
pub(super) async fn only_acceptable(
    State(offered): State<MediaTypes>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let types = route.and_then(|route| offered.get(route.as_str()));
    let types = types.map(|types| match *request.method() {
        Method::POST => &types.post,
        _ => &types.get,
    });
    match types {
        Some(types) if !types.iter().any(|it| accepts(request.headers(), it)) => {
            let message = "The service has no answer of a media type that Accept allows";
            let possible = format!("accept: possible are {}", types.join(", "));
            ApiError::new(Reason::NotAcceptable, message).with_detail(possible).into_response()
        }
        _ => next.run(request).await,
    }
}
