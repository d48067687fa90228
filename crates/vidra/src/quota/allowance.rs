//! Quota budgets of single callers, so that one caller cannot spend the whole day's quota.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::day::{Count, Day, until_reset};
use super::{Bucket, Charge, Spent};

/// The daily budget of one caller for each bucket. It resets with YouTube's quota. Clones share the
/// count and the limits.
///
/// A request charges the allowance before the ledger. Both count every attempt, except attempts
/// that were never sent.
#[derive(Debug, Clone)]
pub struct Allowance(Arc<Mutex<Share>>);

/// Its lock is held only briefly and never across an await.
#[derive(Debug)]
struct Share {
    default: Option<u32>,
    search: Option<u32>,
    day: Day,
}

impl Share {
    fn limit(&self, bucket: Bucket) -> Option<u32> {
        match bucket {
            Bucket::Default => self.default,
            Bucket::Search => self.search,
        }
    }
}

/// The units spent from an [`Allowance`] in one day, for storage across a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spending {
    /// The Pacific date, as ISO 8601.
    pub date: String,
    /// Units of the default bucket.
    pub default: u32,
    /// Searches.
    pub search: u32,
}

impl Allowance {
    /// Creates an allowance with a daily limit for each bucket. `None` means no limit besides
    /// YouTube's quota.
    pub fn new(default: Option<u32>, search: Option<u32>) -> Self {
        // An empty date sorts before all others, so the first use begins its own day.
        let date = String::new();
        let day = Day { date, default: Count::default(), search: Count::default() };
        Self(Arc::new(Mutex::new(Share { default, search, day })))
    }

    /// Replaces the limits for all clones and for calls in flight. Units spent today stay spent, so
    /// a lower limit can be exhausted at once.
    pub fn set_limits(&self, default: Option<u32>, search: Option<u32>) {
        let mut share = self.lock();
        (share.default, share.search) = (default, search);
    }

    /// The daily limit of `bucket`.
    pub fn limit(&self, bucket: Bucket) -> Option<u32> {
        self.lock().limit(bucket)
    }

    /// The units spent from `bucket` since the last reset.
    pub fn used(&self, bucket: Bucket, now: Timestamp) -> u32 {
        self.today(now).day.count(bucket).used
    }

    /// The units spent from all buckets since the last reset.
    pub fn spending(&self, now: Timestamp) -> Spending {
        let share = self.today(now);
        let Day { date, default, search } = &share.day;
        Spending { date: date.clone(), default: default.used, search: search.used }
    }

    /// Adds earlier spending after a restart. It ignores the spending of another day.
    pub fn restore(&self, spent: &Spending, now: Timestamp) {
        let day = &mut self.today(now).day;
        if day.date == spent.date {
            for (bucket, more) in [(Bucket::Default, spent.default), (Bucket::Search, spent.search)]
            {
                let count = day.count(bucket);
                count.used = count.used.saturating_add(more);
            }
        }
    }

    /// Takes the cost of an attempt.
    ///
    /// # Errors
    ///
    /// [`Spent`] if the allowance is exhausted.
    pub(crate) fn take(&self, bucket: Bucket, cost: u32, now: Timestamp) -> Result<(), Spent> {
        let mut share = self.today(now);
        let limit = share.limit(bucket);
        let count = share.day.count(bucket);
        let used = count.used.saturating_add(cost);
        if limit.is_some_and(|limit| used > limit) {
            return Err(Spent { bucket, resets_in: until_reset(now) });
        }
        count.used = used;
        Ok(())
    }

    /// Returns the cost of an attempt that was not charged.
    pub(crate) fn give_back(&self, bucket: Bucket, cost: u32, now: Timestamp) {
        let mut share = self.today(now);
        let count = share.day.count(bucket);
        count.used = count.used.saturating_sub(cost);
    }

    /// Returns the cost of a charge, unless its day is over.
    pub(crate) fn refund(&self, charge: &Charge, now: Timestamp) {
        let mut share = self.today(now);
        if share.day.date == charge.date {
            let count = share.day.count(charge.bucket);
            count.used = count.used.saturating_sub(charge.cost);
        }
    }

    /// Whether both are clones of the same allowance.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn lock(&self) -> MutexGuard<'_, Share> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state after a reset that may be due at `now`.
    fn today(&self, now: Timestamp) -> MutexGuard<'_, Share> {
        let mut share = self.lock();
        share.day.begin_if_over(now);
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed times: an allowance reads no clock.
    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    #[test]
    fn an_allowance_is_per_bucket_and_day() {
        // Midnight Pacific time is 8:00 UTC in winter.
        let (evening, next_day) = (at("2020-11-16T07:59:00Z"), at("2020-11-16T08:00:00Z"));
        let allowance = Allowance::new(Some(2), Some(1));
        let clone = allowance.clone();
        for _ in 0..2 {
            clone.take(Bucket::Default, 1, evening).unwrap();
        }
        let spent = allowance.take(Bucket::Default, 1, evening).unwrap_err();
        assert_eq!((spent.bucket, spent.resets_in.as_secs()), (Bucket::Default, 60));
        allowance.take(Bucket::Search, 1, evening).unwrap();
        allowance.take(Bucket::Search, 1, evening).unwrap_err();
        let used = |now| [Bucket::Default, Bucket::Search].map(|it| allowance.used(it, now));
        assert_eq!(used(evening), [2, 1], "rejected units are not counted");
        allowance.give_back(Bucket::Default, 1, evening);
        assert_eq!(used(evening), [1, 1]);
        assert_eq!(used(next_day), [0, 0]);
        allowance.take(Bucket::Default, 2, next_day).unwrap();
        allowance.take(Bucket::Default, 1, next_day).unwrap_err();
    }

    #[test]
    fn new_limits_hold_for_all_clones_and_keep_the_spending() {
        let (allowance, now) = (Allowance::new(None, None), at("2026-11-15T12:00:00Z"));
        let in_flight = allowance.clone();
        in_flight.take(Bucket::Default, 3, now).unwrap();
        in_flight.take(Bucket::Search, 1, now).unwrap();
        allowance.set_limits(Some(4), Some(0));
        let limits = [Bucket::Default, Bucket::Search].map(|bucket| in_flight.limit(bucket));
        assert_eq!(limits, [Some(4), Some(0)]);
        in_flight.take(Bucket::Default, 1, now).unwrap();
        in_flight.take(Bucket::Default, 1, now).unwrap_err();
        in_flight.take(Bucket::Search, 1, now).unwrap_err();
        let Spending { default, search, .. } = allowance.spending(now);
        assert_eq!((default, search), (4, 1));
        allowance.set_limits(Some(5), None);
        in_flight.take(Bucket::Default, 1, now).unwrap();
        in_flight.take(Bucket::Search, 1, now).unwrap();
    }

    #[test]
    fn the_first_day_is_that_of_the_first_use() {
        // Yesterday too, although a day that is one ahead of the clock stays: see
        // `Day::begin_if_over`.
        let yesterday = Timestamp::now() - jiff::SignedDuration::from_hours(24);
        for first_use in [yesterday, at("1999-12-31T12:00:00Z"), at("2199-01-01T12:00:00Z")] {
            let spent = Allowance::new(None, None).spending(first_use);
            assert_eq!(spent.date, Day::at(first_use).date);
        }
    }

    #[test]
    fn units_are_counted_without_a_limit() {
        let (allowance, now) = (Allowance::new(None, Some(0)), at("2020-11-15T12:00:00Z"));
        for _ in 0..20_000 {
            allowance.take(Bucket::Default, 1, now).unwrap();
        }
        assert_eq!(allowance.used(Bucket::Default, now), 20_000);
        allowance.take(Bucket::Search, 1, now).unwrap_err();
    }

    #[test]
    fn spending_is_restored_on_the_same_day_only() {
        let (today, tomorrow) = (at("2020-11-15T12:00:00Z"), at("2020-11-16T12:00:00Z"));
        let before = Allowance::new(Some(5), None);
        before.take(Bucket::Default, 3, today).unwrap();
        let text = serde_json::to_string(&before.spending(today)).unwrap();
        let spent: Spending = serde_json::from_str(&text).unwrap();
        let after = Allowance::new(Some(5), None);
        after.restore(&spent, today);
        assert_eq!(after.used(Bucket::Default, today), 3);
        after.restore(&spent, tomorrow);
        assert_eq!(after.used(Bucket::Default, tomorrow), 0);
    }
}
