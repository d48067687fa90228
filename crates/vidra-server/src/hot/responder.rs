//! How handlers turn an [`Answer`] into a response.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::response::Response;
use vidra::{Ask, Vidra};

use super::request_log::route_of;
use super::{Answer, ResponseCache};
use crate::counters::{Counters, RouteId};
use crate::error_body::ApiError;

/// The target of a request as its caller wrote it, before a typed URL is rewritten. An extension of every
/// request.
#[derive(Clone)]
pub(crate) struct Target(pub(crate) PathAndQuery);

/// Renders the response to one request and caches it under the request's target.
pub(crate) struct Responder {
    responses: Arc<ResponseCache>,
    target: Option<Target>,
    route: RouteId,
    headers: HeaderMap,
}

impl<S> FromRequestParts<S> for Responder
where
    S: Send + Sync,
    Arc<ResponseCache>: FromRef<S>,
    Arc<Counters>: FromRef<S>,
{
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self {
            responses: Arc::from_ref(state),
            target: parts.extensions.get().cloned(),
            route: route_of(&parts.extensions, &Arc::<Counters>::from_ref(state)),
            headers: parts.headers.clone(),
        })
    }
}

impl Responder {
    /// Reads `ask` through the cache and renders what it gives.
    pub(crate) async fn fetch(self, vidra: &Vidra, ask: Ask) -> Result<Response, ApiError> {
        Ok(self.send(&Answer::fetch(vidra, ask).await?))
    }

    pub(crate) fn send(&self, answer: &Answer) -> Response {
        let target = self.target.as_ref().map_or("", |Target(target)| target.as_str());
        self.responses.render(target, self.route, &self.headers, answer)
    }
}
