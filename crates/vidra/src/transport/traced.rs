//! Records exchanges as spans for tracing. The spans have the level `debug` and cost almost nothing
//! without a subscriber.

use bytes::Bytes;
use http::Request;
use tokio::task::JoinHandle;
use tracing::Instrument;
use tracing::field::Empty;

use super::{Answer, Failure, Transport};

/// Runs one exchange in a span. `endpoint` must not contain an identifier: it is a path without its
/// query.
pub(crate) async fn exchange(
    transport: &dyn Transport,
    endpoint: &str,
    request: Request<Bytes>,
) -> Result<Answer, Failure> {
    let span = tracing::debug_span!(
        "upstream",
        otel.kind = "client",
        otel.name = endpoint,
        // Stays empty after a timeout, which drops this future.
        outcome = Empty,
    );
    let outcome = transport.exchange(request).instrument(span.clone()).await;
    let word = match &outcome {
        Ok(answer) => answer.status.as_str(),
        Err(Failure::NotSent(_)) => "no connection",
        Err(Failure::Broken(_)) => "connection failed",
        Err(Failure::TimedOut) => "no answer in time",
        Err(Failure::TooLarge) => "too large",
    };
    span.record("outcome", word);
    outcome
}

/// Spawns a task that belongs to the current span.
pub(crate) fn spawn<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(work.in_current_span())
}
