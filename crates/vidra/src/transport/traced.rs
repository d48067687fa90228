//! Exchanges as spans of a trace, for whoever collects traces. Nobody else is told of them: they are of
//! the level `debug`, and cost next to nothing where nobody listens.

use bytes::Bytes;
use http::Request;
use tokio::task::JoinHandle;
use tracing::Instrument;
use tracing::field::Empty;

use super::{Answer, Failure, Transport};

/// One exchange. `endpoint` names no identifier: a path without its query.
pub(crate) async fn exchange(
    transport: &dyn Transport,
    endpoint: &str,
    request: Request<Bytes>,
) -> Result<Answer, Failure> {
    let span = tracing::debug_span!(
        "upstream",
        otel.kind = "client",
        otel.name = endpoint,
        // Stays empty where there was no answer in time: who waits too long drops this.
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

/// Work that goes on by itself and is still a part of the trace that began it.
pub(crate) fn spawn<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(work.in_current_span())
}
