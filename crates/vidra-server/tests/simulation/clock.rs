//! The wall clock of a simulated world.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use vidra::clock::Clock;

/// Runs with the paused clock, jumps when told, and knows how long the machine slept.
#[derive(Clone)]
pub(crate) struct SimClock(Arc<Inner>);

struct Inner {
    start: Timestamp,
    began: Instant,
    /// By how much the clock was set, and how long the machine slept.
    set: Mutex<(SignedDuration, Duration)>,
}

impl SimClock {
    pub(crate) fn new(start: Timestamp) -> Self {
        Self(Arc::new(Inner { start, began: Instant::now(), set: Mutex::default() }))
    }

    pub(crate) fn jump(&self, by: SignedDuration) {
        self.0.set.lock().unwrap().0 += by;
    }

    pub(crate) fn suspend(&self, for_how_long: Duration) {
        self.0.set.lock().unwrap().1 += for_how_long;
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let (jumped, suspended) = *self.0.set.lock().unwrap();
        self.0.start + self.0.began.elapsed() + suspended + jumped
    }

    fn suspended(&self) -> Duration {
        self.0.set.lock().unwrap().1
    }
}
