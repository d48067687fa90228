//! Settles the ledger of a machine with the pool: returns grants, and exchanges the state of the buckets.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep};

use super::day::date;
use super::grants::{Grant, GrantState, SHARED_ACCOUNT};
use super::pool::{EndedGrant, WantedGrant, charged_days};
use super::shared::SETTLE_EVERY;
use super::{Bucket, LEDGER_ACCOUNT, Ledger};
use crate::error::{Error, Result};

/// Grants are returned after this time without a charge.
const IDLE: Duration = Duration::from_secs(60);

/// The grants that have to be ended, and the units that have to be counted.
#[derive(Default)]
struct Ending {
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
    async fn settle(self: &Arc<Self>, is_last: bool) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let (is_idle, is_due) = {
            let known = shared.known();
            let is_older = |at: Option<Instant>, than| at.is_none_or(|at| at.elapsed() >= than);
            let is_idle = is_older(known.last_use, IDLE);
            (
                is_idle,
                known.last_exchange.is_none()
                    || (!is_idle && is_older(known.last_exchange, SETTLE_EVERY)),
            )
        };
        if shared.known().time.is_none() {
            // The clock of this machine must not decide to which day its count belongs.
            self.exchange().await?;
        }
        let now = shared.time(shared.clock.now());
        let work = self.run(move |ledger| ledger.close_grants(is_idle || is_last, now));
        let work = work.await.map_err(Error::internal)?;
        for spent in &work.uncounted {
            shared.noted(shared.pool.count(spent).await)?;
        }
        if !work.ended.is_empty() {
            let ended: Vec<EndedGrant> = work.ended.iter().map(|(_, ended)| *ended).collect();
            shared.noted(shared.pool.end(&ended).await)?;
            let units: u32 = ended.iter().map(|ended| ended.unspent).sum();
            shared.counters.returned.fetch_add(u64::from(units), Ordering::Relaxed);
        }
        let counted = work.uncounted.into_iter().map(|spent| (spent.date, spent.id));
        let done: Vec<(String, i64)> =
            counted.chain(work.ended.into_iter().map(|(date, ended)| (date, ended.id))).collect();
        if !done.is_empty() {
            let forget = move |ledger: &Arc<Self>| ledger.forget_grants(&done, now);
            self.run(forget).await.map_err(Error::internal)?;
        }
        if is_due && !is_last {
            self.exchange().await?;
        }
        Ok(())
    }

    /// Closes grants that are not needed any more, and brings that to the disk before their units are returned.
    fn close_grants(&self, all: bool, now: Timestamp) -> Ending {
        let Some(shared) = &self.shared else { return Ending::default() };
        let (today, days) = (date(now), charged_days(now));
        let (limits, key) = (self.limits, &shared.key);
        let mut ending = self.update(now, |counts| {
            // What this machine spent before it shared the quota, or what a command on it spent since.
            for bucket in limits.buckets() {
                let used = counts.tally(&today, LEDGER_ACCOUNT).count(*bucket).used;
                if used > 0 {
                    counts.tally_mut(&today, LEDGER_ACCOUNT).count_mut(*bucket).used = 0;
                    let spent = Grant::uncounted(*bucket, used);
                    counts.grants_mut(&today).insert(fastrand::i64(1..), spent);
                }
            }
            let mut ending = Ending::default();
            for date in counts.dates_with_grants() {
                let is_over = !days.contains(&date);
                for grant in counts.grants_mut(&date).iter_mut() {
                    if grant.state == GrantState::Open && (all || is_over) {
                        grant.state = GrantState::Closed;
                    }
                }
                for (id, grant) in counts.grants(&date) {
                    match grant.state {
                        GrantState::Open => {}
                        GrantState::Closed => {
                            let unspent = grant.unspent();
                            ending.ended.push((date.clone(), EndedGrant { id, unspent }));
                        }
                        GrantState::Uncounted => ending.uncounted.push(WantedGrant {
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
            ending
        });
        let is_empty = ending.ended.is_empty() && ending.uncounted.is_empty();
        if !is_empty && let Err(error) = self.backing.sync() {
            // After a restart the file would still have these grants: their units are lost.
            tracing::warn!(%error, "grants not returned: the ledger file cannot be synced");
            ending = Ending::default();
        }
        ending
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
