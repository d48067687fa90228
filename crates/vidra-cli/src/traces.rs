//! Traces, sent to a collector by OTLP over HTTP. Off unless an endpoint is named.

use std::env;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use vidra::transport::BoxFuture;
use vidra::{Network, Transport};

use crate::log::Watcher;

/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long shutdown waits for the last spans, so that a dead collector does not delay it.
const FLUSH: Duration = Duration::from_millis(500);

/// The variables of OpenTelemetry that set an endpoint.
const VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// The exporter of spans.
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts the exporter, or returns `None` without an endpoint. The endpoint of the flag is the base URL of a
    /// collector, without the path.
    pub(crate) fn to(endpoint: Option<&str>) -> Result<Option<Self>, String> {
        let is_named =
            VARIABLES.iter().any(|name| env::var_os(name).is_some_and(|it| !it.is_empty()));
        if endpoint.is_none() && !is_named {
            return Ok(None);
        }
        let failed = |error: &dyn std::fmt::Display| format!("cannot send traces: {error}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        let client = Client { network: Network::new(), runtime };
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
        if let Some(endpoint) = endpoint {
            let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
            exporter = exporter.with_endpoint(endpoint);
        }
        let exporter = exporter.build().map_err(|error| failed(&error))?;
        let mut resource = Resource::builder();
        if env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("vidra");
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build())
            .build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Some(Self(provider)))
    }

    /// The layer that exports our own spans. Spans of other crates contain hosts and addresses.
    pub(crate) fn watcher(&self) -> Watcher {
        let ours =
            filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with("vidra"));
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("vidra"))
            .with_target(false)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(ours)
            .boxed()
    }

    /// Sends the remaining spans.
    pub(crate) fn end(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "cannot send the last traces");
        }
    }
}

/// The HTTP client of the exporter: the library's network, so that the binary contains no second client. The
/// exporter runs on its own thread outside of the service's runtime.
#[derive(Debug)]
struct Client {
    network: Network,
    runtime: Runtime,
}

impl HttpClient for Client {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> BoxFuture<'b, Result<Response<Bytes>, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let exchange =
                async { tokio::time::timeout(TIMEOUT, self.network.exchange(request)).await };
            let answer = self.runtime.block_on(exchange)?;
            let answer = answer.map_err(|failure| failure.to_string())?;
            let mut response = Response::new(answer.body);
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}
