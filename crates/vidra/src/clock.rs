//! The wall clock, which a simulation replaces.

use std::time::Duration;

use jiff::Timestamp;

/// The time of day, and how long the machine has slept.
///
/// Waits and deadlines run on the runtime's own clock. This one decides which day of quota it is and how
/// old a cached record is.
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time. It may jump in either direction.
    fn now(&self) -> Timestamp;

    /// How long the machine has been suspended since some fixed moment. The runtime's clock stands still
    /// while the machine sleeps, and cached records age all the same.
    fn suspended(&self) -> Duration;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn suspended(&self) -> Duration {
        use rustix::time::{ClockId, Timespec, clock_gettime};
        let nanos = |Timespec { tv_sec, tv_nsec }| tv_sec * 1_000_000_000 + tv_nsec;
        // In this order the difference is never too small.
        let running = nanos(clock_gettime(ClockId::Monotonic));
        let since_boot = nanos(clock_gettime(ClockId::Boottime));
        // In tenths of a second, because the two clocks are not read in the same moment.
        let tenths = (since_boot - running) / 100_000_000;
        Duration::from_millis(u64::try_from(tenths).unwrap_or(0) * 100)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}
