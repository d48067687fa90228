//! Leaves alone what fails: after so many failures nothing is asked for a while, and then one request
//! finds out whether that is over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::outcome::Ending;

/// So many failures in a row are no accident.
const IN_A_ROW: u32 = 5;

/// Where failures and answers mix, half of them have to be failures, of at least so many in the last
/// ten seconds.
const ENOUGH_TO_TELL: u32 = 20;
const WINDOW: usize = 10;

/// How long finding out takes as a rule.
const PROBE_TIME: Duration = Duration::from_secs(1);

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// All is well, and all may ask.
    Closed,
    /// Nobody may ask.
    Open,
    /// One is finding out, or may.
    HalfOpen,
}

/// How long nothing is asked: `first`, twice that after the second opening in a row, and so on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    /// Zero for a breaker that never opens.
    pub(crate) first: Duration,
    pub(crate) longest: Duration,
}

impl Pauses {
    /// The pause of the how-manieth opening in a row, up to a fifth shorter or longer by `dice` (0 to
    /// 1): services that failed together must not come back together.
    fn after(self, times: u32, dice: f64) -> Duration {
        self.first.saturating_mul(times).min(self.longest).mul_f64(0.8 + 0.4 * dice)
    }
}

/// The decisions, without a clock.
#[derive(Debug)]
struct Circuit {
    pauses: Pauses,
    state: State,
    /// How often it has opened.
    openings: u64,
}

/// Leave to ask, as it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Leave {
    /// Whether that is to find out.
    is_probe: bool,
    /// How often it had opened by then.
    openings: u64,
}

#[derive(Debug)]
enum State {
    Closed { in_a_row: u32, recent: Recent },
    Open { times: u32, until: Instant, is_probed: bool },
}

/// The last ten seconds, by second.
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

    /// How long nobody may ask, where nobody may.
    fn refuses(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open { until, .. } if until > now => Some(until - now),
            State::Open { is_probed: true, .. } => Some(PROBE_TIME),
            _ => None,
        }
    }

    /// Leave to ask now, or how long to wait for it.
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

    /// What came of it; `None` where that does not tell. Those who left before it opened change nothing
    /// any more, also once it is closed again. Gives back a change of standing, with the pause where it opened.
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

/// One thing that may fail by itself, and whether it is asked.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// What it is called in the log and in metrics.
    pub(crate) name: String,
    /// Held for a few instructions and never across an await.
    circuit: Mutex<Circuit>,
}

impl Breaker {
    pub(crate) fn new(name: impl Into<String>, pauses: Pauses, now: Instant) -> Self {
        Self { name: name.into(), circuit: Mutex::new(Circuit::new(pauses, now)) }
    }

    /// How long nobody may ask, where nobody may.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        self.circuit().refuses(now)
    }

    /// Leave to ask once, or how long to wait for it.
    pub(crate) fn admit(self: &Arc<Self>, now: Instant) -> Result<Pass, Duration> {
        let leave = self.circuit().admit(now)?;
        Ok(Pass { breaker: Arc::clone(self), leave })
    }

    pub(crate) fn standing(&self, now: Instant) -> Standing {
        self.circuit().standing(now)
    }

    /// Whether a request is finding out if a pause is over.
    pub(crate) fn is_probed(&self) -> bool {
        matches!(self.circuit().state, State::Open { is_probed: true, .. })
    }

    fn end(&self, leave: Leave, is_failure: Option<bool>) {
        let change = self.circuit().end(leave, is_failure, Instant::now(), fastrand::f64);
        let what = self.name.as_str();
        match change {
            Some(Change::Opened { times, pause }) => {
                let seconds = pause.as_secs_f64();
                tracing::warn!(what, times, seconds, "it fails, and is not asked for a while");
            }
            Some(Change::Closed) => tracing::info!(what, "it answers again"),
            None => {}
        }
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave to ask once. Dropped without a word, perhaps because its caller went away, it told nothing, and
/// another may find out.
#[derive(Debug)]
pub(crate) struct Pass {
    breaker: Arc<Breaker>,
    leave: Leave,
}

impl Pass {
    /// How an attempt ended. However often one thing is tried, it fails once: what is wrong with it alone
    /// must not close the way to all others. Who finds out has only this attempt to tell of.
    pub(crate) fn end(self, ending: Ending, is_retry: bool) {
        let is_told = !is_retry || self.leave.is_probe;
        self.tell(ending.is_failure().filter(|is_failure| is_told || !is_failure));
    }

    /// Whether it failed; `None` where that does not tell.
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
