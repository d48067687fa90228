//! The ledger of a machine that shares its quota with others. It takes grants from the pool, charges attempts to them,
//! and returns what it does not need.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::counts::UnitCounts;
use super::day::{date, until_reset};
use super::grants::{Grant, GrantState};
use super::pool::{BOTH_DAYS, PoolBucket, QuotaPool, WantedGrant, charged_days};
use super::{Bucket, Charge, LEDGER_ACCOUNT, Ledger, NotCharged, Spent};
use crate::clock::Clock;
use crate::error::{Error, Result};

/// How often a machine that charges reads the state of the pool.
pub(super) const SETTLE_EVERY: Duration = Duration::from_secs(1);

/// How long a report of the quota waits for the pool.
const REPORT_WAIT: Duration = Duration::from_millis(150);

/// A grant that a charge needs first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Needed {
    date: String,
    bucket: Bucket,
    units: u32,
}

/// Why there is no grant.
#[derive(Debug)]
pub(crate) enum NoGrant {
    Spent(Spent),
    /// The pool does not answer.
    Unavailable(Error),
}

/// The pool of a ledger, and its last known state.
pub(super) struct Shared {
    pub(super) pool: Arc<dyn QuotaPool>,
    /// The fingerprint of the key for the Data API.
    pub(super) key: String,
    /// Identifies this ledger in its file.
    pub(super) holder: u64,
    /// The clock of this machine, which counts until the pool has answered.
    pub(super) clock: Arc<dyn Clock>,
    /// The ids of requests whose answers were lost. Locked during a request, so that there is one at a time.
    requested: tokio::sync::Mutex<HashMap<(String, Bucket), i64>>,
    known: Mutex<Known>,
    /// Wakes the task that settles.
    pub(super) wake: Notify,
    /// Wakes reports after an exchange, whether it succeeded or not.
    pub(super) exchanged: Notify,
    pub(super) counters: Counters,
}

#[derive(Default)]
pub(super) struct Known {
    /// The time of the database. The clock of this machine may be wrong.
    pub(super) time: Option<ReadTime>,
    used: HashMap<(String, Bucket), u32>,
    /// The requests that the pool refused for want of units: what they needed, and when.
    refused: HashMap<(String, Bucket), (u32, Instant)>,
    pub(super) last_use: Option<Instant>,
    pub(super) last_exchange: Option<Instant>,
    pub(super) is_settling: bool,
    pub(super) is_sync_failing: bool,
}

/// A time, and when it was read.
#[derive(Clone, Copy)]
pub(super) struct ReadTime {
    time: Timestamp,
    read: Instant,
    /// How long the machine had been suspended by then. `Instant` does not count that.
    suspended: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    taken: AtomicU64,
    pub(super) returned: AtomicU64,
    failures: AtomicU64,
}

/// The units that a machine took from a shared quota and returned to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedQuotaReport {
    /// The units of all grants that this process took.
    pub taken: u64,
    /// The units that it returned unspent.
    pub returned: u64,
    /// The requests to the database that failed.
    pub failures: u64,
    /// Whether the database did not answer the last request.
    pub is_failing: bool,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("pool", &self.pool).finish_non_exhaustive()
    }
}

impl Shared {
    pub(super) fn new(pool: Arc<dyn QuotaPool>, key: String, clock: Arc<dyn Clock>) -> Self {
        let (requested, known) = (tokio::sync::Mutex::default(), Mutex::default());
        let (wake, exchanged) = (Notify::new(), Notify::new());
        let (holder, counters) = (fastrand::u64(1..), Counters::default());
        Self { pool, key, holder, clock, requested, known, wake, exchanged, counters }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time by the clock of the database, or `now` before the first answer.
    pub(super) fn time(&self, now: Timestamp) -> Timestamp {
        let Some(ReadTime { time, read, suspended }) = self.known().time else { return now };
        let suspended = self.clock.suspended().saturating_sub(suspended);
        time.checked_add(read.elapsed() + suspended).unwrap_or(now)
    }

    pub(super) fn learn(&self, now: Timestamp, buckets: &[PoolBucket]) {
        let (read, suspended) = (Instant::now(), self.clock.suspended());
        let mut known = self.known();
        known.time = Some(ReadTime { time: now, read, suspended });
        let days = charged_days(now);
        known.used.retain(|(date, _), _| days.contains(date));
        known.refused.retain(|(date, _), _| days.contains(date));
        let used = buckets.iter().map(|it| ((it.date.clone(), it.bucket), it.used));
        known.used.extend(used);
    }

    /// Whether the pool refused such a request within the last second. Later, other machines may have returned units.
    fn was_refused(&self, Needed { date, bucket, units }: &Needed) -> bool {
        let known = self.known();
        let refused = known.refused.get(&(date.clone(), *bucket));
        refused.is_some_and(|(needed, at)| units >= needed && at.elapsed() < SETTLE_EVERY)
    }

    /// Counts the result of a request to the pool.
    pub(super) fn noted<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.counters.failures.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    pub(super) fn report(&self) -> SharedQuotaReport {
        let Counters { taken, returned, failures } = &self.counters;
        let [taken, returned, failures] =
            [taken, returned, failures].map(|it| it.load(Ordering::Relaxed));
        SharedQuotaReport { taken, returned, failures, is_failing: self.pool.is_failing() }
    }

    /// Charges an attempt to a grant of each day for which it counts.
    pub(super) fn charge(
        &self,
        ledger: &Ledger,
        wanted: Bucket,
        reserve: u32,
        now: Timestamp,
    ) -> Result<Charge, NotCharged> {
        let (bucket, cost) = ledger.price(wanted);
        let limit = ledger.limits.of(bucket);
        let now = self.time(now);
        let days = charged_days(now);
        let used = self.known().used.get(&(days[0].clone(), bucket)).copied();
        let charge = ledger.update(now, |counts| {
            let mut grants = vec![];
            for date in &days {
                let tally = counts.tally(date, LEDGER_ACCOUNT);
                for bucket in [wanted, bucket] {
                    if tally.count(bucket).exhausted {
                        return Err(NotCharged::Spent(spent(bucket, date, now)));
                    }
                }
                let Some(id) = counts.chargeable_grant(date, bucket, cost, self.holder) else {
                    let needed = Needed { date: date.clone(), bucket, units: cost };
                    return Err(NotCharged::NeedsGrant(needed));
                };
                grants.push((date.clone(), id));
            }
            let unspent = self.unspent(counts, &days[0], bucket);
            let rest = limit.saturating_sub(used.unwrap_or(0)).saturating_add(unspent);
            let reserve = if bucket == Bucket::Default { reserve } else { 0 };
            if rest < cost.saturating_add(reserve) {
                let spent = Spent { is_reserved: true, ..spent(bucket, &days[0], now) };
                return Err(NotCharged::Spent(spent));
            }
            for (date, id) in &grants {
                if let Some(grant) = counts.grants_mut(date).get_mut(*id) {
                    grant.spent += cost;
                }
            }
            Ok(Charge { cost, bucket, date: days[0].clone(), grants })
        });
        if charge.is_ok() {
            self.known().last_use = Some(Instant::now());
        }
        charge
    }

    /// The units of a bucket that all machines used, without those that this one holds unspent.
    pub(super) fn used(&self, counts: &UnitCounts, bucket: Bucket, now: Timestamp) -> u32 {
        let date = date(self.time(now));
        let used = self.known().used.get(&(date.clone(), bucket)).copied().unwrap_or(0);
        // A charge of this machine counts at once.
        let own = counts.spent_from_grants(&date, bucket);
        used.saturating_sub(self.unspent(counts, &date, bucket)).max(own)
    }

    /// The units of open grants that this machine has not spent.
    fn unspent(&self, counts: &UnitCounts, date: &str, bucket: Bucket) -> u32 {
        let grants = counts.grants(date).filter(|(_, grant)| grant.bucket == bucket);
        grants.map(|(_, grant)| grant.left(self.holder)).sum()
    }
}

/// Returns the cost of an attempt that was not sent to its grants. One that was closed meanwhile keeps it.
pub(super) fn refund(counts: &mut UnitCounts, charge: &Charge) {
    for (date, id) in &charge.grants {
        if let Some(grant) = counts.grants_mut(date).get_mut(*id)
            && grant.state == GrantState::Open
        {
            grant.spent = grant.spent.saturating_sub(charge.cost);
        }
    }
}

/// A bucket that is exhausted on `date`.
fn spent(bucket: Bucket, date: &str, now: Timestamp) -> Spent {
    let days = charged_days(now);
    let is_yesterday = days.first().is_some_and(|today| date < today.as_str());
    // After midnight a charge counts for yesterday for some minutes.
    let resets_in = match is_yesterday {
        true => BOTH_DAYS.unsigned_abs(),
        false => until_reset(now) + BOTH_DAYS.unsigned_abs(),
    };
    Spent { bucket, resets_in, is_reserved: false }
}

impl Ledger {
    /// Takes the grant that a charge needs. It returns at once if another request has taken one meanwhile.
    ///
    /// # Errors
    ///
    /// [`NoGrant`] if the shared quota is exhausted, or if the pool does not answer.
    pub(crate) async fn take_grant(
        self: &Arc<Self>,
        needed: &Needed,
        now: Timestamp,
    ) -> Result<(), NoGrant> {
        let Some(shared) = &self.shared else { return Ok(()) };
        // Before the task begins, which returns the grants of an idle machine.
        shared.known().last_use = Some(Instant::now());
        self.keep_settled();
        let Needed { date, bucket, units } = needed;
        if shared.was_refused(needed) {
            return Err(NoGrant::Spent(spent(*bucket, date, shared.time(now))));
        }
        let mut requested = shared.requested.lock().await;
        if shared.known().time.is_none() {
            // Before the first grant, so that the pool knows what this machine has spent without one.
            self.settle(false).await.map_err(NoGrant::Unavailable)?;
        }
        let (wanted_date, cost, of, holder) = (date.clone(), *units, *bucket, shared.holder);
        let has_grant = move |ledger: &Arc<Self>| {
            ledger.update(now, |counts| {
                counts.chargeable_grant(&wanted_date, of, cost, holder).is_some()
            })
        };
        let internal = |error| NoGrant::Unavailable(Error::internal(error));
        if self.run(has_grant).await.map_err(internal)? {
            return Ok(());
        }
        let request = (date.clone(), *bucket);
        let id = *requested.entry(request.clone()).or_insert_with(|| fastrand::i64(1..));
        let (key, limit) = (shared.key.clone(), self.limits.of(*bucket));
        let wanted =
            WantedGrant { id, key, date: date.clone(), bucket: *bucket, units: *units, limit };
        let answer = shared.noted(shared.pool.take(&wanted).await);
        let answer = answer.map_err(NoGrant::Unavailable)?;
        // From here to the change of the file there is no await at which a cancelled caller could stop.
        requested.remove(&request);
        shared.learn(answer.now, std::slice::from_ref(&answer.bucket));
        let (date, bucket, units) = (date.clone(), *bucket, answer.units);
        shared.counters.taken.fetch_add(u64::from(units), Ordering::Relaxed);
        let is_exhausted = answer.bucket.is_exhausted;
        let add = move |ledger: &Arc<Self>| {
            ledger.update(now, |counts| {
                if units > 0 {
                    counts.grants_mut(&date).insert(id, Grant::new(bucket, units, holder));
                }
                if is_exhausted {
                    counts.tally_mut(&date, LEDGER_ACCOUNT).count_mut(bucket).exhausted = true;
                }
            });
        };
        self.run(add).await.map_err(internal)?;
        // On another day by the clock of the database, the charge begins again with that day.
        let is_other_day = !charged_days(answer.now).contains(&needed.date);
        match units > 0 || is_other_day {
            true => Ok(()),
            false => {
                let refused = (needed.units, Instant::now());
                shared.known().refused.insert(request, refused);
                Err(NoGrant::Spent(spent(needed.bucket, &needed.date, answer.now)))
            }
        }
    }

    /// Reports an exhausted bucket to the pool at once.
    pub(super) fn announce(&self) {
        if let Some(shared) = &self.shared {
            shared.wake.notify_one();
        }
    }

    /// Reads the state of the pool for a report, but does not wait for it for long.
    pub(crate) async fn refresh(self: &Arc<Self>) {
        let Some(shared) = &self.shared else { return };
        self.keep_settled();
        let last = shared.known().last_exchange;
        if last.is_none_or(|last| last.elapsed() >= SETTLE_EVERY) {
            let mut exchanged = pin!(shared.exchanged.notified());
            exchanged.as_mut().enable();
            // The task exchanges, so that this report can leave without cancelling it.
            shared.wake.notify_one();
            let _ = timeout(REPORT_WAIT, exchanged).await;
        }
    }
}
