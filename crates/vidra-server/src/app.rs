//! The whole service as a function from request to response.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use bytes::Bytes;
use futures_util::future::{self, Either};
use http_body::Body as _;
use http_body_util::Full;
use tokio::time::Instant;
use tower::ServiceExt;
use vidra::{CacheOutcome, Error, Resource, Vidra};

use crate::config::Config;
use crate::counters::{ConnectionCounters, Counters};
use crate::drain::Drain;
use crate::gate::{Admission, Gate, Rules};
use crate::hot::{RequestHead, RequestLog, ResponseFacts};
use crate::state::AppState;
use crate::{jobs, layers, mcp, pages, routes, typed_url};

/// The whole service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    gate: Gate,
    state: AppState,
    /// Whether the listener is for callers, not for the operator.
    is_public: bool,
    routes: Router,
}

/// The body of a response: rendered bytes of the cache, or the body of a handler.
pub type ResponseBody = http_body_util::Either<Full<Bytes>, Body>;

/// A response that needed no waiting, and the time when it was complete.
pub(crate) struct ImmediateResponse {
    pub(crate) response: Response<ResponseBody>,
    pub(crate) at: Instant,
}

/// A request that the gate has admitted and that has no response yet.
pub(crate) struct AdmittedRequest {
    log: RequestLog,
    admission: Admission,
}

impl App {
    /// The service over a client.
    pub fn new(vidra: Vidra, config: Config) -> Self {
        let (mut router, document) = routes::routes(!config.metrics_apart);
        if config.mcp {
            router = router
                .merge(mcp::route(&vidra, config.tools))
                .merge(routes::from_slashes([mcp::PATH]));
        }
        let llms = routes::llms_text(&document, config.mcp, config.tools, config.library.is_some());
        let router = router
            .merge(pages::routes(config.examples.clone()))
            .merge(routes::from_slashes([pages::DOCS, pages::COLLECTIONS]));
        // The admin listener counts into the same table, so it has the template of every route.
        let templates = routes::openapi().paths.paths.into_keys();
        let others = [mcp::PATH].into_iter().chain(pages::PATHS).map(str::to_owned);
        let counters =
            Counters::new(templates.chain(others), &[routes::LONG_PATHS, &[mcp::PATH]].concat());
        let state = AppState::new(vidra, counters, document, llms, &config);
        let router = layers::wrap(router, &state);
        let routes = typed_url::before_routing(router);
        let gate = Gate::new(config.gate);
        Self(Arc::new(Inner { gate, state, is_public: true, routes }))
    }

    /// The operator's interface to this service: metrics, health and readiness, for a listener that only
    /// the operator can reach. It requires no key. On loopback it rejects requests of web pages.
    pub fn admin(&self, on_loopback: bool) -> Self {
        let state = self.0.state.clone();
        let routes = layers::wrap(routes::admin_routes(), &state);
        let gate = Gate::new(Rules { on_loopback, ..Rules::default() });
        Self(Arc::new(Inner { gate, state, is_public: false, routes }))
    }

    /// Begins graceful shutdown: `/readyz` answers 503, streams end with an error event, and requests that
    /// take too long get 503.
    pub fn drain(&self) {
        self.0.state.drain.begin();
    }

    /// Runs the jobs of the library, until graceful shutdown begins. The caller must await it before the process ends, so
    /// that other processes get its unfinished work at once. Returns at once if there is no library.
    pub async fn run_jobs(&self) {
        jobs::run(self.0.state.clone()).await;
    }

    /// The resources that are held at this moment: requests in flight, and batches counted for a caller.
    #[doc(hidden)]
    pub fn held(&self) -> (usize, usize) {
        let AppState { observers, batches, .. } = &self.0.state;
        let requests = observers.counters.in_flight.load(Ordering::Relaxed);
        (usize::try_from(requests).unwrap_or(0), batches.total())
    }

    pub(crate) fn drain_state(&self) -> Drain {
        self.0.state.drain.clone()
    }

    pub(crate) fn connections(&self) -> &ConnectionCounters {
        &self.0.state.observers.counters.connections
    }

    /// Answers a request from `peer`. Dropping the future cancels the request.
    pub fn answer<B>(
        &self,
        request: Request<B>,
        peer: IpAddr,
    ) -> impl Future<Output = Response<ResponseBody>> + Send + use<B>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        match self.answer_immediately(&request, peer) {
            Either::Left(ImmediateResponse { response, .. }) => {
                Either::Left(future::ready(response))
            }
            Either::Right(admitted) => Either::Right(self.answer_by_route(request, admitted)),
        }
    }

    /// Answers a request that the gate rejects, or whose response is cached. Any other is admitted.
    pub(crate) fn answer_immediately<B>(
        &self,
        request: &Request<B>,
        peer: IpAddr,
    ) -> Either<ImmediateResponse, AdmittedRequest> {
        let Inner { gate, state, is_public, .. } = &*self.0;
        let AppState { vidra, observers, responses, .. } = state;
        let head = RequestHead::new(request.headers());
        let log = RequestLog::begin(request, &head);
        let mut admission = Admission::default();
        let (mut response, route, cache) = match gate.check(peer, request, &head, &mut admission) {
            Ok(()) => {
                let cached = is_public.then(|| responses.get(vidra, request, &head, &log));
                let Some((response, route, resource)) = cached.flatten() else {
                    return Either::Right(AdmittedRequest { log, admission });
                };
                if resource == Resource::Transcript
                    && let Some(account) = gate.account(&admission)
                {
                    account.note_transcript();
                }
                admission.settle(&response);
                (response.map(ResponseBody::Left), route, CacheOutcome::Hit.name())
            }
            Err(reason) => {
                let mut response = reason.response().map(ResponseBody::Right);
                note_error(&observers.counters, &response);
                log.add_id(response.headers_mut());
                (response, observers.counters.route(None), "")
            }
        };
        complete(response.headers_mut(), &admission);
        let error = response.extensions().get::<Error>();
        let facts = ResponseFacts {
            route,
            status: response.status(),
            bytes: response.body().size_hint().exact().unwrap_or(0),
            cache,
            reason: error.map(|error| error.reason().code()),
        };
        let at = log.end(observers, request, admission.sender(), facts);
        Either::Left(ImmediateResponse { response, at })
    }

    /// Answers an admitted request. The future is boxed here, so that cached responses do not carry its
    /// size.
    pub(crate) fn answer_by_route<B>(
        &self,
        request: Request<B>,
        AdmittedRequest { log, mut admission }: AdmittedRequest,
    ) -> Pin<Box<impl Future<Output = Response<ResponseBody>> + Send + use<B>>>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let Inner { state, routes, .. } = &*self.0;
        let (routes, observers) = (routes.clone(), state.observers.clone());
        let mut request = request.map(Body::new);
        admission.identify(&mut request);
        // A request also counts while it waits for a thread.
        let pending = log.into_pending(&observers, &mut request, admission.sender());
        Box::pin(async move {
            let answered = pending.trace().around(routes.oneshot(request)).await;
            let mut response = answered.unwrap_or_else(|never: Infallible| match never {});
            if response.status() == StatusCode::NOT_MODIFIED {
                // The router adds the length of the empty body. A 304 may only have that of the full one.
                response.headers_mut().remove(CONTENT_LENGTH);
            }
            note_error(&observers.counters, &response);
            admission.settle(&response);
            complete(response.headers_mut(), &admission);
            pending.end(response).map(ResponseBody::Right)
        })
    }
}

/// Counts a refusal. Every error response carries its error.
fn note_error<B>(counters: &Counters, response: &Response<B>) {
    if let Some(error) = response.extensions().get::<Error>() {
        counters.note_error(error);
    }
}

/// Adds the headers of every response.
fn complete(headers: &mut HeaderMap, admission: &Admission) {
    admission.add_headers(headers);
    // A browser must not take data of strangers for a page.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}
