//! The record of one request: its id, its counters, its trace and its line in the log.
//!
//! A cached response begins and ends its record in one step. Every other request has a
//! [`PendingRequest`], which ends the record when it is dropped, also if the caller disconnects.

use std::borrow::Cow;
use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use futures_util::{StreamExt, stream};
use percent_encoding::{CONTROLS, utf8_percent_encode};
use tokio::time::Instant;
use vidra::{Cost, Error, Reason};

use super::request_head::RequestHead;
use super::request_id::{X_REQUEST_ID, request_id};
use super::trace::Trace;
use crate::counters::{CLIENT_CLOSED_REQUEST, Counters, RouteId};
use crate::respond::is_stream;

/// The record of a request that has just arrived.
pub(crate) struct RequestLog {
    pub(crate) began: Instant,
    pub(crate) id: HeaderValue,
    trace: Trace,
}

impl RequestLog {
    pub(crate) fn begin<B>(request: &Request<B>, head: &RequestHead<'_>) -> Self {
        let began = Instant::now();
        let id = request_id(head.request_id);
        Self { began, trace: Trace::begin(request, &id), id }
    }

    /// Adds the request id to a response that does not have it yet.
    pub(crate) fn add_id(&self, headers: &mut HeaderMap) {
        headers.insert(X_REQUEST_ID, self.id.clone());
    }

    /// Ends the record of a request that was answered immediately. Returns the time of the response, so
    /// that the caller does not read the clock again.
    pub(crate) fn end<B>(
        self,
        counters: &Counters,
        request: &Request<B>,
        route: RouteId,
        status: StatusCode,
    ) -> Instant {
        let (method, status) = (request.method(), status.as_u16());
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.began);
        counters.count(route, method, status, elapsed);
        self.trace.end(counters.template(route), status);
        tracing::info!(
            request_id = text(&self.id),
            %method,
            path = &*ascii_path(request.uri().path()),
            status,
            cost = 0,
            elapsed_ms = elapsed.as_millis() as u64,
            "request"
        );
        now
    }

    /// Continues the record of a request that is routed.
    pub(crate) fn into_pending<B>(
        self,
        counters: &Arc<Counters>,
        request: &mut Request<B>,
    ) -> PendingRequest {
        let info = Arc::new(RouteInfo::default());
        counters.in_flight.fetch_add(1, Ordering::Relaxed);
        request.extensions_mut().insert(Arc::clone(&info));
        PendingRequest {
            log: self,
            counters: Arc::clone(counters),
            method: request.method().clone(),
            path: ascii_path(request.uri().path()).into_owned(),
            info,
            status: None,
            error: None,
            is_complete: false,
        }
    }
}

/// The facts that routing adds to the record of a request. The request carries them as an extension.
#[derive(Default)]
pub(crate) struct RouteInfo {
    route: OnceLock<RouteId>,
    cost: OnceLock<Cost>,
}

impl RouteInfo {
    /// Records the route and the bill of the request with these extensions.
    pub(crate) fn record(extensions: &Extensions, counters: &Counters, cost: &Cost) {
        if let Some(info) = extensions.get::<Arc<Self>>() {
            let template = extensions.get::<MatchedPath>().map(MatchedPath::as_str);
            let _ = info.route.set(counters.route(template));
            let _ = info.cost.set(cost.clone());
        }
    }
}

/// A request without a response, or a stream that has not ended.
pub(crate) struct PendingRequest {
    log: RequestLog,
    counters: Arc<Counters>,
    method: Method,
    /// Without the query, which may contain a secret that somebody pasted by mistake.
    path: String,
    info: Arc<RouteInfo>,
    /// `None` if the caller disconnected before the response.
    status: Option<StatusCode>,
    error: Option<Error>,
    /// Whether the caller stayed to the end.
    is_complete: bool,
}

impl PendingRequest {
    pub(crate) fn trace(&self) -> &Trace {
        &self.log.trace
    }

    /// Ends the record with this response; with its last frame, if it is a stream.
    pub(crate) fn end(mut self, mut response: Response<Body>) -> Response<Body> {
        self.status = Some(response.status());
        self.error = response.extensions_mut().remove();
        self.log.add_id(response.headers_mut());
        if is_stream(&response) {
            return response.map(|body| {
                // The stream owns the record: dropping it before its end leaves the record incomplete.
                let end = stream::poll_fn(move |_| {
                    let request = &mut self;
                    request.is_complete = true;
                    Poll::Ready(None)
                });
                Body::from_stream(body.into_data_stream().chain(end))
            });
        }
        self.is_complete = true;
        response
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Self { log, counters, method, path, info, .. } = self;
        let elapsed = log.began.elapsed();
        let status = self.status.map(|status| status.as_u16());
        let counted_status = status.unwrap_or(CLIENT_CLOSED_REQUEST);
        counters.in_flight.fetch_sub(1, Ordering::Relaxed);
        let route = info.route.get().copied().unwrap_or_else(|| counters.route(None));
        counters.count(route, method, counted_status, elapsed);
        log.trace.end(counters.template(route), counted_status);
        let cost = info.cost.get().map_or(0, Cost::units);
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let request_id = text(&log.id);
        // Refusals during shutdown are no news: the log says that it has begun.
        let is_failure =
            |error: &&Error| status >= Some(429) && error.reason() != Reason::ShuttingDown;
        if let Some(error) = self.error.as_ref().filter(is_failure) {
            let (reason, source) = (error.reason().code(), error.source());
            let error = error.message();
            tracing::warn!(
                request_id, %method, path, status, cost, elapsed_ms, reason, error, source, "request failed"
            );
        } else if self.is_complete {
            tracing::info!(request_id, %method, path, status, cost, elapsed_ms, "request");
        } else {
            let event = "request abandoned by its caller";
            tracing::info!(request_id, %method, path, status, cost, elapsed_ms, "{event}");
        }
    }
}

/// A path as ASCII: other characters could reverse the text of a terminal or control it.
fn ascii_path(path: &str) -> Cow<'_, str> {
    utf8_percent_encode(path, CONTROLS).into()
}

fn text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}
