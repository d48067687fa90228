//! Rejects query parameters that a route does not have. They would be mistakes that go unnoticed, and each
//! spelling would be another entry of the response cache.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use crate::extract::Query;
use crate::typed_url::TypedUrl;

/// The names of the query parameters of each route, by its path.
pub(super) type KnownParameters = Arc<HashMap<String, HashSet<String>>>;

/// Reads the parameters of every data route from the document. Health checks and scrapers may add their own.
pub(super) fn known(document: &OpenApi) -> KnownParameters {
    let names = |item: &PathItem| {
        let operations = [&item.get, &item.post, &item.put, &item.delete].into_iter().flatten();
        operations.flat_map(query_parameters).collect()
    };
    let paths = document.paths.paths.iter().filter(|(path, _)| path.starts_with("/api/"));
    Arc::new(paths.map(|(path, item)| (path.clone(), names(item))).collect())
}

fn query_parameters(operation: &Operation) -> impl Iterator<Item = String> {
    operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
        RefOr::T(it) if it.parameter_in == ParameterIn::Query => Some(it.name.clone()),
        RefOr::T(_) | RefOr::Ref(_) => None,
    })
}

/// Answers with 400 if the query has a parameter that the route does not have. The query of a typed URL belongs to
/// the URL.
pub(super) async fn only_known(
    State(known): State<KnownParameters>,
    request: Request,
    next: Next,
) -> Response {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route = route.filter(|_| request.extensions().get::<TypedUrl>().is_none());
    let Some(names) = route.and_then(|route| known.get(route)) else {
        return next.run(request).await;
    };
    let query = request.uri().query().unwrap_or_default();
    match Query::parse(query).and_then(|query| query.only(names)) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}
