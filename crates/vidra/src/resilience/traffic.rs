//! Counters of the calls to YouTube, their outcomes and durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::{CumulativeHistogram, Histogram};
use super::outcome::CallOutcome;

/// The calls to one endpoint.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Calls {
    /// The name in YouTube's URLs: `videos`, `playlistItems`, `player`, `watch`, `timedtext`, and
    /// `translation` for translated timed text.
    pub endpoint: &'static str,
    /// The number of calls with each outcome.
    pub outcomes: Vec<(CallOutcome, u64)>,
    /// The durations of the calls.
    pub time: CumulativeHistogram,
}

/// The bounds of the durations, in microseconds.
const BOUNDS: &[u64] =
    &[50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000];

/// The counters.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// One for each endpoint.
    calls: Vec<(&'static str, Count)>,
    retries: AtomicU64,
}

#[derive(Debug)]
struct Count {
    outcomes: [AtomicU64; CallOutcome::ALL.len()],
    times: Histogram,
}

impl Traffic {
    /// Creates counters for these endpoints.
    pub(crate) fn new(endpoints: impl Iterator<Item = &'static str>) -> Self {
        let count = || Count { outcomes: Default::default(), times: Histogram::new(BOUNDS) };
        let calls = endpoints.map(|endpoint| (endpoint, count())).collect();
        Self { calls, retries: AtomicU64::new(0) }
    }

    pub(crate) fn note(&self, endpoint: &str, outcome: CallOutcome, took: Duration) {
        let Some((_, count)) = self.calls.iter().find(|(name, _)| *name == endpoint) else {
            debug_assert!(false, "unknown endpoint {endpoint}");
            return;
        };
        count.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        count.times.add(took);
    }

    pub(crate) fn note_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub(crate) fn report(&self) -> Vec<Calls> {
        let one = |(endpoint, count): &(&'static str, Count)| {
            let counted =
                |outcome| (outcome, count.outcomes[outcome as usize].load(Ordering::Relaxed));
            Calls {
                endpoint,
                outcomes: CallOutcome::ALL.map(counted).to_vec(),
                time: count.times.cumulative(),
            }
        };
        self.calls.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_endpoint_and_each_outcome_has_a_counter_of_its_own() {
        let endpoints = ["videos", "watch"];
        let traffic = Traffic::new(endpoints.into_iter());
        for endpoint in endpoints {
            for (index, outcome) in CallOutcome::ALL.into_iter().enumerate() {
                assert_eq!(outcome as usize, index, "{outcome:?}");
                traffic.note(endpoint, outcome, Duration::from_millis(100));
            }
        }
        for calls in traffic.report() {
            assert!(calls.outcomes.iter().all(|(_, count)| *count == 1), "{calls:?}");
            assert_eq!(calls.time.seconds, 1.1);
            assert_eq!((calls.time.buckets[0], calls.time.buckets[1]), ((0.05, 0), (0.1, 11)));
        }
    }
}
