//! Records exchanges as spans for tracing. The spans have the level `debug` and cost almost nothing
//! without a subscriber.

use std::future::pending;
use std::panic::resume_unwind;

use bytes::Bytes;
use http::Request;
use tokio::task::{JoinHandle, JoinSet};
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

/// Runs work in a task that belongs to the current span and ends with the caller: the work goes on while the caller, which
/// waits for several things, does not poll it.
pub(crate) async fn in_task<F>(work: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let mut task = JoinSet::new();
    task.spawn(work.in_current_span());
    match task.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime ends.
        Some(Err(_)) | None => pending().await,
    }
}

/// Spawns a task that belongs to the current span.
pub(crate) fn spawn<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    tokio::spawn(work.in_current_span())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn work_in_a_task_goes_on_while_its_caller_does_not_poll_it() {
        let (done, ended) = oneshot::channel();
        let mut work = Box::pin(in_task(async move {
            tokio::task::yield_now().await;
            done.send(()).unwrap();
            1
        }));
        assert!((&mut work).now_or_never().is_none());
        timeout(Duration::from_secs(60), ended).await.expect("the work goes on").unwrap();
        assert_eq!(work.await, 1);
    }

    #[tokio::test]
    async fn work_in_a_task_ends_with_its_caller() {
        let (held, ended) = oneshot::channel::<()>();
        let mut work = Box::pin(in_task(async move {
            let _held = held;
            pending::<()>().await;
        }));
        assert!((&mut work).now_or_never().is_none());
        drop(work);
        timeout(Duration::from_secs(60), ended).await.expect("the work has ended").unwrap_err();
    }
}
