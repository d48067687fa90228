//! The leaky bucket behind every rate limit.

use std::time::Duration;

/// A leaky bucket: a burst of permits, and then one permit for each interval.
///
/// It is pure arithmetic. Its user stores one time: when the bucket is empty again, so that the full
/// burst is available. `ahead` is how far that time lies in the future.
///
/// ```
/// use std::time::Duration;
/// let bucket = vidra::LeakyBucket::new(3, Duration::from_secs(20));
/// let ahead = 2 * bucket.interval();
/// assert_eq!((bucket.remaining(ahead), bucket.wait(ahead)), (1, Duration::ZERO));
/// let ahead = ahead + bucket.interval();
/// assert_eq!((bucket.remaining(ahead), bucket.wait(ahead)), (0, Duration::from_secs(20)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeakyBucket {
    burst: u32,
    interval: Duration,
}

impl LeakyBucket {
    /// Creates a bucket. A burst of zero counts as one.
    pub fn new(burst: u32, interval: Duration) -> Self {
        Self { burst: burst.max(1), interval }
    }

    /// The time that one permit adds.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The wait for the next permit.
    pub fn wait(&self, ahead: Duration) -> Duration {
        ahead.saturating_sub(self.interval.saturating_mul(self.burst - 1))
    }

    /// The number of permits that are available at once.
    pub fn remaining(&self, ahead: Duration) -> u32 {
        let left = self.capacity().saturating_sub(ahead);
        let permits = left.as_nanos().checked_div(self.interval.as_nanos());
        permits.and_then(|permits| u32::try_from(permits).ok()).unwrap_or(self.burst)
    }

    /// The time for which the whole burst lasts. No bucket of this limit is further ahead.
    pub fn capacity(&self) -> Duration {
        self.interval.saturating_mul(self.burst)
    }
}
