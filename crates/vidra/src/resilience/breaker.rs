//! Circuit breakers. A breaker opens after repeated failures. After a pause it is half-open and
//! admits one probe.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::outcome::Ending;

/// The number of consecutive failures that opens the breaker.
const IN_A_ROW: u32 = 5;

/// With mixed outcomes the breaker opens at a failure rate of 50 %, with at least this many calls
/// in the last ten seconds.
const ENOUGH_TO_TELL: u32 = 20;
const WINDOW: usize = 10;

/// The usual duration of a probe.
const PROBE_TIME: Duration = Duration::from_secs(1);

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Calls are admitted.
    Closed,
    /// Calls are rejected.
    Open,
    /// A probe is running or may start.
    HalfOpen,
}

/// The pauses of a breaker. The n-th consecutive opening pauses for n times `first`, up to
/// `longest`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    /// Zero for a breaker that never opens.
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Pauses {
    /// The pause of the n-th consecutive opening, with a jitter of 20 % from `dice` (0 to 1).
    /// Services that failed together must not return together.
    fn after(self, times: u32, dice: f64) -> Duration {
        self.first.saturating_mul(times).min(self.longest).mul_f64(0.8 + 0.4 * dice)
    }
}

/// The state machine, without a clock.
#[derive(Debug)]
struct Circuit {
    pauses: Pauses,
    state: State,
    /// The number of openings so far.
    openings: u64,
}

/// The admission of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leave {
    /// Whether the call is a probe.
    is_probe: bool,
    /// The number of openings at the time of the admission.
    openings: u64,
}

#[derive(Debug)]
enum State {
    Closed { in_a_row: u32, recent: Recent },
    Open { times: u32, until: Instant, is_probed: bool },
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
        all >= ENOUGH_TO_TELL && failed * 2 >= all
    }
}

impl Circuit {
    fn new(pauses: Pauses, now: Instant) -> Self {
        let state = State::Closed { in_a_row: 0, recent: Recent::new(now) };
        Self { pauses, state, openings: 0 }
    }

    /// The remaining pause. `None` if the breaker admits calls.
    fn refuses(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until, .. } if until > now => Some(until - now),
            State::Open { is_probed: true, .. } => Some(PROBE_TIME),
            _ => None,
        }
    }

    /// Admits a call, or returns the remaining pause.
    fn admit(&mut self, now: Instant) -> Result<Leave, Duration> {
        if let Some(wait) = self.refuses(now) {
            return Err(wait);
        }
        let is_probe = match &mut self.state {
            State::Closed { .. } => false,
            State::Open { is_probed, .. } => {
                *is_probed = true;
                true
            }
        };
        Ok(Leave { is_probe, openings: self.openings })
    }

    /// Records the outcome of a call. `None` means that the outcome says nothing. Calls that were
    /// admitted before the last opening are ignored. Returns the transition, if there is one.
    fn end(
        &mut self,
        Leave { is_probe, openings }: Leave,
        is_failure: Option<bool>,
        now: Instant,
        dice: impl FnOnce() -> f64,
    ) -> Option<Change> {
        if openings != self.openings {
            return None;
        }
        let times = match (&mut self.state, is_failure) {
            (State::Closed { in_a_row, recent }, Some(is_failure)) => {
                *in_a_row = if is_failure { *in_a_row + 1 } else { 0 };
                recent.add(is_failure, now);
                let is_bad = is_failure && (*in_a_row >= IN_A_ROW || recent.is_bad(now));
                if !is_bad || self.pauses.first.is_zero() {
                    return None;
                }
                1
            }
            (State::Open { is_probed, .. }, None) if is_probe => {
                *is_probed = false;
                return None;
            }
            (State::Open { .. }, Some(false)) if is_probe => {
                self.state = State::Closed { in_a_row: 0, recent: Recent::new(now) };
                return Some(Change::Closed);
            }
            (State::Open { times, .. }, Some(true)) if is_probe => times.saturating_add(1),
            _ => return None,
        };
        let pause = self.pauses.after(times, dice());
        self.state = State::Open { times, until: now + pause, is_probed: false };
        self.openings += 1;
        Some(Change::Opened { times, pause })
    }

    fn standing(&self, now: Instant) -> Standing {
        match self.state {
            State::Closed { .. } => Standing::Closed,
            State::Open { until, .. } if until > now => Standing::Open,
            State::Open { .. } => Standing::HalfOpen,
        }
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
    /// Held only briefly and never across an await.
    circuit: Mutex<Circuit>,
}

impl Breaker {
    pub(crate) fn new(name: impl Into<String>, pauses: Pauses, now: Instant) -> Self {
        Self { name: name.into(), circuit: Mutex::new(Circuit::new(pauses, now)) }
    }

    /// The remaining pause. `None` if the breaker admits calls.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        self.circuit().refuses(now)
    }

    /// Admits one call, or returns the remaining pause.
    pub(crate) fn admit(self: &Arc<Self>, now: Instant) -> Result<Pass, Duration> {
        let leave = self.circuit().admit(now)?;
        Ok(Pass { breaker: Arc::clone(self), leave })
    }

    pub(crate) fn standing(&self, now: Instant) -> Standing {
        self.circuit().standing(now)
    }

    /// Whether a probe is running.
    pub(crate) fn is_probed(&self) -> bool {
        matches!(self.circuit().state, State::Open { is_probed: true, .. })
    }

    fn end(&self, leave: Leave, is_failure: Option<bool>) {
        let change = self.circuit().end(leave, is_failure, Instant::now(), fastrand::f64);
        let what = self.name.as_str();
        match change {
            Some(Change::Opened { times, pause }) => {
                let seconds = pause.as_secs_f64();
                tracing::warn!(breaker = what, times, pause_s = seconds, "circuit breaker opened");
            }
            Some(Change::Closed) => tracing::info!(breaker = what, "circuit breaker closed"),
            None => {}
        }
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The admission of one call. If it is dropped without an outcome, for example after a
/// cancellation, another call can probe.
#[derive(Debug)]
pub(crate) struct Pass {
    breaker: Arc<Breaker>,
    leave: Leave,
}

impl Pass {
    /// Records the outcome of an attempt. Failed retries do not count, so that one bad request
    /// cannot open the breaker for all others. A probe always counts.
    pub(crate) fn end(self, ending: Ending, is_retry: bool) {
        let is_told = !is_retry || self.leave.is_probe;
        self.tell(ending.is_failure().filter(|is_failure| is_told || !is_failure));
    }

    /// Records a success or failure. `None` means that the outcome says nothing.
    pub(crate) fn tell(mut self, is_failure: Option<bool>) {
        self.breaker.end(self.leave, is_failure);
        self.leave.is_probe = false;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.leave.is_probe {
            self.breaker.end(self.leave, None);
        }
    }
}

#[cfg(test)]
mod tests;
