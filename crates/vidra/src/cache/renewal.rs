//! Limits on background renewals. While a stale record can be served, the cache does not press a
//! platform that refuses our requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::allows_stale;
use crate::error::{Error, ErrorKind, Result};
use crate::resilience::breaker::{Breaker, BreakerPolicy, Pass};

/// The maximum number of concurrent renewals: one full call of single videos.
const MAX_RENEWALS: usize = 50;

/// Decides whether the cache may renew a record now.
///
/// The circuit breakers of the interfaces handle failures of single exchanges. This breaker handles
/// refusals of all our requests: an exhausted quota, a rejected key, a rate limit, a block.
pub(crate) struct Renewals {
    slots: Arc<Semaphore>,
    refusals: Arc<Breaker>,
    /// The number of consecutive failures, for any reason.
    failures: Arc<AtomicU32>,
}

/// A running renewal.
pub(crate) struct Renewal {
    pass: Pass,
    failures: Arc<AtomicU32>,
    /// `None` if a caller waits for the renewal. Background renewals must not take its slot.
    _slot: Option<OwnedSemaphorePermit>,
}

impl Renewals {
    pub(crate) fn new(what: &str, policy: BreakerPolicy, now: Instant) -> Self {
        let refusals = Arc::new(Breaker::new(format!("renewals of {what}"), policy, now));
        Self { slots: Arc::new(Semaphore::new(MAX_RENEWALS)), refusals, failures: Arc::default() }
    }

    /// Begins a renewal in the background. `None` if all slots are taken or the breaker is open.
    pub(crate) fn begin(&self, now: Instant) -> Option<Renewal> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let mut renewal = self.begin_waited_for(now)?;
        renewal._slot = Some(slot);
        Some(renewal)
    }

    /// Begins a renewal that a caller waits for. `None` if the breaker is open.
    pub(crate) fn begin_waited_for(&self, now: Instant) -> Option<Renewal> {
        let pass = self.refusals.admit(now).ok()?;
        Some(Renewal { pass, failures: Arc::clone(&self.failures), _slot: None })
    }

    /// Allows renewals at once, because the cause of the refusals is gone.
    pub(crate) fn resume(&self, now: Instant) {
        self.refusals.reset(now);
        self.failures.store(0, Ordering::Relaxed);
    }

    /// The number of background renewals, plus one if a probe is running.
    pub(crate) fn under_way(&self) -> usize {
        MAX_RENEWALS - self.slots.available_permits() + usize::from(self.refusals.is_probed())
    }

    /// The number of consecutive failures.
    pub(crate) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Renewal {
    /// Records the outcome.
    pub(crate) fn end<T>(self, outcome: &Result<T>) {
        let error = outcome.as_ref().err().filter(|error| allows_stale(error));
        match error {
            Some(error) if error.is_for_one_caller() => {}
            Some(_) => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
            None => self.failures.store(0, Ordering::Relaxed),
        }
        self.pass.record(error.map_or(Some(false), is_refusal_to_us));
    }
}

/// Whether YouTube refuses all our requests. `None` if the error does not say.
fn is_refusal_to_us(error: &Error) -> Option<bool> {
    match error.kind() {
        _ if error.is_for_one_caller() => None,
        ErrorKind::QuotaExhausted
        | ErrorKind::RateLimited
        | ErrorKind::UpstreamKey
        | ErrorKind::Blocked => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::Reason;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn after_five_refusals_one_probe_runs_at_a_time() {
        let policy = BreakerPolicy { failures: 5, first_pause: SECOND, longest_pause: 5 * SECOND };
        let renewals = Renewals::new("videos", policy, Instant::now());
        let begin = || renewals.begin(Instant::now());
        let refused = Err::<(), _>(Error::new(Reason::UpstreamKeyMissing, "no"));
        let failed = Err::<(), _>(Error::new(Reason::UpstreamFailed, "no"));
        for outcome in [&refused, &refused, &failed, &refused, &refused, &failed, &refused] {
            begin().unwrap().end(outcome);
        }
        assert!(begin().is_none(), "five refusals, and failures count neither way");
        tokio::time::advance(2 * SECOND).await;
        let probe = begin().unwrap();
        assert!(begin().is_none(), "a probe is running");
        drop(probe);
        begin().unwrap().end(&Ok(()));
        let many: Vec<_> = (0..MAX_RENEWALS).map(|_| begin().unwrap()).collect();
        assert!(begin().is_none(), "all slots are taken");
        assert!(
            renewals.begin_waited_for(Instant::now()).is_some(),
            "a renewal that a caller waits for needs none"
        );
        drop(many);
        assert!(begin().is_some());
    }
}
