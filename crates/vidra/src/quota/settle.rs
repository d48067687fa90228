//! Settles the ledger of a machine with the pool: returns grants, and exchanges the state of the buckets.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::grants::{Grant, GrantState, SHARED_ACCOUNT};
use super::pool::{EndedGrant, WantedGrant, charged_days};
use super::shared::SETTLE_EVERY;
use super::{Bucket, LEDGER_ACCOUNT, Ledger};
use crate::error::{Error, Result};

/// Grants are returned after this time without a charge.
const IDLE: Duration = Duration::from_secs(60);

/// The grants that have to be ended, and the units that have to be counted.
#[derive(Default)]
struct Unsettled {
    ended: Vec<(String, EndedGrant)>,
    uncounted: Vec<WantedGrant>,
}

impl Ledger {
    /// Starts the task that settles with the pool, unless it runs.
    pub(super) fn keep_settled(self: &Arc<Self>) {
        let Some(shared) = &self.shared else { return };
        if std::mem::replace(&mut shared.known().is_settling, true) {
            return;
        }
        let (ledger, pool) = (Arc::downgrade(self), Arc::clone(&shared.pool));
        tokio::spawn(async move {
            let mut seen = 0;
            while let Some(ledger) = ledger.upgrade() {
                // A failure is repeated after the next pause.
                let _ = ledger.settle(false).await;
                let woken = async {
                    let Some(shared) = &ledger.shared else { return };
                    shared.wake.notified().await;
                };
                let wake = tokio::select! {
                    biased;
                    () = woken => true,
                    () = pool.changed(&mut seen) => true,
                    () = sleep(SETTLE_EVERY) => false,
                };
                if wake && let Some(shared) = &ledger.shared {
                    shared.known().last_exchange = None;
                }
            }
        });
    }

    /// Counts units that were spent without a grant, returns grants that are not used, and exchanges the state of the
    /// buckets. With `is_last` it returns all grants.
    pub(super) async fn settle(self: &Arc<Self>, is_last: bool) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        if shared.known().time.is_none() {
            // The clock of this machine must not decide to which day its count belongs.
            self.exchange().await?;
        }
        let is_older = |at: Option<Instant>, than| at.is_none_or(|at| at.elapsed() >= than);
        let is_idle = is_older(shared.known().last_use, IDLE);
        let last_exchange = shared.known().last_exchange;
        // An idle machine reads the state only after a notification.
        let is_due = last_exchange.is_none() || (!is_idle && is_older(last_exchange, SETTLE_EVERY));
        let now = shared.time(shared.clock.now());
        let work = self.run(move |ledger| ledger.close_grants(is_idle || is_last, now));
        let work = work.await.map_err(Error::internal)?;
        let mut settled = Ok(());
        let mut done = vec![];
        for units in work.uncounted {
            match shared.noted(shared.pool.count(&units).await) {
                Ok(()) => done.push((units.date, units.id)),
                failed => settled = failed,
            }
        }
        for (date, ended) in work.ended {
            match shared.noted(shared.pool.end(&ended).await) {
                Ok(()) => {
                    let units = u64::from(ended.unspent);
                    shared.counters.returned.fetch_add(units, Ordering::Relaxed);
                    done.push((date, ended.id));
                }
                failed => settled = failed,
            }
        }
        if !done.is_empty() {
            let forget = move |ledger: &Arc<Self>| ledger.forget_grants(&done, now);
            self.run(forget).await.map_err(Error::internal)?;
        }
        if is_due && !is_last {
            self.exchange().await?;
        }
        settled
    }

    /// Closes grants that are not needed any more, and brings that to the disk before their units are returned.
    fn close_grants(&self, all: bool, now: Timestamp) -> Unsettled {
        let Some(shared) = &self.shared else { return Unsettled::default() };
        let days = charged_days(now);
        let (limits, key, holder) = (self.limits, &shared.key, shared.holder);
        let mut unsettled = self.update(now, |counts| {
            // Units that this machine spent before it shared the quota, or that a command on it spent since.
            for (date, bucket) in
                days.iter().flat_map(|it| limits.buckets().iter().map(move |b| (it, *b)))
            {
                let used = counts.tally(date, LEDGER_ACCOUNT).count(bucket).used;
                if used > 0 {
                    counts.tally_mut(date, LEDGER_ACCOUNT).count_mut(bucket).used = 0;
                    let spent = Grant::uncounted(bucket, used);
                    counts.grants_mut(date).insert(fastrand::i64(1..), spent);
                }
            }
            let mut unsettled = Unsettled::default();
            for date in counts.dates_with_grants() {
                let is_over = !days.contains(&date);
                for grant in counts.grants_mut(&date).iter_mut() {
                    // The unspent units of another holder are lost, unless it closes the grant itself.
                    if grant.is_open_for(holder) && (all || is_over) {
                        grant.state = GrantState::Closed;
                    }
                }
                for (id, grant) in counts.grants(&date) {
                    match grant.state {
                        GrantState::Open => {}
                        GrantState::Closed => {
                            let unspent = grant.unspent();
                            unsettled.ended.push((date.clone(), EndedGrant { id, unspent }));
                        }
                        GrantState::Uncounted => unsettled.uncounted.push(WantedGrant {
                            id,
                            key: key.clone(),
                            date: date.clone(),
                            bucket: grant.bucket,
                            units: grant.spent,
                            limit: limits.of(grant.bucket),
                        }),
                    }
                }
            }
            unsettled
        });
        let is_empty = unsettled.ended.is_empty() && unsettled.uncounted.is_empty();
        if is_empty {
            return unsettled;
        }
        let synced = self.backing.sync();
        let was_failing = std::mem::replace(&mut shared.known().is_sync_failing, synced.is_err());
        if let Err(error) = synced {
            // The file could still have them as open.
            unsettled.ended.clear();
            if !was_failing {
                tracing::warn!(%error, "grants not returned: the ledger file cannot be synced");
            }
        }
        unsettled
    }

    /// Removes grants that the pool has ended. Their spent units stay in the count of this machine.
    fn forget_grants(&self, done: &[(String, i64)], now: Timestamp) {
        self.update(now, |counts| {
            for (date, id) in done {
                if let Some(Grant { bucket, spent, .. }) = counts.grants_mut(date).remove(*id) {
                    counts.tally_mut(date, SHARED_ACCOUNT).count_mut(bucket).used += spent;
                }
            }
        });
    }

    /// Reports exhausted buckets to the pool, and learns those of other machines.
    pub(super) async fn exchange(self: &Arc<Self>) -> Result<()> {
        let exchanged = self.try_exchange().await;
        if let Some(shared) = &self.shared {
            shared.exchanged.notify_waiters();
        }
        exchanged
    }

    async fn try_exchange(self: &Arc<Self>) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let now = shared.time(shared.clock.now());
        let read = self.run(move |ledger| {
            ledger.update(now, |counts| {
                let mut exhausted = vec![];
                for date in charged_days(now) {
                    let tally = counts.tally(&date, LEDGER_ACCOUNT);
                    let buckets = [Bucket::Default, Bucket::Search].into_iter();
                    let buckets = buckets.filter(|bucket| tally.count(*bucket).exhausted);
                    exhausted.extend(buckets.map(|bucket| (date.clone(), bucket)));
                }
                exhausted
            })
        });
        let exhausted = read.await.map_err(Error::internal)?;
        let state = shared.noted(shared.pool.exchange(&shared.key, &exhausted).await)?;
        shared.learn(state.now, &state.buckets);
        shared.known().last_exchange = Some(Instant::now());
        let new = state.buckets.into_iter().filter(|it| it.is_exhausted);
        let new: Vec<_> = new.map(|it| (it.date, it.bucket)).collect();
        let new: Vec<_> = new.into_iter().filter(|it| !exhausted.contains(it)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mark = move |ledger: &Arc<Self>| {
            ledger.update(now, |counts| {
                for (date, bucket) in &new {
                    counts.tally_mut(date, LEDGER_ACCOUNT).count_mut(*bucket).exhausted = true;
                }
            });
        };
        self.run(mark).await.map_err(Error::internal)
    }

    /// Returns all grants to the pool. Later charges take new ones.
    pub(crate) async fn return_grants(self: &Arc<Self>) {
        if let Err(error) = self.settle(true).await {
            tracing::warn!(%error, "grants not returned");
        }
    }
}
