//! The end of the service: what is under way is finished, as far as that does not take too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::{self, Request};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::watch;
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
    /// Beside `since`, because every answer looks at it.
    has_begun: AtomicBool,
    since: watch::Sender<Option<Instant>>,
}

impl Drain {
    pub(crate) fn begin(&self) {
        if !self.0.has_begun.swap(true, Ordering::Relaxed) {
            self.0.since.send_replace(Some(Instant::now()));
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Relaxed)
    }

    /// Resolves so long after the end has begun; never where it does not begin.
    pub(crate) async fn has_lasted(self, time: Duration) {
        let mut since = self.0.since.subscribe();
        // The sender is held by `self`.
        if let Ok(since) = since.wait_for(Option::is_some).await.map(|since| *since) {
            sleep_until(since.unwrap_or_else(Instant::now) + time).await;
        }
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
