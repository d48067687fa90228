//! The REST service: thin doors onto [`vidra::Vidra`].
//!
//! [`App`] is a function of the client, so that tests call it without a socket; [`serve()`] puts it
//! behind a listener. [`routes`] holds the whole URL table, [`problem`] the only mapping of errors
//! to HTTP.

mod config;
mod extract;
mod layers;
pub mod problem;
mod progress;
mod ready;
mod reply;
pub mod routes;
mod serve;
mod typed_url;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode};
use tower::ServiceExt;
use vidra::Vidra;

pub use config::Config;
pub use serve::serve;

use ready::Shelf;

/// The whole service. Cheap to clone.
#[derive(Clone)]
pub struct App {
    vidra: Vidra,
    shelf: Arc<Shelf>,
    routes: Router,
}

/// What a request asked for, as it was written.
#[derive(Clone)]
struct Target(PathAndQuery);

impl App {
    /// The service over a client.
    pub fn new(vidra: Vidra, config: Config) -> Self {
        let shelf = Arc::new(Shelf::new(config.ready_bytes));
        let (routes, document) = routes::routes();
        let routes = routes.with_state(document.into());
        let routes = layers::around(routes, vidra.clone(), Arc::clone(&shelf), config);
        Self { vidra, shelf, routes: typed_url::before_routing(routes) }
    }

    /// Answers a request: at once where the answer is ready, and else by way of the routes.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        if let Some(ready) = self.shelf.answer(&self.vidra, method, uri, headers) {
            return ready;
        }
        let mut request = request.map(Body::new);
        if let Some(target) = request.uri().path_and_query().cloned() {
            request.extensions_mut().insert(Target(target));
        }
        let answered: Result<_, Infallible> = self.routes.clone().oneshot(request).await;
        let mut response = answered.unwrap_or_else(|never| match never {});
        if response.status() == StatusCode::NOT_MODIFIED {
            // The router's word, about a body that is not sent: it would be that of the caller's copy.
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        response
    }
}
