//! The REST service: thin doors onto [`vidra::Vidra`].
//!
//! [`App`] is a function of the client, so that tests call it without a socket; [`serve()`] puts it
//! behind a listener. [`routes`] holds the whole URL table, [`problem`] the only mapping of errors
//! to HTTP.

mod config;
mod drain;
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
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::future::{self, Either};
use http_body_util::Full;
use tower::ServiceExt;
use vidra::Vidra;

pub use config::Config;
pub use serve::{Limits, Serving, Tls, serve};

use drain::Drain;
use ready::Shelf;

/// The whole service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    vidra: Vidra,
    shelf: Arc<Shelf>,
    drain: Drain,
    routes: Router,
}

/// What is sent: bytes that were ready, or what a route makes.
pub type Sent = http_body_util::Either<Full<Bytes>, Body>;

/// What a request asked for, as it was written.
#[derive(Clone)]
struct Target(PathAndQuery);

impl App {
    /// The service over a client.
    pub fn new(vidra: Vidra, config: Config) -> Self {
        let shelf = Arc::new(Shelf::new(config.ready_bytes));
        let (routes, document) = routes::routes();
        let routes = routes.with_state(document.into());
        let drain = Drain::default();
        let routes = layers::around(routes, vidra.clone(), Arc::clone(&shelf), &drain, config);
        Self(Arc::new(Parts { vidra, shelf, drain, routes: typed_url::before_routing(routes) }))
    }

    /// Begins the end: `/readyz` says so, streams are brought to theirs, and what takes too long is
    /// answered with 503.
    pub fn drain(&self) {
        self.0.drain.begin();
    }

    fn drain_state(&self) -> Drain {
        self.0.drain.clone()
    }

    /// Answers a request that came from `peer`: at once where the answer is ready, and else by way of
    /// the routes. Only the latter is worth a future of its own.
    pub fn answer<B>(
        &self,
        request: Request<B>,
        _peer: IpAddr,
    ) -> impl Future<Output = Response<Sent>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let Parts { vidra, shelf, routes, .. } = &*self.0;
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        if let Some(ready) = shelf.answer(vidra, method, uri, headers) {
            return Either::Left(future::ready(ready.map(Sent::Left)));
        }
        let routes = routes.clone();
        Either::Right(Box::pin(async move {
            let mut request = request.map(Body::new);
            if let Some(target) = request.uri().path_and_query().cloned() {
                request.extensions_mut().insert(Target(target));
            }
            let answered: Result<Response<Body>, Infallible> = routes.oneshot(request).await;
            let mut response = answered.unwrap_or_else(|never| match never {});
            if response.status() == StatusCode::NOT_MODIFIED {
                // The router's word, about a body that is not sent: it would be that of the caller's copy.
                response.headers_mut().remove(CONTENT_LENGTH);
            }
            response.map(Sent::Right)
        }))
    }
}
