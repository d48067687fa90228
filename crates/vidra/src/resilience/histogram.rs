//! A histogram of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts durations by bucket. Adding one takes two atomic additions and no lock.
#[derive(Debug)]
pub struct Histogram {
    /// The upper bounds of the buckets in microseconds, ascending.
    bounds: &'static [u64],
    /// One for each bound. The last one counts durations above all bounds.
    buckets: Box<[AtomicU64]>,
    nanoseconds: AtomicU64,
}

/// A histogram in the format of Prometheus: each bucket includes the lower ones.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CumulativeHistogram {
    /// A bound in seconds, and the number of durations up to it. The last bound is infinite.
    pub buckets: Vec<(f64, u64)>,
    /// The sum of all durations.
    pub seconds: f64,
}

impl Histogram {
    /// Creates a histogram with these upper bounds in microseconds, in ascending order.
    pub fn new(bounds: &'static [u64]) -> Self {
        let buckets = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, buckets, nanoseconds: AtomicU64::new(0) }
    }

    /// Counts a duration.
    pub fn add(&self, time: Duration) {
        // 64 bits last for centuries. `Duration::as_nanos` returns 128 bits, whose division is
        // slow.
        let nanoseconds = time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos());
        let bucket = self.bounds.iter().position(|bound| nanoseconds <= *bound * 1_000);
        self.buckets[bucket.unwrap_or(self.bounds.len())].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// The counts so far. The total comes from the buckets, so the two always agree.
    pub fn cumulative(&self) -> CumulativeHistogram {
        let bounds = self.bounds.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
        let mut sum = 0;
        let buckets = bounds.zip(&self.buckets).map(|(bound, bucket)| {
            sum += bucket.load(Ordering::Relaxed);
            (bound, sum)
        });
        CumulativeHistogram {
            buckets: buckets.collect(),
            seconds: self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }
}

impl CumulativeHistogram {
    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.last().map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_in_all_above() {
        let histogram = Histogram::new(&[100, 500, 1_000, 60_000_000]);
        let times = [0, 100_000, 100_001, 1_000_000, 60_000_000_000, 60_000_000_001];
        for nanos in times {
            histogram.add(Duration::from_nanos(nanos));
        }
        let counted = histogram.cumulative();
        let up_to = |bound: f64| counted.buckets.iter().find(|(it, _)| *it == bound).unwrap().1;
        assert_eq!((up_to(0.0001), up_to(0.0005), up_to(0.001)), (2, 3, 4));
        assert_eq!((up_to(60.0), up_to(f64::INFINITY), counted.count()), (5, 6, 6));
        assert_eq!(counted.seconds, times.iter().sum::<u64>() as f64 / 1e9);
    }
}
