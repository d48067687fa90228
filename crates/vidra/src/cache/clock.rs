//! The time by which the cache judges.

use std::time::SystemTime;

use tokio::time::Instant;

/// Unix time in milliseconds that goes on evenly while this process lives, whatever is done to the
/// machine's clock: an hour set forward must not make everything stale at once.
pub(super) struct Clock {
    started: Instant,
    started_at: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Self { started: Instant::now(), started_at }
    }

    pub(super) fn now(&self) -> u64 {
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.started_at.saturating_add(passed)
    }
}
