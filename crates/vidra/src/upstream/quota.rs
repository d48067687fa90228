//! The ledger: what the day's upstream units were spent on, charged before each attempt.
//!
//! The platform bills per project and day, the day beginning at midnight in Los Angeles. Since June
//! 2026 searches have a bucket of their own (100 calls a day); everything else shares 10,000 units.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::format::iso_millis;

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

/// Counts every attempt, in memory and, where there is a file, in the file first: a killed process
/// must not forget what it spent, and two processes with one key must count together.
#[derive(Debug)]
pub(crate) struct Ledger {
    limits: QuotaLimits,
    file: Option<PathBuf>,
    /// Held across the file's few microseconds of work, so callers come in from a blocking thread.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The last known count: all there is when the file cannot be used.
    day: Day,
    /// Whether the operator has been told that the file cannot be used.
    file_failed: bool,
}

/// The count of one day, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Day {
    /// The date in Los Angeles.
    date: String,
    default: Count,
    search: Count,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    used: u32,
    /// The platform said so, whatever we counted: others may use the same project.
    #[serde(default)]
    exhausted: bool,
}

impl Day {
    fn new(date: Date) -> Self {
        Self { date: date.to_string(), default: Count::default(), search: Count::default() }
    }

    fn count(&mut self, bucket: Bucket) -> &mut Count {
        match bucket {
            Bucket::Default => &mut self.default,
            Bucket::Search => &mut self.search,
        }
    }

    fn begin_if_over(&mut self, now: Timestamp) {
        let today = los_angeles(now).date();
        if self.date != today.to_string() {
            *self = Self::new(today);
        }
    }
}

impl Ledger {
    /// A ledger kept in `file`, or in memory only.
    pub(crate) fn new(limits: QuotaLimits, file: Option<PathBuf>, now: Timestamp) -> Self {
        let day = Day::new(los_angeles(now).date());
        let ledger = Self { limits, file, state: Mutex::new(State { day, file_failed: false }) };
        ledger.update(now, |_| ());
        ledger
    }

    /// Whether charging does file work and so belongs on a blocking thread.
    pub(crate) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Charges one attempt and gives its cost, or says that the bucket is empty.
    pub(crate) fn charge(&self, wanted: Bucket, now: Timestamp) -> Result<u32, Spent> {
        let (bucket, cost) = self.limits.bill(wanted);
        let limit = self.limits.of(bucket);
        self.update(now, |day| {
            let count = day.count(bucket);
            if count.exhausted || count.used.saturating_add(cost) > limit {
                return Err(Spent { bucket, resets_in: until_reset(now) });
            }
            count.used += cost;
            Ok(cost)
        })
    }

    /// The platform says that the bucket is empty: nothing is sent to it until the reset.
    pub(crate) fn exhaust(&self, wanted: Bucket, now: Timestamp) -> Spent {
        let (bucket, _) = self.limits.bill(wanted);
        self.update(now, |day| day.count(bucket).exhausted = true);
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
        let State { day, file_failed } = &mut *guard;
        let Some(path) = &self.file else {
            day.begin_if_over(now);
            return change(day);
        };
        let kept = lock_and_read(path);
        if let Ok((_lock, Some(kept))) = &kept {
            day.clone_from(kept);
        }
        let before = day.clone();
        day.begin_if_over(now);
        let result = change(day);
        let written =
            kept.and_then(|lock| if *day == before { Ok(()) } else { write(path, day, lock) });
        if let Err(error) = &written
            && !*file_failed
        {
            // The count goes on in memory: a full disk is no reason to refuse service.
            tracing::warn!(%error, "the quota ledger cannot be kept in its file");
        }
        *file_failed = written.is_err();
        result
    }
}

/// The lock, and the day that the file holds.
type Kept = (File, Option<Day>);

/// Takes the lock beside the ledger (dropping the file gives it back) and reads the day, `None`
/// where there is none to read. The lock has a file of its own because the ledger is replaced.
fn lock_and_read(path: &Path) -> io::Result<Kept> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = File::options().create(true).append(true).open(path.with_extension("lock"))?;
    lock.lock()?;
    let day = match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!(%error, "the quota ledger's file is damaged"))
            .ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok((lock, day))
}

/// Replaces the file whole, so that a process killed in the middle leaves the old one; then lets go
/// of the lock.
fn write(path: &Path, day: &Day, _lock: Kept) -> io::Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec(day)?)?;
    fs::rename(&new, path)
}

fn los_angeles(at: Timestamp) -> Zoned {
    static PACIFIC: TimeZone = jiff::tz::get!("America/Los_Angeles");
    at.to_zoned(PACIFIC.clone())
}

/// The next midnight in Los Angeles; days there have 23, 24 or 25 hours.
fn next_reset(now: Timestamp) -> Timestamp {
    los_angeles(now)
        .tomorrow()
        .and_then(|tomorrow| tomorrow.start_of_day())
        .map_or(Timestamp::MAX, |midnight| midnight.timestamp())
}

fn until_reset(now: Timestamp) -> Duration {
    now.duration_until(next_reset(now)).unsigned_abs()
}

#[cfg(test)]
mod tests;
