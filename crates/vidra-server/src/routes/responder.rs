//! How handlers turn an [`Answer`] into a response.

use axum::Extension;
use axum::extract::{FromRequestParts, MatchedPath, OriginalUri, State};
use axum::http::HeaderMap;
use axum::response::Response;
use vidra::{Lookup, Vidra};

use crate::error_body::Result;
use crate::hot::Answer;
use crate::state::AppState;

/// Fetches the answer to one request, renders it, and caches the response under the request's target.
#[derive(FromRequestParts)]
#[from_request(state(AppState))]
pub(super) struct Responder {
    /// The client that bills this request.
    #[from_request(via(Extension))]
    pub(super) vidra: Vidra,
    #[from_request(via(State))]
    state: AppState,
    /// The target as the caller wrote it, before a typed URL is rewritten.
    uri: OriginalUri,
    route: MatchedPath,
    headers: HeaderMap,
}

impl Responder {
    /// Reads `lookup` through the cache and renders the answer.
    pub(super) async fn fetch(self, lookup: Lookup) -> Result {
        Ok(self.send(&Answer::fetch(&self.vidra, lookup).await?))
    }

    pub(super) fn send(&self, answer: &Answer) -> Response {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        let route = self.state.counters.route(Some(self.route.as_str()));
        self.state.responses.render(target, route, &self.headers, answer)
    }
}
