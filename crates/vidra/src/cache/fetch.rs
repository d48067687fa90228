//! The fetches of uncached records: how they run, and how their results reach the cache and its
//! followers.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::flight::Lead;
use super::renewal::Renewal;
use super::turns::{Ended, Turn, WAIT_LIMIT};
use super::{Cache, Key};
use crate::context::waiters::Waiters;
use crate::context::{CacheMode, Context, Slot, no_waiters};
use crate::error::Result;
use crate::store::Record;
use crate::transport::{BoxFuture, traced};

/// How to fetch uncached records.
pub(crate) struct Fetch<'a> {
    /// Whether YouTube fails, so that a stale record is better than a fetch.
    pub(crate) is_failing: &'a (dyn Fn() -> bool + Sync),
    /// Whether it may follow a walk that began earlier. A refresh joins no such fetch, because it
    /// would get pages from before its request.
    pub(crate) follows_walk: bool,
    /// Whether the cache waits for other machines that fetch the same record. A walk through a whole playlist waits
    /// itself.
    pub(crate) is_shared: bool,
    /// The number of records that one call returns.
    pub(crate) per_call: usize,
    /// Makes the function that runs the fetches, for a read that leads some.
    pub(crate) runner: &'a (dyn Fn() -> Runner + Sync),
}

/// Fetches the records of the keys with these indices by one call, with one result for each. It runs in its own task. It
/// ends at the deadline of its context, or when it would cost more and has no waiters.
pub(crate) type Runner =
    Arc<dyn Fn(Context, Vec<usize>) -> BoxFuture<'static, Vec<Result<Fetched>>> + Send + Sync>;

/// A fetched body, and the age of its data. The data are not new if the fetch joined work that had
/// begun before it.
pub(crate) struct Fetched {
    pub(crate) body: Bytes,
    pub(crate) age: Duration,
}

impl From<Bytes> for Fetched {
    fn from(body: Bytes) -> Self {
        Self { body, age: Duration::ZERO }
    }
}

/// A record that a fetch delivers to its followers.
#[derive(Clone)]
pub(crate) struct Delivered {
    pub(super) record: Record,
    /// Whether another machine fetched it.
    pub(super) is_from_another_machine: bool,
}

/// A fetch that this call leads.
pub(super) struct Led {
    pub(super) index: usize,
    pub(super) key: Key,
    pub(super) lead: Lead<Delivered>,
    /// Whether it renews a stale record.
    pub(super) renews: bool,
}

/// The fetches that one round leads.
#[derive(Default)]
pub(super) struct Leads {
    /// Fetches that the caller waits and pays for.
    pub(super) paid: Vec<Led>,
    /// Renewals of records that were already served.
    pub(super) unpaid: Vec<Led>,
    pub(super) renewal: Option<Renewal>,
}

impl Cache {
    /// Starts the fetches of one round in tasks of their own, so that a caller that leaves does not
    /// cancel them for followers.
    pub(super) fn spawn_fetches(self: &Arc<Self>, leads: Leads, ctx: &Context, fetch: &Fetch<'_>) {
        let Leads { mut paid, mut unpaid, mut renewal } = leads;
        // Renewals fill up the last call that the caller pays for, at no extra cost.
        let free = paid.len().next_multiple_of(fetch.per_call) - paid.len();
        paid.extend(unpaid.drain(..free.min(unpaid.len())));
        // A background renewal does not hold the slot of the operation that began it.
        let charged = (paid, ctx.bill.clone(), ctx.slot.clone());
        let background = (unpaid, ctx.bill.without_payer(), Slot::not_needed());
        let runner = OnceCell::new();
        for (mut led, bill, slot) in [charged, background] {
            // Each call is a fetch of its own: a caller waits only for the call that fetches its record.
            while !led.is_empty() {
                let rest = led.split_off(fetch.per_call.min(led.len()));
                let of_call = std::mem::replace(&mut led, rest);
                let renewal = renewal.take_if(|_| of_call.iter().any(|led| led.renews));
                let ctx = Context { bill: bill.clone(), slot: slot.clone(), ..ctx.clone() };
                let runner = Arc::clone(runner.get_or_init(fetch.runner));
                // A refresh fetches even what another machine is fetching: that fetch may have begun before the request.
                let is_shared = self.shared_fetches.is_some()
                    && fetch.is_shared
                    && ctx.mode != CacheMode::Refresh;
                let call = Call { cache: Arc::clone(self), ctx, runner };
                match is_shared {
                    true => drop(traced::spawn(call.take_turns(of_call, renewal))),
                    false => call.start(of_call, renewal, None),
                }
            }
        }
    }
}

/// The fetch of some records.
#[derive(Clone)]
struct Call {
    cache: Arc<Cache>,
    ctx: Context,
    runner: Runner,
}

impl Call {
    /// Fetches the records of its own turns, and uses the records that other machines fetched.
    async fn take_turns(self, led: Vec<Led>, mut renewal: Option<Renewal>) {
        let keys = led.iter().map(|led| led.key.clone()).collect();
        let Some(mut turns) = self.cache.turns(keys, WAIT_LIMIT) else {
            return self.start(led, renewal, None);
        };
        let mut led: Vec<Option<Led>> = led.into_iter().map(Some).collect();
        loop {
            let waiters = self.waiters(led.iter().flatten());
            let Some(Ended { found, ours }) = turns.next(&waiters).await else { break };
            for (index, record) in found {
                let Some(Led { lead, .. }) = led[index].take() else { continue };
                lead.complete(Ok(Delivered { record, is_from_another_machine: true }));
            }
            if let Some((indices, turn)) = ours {
                let ours: Vec<Led> = indices.into_iter().filter_map(|it| led[it].take()).collect();
                let renewal = renewal.take_if(|_| ours.iter().any(|led| led.renews));
                self.clone().start(ours, renewal, Some(turn));
            }
        }
        let abandoned: Vec<Led> = led.into_iter().flatten().collect();
        if let Some(renewal) = renewal.filter(|_| abandoned.is_empty()) {
            // Another machine renewed them.
            renewal.end(&Ok(()));
        }
        for Led { lead, .. } in abandoned {
            lead.complete(Err(no_waiters()));
        }
    }

    /// Fetches the records in a task of its own.
    fn start(self, led: Vec<Led>, renewal: Option<Renewal>, turn: Option<Turn>) {
        let waiters = self.waiters(&led);
        // Shared work does not inherit the limits of one caller.
        let deadline = self.ctx.deadline.max(Instant::now() + self.cache.fetch_time);
        let fetch_ctx = Context { deadline, waiters, ..self.ctx };
        let fetching = (self.runner)(fetch_ctx, led.iter().map(|led| led.index).collect());
        let cache = self.cache;
        traced::spawn(async move {
            let results = fetching.await;
            let keys: Vec<Key> = match turn {
                Some(_) => led.iter().map(|led| led.key.clone()).collect(),
                None => vec![],
            };
            cache.complete(led, results, renewal);
            if let Some(turn) = turn {
                cache.end_after_write(turn, keys);
            }
        });
    }

    /// The waiters of these records.
    fn waiters<'l>(&self, led: impl IntoIterator<Item = &'l Led> + Clone) -> Waiters {
        let count = |led: &Led| led.lead.waiters.clone();
        match led.clone().into_iter().all(|led| led.renews) {
            // The renewal of a stale record continues without waiters.
            true => Waiters::detached(led.into_iter().map(count)),
            false => {
                let missing = led.into_iter().filter(|led| !led.renews);
                Waiters::new(missing.map(count)).part_of(&self.ctx.waiters)
            }
        }
    }
}

impl Cache {
    /// Ends a turn when the store has the records of these keys.
    pub(crate) fn end_after_write(self: &Arc<Self>, turn: Turn, keys: Vec<Key>) {
        let cache = Arc::clone(self);
        turn.end_after(async move {
            join_all(keys.iter().map(|key| cache.tiers.written(&key.text))).await;
        });
    }

    /// Stores the results of a fetch and passes them to its followers.
    fn complete(&self, led: Vec<Led>, results: Vec<Result<Fetched>>, renewal: Option<Renewal>) {
        if let Some(renewal) = renewal {
            let renewed = led.iter().zip(&results).filter(|(led, _)| led.renews);
            let renewed: Vec<_> = renewed.map(|(_, result)| result).collect();
            let failed = renewed.iter().find(|result| result.is_err());
            if let Some(result) = failed.or(renewed.first()) {
                renewal.end(result);
            }
        }
        for (Led { key, lead, .. }, result) in led.into_iter().zip(results) {
            let age = result.as_ref().map_or(Duration::ZERO, |fetched| fetched.age);
            let stored = self.store(&key, result.map(|fetched| fetched.body), age);
            let delivered = |record| Delivered { record, is_from_another_machine: false };
            lead.complete(stored.map(delivered));
        }
    }
}
