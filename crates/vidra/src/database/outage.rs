//! Whether the database answers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long transactions fail at once after a failure.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// The shortest time between two log messages.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The state of the connection to a database.
#[derive(Debug, Default)]
pub(super) struct Outage(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The end of the pause after the last failure. `None` if the last transaction succeeded.
    until: Option<Instant>,
    failures: u64,
    logged: Option<Instant>,
}

impl Outage {
    pub(super) fn is_on(&self) -> bool {
        self.state().until.is_some()
    }

    /// The rest of the pause after a failure. After it, one transaction tries again, and the others pause once more.
    pub(super) fn pause(&self) -> Option<Duration> {
        let (mut state, now) = (self.state(), Instant::now());
        let until = state.until?;
        if until > now {
            return Some(until - now);
        }
        state.until = Some(now + PAUSE);
        None
    }

    pub(super) fn failed(&self, error: &str) {
        let (mut state, now) = (self.state(), Instant::now());
        state.until = Some(now + PAUSE);
        state.failures += 1;
        if state.logged.is_none_or(|logged| now >= logged + LOG_EVERY) {
            state.logged = Some(now);
            tracing::error!(error, failures = state.failures, "database does not answer");
        }
    }

    pub(super) fn ended(&self) {
        let mut state = self.state();
        if state.until.take().is_some() {
            state.logged = None;
            tracing::info!("database answers again");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_one_transaction_tries_again_after_each_pause() {
        let outage = Outage::default();
        assert_eq!((outage.pause(), outage.is_on()), (None, false));
        outage.failed("connection refused");
        assert_eq!((outage.pause(), outage.is_on()), (Some(PAUSE), true));
        tokio::time::advance(PAUSE).await;
        assert_eq!(outage.pause(), None, "one tries");
        assert_eq!(outage.pause(), Some(PAUSE), "the others do not wait for it");
        outage.ended();
        assert_eq!((outage.pause(), outage.is_on()), (None, false));
    }
}
