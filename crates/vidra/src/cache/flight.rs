//! Coalesced fetches: the first caller leads a flight, and later callers follow it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{self, Either};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::context::waiters::{Urgency, WaiterCount, WaiterGuard};
use crate::error::{Error, ErrorKind, Result};

/// All flights by key.
pub(crate) struct Flights<T> {
    by_key: Mutex<HashMap<String, Flight<T>>>,
    /// How long a failure is cached.
    failures_last: Duration,
}

enum Flight<T> {
    UnderWay(UnderWay<T>),
    /// The flight failed. The failure is cached for a moment, because a thousand retries at once
    /// would not help a failing platform.
    Failed {
        error: Error,
        until: Instant,
    },
}

struct UnderWay<T> {
    shared: Arc<Shared<T>>,
    /// The time at which followers stop waiting for the leader.
    overdue: Instant,
    waiters: WaiterCount,
}

/// The state that leader and followers of one flight share. A `watch` channel would wake its
/// receivers in random order, and a simulation could not replay.
struct Shared<T> {
    /// `None` until the flight has ended.
    end: Mutex<Option<End<T>>>,
    ended: Notify,
}

#[derive(Clone)]
enum End<T> {
    Completed(Result<T>),
    /// The leader left before the end.
    Left,
    /// The leader panicked.
    Panicked,
}

impl<T: Clone> Shared<T> {
    fn new() -> Self {
        Self { end: Mutex::new(None), ended: Notify::new() }
    }

    /// Ends the flight. The first end counts.
    fn end(&self, end: End<T>) {
        self.lock().get_or_insert(end);
        self.ended.notify_waiters();
    }

    async fn ended(&self) -> End<T> {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Enabled before the check, so that no wake-up is lost between the two.
            ended.as_mut().enable();
            if let Some(end) = self.lock().clone() {
                return end;
            }
            ended.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<End<T>>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The role of a caller in a flight.
pub(crate) enum Role<T: Clone> {
    /// The caller leads: it must fetch and call [`Lead::complete`]. It can also follow its own
    /// flight.
    Lead(Lead<T>, Joined<T>),
    /// The caller follows a leader.
    Join(Joined<T>),
    /// The flight failed a moment ago.
    Failed(Error),
}

/// The duty to fetch and to report the result. If it is dropped without a result, a follower
/// becomes the new leader.
pub(crate) struct Lead<T: Clone> {
    flights: Arc<Flights<T>>,
    key: String,
    shared: Arc<Shared<T>>,
    /// The waiters of the flight.
    pub(crate) waiters: WaiterCount,
}

/// A caller that waits for a flight.
pub(crate) struct Joined<T> {
    flight: UnderWay<T>,
    /// Whether the caller also leads the flight.
    is_own: bool,
    _guard: WaiterGuard,
}

/// Why a wait ended without a result.
pub(crate) enum LeaderGone<T> {
    /// The leader panicked.
    Panicked,
    /// The leader left before the end.
    Left,
    /// The leader failed for a reason that concerns only the leader, for example its own budget.
    ForItself,
    /// The leader is overdue. The caller can continue to wait for it.
    Overdue(Joined<T>),
}

impl<T> Clone for UnderWay<T> {
    fn clone(&self) -> Self {
        let Self { shared, overdue, waiters } = self;
        Self { shared: Arc::clone(shared), overdue: *overdue, waiters: waiters.clone() }
    }
}

impl<T: Clone> Flights<T> {
    pub(crate) fn new(failures_last: Duration) -> Self {
        Self { by_key: Mutex::default(), failures_last }
    }

    /// Joins the flight for `key`, or leads a new one. It calls `known` under the same lock, so
    /// that it finds a record that was stored a moment ago.
    pub(crate) fn join_or_lead<F>(
        self: &Arc<Self>,
        key: &str,
        replace_after: Duration,
        urgency: Urgency,
        known: impl FnOnce() -> Option<F>,
    ) -> Result<Role<T>, F> {
        let now = Instant::now();
        let mut flights = self.lock();
        if let Some(flight) = flights.get(key) {
            match flight {
                Flight::UnderWay(flight) if flight.overdue > now => {
                    return Ok(Role::Join(Joined::at(flight, false, urgency)));
                }
                Flight::Failed { error, until } if *until > now => {
                    return Ok(Role::Failed(error.clone()));
                }
                _ => {}
            }
        }
        if let Some(found) = known() {
            return Err(found);
        }
        let (shared, waiters) = (Arc::new(Shared::new()), WaiterCount::default());
        let flight = UnderWay { shared, overdue: now + replace_after, waiters };
        flights.insert(key.to_owned(), Flight::UnderWay(flight.clone()));
        // Removes expired failures that no caller has requested again.
        if flights.len().is_multiple_of(64) {
            flights.retain(
                |_, flight| !matches!(flight, Flight::Failed { until, .. } if *until <= now),
            );
        }
        let (shared, waiters) = (Arc::clone(&flight.shared), flight.waiters.clone());
        let lead = Lead { flights: Arc::clone(self), key: key.to_owned(), shared, waiters };
        Ok(Role::Lead(lead, Joined::at(&flight, true, urgency)))
    }

    /// Forgets failed flights, so that the next request fetches at once.
    pub(crate) fn forget_failures(&self) {
        self.lock().retain(|_, flight| !matches!(flight, Flight::Failed { .. }));
    }

    /// The number of flights and of their waiters.
    pub(crate) fn held(&self) -> (usize, usize) {
        let flights = self.lock();
        let under_way = flights.values().filter_map(|flight| match flight {
            Flight::UnderWay(flight) => Some(flight.waiters.taken()),
            Flight::Failed { .. } => None,
        });
        under_way.fold((0, 0), |(flights, all), waiters| (flights + 1, all + waiters))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Flight<T>>> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Lead<T> {
    /// Passes the result to all followers. It also caches a failure for a moment, unless the error
    /// is internal, concerns one caller, or costs nothing to repeat.
    pub(crate) fn complete(self, outcome: Result<T>) {
        if let Entry::Occupied(mut flight) = self.flights.lock().entry(self.key.clone())
            && self.is(flight.get())
        {
            let is_brief = |kind| matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable);
            match &outcome {
                Err(error) if !error.is_for_one_caller() && !is_brief(error.kind()) => {
                    // A failure must not outlive its cause, for example the pause after a block.
                    let longest = self.flights.failures_last;
                    let lasts = error.retry_after().map_or(longest, |wait| wait.min(longest));
                    let until = Instant::now() + lasts;
                    flight.insert(Flight::Failed { error: error.clone(), until });
                }
                // Before the end, so that no later caller joins a flight that has ended.
                _ => _ = flight.remove(),
            }
        }
        self.shared.end(End::Completed(outcome));
    }

    /// Whether `flight` is this flight and not its replacement.
    fn is(&self, flight: &Flight<T>) -> bool {
        matches!(flight, Flight::UnderWay(flight) if Arc::ptr_eq(&flight.shared, &self.shared))
    }
}

impl<T: Clone> Drop for Lead<T> {
    fn drop(&mut self) {
        let mut flights = self.flights.lock();
        if flights.get(&self.key).is_some_and(|flight| self.is(flight)) {
            flights.remove(&self.key);
        }
        drop(flights);
        // It has no effect after completion. A panic drops the lead while the stack unwinds.
        self.shared.end(if std::thread::panicking() { End::Panicked } else { End::Left });
    }
}

impl<T: Clone> Joined<T> {
    fn at(flight: &UnderWay<T>, is_own: bool, urgency: Urgency) -> Self {
        let guard = match is_own {
            true => flight.waiters.take_as_leader(urgency),
            false => flight.waiters.take(urgency),
        };
        Self { flight: flight.clone(), is_own, _guard: guard }
    }

    /// Waits for the result without a time limit.
    pub(crate) async fn wait(self) -> Result<Result<T>, LeaderGone<T>> {
        let Self { flight: UnderWay { shared, .. }, is_own, _guard } = self;
        match shared.ended().await {
            End::Left => Err(LeaderGone::Left),
            End::Panicked => Err(LeaderGone::Panicked),
            End::Completed(Err(error)) if error.is_for_one_caller() && !is_own => {
                Err(LeaderGone::ForItself)
            }
            End::Completed(outcome) => Ok(outcome),
        }
    }

    /// Waits for the result until the flight is overdue.
    pub(crate) async fn wait_until_overdue(self) -> Result<Result<T>, LeaderGone<T>> {
        let guard = self._guard.clone();
        let again = Self { flight: self.flight.clone(), is_own: self.is_own, _guard: guard };
        match timeout_at(again.flight.overdue, self.wait()).await {
            Ok(ended) => ended,
            Err(_) => Err(LeaderGone::Overdue(again)),
        }
    }
}

/// Returns the first result of two flights.
pub(crate) async fn first<T: Clone>(
    one: Joined<T>,
    other: Joined<T>,
) -> Result<Result<T>, LeaderGone<T>> {
    match future::select(pin!(one.wait()), pin!(other.wait())).await {
        Either::Left((Err(_), other)) => other.await,
        Either::Right((Err(_), one)) => one.await,
        Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the cache off, the next request would get an answer from before it.
    #[tokio::test]
    async fn nobody_joins_a_flight_that_has_ended() {
        let flights = Arc::new(Flights::new(Duration::ZERO));
        let second = Duration::from_secs(1);
        let begin = || flights.join_or_lead("key", second, Urgency::Interactive, || None::<()>);
        for number in 0..2_000 {
            let Ok(Role::Lead(lead, joined)) = begin() else {
                panic!("{number}: a flight is left")
            };
            let leader = std::thread::spawn(move || lead.complete(Ok(number)));
            assert!(matches!(joined.wait().await, Ok(Ok(it)) if it == number));
            assert!(matches!(begin(), Ok(Role::Lead(..))), "{number}");
            leader.join().unwrap();
        }
    }
}
