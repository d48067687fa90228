//! The wall clock of a simulated world.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use vidra::clock::Clock;

/// Follows the paused clock, plus all jumps and the time that the machine was suspended.
#[derive(Clone)]
pub(crate) struct SimClock(Arc<Inner>);

struct Inner {
    start: Timestamp,
    began: Instant,
    /// The sum of all jumps, and the time that the machine was suspended.
    offsets: Mutex<(SignedDuration, Duration)>,
}

impl SimClock {
    pub(crate) fn new(start: Timestamp) -> Self {
        Self(Arc::new(Inner { start, began: Instant::now(), offsets: Mutex::default() }))
    }

    pub(crate) fn jump(&self, by: SignedDuration) {
        self.0.offsets.lock().unwrap().0 += by;
    }

    pub(crate) fn suspend(&self, time: Duration) {
        self.0.offsets.lock().unwrap().1 += time;
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let (jumped, suspended) = *self.0.offsets.lock().unwrap();
        self.0.start + self.0.began.elapsed() + suspended + jumped
    }

    fn suspended(&self) -> Duration {
        self.0.offsets.lock().unwrap().1
    }
}
