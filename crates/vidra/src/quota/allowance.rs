//! Quota budgets of single callers, so that one caller cannot spend the whole day's quota, and what
//! they used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::counts::{Tally, UnitCounts};
use super::day::date;
use super::{Bucket, Charge, Spent};

/// The daily budget of one caller for each bucket, and what the caller used. The budget resets with
/// YouTube's quota. Clones share the counts and the limits.
///
/// A request charges the allowance before the ledger. Both count every attempt, except attempts
/// that were never sent. [`Allowances`](crate::Allowances) stores the count of several callers in a
/// file.
#[derive(Debug, Clone)]
pub struct Allowance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Requests and transcripts since the last exchange. They are no part of the account, because
    /// every cached response adds to them.
    requests: AtomicU64,
    transcripts: AtomicU64,
    account: Mutex<CallerAccount>,
}

/// Its lock is held only briefly and never across an await.
#[derive(Debug)]
struct CallerAccount {
    /// The account of the caller in its own counts and in the file.
    name: String,
    default: Option<u32>,
    search: Option<u32>,
    counts: UnitCounts,
    /// The part of `counts` that the file has.
    exchanged: UnitCounts,
    /// The counts of other machines.
    others: UnitCounts,
}

impl CallerAccount {
    fn limit(&self, bucket: Bucket) -> Option<u32> {
        match bucket {
            Bucket::Default => self.default,
            Bucket::Search => self.search,
        }
    }

    /// The units that were spent on a day, on all machines.
    fn used(&self, date: &str, bucket: Bucket) -> u32 {
        let used = |counts: &UnitCounts| counts.tally(date, &self.name).count(bucket).used;
        used(&self.counts).saturating_add(used(&self.others))
    }

    fn tally_mut(&mut self, date: &str) -> &mut Tally {
        self.counts.tally_mut(date, &self.name)
    }

    fn subtract(&mut self, date: &str, bucket: Bucket, cost: u32) {
        let count = self.tally_mut(date).count_mut(bucket);
        count.used = count.used.saturating_sub(cost);
    }
}

impl Allowance {
    /// Creates an allowance with a daily limit for each bucket. `None` means no limit besides
    /// YouTube's quota.
    pub fn new(default: Option<u32>, search: Option<u32>) -> Self {
        let allowance = Self::named("");
        allowance.set_limits(default, search);
        allowance
    }

    /// Creates an allowance without limits for an account of the file.
    pub(super) fn named(name: &str) -> Self {
        let account = Mutex::new(CallerAccount {
            name: name.to_owned(),
            default: None,
            search: None,
            counts: UnitCounts::default(),
            exchanged: UnitCounts::default(),
            others: UnitCounts::default(),
        });
        Self(Arc::new(Inner {
            requests: AtomicU64::new(0),
            transcripts: AtomicU64::new(0),
            account,
        }))
    }

    /// Replaces the limits for all clones and for calls in flight. Units spent today stay spent, so
    /// a lower limit can be exhausted at once.
    pub fn set_limits(&self, default: Option<u32>, search: Option<u32>) {
        let mut account = self.lock();
        (account.default, account.search) = (default, search);
    }

    /// The daily limit of `bucket`.
    pub fn limit(&self, bucket: Bucket) -> Option<u32> {
        self.lock().limit(bucket)
    }

    /// The units spent from `bucket` since the last reset, on all machines that share the allowance.
    pub fn used(&self, bucket: Bucket, now: Timestamp) -> u32 {
        self.lock().used(&date(now), bucket)
    }

    /// Counts a request of the caller. It is one atomic addition.
    pub fn note_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a transcript that a cache in front of the client served. The client counts those that
    /// it serves itself. It is one atomic addition.
    pub fn note_transcript(&self) {
        self.0.transcripts.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes the cost of an attempt.
    ///
    /// # Errors
    ///
    /// [`Spent`] if the allowance is exhausted.
    pub(crate) fn take(&self, bucket: Bucket, cost: u32, now: Timestamp) -> Result<(), Spent> {
        let (mut account, date) = (self.lock(), date(now));
        let used = account.used(&date, bucket).saturating_add(cost);
        if account.limit(bucket).is_some_and(|limit| used > limit) {
            return Err(Spent::new(bucket, now));
        }
        let count = account.tally_mut(&date).count_mut(bucket);
        count.used = count.used.saturating_add(cost);
        Ok(())
    }

    /// Returns the cost of an attempt that was not charged. `now` is the time of
    /// [`Allowance::take`].
    pub(crate) fn give_back(&self, bucket: Bucket, cost: u32, now: Timestamp) {
        self.lock().subtract(&date(now), bucket, cost);
    }

    /// Returns the cost of a charge.
    pub(crate) fn refund(&self, charge: &Charge) {
        self.lock().subtract(&charge.date, charge.bucket, charge.cost);
    }

    /// Adds the usage since the last exchange to `all`, and takes over what others have added there.
    /// Requests and transcripts belong to `today`: their counters have no date.
    pub(super) fn exchange(&self, all: &mut UnitCounts, today: &str) {
        let mut account = self.lock();
        let Inner { requests, transcripts, .. } = &*self.0;
        let [requests, transcripts] =
            [requests, transcripts].map(|it| it.swap(0, Ordering::Relaxed));
        if requests + transcripts > 0 {
            let tally = account.tally_mut(today);
            tally.requests += requests;
            tally.transcripts += transcripts;
        }
        all.apply_changes(&account.exchanged, &account.counts);
        account.counts = all.of_account(&account.name);
        account.exchanged = account.counts.clone();
    }

    /// Sets the counts of other machines on a day.
    #[cfg(feature = "postgres")]
    pub(super) fn set_others(&self, date: &str, tally: Tally) {
        let mut account = self.lock();
        let name = account.name.clone();
        *account.others.tally_mut(date, &name) = tally;
    }

    /// Whether both are clones of the same allowance.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn lock(&self) -> MutexGuard<'_, CallerAccount> {
        self.0.account.lock().unwrap_or_else(PoisonError::into_inner)
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
        let used = [Bucket::Default, Bucket::Search].map(|bucket| allowance.used(bucket, now));
        assert_eq!(used, [4, 1]);
        allowance.set_limits(Some(5), None);
        in_flight.take(Bucket::Default, 1, now).unwrap();
        in_flight.take(Bucket::Search, 1, now).unwrap();
    }

    #[test]
    fn an_exchange_counts_each_request_and_transcript_once() {
        let (allowance, today) = (Allowance::new(None, None), "2026-11-15");
        let name = allowance.lock().name.clone();
        let mut all = UnitCounts::default();
        for expected in [1, 2] {
            allowance.note_request();
            allowance.note_transcript();
            allowance.exchange(&mut all, today);
            allowance.exchange(&mut all, today);
            let tally = all.tally(today, &name);
            assert_eq!((tally.requests, tally.transcripts), (expected, expected));
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

    /// A refund belongs to the day of its charge.
    #[test]
    fn review_s9_a_clock_that_jumps_does_not_change_an_allowance() {
        let now = at("2026-11-15T12:00:00Z");
        let allowance = Allowance::new(Some(5), None);
        allowance.take(Bucket::Default, 4, now).unwrap();
        for wrong in ["1970-01-01T00:00:00Z", "2026-11-16T12:00:00Z", "2036-01-01T00:00:00Z"] {
            assert_eq!(allowance.used(Bucket::Default, at(wrong)), 0, "{wrong}");
            allowance.take(Bucket::Default, 2, at(wrong)).unwrap();
            assert_eq!(allowance.used(Bucket::Default, now), 4, "{wrong}");
        }
        let (bucket, date) = (Bucket::Default, date(now));
        let charge = Charge { cost: 1, bucket, date, grants: vec![] };
        allowance.refund(&charge);
        assert_eq!(allowance.used(Bucket::Default, now), 3);
        allowance.take(Bucket::Default, 3, now).unwrap_err();
    }
}
