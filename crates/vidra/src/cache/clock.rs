//! The clock of the cache.

use std::sync::Arc;

use tokio::time::Instant;

use crate::clock::Clock;

/// Unix time in milliseconds that advances evenly, independently of jumps of the wall clock. An
/// hour set forward must not make every record stale at once. Time during a suspend counts.
pub(super) struct CacheClock {
    clock: Arc<dyn Clock>,
    started: Instant,
    started_at: u64,
    suspended_before: u64,
}

impl CacheClock {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let started_at = u64::try_from(clock.now().as_millisecond()).unwrap_or_default();
        let suspended_before = millis(clock.suspended());
        Self { clock, started: Instant::now(), started_at, suspended_before }
    }

    pub(super) fn now(&self) -> u64 {
        let suspended = millis(self.clock.suspended()).saturating_sub(self.suspended_before);
        self.started_at.saturating_add(millis(self.started.elapsed())).saturating_add(suspended)
    }
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
