//! The ledger: what the day's upstream units were spent on, charged before each attempt.
//!
//! The platform bills per project and day, the day beginning at midnight in Los Angeles. Since June
//! 2026 searches have a bucket of their own (100 calls a day); everything else shares 10,000 units.

mod allowance;
mod day;
mod double;
mod file;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::JoinError;

use crate::format::iso_millis;
use day::{Day, next_reset, until_reset};
use file::Locked;

pub use allowance::{Allowance, Spending};
#[doc(hidden)] // For simulations alone.
pub use double::LedgerDouble;

/// One of the platform's daily allowances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Every list call but search.
    Default,
    /// `search.list`.
    Search,
}

impl Bucket {
    /// The name under which the bucket is shown and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Search => "search",
        }
    }
}

/// The allowances of a day. The default is the platform's since June 2026.
#[derive(Debug, Clone, Copy)]
pub struct QuotaLimits {
    /// Units a day for everything in the default bucket.
    pub default: u32,
    /// How searches are billed.
    pub search: SearchBilling,
}

/// How the platform bills a search.
#[derive(Debug, Clone, Copy)]
pub enum SearchBilling {
    /// Its own bucket of this many calls a day, since June 2026.
    OwnBucket(u32),
    /// This many units of the default bucket; it was 100 before June 2026.
    Shared(u32),
}

impl Default for QuotaLimits {
    fn default() -> Self {
        Self { default: 10_000, search: SearchBilling::OwnBucket(100) }
    }
}

impl QuotaLimits {
    /// The bucket that a call for `wanted` is billed to, and its cost.
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

/// What is left of the day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// When the platform's day ends: midnight in Los Angeles, told in UTC.
    #[cfg_attr(feature = "openapi", schema(example = "2026-11-16T08:00:00.000Z"))]
    pub resets_at: String,
    /// The platform's allowances, each with what this service has spent of it.
    pub buckets: Vec<BucketUse>,
}

/// One bucket of [`Quota`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BucketUse {
    /// `default` or `search`.
    #[cfg_attr(feature = "openapi", schema(example = "default"))]
    pub name: &'static str,
    /// Units (or calls, for search) a day.
    #[cfg_attr(feature = "openapi", schema(example = 10000))]
    pub limit: u32,
    /// Spent since the last reset, failed attempts included.
    #[cfg_attr(feature = "openapi", schema(example = 12))]
    pub used: u32,
    /// What is left; 0 as soon as the platform itself says that the bucket is empty.
    #[cfg_attr(feature = "openapi", schema(example = 9988))]
    pub remaining: u32,
}

/// A charge that the bucket does not allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) bucket: Bucket,
    pub(crate) resets_in: Duration,
}

/// A charge that was made.
#[derive(Debug, Clone)]
pub(crate) struct Charge {
    pub(crate) cost: u32,
    bucket: Bucket,
    /// The day that it was charged to, which may be over when the answer comes.
    date: String,
}

/// Where the day's count is stored beside this process's memory.
#[derive(Debug, Clone, Default)]
pub(crate) enum Backing {
    #[default]
    None,
    File(PathBuf),
    /// Stands in for the file in a simulation.
    Double(LedgerDouble),
}

/// Counts every attempt, in memory and, where there is a file, in the file first: a killed process
/// must not forget what it spent, and two processes with one key must count together.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: QuotaLimits,
    backing: Backing,
    /// Held across the file's few microseconds of work, so callers come in from a blocking thread.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last known count.
    day: Day,
    /// What has been counted since the file could last be written; `None` while it can be. It is
    /// added to the file's count as soon as that works again.
    unsaved: Option<Day>,
}

/// How long another process may hold the file before we go on without it.
const FILE_PATIENCE: Duration = Duration::from_secs(1);

impl Ledger {
    pub(crate) fn new(limits: QuotaLimits, backing: Backing, now: Timestamp) -> Self {
        let state = State { day: Day::at(now), unsaved: None };
        let ledger = Self { limits, backing, state: Mutex::new(state) };
        ledger.update(now, |_| ());
        ledger
    }

    /// Works on this ledger. File work runs on a blocking thread, so that a slow disk stops no other
    /// request; it goes on when the caller leaves.
    pub(crate) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let ledger = Arc::clone(self);
        match &self.backing {
            Backing::None => Ok(work(&ledger)),
            Backing::File(_) => tokio::task::spawn_blocking(move || work(&ledger)).await,
            Backing::Double(double) => double.spawn(move || work(&ledger)).await,
        }
    }

    /// Works on this ledger without waiting for the result: for refunds in a destructor. Outside a
    /// runtime nothing is done, and the ledger counts too much rather than too little.
    pub(crate) fn run_detached(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let ledger = Arc::clone(self);
        match &self.backing {
            Backing::None => work(&ledger),
            Backing::File(_) => {
                if let Ok(runtime) = Handle::try_current() {
                    runtime.spawn_blocking(move || work(&ledger));
                }
            }
            Backing::Double(double) => drop(double.spawn(move || work(&ledger))),
        }
    }

    /// The bucket that an attempt for `wanted` is billed to, and its cost.
    pub(crate) fn price(&self, wanted: Bucket) -> (Bucket, u32) {
        self.limits.bill(wanted)
    }

    /// Charges one attempt, or says that the bucket is empty.
    pub(crate) fn charge(&self, wanted: Bucket, now: Timestamp) -> Result<Charge, Spent> {
        let (bucket, cost) = self.price(wanted);
        let limit = self.limits.of(bucket);
        self.update(now, |day| {
            let date = day.date.clone();
            // Searches may be closed while the bucket that they are billed to is open.
            if day.count(wanted).exhausted {
                return Err(Spent { bucket: wanted, resets_in: until_reset(now) });
            }
            let count = day.count(bucket);
            if count.exhausted || count.used.saturating_add(cost) > limit {
                return Err(Spent { bucket, resets_in: until_reset(now) });
            }
            count.used += cost;
            Ok(Charge { cost, bucket, date })
        })
    }

    /// Gives back a charge for an attempt that was never sent.
    pub(crate) fn refund(&self, charge: &Charge, now: Timestamp) {
        self.update(now, |day| {
            if day.date == charge.date {
                let count = day.count(charge.bucket);
                count.used = count.used.saturating_sub(charge.cost);
            }
        });
    }

    /// The platform says that a bucket is empty, by default the one that `charge` was billed to:
    /// nothing is sent to it until the reset. If that has been meanwhile, the word was about yesterday.
    pub(crate) fn exhaust(&self, charge: &Charge, named: Option<Bucket>, now: Timestamp) -> Spent {
        let bucket = named.unwrap_or(charge.bucket);
        self.update(now, |day| {
            if day.date == charge.date {
                day.count(bucket).exhausted = true;
            }
        });
        Spent { bucket, resets_in: until_reset(now) }
    }

    /// What is left of the day.
    pub(crate) fn quota(&self, now: Timestamp) -> Quota {
        let mut day = self.update(now, |day| day.clone());
        let show = |bucket: &Bucket| {
            let (limit, count) = (self.limits.of(*bucket), *day.count(*bucket));
            let left = if count.exhausted { 0 } else { limit.saturating_sub(count.used) };
            BucketUse { name: bucket.name(), limit, used: count.used, remaining: left }
        };
        Quota {
            resets_at: iso_millis(next_reset(now)),
            buckets: self.limits.buckets().iter().map(show).collect(),
        }
    }

    /// Reads, changes and writes the day in one step that no other thread or process can split.
    fn update<T>(&self, now: Timestamp, change: impl FnOnce(&mut Day) -> T) -> T {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { day, unsaved } = &mut *guard;
        let path = match &self.backing {
            Backing::File(path) => path,
            Backing::Double(double) => {
                return double.update(|stored| {
                    day.clone_from(stored.get_or_insert_with(|| Day::at(now)));
                    day.begin_if_over(now);
                    let result = change(day);
                    *stored = Some(day.clone());
                    result
                });
            }
            Backing::None => {
                day.begin_if_over(now);
                return change(day);
            }
        };
        // A file that failed before is not waited for again: everybody stands behind this lock.
        let patience = if unsaved.is_some() { Duration::ZERO } else { FILE_PATIENCE };
        let opened = Locked::open(path, patience);
        if let Ok(Locked { kept: Some(kept), .. }) = &opened {
            day.clone_from(kept);
            unsaved.iter().for_each(|unsaved| day.add(unsaved));
        }
        day.begin_if_over(now);
        let before = day.clone();
        let result = change(day);
        match opened.and_then(|file| file.replace(day)) {
            Ok(()) => *unsaved = None,
            Err(error) => {
                if unsaved.is_none() {
                    // A full disk is no reason to refuse service.
                    tracing::warn!(%error, "the quota ledger counts in memory: its file cannot be used");
                }
                let mut counted = day.beyond(&before);
                unsaved.iter().for_each(|earlier| counted.add(earlier));
                *unsaved = Some(counted);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests;
