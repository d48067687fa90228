//! Pauses that YouTube requests with `Retry-After`, one per bucket of a project.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::quota::Bucket;

/// The maximum pause. A wrong header must not block a bucket for a day.
const MAX_HOLD: Duration = Duration::from_secs(3600);

/// The end of the pause of each bucket. It is checked before a call is charged.
#[derive(Debug, Default)]
pub(crate) struct Holds(Mutex<[Option<Instant>; 2]>);

impl Holds {
    /// Starts a pause that YouTube requested. A shorter pause does not end a longer one.
    pub(crate) fn hold(&self, bucket: Bucket, pause: Duration, now: Instant) {
        let until = now + pause.min(MAX_HOLD);
        let mut all = self.lock();
        let held = &mut all[bucket as usize];
        *held = (*held).max(Some(until));
    }

    /// The rest of the pause. `None` if there is none.
    pub(crate) fn left(&self, bucket: Bucket, now: Instant) -> Option<Duration> {
        let until = self.lock()[bucket as usize]?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Ends all pauses.
    pub(crate) fn clear(&self) {
        *self.lock() = [None; 2];
    }

    fn lock(&self) -> MutexGuard<'_, [Option<Instant>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_hold_applies_to_one_bucket_and_the_longest_wins() {
        let (holds, now) = (Holds::default(), Instant::now());
        assert_eq!(holds.left(Bucket::Default, now), None);
        holds.hold(Bucket::Default, 60 * SECOND, now);
        holds.hold(Bucket::Default, 5 * SECOND, now);
        assert_eq!(holds.left(Bucket::Default, now), Some(60 * SECOND));
        assert_eq!(holds.left(Bucket::Search, now), None);
        assert_eq!(holds.left(Bucket::Default, now + 59 * SECOND), Some(SECOND));
        assert_eq!(holds.left(Bucket::Default, now + 60 * SECOND), None);
        holds.hold(Bucket::Search, Duration::MAX, now);
        assert_eq!(holds.left(Bucket::Search, now), Some(MAX_HOLD));
    }
}
