//! The quota ledger. It charges the daily units of the Data API before each attempt.
//!
//! YouTube bills by project and day. The day begins at midnight Pacific time. Since June 2026
//! searches have their own bucket of 100 calls a day. All other calls share 10,000 units.

mod allowance;
mod allowances;
mod backing;
mod counts;
mod day;
mod disk;
mod double;
mod file;
mod grants;
mod health;
mod ledger;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod settle;
mod shared;
#[cfg(feature = "postgres")]
mod shared_usage;
mod sync;
mod usage;

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use day::until_reset;
use ledger::LEDGER_ACCOUNT;

pub use allowance::Allowance;
pub use allowances::Allowances;
pub use day::QuotaDay;
#[doc(hidden)] // Only for simulations.
pub use double::LedgerDouble;
pub use health::LedgerHealth;
pub(crate) use ledger::Ledger;
#[doc(hidden)] // Only for simulations and tests.
pub use pool::{EndedGrant, PoolAnswer, PoolBucket, PoolState, QuotaPool, WantedGrant};
#[cfg(feature = "postgres")]
pub(crate) use postgres::PostgresPool;
pub use shared::SharedQuotaReport;
pub(crate) use shared::{Needed, NoGrant};
pub use usage::{CallerUsage, DayUsage, UsageReport};

/// A bucket of YouTube's daily quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Bucket {
    /// All list calls except search.
    Default,
    /// `search.list`.
    Search,
}

impl Bucket {
    /// The name of the bucket in reports and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Search => "search",
        }
    }
}

/// The daily quota limits. The default is YouTube's quota since June 2026.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct QuotaLimits {
    /// The daily units of the default bucket.
    pub default: u32,
    /// The billing of searches.
    pub search: SearchBilling,
}

/// The billing of searches.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum SearchBilling {
    /// A separate bucket of this many calls a day, as since June 2026.
    OwnBucket(u32),
    /// This many units of the default bucket. Before June 2026 it was 100.
    Shared(u32),
}

impl Default for QuotaLimits {
    fn default() -> Self {
        Self { default: 10_000, search: SearchBilling::OwnBucket(100) }
    }
}

impl QuotaLimits {
    /// Sets the daily units of the default bucket.
    pub fn with_default(self, default: u32) -> Self {
        Self { default, ..self }
    }

    /// Sets the billing of searches.
    pub fn with_search(self, search: SearchBilling) -> Self {
        Self { search, ..self }
    }

    /// The bucket and the cost of a call for `wanted`.
    fn bill(&self, wanted: Bucket) -> (Bucket, u32) {
        match (wanted, self.search) {
            (Bucket::Search, SearchBilling::Shared(cost)) => (Bucket::Default, cost),
            (bucket, _) => (bucket, 1),
        }
    }

    fn of(&self, bucket: Bucket) -> u32 {
        match (bucket, self.search) {
            (Bucket::Search, SearchBilling::OwnBucket(calls)) => calls,
            _ => self.default,
        }
    }

    fn buckets(&self) -> &'static [Bucket] {
        match self.search {
            SearchBilling::OwnBucket(_) => &[Bucket::Default, Bucket::Search],
            SearchBilling::Shared(_) => &[Bucket::Default],
        }
    }
}

/// The state of the daily quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Quota {
    /// The next reset: midnight Pacific time, given in UTC.
    #[cfg_attr(feature = "openapi", schema(example = "2026-11-16T08:00:00.000Z"))]
    pub resets_at: String,
    /// The buckets, each with the units that this service has spent.
    pub buckets: Vec<BucketUse>,
}

/// One bucket of [`Quota`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BucketUse {
    /// `default` or `search`.
    #[cfg_attr(feature = "openapi", schema(example = "default"))]
    pub name: &'static str,
    /// The daily limit in units, or in calls for search.
    #[cfg_attr(feature = "openapi", schema(example = 10000))]
    pub limit: u32,
    /// Units spent since the last reset, including failed attempts.
    #[cfg_attr(feature = "openapi", schema(example = 12))]
    pub used: u32,
    /// The remaining units. 0 as soon as YouTube reports that the bucket is exhausted.
    #[cfg_attr(feature = "openapi", schema(example = 9988))]
    pub remaining: u32,
}

/// A rejected charge: the bucket is exhausted, or the rest of it is reserved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) bucket: Bucket,
    pub(crate) resets_in: Duration,
    /// Whether a payer without a reserve could still pay.
    pub(crate) is_reserved: bool,
}

impl Spent {
    fn new(bucket: Bucket, now: Timestamp) -> Self {
        Self { bucket, resets_in: until_reset(now), is_reserved: false }
    }
}

/// Why an attempt was not charged.
#[derive(Debug)]
pub(crate) enum NotCharged {
    Spent(Spent),
    /// The quota is shared, and this machine needs a grant first.
    NeedsGrant(Needed),
}

/// A completed charge.
#[derive(Debug, Clone)]
pub(crate) struct Charge {
    pub(crate) cost: u32,
    bucket: Bucket,
    /// The day of the charge, which can be over when the response arrives.
    date: String,
    /// The grants that were charged, with their days. Empty if the quota is not shared.
    grants: Vec<(String, i64)>,
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod pool_double;
#[cfg(test)]
mod power_cut;
#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;
