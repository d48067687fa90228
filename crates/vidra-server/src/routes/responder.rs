//! How handlers turn an [`Answer`] into a response.

use axum::Extension;
use axum::extract::{FromRequestParts, MatchedPath, OriginalUri, State};
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use bytes::Bytes;
use vidra::{Body, Include, Lookup, Vidra};

use crate::counters::RouteId;
use crate::drain::Drain;
use crate::error_body::{ApiError, Result};
use crate::hot::Answer;
use crate::state::AppState;
use crate::typed_url::TypedUrl;

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
    method: Method,
    /// Whether the identifier is a URL, whose query may contain anything.
    typed_url: Option<Extension<TypedUrl>>,
    headers: HeaderMap,
}

impl Responder {
    /// Reads `lookup` through the cache and renders the answer.
    pub(super) async fn fetch(self, lookup: Lookup) -> Result {
        let found = self.vidra.lookup_body(&lookup).await?;
        let (body, memory, file) = match found.body.clone() {
            Body::Memory(bytes, memory) => (bytes, memory, None),
            Body::File(file) => (Bytes::new(), None, Some(file)),
            _ => return Err(ApiError::internal("an unknown kind of body")),
        };
        let answer = Answer::new(lookup.resource(), found.with_body(body));
        let answer = Answer { memory, ..answer };
        let Some(file) = file else { return Ok(self.send(&answer).await) };
        let rendered =
            self.state.responses.render_spooled(self.route(), &self.headers, &answer, file);
        rendered.await.map_err(ApiError::internal)
    }

    /// The same request, whose videos have more members.
    pub(super) fn including(self, include: Include) -> Self {
        Self { vidra: self.vidra.including(include), ..self }
    }

    pub(super) async fn send(&self, answer: &Answer) -> Response {
        let target = self.uri.path_and_query().map_or("", |target| target.as_str());
        // Otherwise a caller could fill the cache with spellings of one request.
        let query = self.uri.query().unwrap_or_default();
        let is_plain = self.typed_url.is_none() && !query.split('&').any(str::is_empty);
        let target = if query.is_empty() || is_plain { target } else { "" };
        let responses = &self.state.responses;
        responses.render(target, self.route(), &self.method, &self.headers, answer).await
    }

    /// Tells a stream when the service shuts down.
    pub(super) fn drain(&self) -> Drain {
        self.state.drain.clone()
    }

    fn route(&self) -> RouteId {
        self.state.observers.counters.route(Some(self.route.as_str()))
    }
}
