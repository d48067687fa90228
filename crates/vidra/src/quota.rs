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
mod health;
mod record;
mod sync;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::format::iso_millis;
use backing::Backing;
use counts::UnitCounts;
use day::{date, next_reset, until_reset};
use file::CountFile;

pub use allowance::Allowance;
pub use allowances::Allowances;
pub use day::QuotaDay;
#[doc(hidden)] // Only for simulations.
pub use double::LedgerDouble;
pub use health::LedgerHealth;
pub use usage::{CallerUsage, DayUsage, UsageReport};

/// A bucket of YouTube's daily quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// A completed charge.
#[derive(Debug, Clone)]
pub(crate) struct Charge {
    pub(crate) cost: u32,
    bucket: Bucket,
    /// The day of the charge, which can be over when the response arrives.
    date: String,
}

/// The account of the ledger in its file. It has no other.
const LEDGER_ACCOUNT: &str = "ledger";

/// Counts every attempt before it is sent. With a file, a killed process does not lose its count,
/// and processes with the same key share one.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: QuotaLimits,
    backing: Backing,
}

impl Ledger {
    /// A ledger that ends with this process.
    pub(crate) fn in_memory(limits: QuotaLimits) -> Self {
        Self { limits, backing: Backing::default() }
    }

    /// A ledger in the file at `path`, with copies beside it. Blocks on file I/O. An unusable file
    /// is no error: see [`Ledger::health`].
    pub(crate) fn in_file(limits: QuotaLimits, path: PathBuf, now: Timestamp) -> Self {
        Self::open(limits, CountFile::new(path, "quota ledger"), now)
    }

    fn open(limits: QuotaLimits, file: CountFile, now: Timestamp) -> Self {
        file.update(now, |_| ());
        Self { limits, backing: Backing::File(file) }
    }

    pub(crate) fn in_double(limits: QuotaLimits, double: LedgerDouble) -> Self {
        Self { limits, backing: Backing::Double(double) }
    }

    /// Runs `work` on this ledger. File I/O runs on a blocking thread, so that a slow disk stalls
    /// no other request. It continues after the caller is cancelled.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let ledger = Arc::clone(self);
        match &self.backing {
            Backing::Memory(_) => Ok(work(&ledger)),
            Backing::File(_) => tokio::task::spawn_blocking(move || work(&ledger)).await,
            Backing::Double(double) => double.spawn(move || work(&ledger)).await,
        }
    }

    /// Runs `work` without waiting for it, for refunds in a destructor. Outside a runtime it does
    /// nothing, because too high a count is safer than too low a one.
    pub(crate) fn run_detached(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let ledger = Arc::clone(self);
        match &self.backing {
            Backing::Memory(_) => work(&ledger),
            Backing::File(_) => {
                if let Ok(runtime) = Handle::try_current() {
                    runtime.spawn_blocking(move || work(&ledger));
                }
            }
            Backing::Double(double) => drop(double.spawn(move || work(&ledger))),
        }
    }

    /// The bucket and the cost of an attempt for `wanted`.
    pub(crate) fn price(&self, wanted: Bucket) -> (Bucket, u32) {
        self.limits.bill(wanted)
    }

    /// Charges one attempt, and leaves at least `reserve` units of the default bucket.
    ///
    /// # Errors
    ///
    /// [`Spent`] if the bucket is exhausted, or if fewer units than `reserve` would be left.
    pub(crate) fn charge(
        &self,
        wanted: Bucket,
        reserve: u32,
        now: Timestamp,
    ) -> Result<Charge, Spent> {
        let (bucket, cost) = self.price(wanted);
        let (limit, date) = (self.limits.of(bucket), date(now));
        let reserve = if bucket == Bucket::Default { reserve } else { 0 };
        self.update(now, |counts| {
            let tally = counts.tally(&date, LEDGER_ACCOUNT);
            // Searches can be exhausted while the bucket that pays for them is not.
            if tally.count(wanted).exhausted {
                return Err(Spent::new(wanted, now));
            }
            let count = tally.count(bucket);
            let used = count.used.saturating_add(cost);
            if count.exhausted || used > limit {
                return Err(Spent::new(bucket, now));
            }
            if used.saturating_add(reserve) > limit {
                return Err(Spent { is_reserved: true, ..Spent::new(bucket, now) });
            }
            counts.tally_mut(&date, LEDGER_ACCOUNT).count_mut(bucket).used += cost;
            Ok(Charge { cost, bucket, date })
        })
    }

    /// Refunds a charge for an attempt that was never sent.
    pub(crate) fn refund(&self, charge: &Charge, now: Timestamp) {
        self.update(now, |counts| {
            let tally = counts.tally_mut(&charge.date, LEDGER_ACCOUNT);
            let count = tally.count_mut(charge.bucket);
            count.used = count.used.saturating_sub(charge.cost);
        });
    }

    /// Marks a bucket as exhausted until the reset after the charge, because YouTube reported it.
    /// The default is the bucket of `charge`.
    pub(crate) fn exhaust(&self, charge: &Charge, named: Option<Bucket>, now: Timestamp) -> Spent {
        let bucket = named.unwrap_or(charge.bucket);
        self.update(now, |counts| {
            let tally = counts.tally_mut(&charge.date, LEDGER_ACCOUNT);
            tally.count_mut(bucket).exhausted = true;
        });
        Spent::new(bucket, now)
    }

    /// The state of the daily quota.
    pub(crate) fn quota(&self, now: Timestamp) -> Quota {
        let tally = self.update(now, |counts| counts.tally(&date(now), LEDGER_ACCOUNT));
        let show = |bucket: &Bucket| {
            let (limit, count) = (self.limits.of(*bucket), tally.count(*bucket));
            let left = if count.exhausted { 0 } else { limit.saturating_sub(count.used) };
            BucketUse { name: bucket.name(), limit, used: count.used, remaining: left }
        };
        Quota {
            resets_at: iso_millis(next_reset(now)),
            buckets: self.limits.buckets().iter().map(show).collect(),
        }
    }

    /// Whether the file works. Does not wait for it.
    pub(crate) fn health(&self, now: Timestamp) -> LedgerHealth {
        self.backing.health(now)
    }

    /// Reads, changes and writes the counts atomically across threads and processes.
    fn update<T>(&self, now: Timestamp, change: impl FnOnce(&mut UnitCounts) -> T) -> T {
        self.backing.update(now, change)
    }
}

#[cfg(test)]
mod power_cut;
#[cfg(test)]
mod tests;
