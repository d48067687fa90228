//! The rate limiter of an egress address: a burst, then a steady rate.

use std::future::pending;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::bucket::LeakyBucket;
use crate::context::waiters::{Urgency, Waiters};

/// The part of the burst, in per cent, that background requests leave to more urgent ones.
const BACKGROUND_LEAVES: u32 = 20;

/// A rate limit. YouTube blocks an address that requests a few hundred transcripts in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The size of the burst.
    pub burst: u32,
    /// The steady rate per hour after the burst.
    pub per_hour: u32,
}

impl Default for Pace {
    /// A rate that YouTube is known to accept from one address.
    fn default() -> Self {
        Self { burst: 300, per_hour: 1_000 }
    }
}

/// A rate limit, as the requests of each urgency see it.
#[derive(Debug, Clone, Copy)]
struct Limit {
    pace: Pace,
    bucket: LeakyBucket,
    /// The bucket of background requests, with a smaller burst.
    background: LeakyBucket,
}

impl Limit {
    fn new(pace: Pace) -> Self {
        let interval = Duration::from_secs(3600) / pace.per_hour;
        let burst = u64::from(pace.burst) * u64::from(100 - BACKGROUND_LEAVES) / 100;
        let burst = u32::try_from(burst).unwrap_or(u32::MAX);
        let (bucket, background) =
            (LeakyBucket::new(pace.burst, interval), LeakyBucket::new(burst, interval));
        Self { pace, bucket, background }
    }

    /// The wait for a permit behind `before` other requests.
    fn wait(&self, urgency: Urgency, ahead: Duration, before: usize) -> Duration {
        let bucket = match urgency {
            Urgency::Background => self.background,
            Urgency::Batch | Urgency::Interactive => self.bucket,
        };
        let before = u32::try_from(before).unwrap_or(u32::MAX);
        bucket.wait(ahead.saturating_add(bucket.interval().saturating_mul(before)))
    }
}

/// Grants permits at a rate: to the most urgent requests first, otherwise in order of arrival. Background requests
/// leave a part of the burst.
///
/// A request takes its permit when it is due, never before. A waiting request holds only a position
/// in the queue. A caller that leaves or times out costs the others nothing.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// `None` for no limit.
    limit: Option<Limit>,
    /// Held only briefly and never across an await.
    state: Mutex<State>,
    /// Wakes the waiting requests after a change of the queue or of the next permit.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The time at which the permits taken so far would end at the steady rate.
    spent_until: Instant,
    /// The waiting requests, in order of arrival.
    queue: Vec<Waiting>,
    /// The number of the next arrival.
    next: u64,
    /// The request that waits for the next permit with a timer. It was first at the last check.
    watcher: Option<u64>,
    /// Permits that were taken but not used yet.
    unused: usize,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    urgency: PermitUrgency,
}

/// How urgent a request for a permit is. This can change during the wait, because a more urgent caller can join the
/// fetch.
#[derive(Debug, Clone)]
pub(crate) enum PermitUrgency {
    /// Always that of a single request.
    Interactive,
    /// That of the most urgent waiter, or `alone` without waiters.
    OfWaiters { waiters: Waiters, alone: Urgency },
}

impl PermitUrgency {
    pub(crate) fn now(&self) -> Urgency {
        match self {
            Self::Interactive => Urgency::Interactive,
            Self::OfWaiters { waiters, alone } => waiters.urgency().unwrap_or(*alone),
        }
    }

    /// Waits until a background request has become more urgent than `before`. It never returns for other requests,
    /// whose permits are due at the same time.
    pub(crate) async fn raised_from(&self, before: Urgency) {
        match self {
            Self::OfWaiters { waiters, .. } if before == Urgency::Background => {
                waiters.more_urgent_than(before).await;
            }
            _ => pending().await,
        }
    }
}

impl State {
    /// The number and the urgency of the request that gets the next permit.
    fn first(&self) -> Option<(u64, Urgency)> {
        let mut first: Option<(u64, Urgency)> = None;
        for Waiting { number, urgency } in &self.queue {
            let urgency = urgency.now();
            if first.is_none_or(|(_, before)| urgency > before) {
                first = Some((*number, urgency));
            }
            if urgency == Urgency::Interactive {
                break;
            }
        }
        first
    }

    /// The number of requests ahead of a new one.
    fn before(&self, urgency: Urgency) -> usize {
        self.queue.iter().filter(|waiting| waiting.urgency.now() >= urgency).count()
    }

    /// The wait of a new request behind those ahead of it.
    fn wait_of_new(&self, limit: Limit, urgency: Urgency, now: Instant) -> Duration {
        limit.wait(urgency, self.ahead(now), self.before(urgency))
    }

    /// How far the permits taken so far are ahead of the steady rate.
    fn ahead(&self, now: Instant) -> Duration {
        self.spent_until.saturating_duration_since(now)
    }

    /// Raises the permits taken so far to `spent`, but to no more than the burst. It never lowers them.
    fn raise(&mut self, limit: Limit, spent: Duration, now: Instant) {
        self.spent_until = self.spent_until.max(now + spent.min(limit.bucket.capacity()));
    }
}

impl Pacer {
    pub(crate) fn new(pace: Option<Pace>, now: Instant) -> Self {
        let limit = pace.filter(|pace| pace.per_hour > 0).map(Limit::new);
        let state = State { spent_until: now, queue: vec![], next: 0, watcher: None, unused: 0 };
        Self { limit, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Waits for a permit and takes it. It calls `on_wait` once with the expected wait.
    ///
    /// # Errors
    ///
    /// The expected wait, if it would last until `deadline` or longer.
    pub(crate) async fn acquire(
        &self,
        urgency: PermitUrgency,
        deadline: Instant,
        on_wait: impl FnOnce(Duration),
    ) -> Result<Permit<'_>, Duration> {
        let Some(limit) = self.limit else { return Ok(Permit { pacer: self, is_used: true }) };
        let now = Instant::now();
        let position = {
            let mut state = self.state();
            let wait = state.wait_of_new(limit, urgency.now(), now);
            if wait.is_zero() && state.before(urgency.now()) == 0 {
                return Ok(self.take(&mut state, limit, now));
            }
            if now + wait >= deadline {
                return Err(wait);
            }
            let number = state.next;
            state.next += 1;
            state.queue.push(Waiting { number, urgency: urgency.clone() });
            drop(state);
            on_wait(wait);
            QueuePosition { pacer: self, number }
        };
        match timeout_at(deadline, self.wait_in_queue(limit, &position, &urgency)).await {
            Ok(permit) => Ok(permit),
            Err(_) => {
                drop(position);
                Err(self.state().wait_of_new(limit, urgency.now(), Instant::now()))
            }
        }
    }

    async fn wait_in_queue(
        &self,
        limit: Limit,
        position: &QueuePosition<'_>,
        urgency: &PermitUrgency,
    ) -> Permit<'_> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            changed.as_mut().enable();
            let before = urgency.now();
            let due = {
                let mut state = self.state();
                let now = Instant::now();
                let first = state.first();
                let number = first.map(|(number, _)| number);
                let due = first.filter(|(number, _)| *number == position.number);
                let wait = due.map(|(_, urgency)| limit.wait(urgency, state.ahead(now), 0));
                if wait == Some(Duration::ZERO) {
                    return self.take(&mut state, limit, now);
                }
                // Only the first request has a timer. The first request can change unnoticed when
                // waiters join or leave its fetch.
                if state.watcher != number {
                    state.watcher = number;
                    if wait.is_none() {
                        self.changed.notify_waiters();
                    }
                }
                wait.map(|wait| now + wait)
            };
            // A request that leaves the background may take its permit at once.
            tokio::select! {
                biased;
                () = wait_until(due, changed) => {}
                () = urgency.raised_from(before) => {}
            }
        }
    }

    fn take(&self, state: &mut State, limit: Limit, now: Instant) -> Permit<'_> {
        state.spent_until = state.spent_until.max(now) + limit.bucket.interval();
        state.unused += 1;
        Permit { pacer: self, is_used: false }
    }

    /// Takes a permit whether it is due or not.
    #[cfg(test)]
    pub(crate) fn spend(&self, now: Instant) {
        if let Some(limit) = self.limit {
            let permit = self.take(&mut self.state(), limit, now);
            permit.used();
        }
    }

    /// The wait of a new request. It takes no permit.
    pub(crate) fn wait(&self, urgency: Urgency, now: Instant) -> Duration {
        let wait = |limit| self.state().wait_of_new(limit, urgency, now);
        self.limit.map_or(Duration::ZERO, wait)
    }

    /// The leaky bucket of the rate limit. `None` for no limit.
    pub(crate) fn bucket(&self) -> Option<LeakyBucket> {
        self.limit.map(|limit| limit.bucket)
    }

    /// The rate limit. `None` for no limit.
    pub(crate) fn pace(&self) -> Option<Pace> {
        self.limit.map(|limit| limit.pace)
    }

    /// How far the permits taken so far are ahead of the steady rate.
    pub(crate) fn spent(&self, now: Instant) -> Duration {
        self.state().ahead(now)
    }

    /// Counts permits that an earlier process took. It never lowers the count.
    pub(crate) fn restore(&self, spent: Duration, now: Instant) {
        if let Some(limit) = self.limit {
            self.state().raise(limit, spent, now);
        }
    }

    /// Counts permits that others may have taken, but no more than the burst.
    pub(crate) fn spend_more(&self, permits: u32, now: Instant) {
        if let Some(limit) = self.limit {
            let mut state = self.state();
            let more = limit.bucket.interval().saturating_mul(permits);
            let spent = state.ahead(now).saturating_add(more);
            state.raise(limit, spent, now);
        }
    }

    /// The number of waiting requests and unused permits.
    pub(crate) fn held(&self) -> usize {
        let state = self.state();
        state.queue.len() + state.unused
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a change of the queue, at most until the next permit is due.
async fn wait_until(due: Option<Instant>, changed: impl Future<Output = ()>) {
    match due {
        Some(due) => drop(timeout_at(due, changed).await),
        None => changed.await,
    }
}

/// A position in the queue, released on drop.
struct QueuePosition<'a> {
    pacer: &'a Pacer,
    number: u64,
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.pacer.state().queue.retain(|waiting| waiting.number != self.number);
        self.pacer.changed.notify_waiters();
    }
}

/// A permit to send one request. It is returned if it is dropped before [`Permit::used`].
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    pacer: &'a Pacer,
    is_used: bool,
}

impl Permit<'_> {
    /// Marks the permit as used, because the request is being sent.
    pub(crate) fn used(mut self) {
        if !std::mem::replace(&mut self.is_used, true) {
            self.pacer.state().unused -= 1;
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        if let Some(limit) = self.pacer.limit {
            let mut state = self.pacer.state();
            state.unused -= 1;
            if let Some(before) = state.spent_until.checked_sub(limit.bucket.interval()) {
                state.spent_until = before;
            }
        }
        self.pacer.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
