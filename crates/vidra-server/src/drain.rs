//! The end of the service: what is under way is finished, as far as that does not take too long.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::problem::Problem;

/// How long a stream goes on: it may have an hour to go, and tells how far it came.
pub(crate) const STREAMS_END_AFTER: Duration = Duration::from_secs(5);

/// How long any other request goes on.
const ANSWERS_END_AFTER: Duration = Duration::from_secs(20);

/// Whether the end has begun. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Drain(Arc<State>);

#[derive(Default)]
struct State {
    since: OnceLock<Instant>,
    /// Wakes its waiters in order. A `watch` channel would wake them in random order, and a simulation could
    /// not replay.
    begun: Notify,
}

impl Drain {
    pub(crate) fn begin(&self) {
        if self.0.since.set(Instant::now()).is_ok() {
            self.0.begun.notify_waiters();
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.since.get().is_some()
    }

    /// Resolves so long after the end has begun; never where it does not begin.
    pub(crate) async fn has_lasted(self, time: Duration) {
        let mut begun = pin!(self.0.begun.notified());
        // Enabled before the check, so that no wake-up is lost between the two.
        begun.as_mut().enable();
        let since = match self.0.since.get() {
            Some(since) => *since,
            None => {
                begun.await;
                self.0.since.get().copied().unwrap_or_else(Instant::now)
            }
        };
        sleep_until(since + time).await;
    }
}

/// What callers are told whose request is not finished in time.
pub(crate) const STOPPING: &str = "The service is stopping; ask again in a moment";

/// Ends requests that would outlast the service with a word, not with a broken connection.
pub(crate) async fn within(
    extract::State(drain): extract::State<Drain>,
    request: Request,
    next: Next,
) -> Response {
    tokio::select! {
        // A finished response is sent even when the time is up.
        biased;
        response = next.run(request) => response,
        () = drain.has_lasted(ANSWERS_END_AFTER) => {
            Problem::Http(StatusCode::SERVICE_UNAVAILABLE, STOPPING.to_owned()).into_response()
        }
    }
}
