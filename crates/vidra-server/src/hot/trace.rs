//! The span of a request, for traces (feature `otel`) and for the request id in debug lines of the log. It is
//! disabled, and costs next to nothing, if neither is on.

use axum::http::{HeaderValue, Request};
#[cfg(feature = "otel")]
use opentelemetry::{
    global,
    trace::{Status, TraceContextExt},
};
use tracing::field::Empty;
use tracing::instrument::Instrumented;
use tracing::{Instrument, Span};
#[cfg(feature = "otel")]
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// A span that is exported when its last handle is dropped.
pub(crate) struct Trace(Span);

impl Trace {
    /// The span has some fields of the access log, but not the path, which names what was requested.
    pub(crate) fn begin<B>(request: &Request<B>, id: &HeaderValue) -> Self {
        let span = tracing::info_span!(
            parent: None,
            "request",
            otel.kind = "server",
            request_id = id.to_str().unwrap_or_default(),
            http.request.method = request.method().as_str(),
            http.route = Empty,
            http.response.status_code = Empty,
        );
        #[cfg(feature = "otel")]
        if !span.is_disabled() {
            let headers = opentelemetry_http::HeaderExtractor(request.headers());
            let parent = global::get_text_map_propagator(|it| it.extract(&headers));
            let _ = span.set_parent(parent);
        }
        Self(span)
    }

    /// Upstream calls of `work` become children of the span.
    pub(crate) fn around<F: Future>(&self, work: F) -> Instrumented<F> {
        work.instrument(self.0.clone())
    }

    pub(crate) fn end(&self, route: &str, status: u16) {
        if self.0.is_disabled() {
            return;
        }
        self.0.record("http.route", route);
        self.0.record("http.response.status_code", i64::from(status));
        #[cfg(feature = "otel")]
        {
            self.0.context().span().update_name(route.to_owned());
            if status >= 500 {
                self.0.set_status(Status::error(""));
            }
        }
    }
}
