//! A quota that several machines share.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::Bucket;
use super::day::date;
use crate::error::Result;
use crate::transport::BoxFuture;

/// The time before and after midnight in which a charge counts for both days, because the clocks of the database and of
/// YouTube differ.
pub(super) const BOTH_DAYS: SignedDuration = SignedDuration::from_mins(2);

/// The largest grant. A machine that is lost loses at most one for each bucket.
const MAX_UNITS: u32 = 20;

/// With fewer units left in the day, grants have a single unit, so that no machine holds what another one needs.
const SINGLE_BELOW: u32 = 100;

/// The count of a quota that several machines share.
///
/// A machine takes grants from it in advance, and charges attempts to them. The answer to an operation can be lost, so
/// every operation can be repeated without a second effect.
pub trait QuotaPool: fmt::Debug + Send + Sync + 'static {
    /// Takes a grant. The same id gets the same grant again.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn take<'a>(&'a self, wanted: &'a WantedGrant) -> BoxFuture<'a, Result<PoolAnswer>>;

    /// Ends a grant, and returns its unused units.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn end<'a>(&'a self, ended: &'a EndedGrant) -> BoxFuture<'a, Result<()>>;

    /// Counts units that were spent without a grant, under the id of `spent`, whatever the limit is.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn count<'a>(&'a self, spent: &'a WantedGrant) -> BoxFuture<'a, Result<()>>;

    /// Reports buckets that YouTube has exhausted, and reads the state of a key.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn exchange<'a>(
        &'a self,
        key: &'a str,
        exhausted: &'a [(String, Bucket)],
    ) -> BoxFuture<'a, Result<PoolState>>;

    /// Whether the pool did not answer the last request.
    fn is_failing(&self) -> bool;

    /// Waits until another machine reports an exhausted bucket. `seen` is the state of the caller, and begins with zero.
    fn changed<'a>(&'a self, seen: &'a mut u64) -> BoxFuture<'a, ()>;
}

/// A request for a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedGrant {
    /// Chosen at random by the machine.
    pub id: i64,
    /// The fingerprint of the key for the Data API.
    pub key: String,
    /// The date in California, as ISO 8601.
    pub date: String,
    /// The bucket.
    pub bucket: Bucket,
    /// The units that the next attempt needs.
    pub units: u32,
    /// The limit of the day.
    pub limit: u32,
}

impl WantedGrant {
    /// The units of the grant, if `used` units of the day are used. `None` if there are not enough.
    pub fn grant(&self, used: u32) -> Option<u32> {
        let rest = self.limit.saturating_sub(used);
        let units = match rest {
            ..SINGLE_BELOW => 1,
            // 2 per cent of the rest.
            _ => (rest / 50).clamp(1, MAX_UNITS),
        };
        (rest >= self.units).then(|| units.max(self.units))
    }
}

/// The answer to [`QuotaPool::take`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolAnswer {
    /// The units of the grant, or zero if there is none: the bucket is exhausted, or it is another day.
    pub units: u32,
    /// The time of the database.
    pub now: Timestamp,
    /// The bucket after the grant.
    pub bucket: PoolBucket,
}

/// A grant that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedGrant {
    /// The id of the grant.
    pub id: i64,
    /// The units that were not spent.
    pub unspent: u32,
}

/// The state of the quota of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolState {
    /// The time of the database.
    pub now: Timestamp,
    /// The buckets of today, and around midnight those of the neighbouring day. Those without a grant are missing.
    pub buckets: Vec<PoolBucket>,
}

/// The state of one bucket on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolBucket {
    /// The date in California, as ISO 8601.
    pub date: String,
    /// The bucket.
    pub bucket: Bucket,
    /// The units of all grants, without those that were returned.
    pub used: u32,
    /// Whether YouTube reported that the bucket is exhausted.
    pub is_exhausted: bool,
}

/// The days for which a charge at this time counts: today, and around midnight also the neighbouring day.
pub(super) fn charged_days(now: Timestamp) -> Vec<String> {
    let today = date(now);
    let [before, after] = [now.saturating_sub(BOTH_DAYS), now.saturating_add(BOTH_DAYS)]
        .map(|at| at.map_or_else(|_| today.clone(), date));
    let other = if before == today { after } else { before };
    if other == today { vec![today] } else { vec![today, other] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_shrink_with_the_rest_of_the_day() {
        // The rest, the units that an attempt needs, and the grant.
        let table = [
            (10_000, 1, Some(20)),
            (1_000, 1, Some(20)),
            (999, 1, Some(19)),
            (500, 1, Some(10)),
            (100, 1, Some(2)),
            (99, 1, Some(1)),
            (1, 1, Some(1)),
            (0, 1, None),
            (10_000, 100, Some(100)),
            (100, 100, Some(100)),
            (99, 100, None),
        ];
        for (rest, needed, expected) in table {
            let (id, key, date) = (1, String::new(), String::new());
            let (bucket, limit) = (Bucket::Default, 20_000);
            let wanted = WantedGrant { id, key, date, bucket, units: needed, limit };
            assert_eq!(wanted.grant(limit - rest), expected, "{rest} {needed}");
        }
    }

    #[test]
    fn a_charge_around_midnight_counts_for_both_days() {
        let table: [(&str, &[&str]); 6] = [
            ("2026-11-16T07:57:59Z", &["2026-11-15"]),
            ("2026-11-16T07:58:00Z", &["2026-11-15", "2026-11-16"]),
            ("2026-11-16T07:59:59Z", &["2026-11-15", "2026-11-16"]),
            ("2026-11-16T08:00:00Z", &["2026-11-16", "2026-11-15"]),
            ("2026-11-16T08:01:59Z", &["2026-11-16", "2026-11-15"]),
            ("2026-11-16T08:02:00Z", &["2026-11-16"]),
        ];
        for (now, expected) in table {
            assert_eq!(charged_days(now.parse().unwrap()), expected, "{now}");
        }
    }
}
