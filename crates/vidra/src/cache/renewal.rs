//! How much is renewed while nobody has to wait for it: with something at hand to give out, a platform
//! that refuses us is left alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::is_trouble;
use crate::error::{Error, ErrorKind, Result};
use crate::resilience::breaker::{Breaker, Pass, Pauses};

/// The most that are under way together: one full call of single videos.
const MOST: usize = 50;

/// Decides whether something is renewed now.
///
/// That the platform fails is seen with each exchange, by its own breaker. This one is for what it
/// refuses to everything that we ask: a spent day, a rejected key, a limit, a block.
pub(crate) struct Renewals {
    places: Arc<Semaphore>,
    refusals: Arc<Breaker>,
    /// How many have failed in a row, for whatever reason.
    failures: Arc<AtomicU32>,
}

/// A renewal that is under way.
pub(crate) struct Renewal {
    pass: Pass,
    failures: Arc<AtomicU32>,
    /// `None` where somebody waits for it, who is not to be turned away because others do not.
    _place: Option<OwnedSemaphorePermit>,
}

impl Renewals {
    pub(crate) fn new(what: &str, pauses: Pauses, now: Instant) -> Self {
        let refusals = Arc::new(Breaker::new(format!("renewals of {what}"), pauses, now));
        Self { places: Arc::new(Semaphore::new(MOST)), refusals, failures: Arc::default() }
    }

    /// Begins one in the background. `None` where it has to wait for another occasion.
    pub(crate) fn begin(&self, now: Instant) -> Option<Renewal> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let mut renewal = self.begin_waited_for(now)?;
        renewal._place = Some(place);
        Some(renewal)
    }

    /// Begins one that somebody waits for.
    pub(crate) fn begin_waited_for(&self, now: Instant) -> Option<Renewal> {
        let pass = self.refusals.admit(now).ok()?;
        Some(Renewal { pass, failures: Arc::clone(&self.failures), _place: None })
    }

    /// How many are under way in the background, and whether one is finding out if a refusal is over.
    pub(crate) fn under_way(&self) -> usize {
        MOST - self.places.available_permits() + usize::from(self.refusals.is_probed())
    }

    /// How many have failed in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }
}

impl Renewal {
    /// What came of it.
    pub(crate) fn end<T>(self, outcome: &Result<T>) {
        let error = outcome.as_ref().err().filter(|error| is_trouble(error));
        match error {
            Some(error) if error.is_of_one_caller() => {}
            Some(_) => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
            None => self.failures.store(0, Ordering::Relaxed),
        }
        self.pass.tell(error.map_or(Some(false), is_refusal_to_us));
    }
}

/// Whether the platform refuses us, whatever we ask; `None` where the error does not tell.
fn is_refusal_to_us(error: &Error) -> Option<bool> {
    match error.kind() {
        _ if error.is_of_one_caller() => None,
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
    async fn after_five_refusals_one_at_a_time_finds_out() {
        let pauses = Pauses { first: SECOND, longest: 5 * SECOND };
        let renewals = Renewals::new("videos", pauses, Instant::now());
        let begin = || renewals.begin(Instant::now());
        let refused = Err::<(), _>(Error::new(Reason::UpstreamKeyMissing, "no"));
        let failed = Err::<(), _>(Error::new(Reason::UpstreamFailed, "no"));
        for outcome in [&refused, &refused, &failed, &refused, &refused, &failed, &refused] {
            begin().unwrap().end(outcome);
        }
        assert!(begin().is_none(), "five refusals, and failures count neither way");
        tokio::time::advance(2 * SECOND).await;
        let probe = begin().unwrap();
        assert!(begin().is_none(), "one is finding out");
        drop(probe);
        begin().unwrap().end(&Ok(()));
        let many: Vec<_> = (0..MOST).map(|_| begin().unwrap()).collect();
        assert!(begin().is_none(), "all places are taken");
        assert!(renewals.begin_waited_for(Instant::now()).is_some(), "who waits needs none");
        drop(many);
        assert!(begin().is_some());
    }
}
