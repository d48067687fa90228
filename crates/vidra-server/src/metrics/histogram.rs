//! Times, counted by how long they are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper ends of the buckets in microseconds: fine where answers are ready, wide where the
/// platform is waited for.
const BOUNDS: [u64; 16] = [
    100, 500, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Times, by bucket. Counting one takes two atomic additions and no lock.
#[derive(Default)]
pub(crate) struct Histogram {
    /// The last one is for what is longer than any bound.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

/// A histogram as it is told: how many took up to a bound, for each bound and for all.
pub(crate) struct Cumulated {
    /// A bound in seconds, and how many were no longer. Those of them all are the last.
    pub(crate) up_to: Vec<(f64, u64)>,
    pub(crate) seconds: f64,
}

impl Histogram {
    pub(crate) fn add(&self, time: Duration) {
        // In 64 bits, which last for centuries: wider ones are divided by a function of many steps.
        let nanoseconds = time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos());
        let bucket = BOUNDS.iter().position(|bound| nanoseconds <= *bound * 1_000);
        self.buckets[bucket.unwrap_or(BOUNDS.len())].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The count is that of the buckets, so that the two never disagree.
    pub(crate) fn cumulated(&self) -> Cumulated {
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        let mut sum = 0;
        let up_to = bounds.zip(&self.buckets).map(|(bound, bucket)| {
            sum += bucket.load(Ordering::Relaxed);
            (bound, sum)
        });
        Cumulated {
            up_to: up_to.collect(),
            seconds: self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }
}

impl Cumulated {
    pub(crate) fn count(&self) -> u64 {
        self.up_to.last().map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_its_bucket_and_in_all_above() {
        let histogram = Histogram::default();
        let times = [0, 100_000, 100_001, 1_000_000, 60_000_000_000, 60_000_000_001];
        for nanos in times {
            histogram.add(Duration::from_nanos(nanos));
        }
        let told = histogram.cumulated();
        let up_to = |wanted: f64| told.up_to.iter().find(|(bound, _)| *bound == wanted).unwrap().1;
        assert_eq!((up_to(0.0001), up_to(0.0005), up_to(0.001)), (2, 3, 4));
        assert_eq!((up_to(60.0), up_to(f64::INFINITY), told.count()), (5, 6, 6));
        assert_eq!(told.seconds, times.iter().sum::<u64>() as f64 / 1e9);
    }
}
