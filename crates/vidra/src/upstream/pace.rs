//! How fast an address may ask: so many at once, then so many an hour.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

/// A pace: the platform blocks an address that asks for a few hundred transcripts in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How many at once.
    pub burst: u32,
    /// How many an hour after that.
    pub per_hour: u32,
}

impl Default for Pace {
    /// What the platform is known to bear from one address.
    fn default() -> Self {
        Self { burst: 300, per_hour: 1_000 }
    }
}

impl Pace {
    fn interval(self) -> Duration {
        Duration::from_secs(3600) / self.per_hour
    }

    /// The wait for a turn where those before it are over at `spent_until`.
    fn wait(self, spent_until: Instant, now: Instant) -> Duration {
        let saved = self.interval() * self.burst.saturating_sub(1);
        spent_until.saturating_duration_since(now + saved)
    }
}

/// Hands out turns at a pace. A turn that has to be waited for is taken all the same, so that those
/// who wait are served in order and none too early.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// `None` paces nothing.
    pace: Option<Pace>,
    /// When all turns handed out so far would be over at the steady pace; held for a few
    /// instructions and never across an await.
    spent_until: Mutex<Instant>,
}

impl Pacer {
    pub(crate) fn new(pace: Option<Pace>, now: Instant) -> Self {
        Self { pace: pace.filter(|pace| pace.per_hour > 0), spent_until: Mutex::new(now) }
    }

    /// Takes a turn: how long to wait for it, or `Err` with that where it would use up all `patience`,
    /// and then no turn is taken.
    pub(crate) fn turn(&self, now: Instant, patience: Duration) -> Result<Duration, Duration> {
        let Some(pace) = self.pace else { return Ok(Duration::ZERO) };
        let mut spent_until = self.spent_until();
        let wait = pace.wait(*spent_until, now);
        if !wait.is_zero() && wait >= patience {
            return Err(wait);
        }
        *spent_until = (*spent_until).max(now) + pace.interval();
        Ok(wait)
    }

    /// How long a turn would have to be waited for; none is taken.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        self.pace.map_or(Duration::ZERO, |pace| pace.wait(*self.spent_until(), now))
    }

    fn spent_until(&self) -> MutexGuard<'_, Instant> {
        self.spent_until.lock().expect("no panic under this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_a_steady_pace() {
        let start = Instant::now();
        let pacer = Pacer::new(Some(Pace { burst: 3, per_hour: 3600 }), start);
        let waits: Vec<u64> =
            (0..6).map(|_| pacer.turn(start, Duration::MAX).unwrap().as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 3]);
        // A minute later everything has been saved up again, and no more than that.
        let later = start + Duration::from_secs(60);
        let waits: Vec<u64> =
            (0..4).map(|_| pacer.turn(later, Duration::MAX).unwrap().as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1]);
        for _ in 0..3 {
            assert_eq!(pacer.wait(later), Duration::from_secs(2), "looking takes no turn");
        }
    }

    #[test]
    fn who_cannot_wait_takes_no_turn() {
        let start = Instant::now();
        let pacer = Pacer::new(Some(Pace { burst: 1, per_hour: 360 }), start);
        assert_eq!(pacer.turn(start, Duration::ZERO), Ok(Duration::ZERO));
        for patience in [0, 9, 10] {
            let too_long = pacer.turn(start, Duration::from_secs(patience));
            assert_eq!(too_long, Err(Duration::from_secs(10)), "{patience} leave no time to ask");
        }
        assert_eq!(pacer.turn(start, Duration::from_secs(11)), Ok(Duration::from_secs(10)));
    }

    #[test]
    fn no_pace_holds_nobody_up() {
        let now = Instant::now();
        for pacer in [Pacer::new(None, now), Pacer::new(Some(Pace { burst: 1, per_hour: 0 }), now)]
        {
            assert!((0..1000).all(|_| pacer.turn(now, Duration::ZERO) == Ok(Duration::ZERO)));
        }
    }
}
