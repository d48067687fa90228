//! The record of one request: its id, its counters, its trace and its line in the access log.
//!
//! A cached response begins and ends its record in one step. Every other request has a
//! [`PendingRequest`], which ends the record when it is dropped, also if the caller disconnects.

use std::any::Any;
use std::error::Error as _;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::header::CONTENT_LENGTH;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Instant;
use tracing::Level;
use vidra::{Cost, Error, Reason};

use super::access_log::{AccessLog, Line};
use super::rendered::X_CACHE;
use super::request_head::RequestHead;
use super::request_id::{X_REQUEST_ID, request_id};
use super::trace::Trace;
use crate::counters::{CLIENT_CLOSED_REQUEST, Counters, RouteId};
use crate::respond::{SentInPieces, is_stream};

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
        observers: &Observers,
        request: &Request<B>,
        sender: Sender<'_>,
        response: ResponseFacts,
    ) -> Instant {
        let Observers { counters, access_log } = observers;
        let ResponseFacts { route, status, bytes, cache, reason } = response;
        let status = status.as_u16();
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.began);
        counters.count(route, request.method(), status, elapsed);
        self.trace.end(counters.template(route), status);
        if let Some(log) = access_log.as_ref().filter(|log| log.writes(Level::INFO)) {
            log.write(&Line {
                level: Level::INFO,
                message: "request",
                request_id: text(&self.id),
                caller: sender.caller,
                client: sender.address,
                method: request.method().as_str(),
                route: counters.template(route),
                path: request.uri().path(),
                status: Some(status),
                cache,
                cost: 0,
                upstream_calls: 0,
                upstream_time: Duration::ZERO,
                bytes,
                first_byte: elapsed,
                elapsed,
                reason,
                error: None,
                source: None,
            });
        }
        now
    }

    /// Continues the record of a request that is routed.
    pub(crate) fn into_pending<B>(
        self,
        observers: &Observers,
        request: &mut Request<B>,
        sender: Sender<'_>,
    ) -> PendingRequest {
        let info = Arc::new(RouteInfo::default());
        observers.counters.in_flight.fetch_add(1, Ordering::Relaxed);
        request.extensions_mut().insert(Arc::clone(&info));
        PendingRequest {
            log: self,
            observers: observers.clone(),
            caller: sender.caller.map(Box::from),
            client: sender.address,
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            info,
            response: None,
            bytes: 0,
            error: None,
            is_complete: false,
        }
    }
}

/// What records the requests. Clones share it.
#[derive(Clone)]
pub(crate) struct Observers {
    pub(crate) counters: Arc<Counters>,
    pub(crate) access_log: Option<AccessLog>,
}

/// Who sent a request.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    /// The name of the key.
    pub(crate) caller: Option<&'a str>,
    /// The address, as trusted proxies report it.
    pub(crate) address: Option<IpAddr>,
}

/// The facts about an immediate response.
#[derive(Clone, Copy)]
pub(crate) struct ResponseFacts {
    pub(crate) route: RouteId,
    pub(crate) status: StatusCode,
    pub(crate) bytes: u64,
    /// The cache outcome; empty for a rejection.
    pub(crate) cache: &'static str,
    /// Why the request was rejected.
    pub(crate) reason: Option<&'static str>,
}

/// The facts that routing adds to the record of a request. The request carries them as an extension.
#[derive(Default)]
pub(crate) struct RouteInfo {
    route: OnceLock<RouteId>,
    cost: OnceLock<Cost>,
    /// Dropped when the request ends, with its stream.
    held: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl RouteInfo {
    /// Keeps a guard until the request with these extensions ends, also if it is a stream or is abandoned.
    pub(crate) fn hold(extensions: &Extensions, guard: impl Any + Send + Sync) {
        if let Some(info) = extensions.get::<Arc<Self>>() {
            let _ = info.held.set(Box::new(guard));
        }
    }

    /// Records the route and the bill of the request with these extensions.
    pub(crate) fn record(extensions: &Extensions, counters: &Counters, cost: &Cost) {
        if let Some(info) = extensions.get::<Arc<Self>>() {
            let template = extensions.get::<MatchedPath>().map(MatchedPath::as_str);
            let _ = info.route.set(counters.route(template));
            let _ = info.cost.set(cost.clone());
        }
    }
}

/// A request without a response, or whose body is still being sent: a stream, or a file.
pub(crate) struct PendingRequest {
    log: RequestLog,
    observers: Observers,
    caller: Option<Box<str>>,
    client: Option<IpAddr>,
    method: Method,
    path: String,
    info: Arc<RouteInfo>,
    /// `None` if the caller disconnected before the response.
    response: Option<ResponseHead>,
    bytes: u64,
    error: Option<Error>,
    /// Whether the caller stayed to the end.
    is_complete: bool,
}

/// The facts that are known when a response begins.
struct ResponseHead {
    status: StatusCode,
    cache: Option<HeaderValue>,
    first_byte: Duration,
}

impl PendingRequest {
    pub(crate) fn trace(&self) -> &Trace {
        &self.log.trace
    }

    /// Ends the record with this response; with the last frame, if it is a stream or read from a file.
    pub(crate) fn end(mut self, mut response: Response<Body>) -> Response<Body> {
        self.response = Some(ResponseHead {
            status: response.status(),
            cache: response.headers().get(X_CACHE).cloned(),
            first_byte: self.log.began.elapsed(),
        });
        self.error = response.extensions_mut().remove();
        self.log.add_id(response.headers_mut());
        let pieces: Option<SentInPieces> = response.extensions_mut().remove();
        let is_sent_in_pieces = is_stream(&response) || pieces.is_some();
        // Nobody reads the body of an answer to HEAD.
        if is_sent_in_pieces && self.method != Method::HEAD {
            let length = pieces.and_then(|pieces| pieces.length);
            return response.map(|body| Body::new(RecordedStream { body, request: self, length }));
        }
        let length = || response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
        self.bytes = response.body().size_hint().exact().or_else(length).unwrap_or(0);
        self.is_complete = true;
        response
    }

    /// The level and the message of the line.
    fn verdict(&self, route: &str, status: u16) -> (Level, &'static str) {
        // Refusals during shutdown are no news: the log says that it has begun.
        let is_failure = |error: &Error| status >= 429 && error.reason() != Reason::ShuttingDown;
        if self.error.as_ref().is_some_and(is_failure) {
            (Level::WARN, "request failed")
        } else if !self.is_complete {
            (Level::INFO, "request abandoned by its caller")
        } else if status < 400 && matches!(route, "/healthz" | "/readyz" | "/metrics") {
            // Probes come every few seconds.
            (Level::DEBUG, "request")
        } else {
            (Level::INFO, "request")
        }
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let Self { log, observers: Observers { counters, access_log }, info, .. } = &*self;
        let elapsed = log.began.elapsed();
        let status = self.response.as_ref().map(|response| response.status.as_u16());
        let counted_status = status.unwrap_or(CLIENT_CLOSED_REQUEST);
        counters.in_flight.fetch_sub(1, Ordering::Relaxed);
        let route = info.route.get().copied().unwrap_or_else(|| counters.route(None));
        counters.count(route, &self.method, counted_status, elapsed);
        let route = counters.template(route);
        log.trace.end(route, counted_status);
        let (level, message) = self.verdict(route, status.unwrap_or_default());
        let Some(access_log) = access_log.as_ref().filter(|log| log.writes(level)) else { return };
        let cost = info.cost.get().cloned().unwrap_or_default();
        let cache = self.response.as_ref().and_then(|response| response.cache.as_ref());
        let error = self.error.as_ref();
        let failure = error.filter(|_| level == Level::WARN);
        access_log.write(&Line {
            level,
            message,
            request_id: text(&log.id),
            caller: self.caller.as_deref(),
            client: self.client,
            method: self.method.as_str(),
            route,
            path: &self.path,
            status,
            cache: cache.map_or("", text),
            cost: cost.units(),
            upstream_calls: cost.calls(),
            upstream_time: cost.upstream_time(),
            bytes: self.bytes,
            first_byte: self.response.as_ref().map_or(elapsed, |response| response.first_byte),
            elapsed,
            reason: error.map(|error| error.reason().code()),
            error: failure.map(Error::message),
            source: failure.and_then(|error| error.source()).map(ToString::to_string),
        });
    }
}

/// A body that owns the record of its request: dropping it before its end leaves the record incomplete.
struct RecordedStream {
    body: Body,
    request: PendingRequest,
    /// `None` if only the end of the stream tells.
    length: Option<u64>,
}

impl http_body::Body for RecordedStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                self.request.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
                // The connection does not wait for the end of a body whose length it knows.
                self.request.is_complete = self.length == Some(self.request.bytes);
            }
            Some(Err(_)) => {}
            None => self.request.is_complete = true,
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.length.map(|length| length.saturating_sub(self.request.bytes));
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}
