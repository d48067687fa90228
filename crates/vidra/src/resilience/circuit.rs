//! The state machine behind every circuit breaker: closed, open for a pause, then half-open for one
//! probe at a time. Its users decide when it opens and for how long.

use std::time::Duration;

use tokio::time::Instant;

/// The usual duration of a probe.
pub(crate) const PROBE_TIME: Duration = Duration::from_secs(1);

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Calls are admitted.
    Closed,
    /// Calls are rejected.
    Open,
    /// A probe is running or may start.
    HalfOpen,
}

/// A circuit that opens for a reason of type `R`.
#[derive(Debug)]
pub(crate) struct Circuit<R> {
    /// `None` while the circuit is closed.
    opened: Option<Opened<R>>,
    /// The number of openings so far.
    openings: u64,
}

#[derive(Debug)]
struct Opened<R> {
    reason: R,
    /// The number of consecutive openings.
    times: u32,
    until: Instant,
    is_probed: bool,
}

/// The admission of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Admission {
    pub(crate) is_probe: bool,
    /// The number of openings at the time of the admission.
    openings: u64,
}

impl<R: Copy> Circuit<R> {
    pub(crate) fn new() -> Self {
        Self { opened: None, openings: 0 }
    }

    /// The reason and the rest of the pause. `None` if the circuit is closed or half-open.
    pub(crate) fn pause(&self, now: Instant) -> Option<(R, Duration)> {
        let opened = self.opened.as_ref().filter(|opened| opened.until > now)?;
        Some((opened.reason, opened.until - now))
    }

    /// The reason, the number of consecutive openings and the rest of the pause, which is zero if the circuit is
    /// half-open. `None` if it is closed.
    pub(crate) fn opened(&self, now: Instant) -> Option<(R, u32, Duration)> {
        let Opened { reason, times, until, .. } = self.opened.as_ref()?;
        Some((*reason, *times, until.saturating_duration_since(now)))
    }

    /// Opens the circuit as it was in an earlier process. It never shortens a pause.
    pub(crate) fn restore(&mut self, reason: R, times: u32, left: Duration, now: Instant) {
        let until = now + left;
        match &mut self.opened {
            Some(opened) if opened.until >= until => opened.times = opened.times.max(times),
            opened => {
                let times = opened.as_ref().map_or(times, |opened| opened.times.max(times)).max(1);
                *opened = Some(Opened { reason, times, until, is_probed: false });
                self.openings += 1;
            }
        }
    }

    /// The reason for a probe that is running.
    pub(crate) fn probed(&self) -> Option<R> {
        self.opened.as_ref().filter(|opened| opened.is_probed).map(|opened| opened.reason)
    }

    /// Why a new call is rejected, and for how long. `None` if it would be admitted.
    pub(crate) fn refusal(&self, now: Instant) -> Option<(R, Duration)> {
        self.pause(now).or_else(|| Some((self.probed()?, PROBE_TIME)))
    }

    pub(crate) fn state(&self, now: Instant) -> BreakerState {
        match &self.opened {
            None => BreakerState::Closed,
            Some(opened) if opened.until > now => BreakerState::Open,
            Some(_) => BreakerState::HalfOpen,
        }
    }

    /// Admits a call, which is the probe if the circuit is half-open.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Admission, (R, Duration)> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        if let Some(opened) = &mut self.opened {
            opened.is_probed = true;
        }
        Ok(Admission { is_probe: self.opened.is_some(), openings: self.openings })
    }

    /// Whether the circuit has not opened since this admission.
    pub(crate) fn is_current(&self, admission: Admission) -> bool {
        admission.openings == self.openings
    }

    /// Opens the circuit, also if it is open already. `pause` maps the number of consecutive
    /// openings to the pause. Returns both.
    pub(crate) fn open(
        &mut self,
        reason: R,
        pause: impl FnOnce(u32) -> Duration,
        now: Instant,
    ) -> (u32, Duration) {
        let times = self.opened.as_ref().map_or(1, |opened| opened.times.saturating_add(1));
        let pause = pause(times);
        self.opened = Some(Opened { reason, times, until: now + pause, is_probed: false });
        self.openings += 1;
        (times, pause)
    }

    /// Closes the circuit after a successful probe. Returns `false` if this was not the current
    /// probe.
    pub(crate) fn close(&mut self, admission: Admission) -> bool {
        let is_probing = self.is_probing(admission);
        if is_probing {
            self.opened = None;
        }
        is_probing
    }

    /// Closes the circuit without a probe. Calls that were admitted before no longer count.
    pub(crate) fn reset(&mut self) {
        self.opened = None;
        self.openings += 1;
    }

    /// Ends a probe without a result, so that the next call probes. Returns `false` if this was not
    /// the current probe.
    pub(crate) fn abandon(&mut self, admission: Admission) -> bool {
        let is_probing = self.is_probing(admission);
        if let Some(opened) = self.opened.as_mut().filter(|_| is_probing) {
            opened.is_probed = false;
        }
        is_probing
    }

    #[cfg(test)]
    pub(super) fn openings(&self) -> u64 {
        self.openings
    }

    fn is_probing(&self, admission: Admission) -> bool {
        admission.is_probe && self.is_current(admission) && self.probed().is_some()
    }
}
