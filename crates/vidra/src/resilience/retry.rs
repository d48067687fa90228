//! Retry decisions and the shared retry budget.

use std::sync::Mutex;
use std::time::Duration;

/// The number of retries and their backoff.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// The maximum number of retries after the first attempt.
    pub retries: u32,
    /// The maximum backoff before the first retry. It doubles with each retry. The actual backoff
    /// is random from zero to this value.
    pub delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: 2, delay: Duration::from_millis(300) }
    }
}

/// The maximum backoff. A longer `Retry-After` ends the retries.
const MAX_WAIT: Duration = Duration::from_secs(30);

impl RetryPolicy {
    /// The wait before the next attempt, or `None` to give up.
    ///
    /// `failed` counts the attempts so far. `retry_after` is YouTube's `Retry-After`. `left` is the time
    /// until the deadline. `jitter` is a number from 0 to 1 for full jitter, so that callers that
    /// failed together do not return together.
    pub fn wait(
        &self,
        failed: u32,
        retry_after: Option<Duration>,
        left: Duration,
        jitter: f64,
    ) -> Option<Duration> {
        if failed > self.retries {
            return None;
        }
        let doubled = self.delay.saturating_mul(1 << (failed - 1).min(16));
        let backoff = doubled.min(MAX_WAIT).mul_f64(jitter);
        // `Retry-After: 0` must not make all callers return at once.
        let wait = retry_after.map_or(backoff, |retry_after| retry_after.max(backoff));
        (wait < left && wait <= MAX_WAIT).then_some(wait)
    }
}

impl RetryPolicy {
    /// The wait of an unsent call while YouTube's pause has `hold` left. `None` if it is too long.
    /// `jitter` (0 to 1) adds up to one backoff, so that waiting calls do not resume together.
    pub(crate) fn after_hold(
        &self,
        hold: Duration,
        left: Duration,
        jitter: f64,
    ) -> Option<Duration> {
        let wait = hold + self.delay.min(MAX_WAIT).mul_f64(jitter);
        (hold <= MAX_WAIT && wait < left).then_some(wait)
    }
}

/// Limits retries to less than a fifth of calls during an outage. This avoids extra load and wasted
/// quota units. Each call earns a fraction of a retry, and at most ten retries are saved.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// Held only briefly and never across an await, so the std mutex is correct.
    saved: Mutex<u32>,
}

const CALL_EARNS: u32 = 3;
const RETRY_COSTS: u32 = 20;
const MAX_SAVED: u32 = 10 * RETRY_COSTS;

impl RetryBudget {
    pub(crate) fn new() -> Self {
        Self { saved: Mutex::new(MAX_SAVED) }
    }

    /// Records a first attempt.
    pub(crate) fn earn(&self) {
        let mut saved = self.saved.lock().expect("no panic under this lock");
        *saved = (*saved + CALL_EARNS).min(MAX_SAVED);
    }

    /// Takes one retry from the budget. Returns `false` if there is none.
    pub(crate) fn spend(&self) -> bool {
        let mut saved = self.saved.lock().expect("no panic under this lock");
        let left = saved.checked_sub(RETRY_COSTS);
        *saved = left.unwrap_or(*saved);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn backoff_doubles_and_is_jittered_from_zero() {
        let policy = RetryPolicy { retries: 3, delay: Duration::from_millis(100) };
        let longest = |failed| policy.wait(failed, None, HOUR, 1.0).map(|wait| wait.as_millis());
        assert_eq!([1, 2, 3, 4].map(longest), [Some(100), Some(200), Some(400), None]);
        assert_eq!(policy.wait(2, None, HOUR, 0.0), Some(Duration::ZERO));
        assert_eq!(policy.wait(2, None, HOUR, 0.5), Some(Duration::from_millis(100)));
    }

    #[test]
    fn retry_after_is_obeyed_up_to_30_seconds() {
        let policy = RetryPolicy::default();
        let wait = |seconds| policy.wait(1, Some(Duration::from_secs(seconds)), HOUR, 0.5);
        assert_eq!(wait(7), Some(Duration::from_secs(7)));
        assert_eq!(wait(30), Some(Duration::from_secs(30)));
        assert_eq!(wait(31), None);
        assert_eq!(wait(86_400), None);
    }

    #[test]
    fn a_wait_past_the_deadline_is_not_started() {
        let policy = RetryPolicy::default();
        let left = Duration::from_secs(5);
        assert_eq!(policy.wait(1, Some(Duration::from_secs(5)), left, 0.0), None);
        assert!(policy.wait(1, Some(Duration::from_secs(4)), left, 0.0).is_some());
    }

    #[test]
    fn a_hold_is_waited_for_up_to_30_seconds() {
        let policy = RetryPolicy { retries: 2, delay: Duration::from_secs(2) };
        let seconds = Duration::from_secs;
        assert_eq!(policy.after_hold(seconds(30), HOUR, 0.0), Some(seconds(30)));
        assert_eq!(policy.after_hold(seconds(30), HOUR, 0.5), Some(seconds(31)));
        assert_eq!(policy.after_hold(seconds(31), HOUR, 0.0), None);
        assert_eq!(policy.after_hold(seconds(5), seconds(7), 0.5), Some(seconds(6)));
        assert_eq!(policy.after_hold(seconds(5), seconds(6), 0.5), None, "no time would be left");
    }

    #[test]
    fn retries_stay_under_a_fifth_of_calls_when_everything_fails() {
        let budget = RetryBudget::new();
        let calls = 12_000;
        let mut retries = 0;
        for _ in 0..calls {
            budget.earn();
            retries += u32::from(budget.spend()) + u32::from(budget.spend());
        }
        assert!(retries <= calls / 5, "{retries} retries for {calls} calls");
        assert!(retries >= calls / 10, "the budget is used: {retries}");
    }

    #[test]
    fn the_budget_saves_up_at_most_ten_retries() {
        let budget = RetryBudget::new();
        for _ in 0..1_000 {
            budget.earn();
        }
        assert_eq!(std::iter::from_fn(|| budget.spend().then_some(())).count(), 10);
    }
}
