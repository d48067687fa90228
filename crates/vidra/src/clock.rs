//! The wall clock, which a simulation replaces.

use std::time::Duration;

use jiff::Timestamp;

/// A wall clock that also reports how long the machine was suspended.
///
/// Timeouts and deadlines use the runtime's clock. This clock decides the day of the quota and the
/// age of a cached record.
pub trait Clock: Send + Sync + 'static {
    /// The wall-clock time. It may jump in either direction.
    fn now(&self) -> Timestamp;

    /// The total time for which the machine was suspended, since some fixed moment. The runtime's
    /// clock stops during a suspend, but cached records still age.
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
        // This order of the two reads never makes the difference too small.
        let running = nanos(clock_gettime(ClockId::Monotonic));
        let since_boot = nanos(clock_gettime(ClockId::Boottime));
        // Rounded to tenths of a second, because the two reads are not simultaneous.
        let tenths = (since_boot - running) / 100_000_000;
        Duration::from_millis(u64::try_from(tenths).unwrap_or(0) * 100)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}
