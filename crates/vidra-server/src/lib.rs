//! The REST service: thin doors onto [`vidra::Vidra`].
//!
//! [`App`] is a function of the client, so that tests call it without a socket; [`serve()`] puts it
//! behind a listener. [`routes`] holds the whole URL table, [`problem`] the only mapping of errors
//! to HTTP.

mod asked;
mod config;
mod drain;
mod extract;
pub mod gate;
mod layers;
mod mcp;
mod metrics;
mod pages;
pub mod problem;
mod progress;
mod ready;
mod reply;
mod request_id;
pub mod routes;
mod serve;
mod trace;
mod typed_url;
mod visit;

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_LENGTH;
use axum::http::uri::PathAndQuery;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::future::{self, Either};
use http_body_util::Full;
use tokio::time::Instant;
use tower::ServiceExt;
use vidra::Vidra;

pub use config::Config;
pub use pages::Example;
pub use serve::{Limits, Serving, Tls, serve};

use asked::Asked;
use drain::Drain;
use gate::{Gate, Guest, Rules, Shares};
use metrics::Metrics;
use metrics::page::Inside;
use ready::Shelf;
use visit::Visit;

/// The whole service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

struct Parts {
    gate: Gate,
    vidra: Vidra,
    inside: Arc<Inside>,
    door: Door,
    routes: Router,
}

/// Who is let in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    /// Everybody, to everything.
    Public,
    /// The operator, to what is about the service itself.
    Admin,
}

/// What is sent: bytes that were ready, or what a route makes.
pub type Sent = http_body_util::Either<Full<Bytes>, Body>;

/// An answer that nobody had to wait for, and when it was there.
struct AtOnce {
    response: Response<Sent>,
    at: Instant,
}

/// A request that was let in, and is not answered yet.
struct Admitted {
    visit: Visit,
    guest: Guest,
}

/// What a request asked for, as it was written.
#[derive(Clone)]
struct Target(PathAndQuery);

impl App {
    /// The service over a client.
    pub fn new(vidra: Vidra, config: Config) -> Self {
        let (routes, document) = routes::routes(!config.metrics_apart);
        // Also of the operator's side.
        let routes = if config.mcp { routes.merge(mcp::route(&vidra)) } else { routes };
        let routes = routes.merge(pages::routes(config.examples.clone()));
        let paths = routes::openapi().paths.paths.into_keys();
        let others = [mcp::PATH].into_iter().chain(pages::PATHS).map(str::to_owned);
        let metrics = Metrics::new(paths.chain(others));
        let shelf = Shelf::new(config.ready_bytes, Arc::clone(vidra.clock()));
        let batches = Arc::new(Shares::new(config.batches_per_caller));
        let inside = Arc::new(Inside { metrics, shelf, drain: Drain::default(), batches });
        let routes = routes.with_state(document.into());
        let routes = layers::around(routes, vidra.clone(), Arc::clone(&inside), &config);
        let routes = typed_url::before_routing(routes);
        let gate = Gate::new(config.gate);
        Self(Arc::new(Parts { gate, vidra, inside, door: Door::Public, routes }))
    }

    /// The side of this service that is for its operator: metrics, health and readiness, asked for on a
    /// listener that only the operator can reach. It asks for no key; on loopback it takes care that no
    /// web page reaches it by a trick.
    pub fn admin(&self, on_loopback: bool) -> Self {
        let Parts { vidra, inside, .. } = &*self.0;
        let (vidra, inside) = (vidra.clone(), Arc::clone(inside));
        let (routes, document) = routes::admin_routes();
        let routes = routes.with_state(document.into());
        let config = Config::default();
        let routes = layers::around(routes, vidra.clone(), Arc::clone(&inside), &config);
        let gate = Gate::new(Rules { on_loopback, ..Rules::default() });
        Self(Arc::new(Parts { gate, vidra, inside, door: Door::Admin, routes }))
    }

    /// Begins the end: `/readyz` says so, streams are brought to theirs, and what takes too long is
    /// answered with 503.
    pub fn drain(&self) {
        self.0.inside.drain.begin();
    }

    /// The resources that are held at this moment: requests under way, and batches counted for a caller.
    #[doc(hidden)]
    pub fn held(&self) -> (usize, usize) {
        let Inside { metrics, batches, .. } = &*self.0.inside;
        let requests = metrics.in_flight.load(Ordering::Relaxed);
        (usize::try_from(requests).unwrap_or(0), batches.held())
    }

    fn drain_state(&self) -> Drain {
        self.0.inside.drain.clone()
    }

    /// What is counted.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.inside.metrics
    }

    /// Answers a request that came from `peer`: at once where it can be, else by way of the routes.
    pub fn answer<B>(
        &self,
        request: Request<B>,
        peer: IpAddr,
    ) -> impl Future<Output = Response<Sent>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        match self.answer_at_once(&request, peer) {
            Either::Left(AtOnce { response, .. }) => Either::Left(future::ready(response)),
            Either::Right(admitted) => Either::Right(self.answer_by_route(request, admitted)),
        }
    }

    /// Answers a request that is not let in, or whose answer is ready; every other is let in.
    fn answer_at_once<B>(&self, request: &Request<B>, peer: IpAddr) -> Either<AtOnce, Admitted> {
        let Parts { gate, vidra, inside, door, .. } = &*self.0;
        let asked = Asked::by(request.headers());
        let visit = Visit::begin(request, &asked);
        let guest = match gate.admit(peer, request, &asked) {
            Ok(guest) => guest,
            Err(turned) => {
                let mut response = turned.response.map(Sent::Right);
                if let Some(reason) = turned.reason {
                    inside.metrics.limited.add(reason);
                }
                let route = inside.metrics.route(None);
                visit.sign(response.headers_mut());
                let at = visit.answered(&inside.metrics, request, route, response.status());
                return Either::Left(AtOnce { response, at });
            }
        };
        let (method, uri) = (request.method(), request.uri());
        if *door == Door::Public
            && let Some((ready, route)) = inside.shelf.answer(vidra, method, uri, &asked, &visit)
        {
            let mut response = ready.map(Sent::Left);
            guest.sign(response.headers_mut());
            let at = visit.answered(&inside.metrics, request, route, response.status());
            return Either::Left(AtOnce { response, at });
        }
        Either::Right(Admitted { visit, guest })
    }

    /// Answers a request that was let in. Only this is worth a future of its own.
    fn answer_by_route<B>(
        &self,
        request: Request<B>,
        Admitted { visit, guest }: Admitted,
    ) -> Pin<Box<impl Future<Output = Response<Sent>> + Send + use<B>>>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let Parts { inside, routes, .. } = &*self.0;
        let (routes, inside) = (routes.clone(), Arc::clone(inside));
        Box::pin(async move {
            let mut request = request.map(Body::new);
            guest.introduce(&mut request);
            let visit = visit.under_way(&inside, &mut request);
            if let Some(target) = request.uri().path_and_query().cloned() {
                request.extensions_mut().insert(Target(target));
            }
            let answered: Result<Response<Body>, Infallible> =
                visit.trace().around(routes.oneshot(request)).await;
            let mut response = answered.unwrap_or_else(|never| match never {});
            if response.status() == StatusCode::NOT_MODIFIED {
                // The router's word, about a body that is not sent: it would be that of the caller's copy.
                response.headers_mut().remove(CONTENT_LENGTH);
            }
            guest.sign(response.headers_mut());
            visit.answered(response).map(Sent::Right)
        })
    }
}
