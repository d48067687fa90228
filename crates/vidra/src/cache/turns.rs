//! Turns to fetch: of several machines that miss a record, one fetches it, and the others wait for it.
//!
//! The machine that fetches holds the lease of the key. It stores the record, releases the lease, and announces the end of
//! the fetch. If the machine dies, its lease expires, and another machine fetches. A machine that gets no answer about the
//! lease fetches alone.

mod leases;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::freshness::State;
use super::{Cache, CacheOutcome, Cached, Key};
use crate::context::waiters::Waiters;
use crate::context::{CacheMode, Context, no_waiters};
use crate::error::Result;
use crate::store::{Listening, Record};
pub use leases::FetchSharing;
pub(crate) use leases::{SharedFetches, Turn};
use step::{Step, Taken, Woken};

/// How often a machine that waits tries to take the lease, on average.
const POLL_EVERY: Duration = Duration::from_millis(250);
/// How long a machine waits for another one that fetches a single record.
pub(super) const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// Keys that wait for a record or for their turn.
pub(crate) struct Turns<'a> {
    cache: &'a Cache,
    shared: Arc<SharedFetches>,
    waiting: Vec<Waiting>,
    listening: Listening,
    /// When it stops waiting for other machines.
    give_up: Instant,
}

struct Waiting {
    index: usize,
    key: Key,
    step: Step,
    has_waited: bool,
    found: Option<Record>,
}

/// The result of the wait for one key.
pub(crate) enum TurnOutcome {
    /// It is this machine's turn to fetch the record. `None` if this machine shares no fetches.
    Fetch(Option<Turn>),
    /// Another machine fetched the record, or nobody waits for it any more.
    Ended(Result<Cached>),
}

/// Keys that wait no longer, by their indices.
pub(crate) struct Ended {
    /// Records that another machine fetched.
    pub(crate) found: Vec<(usize, Record)>,
    /// Records that it is this machine's turn to fetch.
    pub(crate) ours: Option<(Vec<usize>, Turn)>,
}

impl Cache {
    /// Begins to wait for the turns of these keys. Returns `None` if this machine shares no fetches, or if the records are
    /// never fresh: another machine could not use them.
    pub(crate) fn turns(&self, keys: Vec<Key>, wait_limit: Duration) -> Option<Turns<'_>> {
        let shared = Arc::clone(self.shared_fetches.as_ref()?);
        if keys.iter().any(|key| self.policy(key).life.ttl.is_zero()) {
            return None;
        }
        let texts: Vec<String> = keys.iter().map(|key| key.text.clone()).collect();
        // It listens before the first attempt, so that it misses no announcement.
        let listening = shared.leases.listen(&texts);
        // The rest of the time is for a fetch of its own.
        let wait_limit = wait_limit.min(self.fetch_time / 2);
        let waiting = keys.into_iter().enumerate().map(|(index, key)| {
            // This process fetches the record already, for example in a fetch that is overdue.
            let is_own = shared.holds(&key.text);
            let step = if is_own { Step::Fetch { lease: None } } else { Step::Take };
            Waiting { index, key, step, has_waited: false, found: None }
        });
        let (waiting, give_up) = (waiting.collect(), Instant::now() + wait_limit);
        Some(Turns { cache: self, shared, waiting, listening, give_up })
    }

    /// Waits for the record of `key`, or for the turn to fetch it. The fetch may have many pages, so that it waits long.
    pub(crate) async fn turn(&self, key: &Key, ctx: &Context) -> TurnOutcome {
        let wait_limit = self.fetch_time;
        let turns =
            (ctx.mode != CacheMode::Refresh).then(|| self.turns(vec![key.clone()], wait_limit));
        let Some(mut turns) = turns.flatten() else { return TurnOutcome::Fetch(None) };
        let Some(Ended { found, ours }) = turns.next(&ctx.waiters).await else {
            return TurnOutcome::Ended(Err(no_waiters()));
        };
        match (found.into_iter().next(), ours) {
            (Some((_, record)), _) => {
                let found = self.with_age(key, record);
                TurnOutcome::Ended(self.serve(
                    key,
                    &found,
                    CacheOutcome::Coalesced,
                    &ctx.for_parts(),
                ))
            }
            (None, ours) => TurnOutcome::Fetch(ours.map(|(_, turn)| turn)),
        }
    }
}

impl Turns<'_> {
    /// Waits for the next keys. `None` after the last, or when the waiters have left.
    pub(crate) async fn next(&mut self, waiters: &Waiters) -> Option<Ended> {
        while !self.waiting.is_empty() {
            // The turn holds its leases during the read, which can last as long as half of a lease.
            let turn = self.take().await;
            self.read().await;
            if let Some(ended) = self.ended(turn) {
                return Some(ended);
            }
            if self.waiting.iter().any(|waiting| waiting.step != Step::Wait) {
                continue;
            }
            let woken = tokio::select! {
                biased;
                () = waiters.gone() => return None,
                () = self.listening.heard() => Woken::Announced,
                () = sleep_until(self.give_up) => Woken::TooLong,
                () = sleep(POLL_EVERY.mul_f64(0.5 + fastrand::f64())) => Woken::Poll,
            };
            for waiting in &mut self.waiting {
                (waiting.step, waiting.has_waited) = (Step::after_wait(woken), true);
            }
        }
        None
    }

    /// Tries to take the leases of the keys that need one. `None` if it took none.
    async fn take(&mut self) -> Option<Turn> {
        let taking = self.waiting.iter_mut().filter(|waiting| waiting.step == Step::Take);
        let taking: Vec<_> = taking.collect();
        if taking.is_empty() {
            return None;
        }
        let keys: Vec<String> = taking.iter().map(|waiting| waiting.key.text.clone()).collect();
        let begun = Instant::now();
        let mut leases = vec![];
        for (waiting, taken) in taking.into_iter().zip(self.shared.take(&keys).await) {
            waiting.step = Step::after_take(taken);
            if let Taken::Ours(fence) = taken {
                leases.push((waiting.key.text.clone(), fence));
            }
        }
        let longest = self.cache.fetch_time;
        (!leases.is_empty()).then(|| self.shared.hold(leases, begun, longest))
    }

    /// Reads the records that another machine may have stored.
    async fn read(&mut self) {
        let cache = self.cache;
        let reading = self.waiting.iter_mut().filter_map(|waiting| match waiting.step {
            Step::Read { lease } => Some((waiting, lease)),
            _ => None,
        });
        let reading: Vec<_> = reading.collect();
        if reading.is_empty() {
            return;
        }
        let keys: Vec<String> = reading.iter().map(|(it, _)| it.key.text.clone()).collect();
        let records = cache.tiers.read_announced(&keys, cache.clock.now()).await;
        for ((waiting, lease), record) in reading.into_iter().zip(records) {
            let found = record.and_then(|record| cache.usable(&waiting.key, record));
            let fresh = found.filter(|found| found.state() == State::Fresh);
            waiting.step = Step::after_read(lease, fresh.is_some());
            waiting.found = fresh.map(|found| found.record);
        }
    }

    /// The keys that wait no longer. `turn` has the leases that were just taken.
    fn ended(&mut self, turn: Option<Turn>) -> Option<Ended> {
        let is_ended =
            |waiting: &mut Waiting| matches!(waiting.step, Step::Fetch { .. } | Step::End { .. });
        let ended: Vec<Waiting> = self.waiting.extract_if(.., is_ended).collect();
        if ended.is_empty() {
            return None;
        }
        let counts = &self.shared.counts;
        let (mut found, mut unused, mut ours, mut alone) = (vec![], vec![], vec![], vec![]);
        for Waiting { index, key, step, has_waited, found: record } in ended {
            match (step, record) {
                (Step::End { .. }, Some(record)) => {
                    counts.waited.fetch_add(1, Ordering::Relaxed);
                    found.push((index, record));
                    unused.push(key.text);
                }
                (Step::Fetch { lease: Some(_) }, _) => {
                    counts.fetched.fetch_add(1, Ordering::Relaxed);
                    counts.taken_over.fetch_add(u64::from(has_waited), Ordering::Relaxed);
                    ours.push(index);
                }
                _ => {
                    counts.alone.fetch_add(1, Ordering::Relaxed);
                    ours.push(index);
                    alone.push((key.text, None));
                }
            }
        }
        let without_leases = || self.shared.hold(vec![], Instant::now(), Duration::ZERO);
        let mut turn = turn.unwrap_or_else(without_leases);
        turn.end_unused(&unused);
        turn.leases.extend(alone);
        let ours = (!ours.is_empty()).then_some((ours, turn));
        Some(Ended { found, ours })
    }
}
