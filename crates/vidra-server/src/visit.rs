//! One request on its way through: its id, what is counted of it, and its line in the log.
//!
//! An answer that is ready begins and ends its visit in one go. Every other request is [`UnderWay`]
//! meanwhile, which ends by being dropped: also where its caller went away.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header,
};
use bytes::Bytes;
use http_body::Frame;
use percent_encoding::{CONTROLS, utf8_percent_encode};
use tokio::time::Instant;
use vidra::{Cost, Error};

use crate::asked::Asked;
use crate::metrics::page::Inside;
use crate::metrics::{ABANDONED, Metrics, Route};
use crate::request_id::{self, X_REQUEST_ID};
use crate::trace::Trace;

/// A request that has just come.
pub(crate) struct Visit {
    pub(crate) began: Instant,
    pub(crate) id: HeaderValue,
    trace: Trace,
}

impl Visit {
    pub(crate) fn begin<B>(request: &Request<B>, asked: &Asked<'_>) -> Self {
        let began = Instant::now();
        let id = request_id::of(asked.request_id);
        Self { began, trace: Trace::begin(request, &id), id }
    }

    /// Tells the caller its id, where the answer does not do so yet.
    pub(crate) fn sign(&self, headers: &mut HeaderMap) {
        headers.insert(X_REQUEST_ID, self.id.clone());
    }

    /// Ends the visit of one who was answered at once. Gives the time, which others need too.
    pub(crate) fn answered<B>(
        self,
        metrics: &Metrics,
        request: &Request<B>,
        route: Route,
        status: StatusCode,
    ) -> Instant {
        let (method, status) = (request.method(), status.as_u16());
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.began);
        metrics.count(route, method, status, elapsed);
        self.trace.end(metrics.template(route), status);
        tracing::info!(
            request_id = text(&self.id),
            %method,
            path = &*written(request.uri().path()),
            status,
            cost = 0,
            elapsed_ms = elapsed.as_millis() as u64,
            "request"
        );
        now
    }

    /// Goes on with one who has to wait.
    pub(crate) fn under_way<B>(self, inside: &Arc<Inside>, request: &mut Request<B>) -> UnderWay {
        let notes = Arc::new(Notes::default());
        inside.metrics.in_flight.fetch_add(1, Ordering::Relaxed);
        request.extensions_mut().insert(Arc::clone(&notes));
        UnderWay {
            visit: self,
            inside: Arc::clone(inside),
            method: request.method().clone(),
            path: written(request.uri().path()).into_owned(),
            notes,
            status: None,
            error: None,
            is_whole: false,
        }
    }
}

/// What is learned about a request further in; it carries them as an extension.
#[derive(Default)]
pub(crate) struct Notes {
    route: OnceLock<Route>,
    cost: OnceLock<Cost>,
}

impl Notes {
    /// Of the request with these extensions, once it has been routed.
    pub(crate) fn take(extensions: &Extensions, metrics: &Metrics, cost: &Cost) {
        if let Some(notes) = extensions.get::<Arc<Self>>() {
            let _ = notes.route.set(Self::route_of(extensions, metrics));
            let _ = notes.cost.set(cost.clone());
        }
    }

    /// The route of the request with these extensions.
    pub(crate) fn route_of(extensions: &Extensions, metrics: &Metrics) -> Route {
        let template = extensions.get::<MatchedPath>().map(MatchedPath::as_str);
        metrics.route(template)
    }
}

/// A request that waits for its answer, or a stream that has not ended.
pub(crate) struct UnderWay {
    visit: Visit,
    inside: Arc<Inside>,
    method: Method,
    /// Without the query, which may hold what somebody pasted there by mistake.
    path: String,
    notes: Arc<Notes>,
    /// `None` where there was nobody left to answer.
    status: Option<StatusCode>,
    /// Why it failed, where it did.
    error: Option<Arc<Error>>,
    /// Whether the caller stayed to the end.
    is_whole: bool,
}

impl UnderWay {
    pub(crate) fn trace(&self) -> &Trace {
        &self.visit.trace
    }

    /// Ends the visit, or has it end with the stream that answers it.
    pub(crate) fn answered(mut self, mut response: Response<Body>) -> Response<Body> {
        self.status = Some(response.status());
        self.error = response.extensions_mut().remove();
        self.visit.sign(response.headers_mut());
        if is_stream(&response) {
            return response.map(|body| Body::new(Watched { body, visit: self }));
        }
        self.is_whole = true;
        response
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Self { visit, inside, method, path, notes, .. } = self;
        let elapsed = visit.began.elapsed();
        let status = self.status.map(|status| status.as_u16());
        let metrics = &inside.metrics;
        metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        let route = notes.route.get().copied().unwrap_or_else(|| metrics.route(None));
        metrics.count(route, method, status.unwrap_or(ABANDONED), elapsed);
        visit.trace.end(metrics.template(route), status.unwrap_or(ABANDONED));
        let cost = notes.cost.get().map_or(0, Cost::units);
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let request_id = text(&visit.id);
        if let Some(error) = self.error.as_deref().filter(|_| status >= Some(429)) {
            let (why, cause) = (error.message(), error.cause());
            tracing::warn!(
                request_id, %method, path, status, cost, elapsed_ms, why, cause, "request failed"
            );
        } else if self.is_whole {
            tracing::info!(request_id, %method, path, status, cost, elapsed_ms, "request");
        } else {
            let what = "request abandoned by its caller";
            tracing::info!(request_id, %method, path, status, cost, elapsed_ms, "{what}");
        }
    }
}

/// A stream, and the visit that ends with it.
struct Watched {
    body: Body,
    visit: UnderWay,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(None) = polled {
            self.visit.is_whole = true;
        }
        polled
    }
}

/// Whether an answer is one that has hardly begun when its head is sent.
pub(crate) fn is_stream<B>(response: &Response<B>) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    content_type.is_some_and(|it| it == "application/x-ndjson" || it == "text/event-stream")
}

/// A path as the log has it: what is not ASCII as it should have been sent. Some of it would turn a
/// terminal's text around, or tell it what to do.
fn written(path: &str) -> Cow<'_, str> {
    utf8_percent_encode(path, CONTROLS).into()
}

fn text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}
