//! The rate limiter of an egress address: a burst, then a steady rate.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::bucket::LeakyBucket;
use crate::context::waiters::Waiters;

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

impl Pace {
    fn bucket(self) -> LeakyBucket {
        LeakyBucket::new(self.burst, Duration::from_secs(3600) / self.per_hour)
    }
}

/// Grants permits at a rate: to single requests first, otherwise in order of arrival.
///
/// A request takes its permit when it is due, never before. A waiting request holds only a position
/// in the queue. A caller that leaves or times out costs the others nothing.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// `None` for no limit.
    bucket: Option<LeakyBucket>,
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
    urgency: Urgent,
}

/// Whether a permit is for a single request. This can change during the wait, because a single
/// request can join the fetch of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Urgent {
    Always,
    While(Waiters),
}

impl Urgent {
    fn now(&self) -> bool {
        match self {
            Self::Always => true,
            Self::While(waiters) => waiters.is_urgent(),
        }
    }
}

impl State {
    /// The number of the request that gets the next permit.
    fn first(&self) -> Option<u64> {
        let urgent = self.queue.iter().find(|waiting| waiting.urgency.now());
        urgent.or(self.queue.first()).map(|waiting| waiting.number)
    }

    /// The number of requests ahead of a new one.
    fn before(&self, is_urgent: bool) -> usize {
        self.queue.iter().filter(|waiting| !is_urgent || waiting.urgency.now()).count()
    }

    /// The wait of a new request behind those ahead of it.
    fn wait_of_new(&self, bucket: LeakyBucket, is_urgent: bool, now: Instant) -> Duration {
        let before = u32::try_from(self.before(is_urgent)).unwrap_or(u32::MAX);
        let ahead = self.spent_until.saturating_duration_since(now);
        bucket.wait(ahead.saturating_add(bucket.interval().saturating_mul(before)))
    }
}

impl Pacer {
    pub(crate) fn new(pace: Option<Pace>, now: Instant) -> Self {
        let bucket = pace.filter(|pace| pace.per_hour > 0).map(Pace::bucket);
        let state = State { spent_until: now, queue: vec![], next: 0, watcher: None, unused: 0 };
        Self { bucket, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Waits for a permit and takes it. It calls `on_wait` once with the expected wait.
    ///
    /// # Errors
    ///
    /// The expected wait, if it would last until `deadline` or longer.
    pub(crate) async fn acquire(
        &self,
        urgency: Urgent,
        deadline: Instant,
        on_wait: impl FnOnce(Duration),
    ) -> Result<Permit<'_>, Duration> {
        let Some(bucket) = self.bucket else { return Ok(Permit { pacer: self, is_used: true }) };
        let now = Instant::now();
        let position = {
            let mut state = self.state();
            let wait = state.wait_of_new(bucket, urgency.now(), now);
            if wait.is_zero() && state.queue.is_empty() {
                return Ok(self.take(&mut state, bucket, now));
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
        match timeout_at(deadline, self.wait_in_queue(bucket, &position)).await {
            Ok(permit) => Ok(permit),
            Err(_) => {
                drop(position);
                Err(self.state().wait_of_new(bucket, urgency.now(), Instant::now()))
            }
        }
    }

    async fn wait_in_queue(&self, bucket: LeakyBucket, position: &QueuePosition<'_>) -> Permit<'_> {
        loop {
            let mut changed = pin!(self.changed.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            changed.as_mut().enable();
            let due = {
                let mut state = self.state();
                let now = Instant::now();
                let first = state.first();
                let is_first = first == Some(position.number);
                let wait = bucket.wait(state.spent_until.saturating_duration_since(now));
                if is_first && wait.is_zero() {
                    return self.take(&mut state, bucket, now);
                }
                // Only the first request has a timer. The first request can change unnoticed when
                // waiters join or leave its fetch.
                if state.watcher != first {
                    state.watcher = first;
                    if !is_first {
                        self.changed.notify_waiters();
                    }
                }
                is_first.then_some(now + wait)
            };
            match due {
                Some(due) => drop(timeout_at(due, changed).await),
                None => changed.await,
            }
        }
    }

    fn take(&self, state: &mut State, bucket: LeakyBucket, now: Instant) -> Permit<'_> {
        state.spent_until = state.spent_until.max(now) + bucket.interval();
        state.unused += 1;
        Permit { pacer: self, is_used: false }
    }

    /// Takes a permit whether it is due or not.
    #[cfg(test)]
    pub(crate) fn spend(&self, now: Instant) {
        if let Some(bucket) = self.bucket {
            let permit = self.take(&mut self.state(), bucket, now);
            permit.used();
        }
    }

    /// The wait of a new single request. It takes no permit.
    pub(crate) fn wait(&self, now: Instant) -> Duration {
        let wait = |bucket| self.state().wait_of_new(bucket, true, now);
        self.bucket.map_or(Duration::ZERO, wait)
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
        if let Some(bucket) = self.pacer.bucket {
            let mut state = self.pacer.state();
            state.unused -= 1;
            if let Some(before) = state.spent_until.checked_sub(bucket.interval()) {
                state.spent_until = before;
            }
        }
        self.pacer.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
