//! The fetches of uncached records: how they run, and how their results reach the cache and its
//! followers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::flight::Lead;
use super::renewal::Renewal;
use super::{Cache, Key};
use crate::context::waiters::Waiters;
use crate::context::{Context, Slot};
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
    /// The number of records that one call returns.
    pub(crate) per_call: usize,
    /// Fetches the records of the keys with these indices by one call, with one result for each. It
    /// runs in its own task. It ends at the deadline of its context, or when it would cost more and has no
    /// waiters.
    pub(crate) run:
        &'a (dyn Fn(Context, Vec<usize>) -> BoxFuture<'static, Vec<Result<Fetched>>> + Sync),
}

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

/// A fetch that this call leads.
pub(super) struct Led {
    pub(super) index: usize,
    pub(super) key: Key,
    pub(super) lead: Lead<Record>,
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
        for (mut led, bill, slot) in [charged, background] {
            // Each call is a fetch of its own: nobody waits for a call that has another's record.
            while !led.is_empty() {
                let rest = led.split_off(fetch.per_call.min(led.len()));
                let of_call = std::mem::replace(&mut led, rest);
                let renewal = renewal.take_if(|_| of_call.iter().any(|led| led.renews));
                let ctx = Context { bill: bill.clone(), slot: slot.clone(), ..ctx.clone() };
                self.spawn_call(of_call, renewal, &ctx, fetch);
            }
        }
    }

    fn spawn_call(
        self: &Arc<Self>,
        led: Vec<Led>,
        renewal: Option<Renewal>,
        ctx: &Context,
        fetch: &Fetch<'_>,
    ) {
        let waiters = match led.iter().all(|led| led.renews) {
            // The renewal of a stale record continues without waiters.
            true => Waiters::detached(led.iter().map(|led| led.lead.waiters.clone())),
            false => {
                let missing = led.iter().filter(|led| !led.renews);
                Waiters::new(missing.map(|led| led.lead.waiters.clone())).part_of(&ctx.waiters)
            }
        };
        // Shared work does not inherit the limits of one caller.
        let deadline = ctx.deadline.max(Instant::now() + self.fetch_time);
        let fetch_ctx = Context { deadline, waiters, ..ctx.clone() };
        let fetching = (fetch.run)(fetch_ctx, led.iter().map(|led| led.index).collect());
        let cache = Arc::clone(self);
        traced::spawn(async move { cache.complete(led, fetching.await, renewal) });
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
            lead.complete(self.store(&key, result.map(|fetched| fetched.body), age));
        }
    }
}
