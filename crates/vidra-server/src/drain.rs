//! Graceful shutdown: requests in flight are finished within a limit.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How long a stream continues after shutdown begins. A batch could run for another hour.
pub(crate) const STREAM_LIMIT: Duration = Duration::from_secs(5);

/// How long any other request continues after shutdown begins.
pub(crate) const REQUEST_LIMIT: Duration = Duration::from_secs(20);

/// Whether shutdown has begun. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Drain(Arc<Shared>);

#[derive(Default)]
struct Shared {
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

    /// Resolves when shutdown has lasted for `time`; never if it does not begin.
    pub(crate) async fn has_lasted(self, time: Duration) {
        let mut begun = pin!(self.0.begun.notified());
        // Enabled before the check, so that no wake-up is lost between the two.
        begun.as_mut().enable();
        if !self.has_begun() {
            begun.await;
        }
        let since = self.0.since.get().copied().unwrap_or_else(Instant::now);
        sleep_until(since + time).await;
    }
}
