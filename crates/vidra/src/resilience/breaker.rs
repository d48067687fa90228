//! The circuit breaker of one dependency. It opens after repeated failures. After a pause it admits
//! one probe.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::changes::Changes;
use super::circuit::{Admission, BreakerState, Circuit};
use super::outcome::CallOutcome;

/// With mixed outcomes the breaker opens at a failure rate of 50 %, with at least this many calls
/// in the last ten seconds.
const ENOUGH_CALLS: u32 = 20;
const WINDOW: usize = 10;

/// When a breaker opens, and for how long. The n-th consecutive opening lasts n times
/// `first_pause`, up to `longest_pause`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BreakerPolicy {
    /// The number of consecutive failures that opens the breaker.
    pub(crate) failures: u32,
    /// Zero for a breaker that never opens.
    pub(crate) first_pause: Duration,
    pub(crate) longest_pause: Duration,
}

impl BreakerPolicy {
    /// The pause of the n-th consecutive opening, plus or minus 20 % by `jitter` (0 to 1).
    /// Services that failed together must not return together.
    fn pause(self, times: u32, jitter: f64) -> Duration {
        let pause = self.first_pause.saturating_mul(times).min(self.longest_pause);
        pause.mul_f64(0.8 + 0.4 * jitter)
    }
}

/// A breaker without a clock: the circuit, and the outcomes that open it.
#[derive(Debug)]
struct Counting {
    policy: BreakerPolicy,
    circuit: Circuit<()>,
    /// The number of consecutive failures.
    in_a_row: u32,
    recent: Recent,
}

/// The last ten seconds, in slots of one second.
#[derive(Debug)]
struct Recent {
    since: Instant,
    slots: [Slot; WINDOW],
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    second: u64,
    all: u32,
    failed: u32,
}

impl Recent {
    fn new(now: Instant) -> Self {
        Self { since: now, slots: Default::default() }
    }

    fn add(&mut self, is_failure: bool, now: Instant) {
        let second = now.saturating_duration_since(self.since).as_secs();
        let slot = &mut self.slots[second as usize % WINDOW];
        if slot.second != second {
            *slot = Slot { second, ..Slot::default() };
        }
        slot.all += 1;
        slot.failed += u32::from(is_failure);
    }

    fn is_bad(&self, now: Instant) -> bool {
        let second = now.saturating_duration_since(self.since).as_secs();
        let recent = self.slots.iter().filter(|slot| slot.second + WINDOW as u64 > second);
        let (all, failed) =
            recent.fold((0, 0), |(all, failed), slot| (all + slot.all, failed + slot.failed));
        all >= ENOUGH_CALLS && failed * 2 >= all
    }
}

impl Counting {
    fn new(policy: BreakerPolicy, now: Instant) -> Self {
        Self { policy, circuit: Circuit::new(), in_a_row: 0, recent: Recent::new(now) }
    }

    /// Records the outcome of a call. `None` means that the outcome says nothing. Calls that were
    /// admitted before the last opening are ignored. Returns the transition, if there is one.
    fn end(
        &mut self,
        admission: Admission,
        is_failure: Option<bool>,
        now: Instant,
        jitter: impl FnOnce() -> f64,
    ) -> Option<Change> {
        if !self.circuit.is_current(admission) {
            return None;
        }
        let Some(is_failure) = is_failure else {
            self.circuit.abandon(admission);
            return None;
        };
        if !is_failure && self.circuit.close(admission) {
            (self.in_a_row, self.recent) = (0, Recent::new(now));
            return Some(Change::Closed);
        }
        self.in_a_row = if is_failure { self.in_a_row + 1 } else { 0 };
        self.recent.add(is_failure, now);
        let policy = self.policy;
        let is_bad = self.in_a_row >= policy.failures || self.recent.is_bad(now);
        if !is_failure || !(admission.is_probe || is_bad) || policy.first_pause.is_zero() {
            return None;
        }
        let pause = |times| policy.pause(times, jitter());
        let (times, pause) = self.circuit.open((), pause, now);
        Some(Change::Opened { times, pause })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Opened { times: u32, pause: Duration },
    Closed,
}

/// The circuit breaker of one dependency.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// The name in logs and metrics.
    pub(crate) name: String,
    is_logged: bool,
    /// Counts the openings and closings, if a caller stores the state of the breaker.
    changes: Option<Changes>,
    /// Held only briefly and never across an await.
    counting: Mutex<Counting>,
}

impl Breaker {
    pub(crate) fn new(name: impl Into<String>, policy: BreakerPolicy, now: Instant) -> Self {
        let counting = Mutex::new(Counting::new(policy, now));
        Self { name: name.into(), is_logged: true, changes: None, counting }
    }

    /// Counts the openings and closings of the breaker.
    pub(crate) fn reporting_to(self, changes: Changes) -> Self {
        Self { changes: Some(changes), ..self }
    }

    /// A breaker without log lines, for a user that logs the failures itself.
    pub(crate) fn unlogged(policy: BreakerPolicy, now: Instant) -> Self {
        Self { is_logged: false, ..Self::new("", policy, now) }
    }

    /// The remaining pause. `None` if the breaker admits calls.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        self.lock().circuit.refusal(now).map(|((), wait)| wait)
    }

    /// Admits one call, or returns the remaining pause.
    pub(crate) fn admit(self: &Arc<Self>, now: Instant) -> Result<Pass, Duration> {
        let admission = self.lock().circuit.admit(now).map_err(|((), wait)| wait)?;
        Ok(Pass { breaker: Arc::clone(self), admission })
    }

    /// The number of consecutive openings and the rest of the pause, which is zero if the breaker is half-open. `None`
    /// if it is closed.
    pub(crate) fn pause(&self, now: Instant) -> Option<(u32, Duration)> {
        self.lock().circuit.opened(now).map(|((), times, left)| (times, left))
    }

    /// Opens the breaker as it was in an earlier process. It never shortens a pause, and opens for no longer than its
    /// policy allows.
    pub(crate) fn restore(&self, times: u32, left: Duration, now: Instant) {
        let mut counting = self.lock();
        let longest = counting.policy.pause(u32::MAX, 1.0);
        if !longest.is_zero() {
            counting.circuit.restore((), times, left.min(longest), now);
        }
    }

    pub(crate) fn state(&self, now: Instant) -> BreakerState {
        self.lock().circuit.state(now)
    }

    /// Whether a probe is running.
    pub(crate) fn is_probed(&self) -> bool {
        self.lock().circuit.probed().is_some()
    }

    /// Closes the breaker and forgets all outcomes, because its dependency was replaced.
    pub(crate) fn reset(&self, now: Instant) {
        let mut counting = self.lock();
        counting.circuit.reset();
        (counting.in_a_row, counting.recent) = (0, Recent::new(now));
    }

    fn end(&self, admission: Admission, is_failure: Option<bool>) {
        let change = self.lock().end(admission, is_failure, Instant::now(), fastrand::f64);
        if let (Some(changes), Some(_)) = (&self.changes, &change) {
            changes.note();
        }
        let what = self.name.as_str();
        match change.filter(|_| self.is_logged) {
            Some(Change::Opened { times: 1, pause }) => {
                let seconds = pause.as_secs_f64();
                tracing::warn!(breaker = what, pause_s = seconds, "circuit breaker opened");
            }
            // One warning is enough.
            Some(Change::Opened { times, pause }) => {
                let seconds = pause.as_secs_f64();
                tracing::debug!(breaker = what, times, pause_s = seconds, "probe failed");
            }
            Some(Change::Closed) => tracing::info!(breaker = what, "circuit breaker closed"),
            None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counting> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The admission of one call. If it is dropped without an outcome, for example after a
/// cancellation, another call can probe.
#[derive(Debug)]
pub(crate) struct Pass {
    breaker: Arc<Breaker>,
    admission: Admission,
}

impl Pass {
    /// Records the outcome of an attempt. Failed retries do not count, so that one bad request
    /// cannot open the breaker for all others. A probe always counts.
    pub(crate) fn end(self, outcome: CallOutcome, is_retry: bool) {
        let counts = !is_retry || self.admission.is_probe;
        self.record(outcome.is_failure().filter(|is_failure| counts || !is_failure));
    }

    /// Records a success or failure. `None` means that the outcome says nothing.
    pub(crate) fn record(mut self, is_failure: Option<bool>) {
        self.breaker.end(self.admission, is_failure);
        self.admission.is_probe = false;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.admission.is_probe {
            self.breaker.end(self.admission, None);
        }
    }
}

#[cfg(test)]
mod tests;
