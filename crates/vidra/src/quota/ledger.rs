//! The ledger: it charges the daily units before each attempt.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::task::JoinError;

use super::backing::Backing;
use super::counts::UnitCounts;
use super::day::{date, next_reset};
use super::double::LedgerDouble;
use super::file::CountFile;
use super::shared::{self, Shared};
use super::{
    Bucket, BucketUse, Charge, LedgerHealth, NotCharged, Quota, QuotaLimits, QuotaPool,
    SharedQuotaReport, Spent,
};
use crate::clock::Clock;
use crate::format::iso_millis;

/// The account of the ledger in its file. It has no other.
pub(super) const LEDGER_ACCOUNT: &str = "ledger";

/// Counts every attempt before it is sent. With a file, a killed process does not lose its count,
/// and processes with the same key share one.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(super) limits: QuotaLimits,
    pub(super) backing: Backing,
    /// `None` if this machine has the quota for itself.
    pub(super) shared: Option<Shared>,
}

impl Ledger {
    /// A ledger that ends with this process.
    pub(crate) fn in_memory(limits: QuotaLimits) -> Self {
        Self { limits, backing: Backing::default(), shared: None }
    }

    /// A ledger in the file at `path`, with copies beside it. Blocks on file I/O. An unusable file
    /// is no error: see [`Ledger::health`].
    pub(crate) fn in_file(limits: QuotaLimits, path: PathBuf, now: Timestamp) -> Self {
        Self::open(limits, CountFile::new(path, "quota ledger"), now)
    }

    pub(super) fn open(limits: QuotaLimits, file: CountFile, now: Timestamp) -> Self {
        file.update(now, |_| ());
        Self { limits, backing: Backing::File(file), shared: None }
    }

    pub(crate) fn in_double(limits: QuotaLimits, double: LedgerDouble) -> Self {
        Self { limits, backing: Backing::Double(double), shared: None }
    }

    /// Shares the quota of a key with other machines. `key` is its fingerprint.
    pub(crate) fn sharing(
        self,
        pool: Arc<dyn QuotaPool>,
        key: String,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { shared: Some(Shared::new(pool, key, clock)), ..self }
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
    /// [`NotCharged`] if the bucket is exhausted, if fewer units than `reserve` would be left, or if a shared quota needs
    /// a grant first.
    pub(crate) fn charge(
        &self,
        wanted: Bucket,
        reserve: u32,
        now: Timestamp,
    ) -> Result<Charge, NotCharged> {
        match &self.shared {
            Some(shared) => shared.charge(self, wanted, reserve, now),
            None => self.charge_own(wanted, reserve, now).map_err(NotCharged::Spent),
        }
    }

    /// Charges one attempt to a quota that this machine has for itself.
    fn charge_own(&self, wanted: Bucket, reserve: u32, now: Timestamp) -> Result<Charge, Spent> {
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
            let earlier = counts.spent_from_grants(&date, bucket);
            let used = count.used.saturating_add(earlier).saturating_add(cost);
            if count.exhausted || used > limit {
                return Err(Spent::new(bucket, now));
            }
            if used.saturating_add(reserve) > limit {
                return Err(Spent { is_reserved: true, ..Spent::new(bucket, now) });
            }
            counts.tally_mut(&date, LEDGER_ACCOUNT).count_mut(bucket).used += cost;
            Ok(Charge { cost, bucket, date, grants: vec![] })
        })
    }

    /// Refunds a charge for an attempt that was never sent.
    pub(crate) fn refund(&self, charge: &Charge, now: Timestamp) {
        self.update(now, |counts| match charge.grants.is_empty() {
            true => {
                let tally = counts.tally_mut(&charge.date, LEDGER_ACCOUNT);
                let count = tally.count_mut(charge.bucket);
                count.used = count.used.saturating_sub(charge.cost);
            }
            false => shared::refund(counts, charge),
        });
    }

    /// Marks a bucket as exhausted until the reset after the charge, because YouTube reported it.
    /// The default is the bucket of `charge`.
    pub(crate) fn exhaust(&self, charge: &Charge, named: Option<Bucket>, now: Timestamp) -> Spent {
        let bucket = named.unwrap_or(charge.bucket);
        let now = self.shared.as_ref().map_or(now, |shared| shared.time(now));
        // Around midnight a charge counts for two days, and YouTube may still be in the earlier one.
        let date = charge.grants.iter().map(|(date, _)| date).min().unwrap_or(&charge.date);
        self.update(now, |counts| {
            let tally = counts.tally_mut(date, LEDGER_ACCOUNT);
            tally.count_mut(bucket).exhausted = true;
        });
        self.announce();
        Spent::new(bucket, now)
    }

    /// The state of the daily quota.
    pub(crate) fn quota(&self, now: Timestamp) -> Quota {
        let now = self.shared.as_ref().map_or(now, |shared| shared.time(now));
        let today = date(now);
        let counts = self.update(now, |counts| {
            self.limits
                .buckets()
                .iter()
                .map(|bucket| {
                    let count = counts.tally(&today, LEDGER_ACCOUNT).count(*bucket);
                    let used = match &self.shared {
                        Some(shared) => shared.used(counts, *bucket, now),
                        None => counts.spent_from_grants(&today, *bucket),
                    };
                    (*bucket, count.used.saturating_add(used), count.exhausted)
                })
                .collect::<Vec<_>>()
        });
        let show = |(bucket, used, is_exhausted): (Bucket, u32, bool)| {
            let limit = self.limits.of(bucket);
            let left = if is_exhausted { 0 } else { limit.saturating_sub(used) };
            BucketUse { name: bucket.name(), limit, used, remaining: left }
        };
        Quota {
            resets_at: iso_millis(next_reset(now)),
            buckets: counts.into_iter().map(show).collect(),
        }
    }

    /// The units that this process took from a shared quota. `None` if the quota is not shared.
    pub(crate) fn shared_report(&self) -> Option<SharedQuotaReport> {
        self.shared.as_ref().map(Shared::report)
    }

    /// Whether the file works. Does not wait for it.
    pub(crate) fn health(&self, now: Timestamp) -> LedgerHealth {
        self.backing.health(now)
    }

    /// Reads, changes and writes the counts atomically across threads and processes.
    pub(super) fn update<T>(&self, now: Timestamp, change: impl FnOnce(&mut UnitCounts) -> T) -> T {
        self.backing.update(now, change)
    }
}
