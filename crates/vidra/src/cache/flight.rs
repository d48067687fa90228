//! Coalescing: whoever asks for what is being asked for already waits for that answer.

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

/// All that is being asked for, by key.
pub(crate) struct Flights<T> {
    by_key: Mutex<HashMap<String, Flight<T>>>,
    /// How long a failure is told without asking again.
    failures_last: Duration,
}

enum Flight<T> {
    UnderWay(UnderWay<T>),
    /// It failed. For a moment everybody who asks is told so: a platform in trouble is not helped by
    /// a thousand who ask at once whether it still is.
    Failed {
        error: Error,
        until: Instant,
    },
}

struct UnderWay<T> {
    shared: Arc<Shared<T>>,
    /// When those who wait for it stop waiting.
    overdue: Instant,
    waiters: WaiterCount,
}

/// The state that leader and followers of one flight share. A `watch` channel would wake its receivers in
/// random order, and a simulation could not replay.
struct Shared<T> {
    /// `None` until it has ended.
    end: Mutex<Option<End<T>>>,
    ended: Notify,
}

#[derive(Clone)]
enum End<T> {
    Landed(Result<T>),
    /// The leader went away.
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

/// What one who comes to ask has to do.
pub(crate) enum Boarding<T: Clone> {
    /// Ask, and say what came of it; or have it asked, and wait like everybody else.
    Lead(Lead<T>, Joined<T>),
    /// Wait for the one who asks.
    Join(Joined<T>),
    /// It has just failed.
    Failed(Error),
}

/// The duty to ask, and to tell. Dropped without a word, the next in line asks.
pub(crate) struct Lead<T: Clone> {
    flights: Arc<Flights<T>>,
    key: String,
    shared: Arc<Shared<T>>,
    /// Of those who wait to be told.
    pub(crate) waiters: WaiterCount,
}

/// A wait for an answer.
pub(crate) struct Joined<T> {
    flight: UnderWay<T>,
    /// Whether it is asked for in the name of the one who waits.
    is_own: bool,
    _guard: WaiterGuard,
}

/// Why a wait ended without an answer.
pub(crate) enum LeaderGone<T> {
    /// The one who asked panicked.
    Panicked,
    /// The one who asked went away before the end.
    Left,
    /// The one who asked failed for reasons of its own, which are none of ours.
    ForItself,
    /// The one who asked takes too long, and may be waited for further.
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

    /// Joins the flight for `key`, or leads a new one. `known` is looked at under the same lock: an
    /// answer that came a moment ago ends the matter.
    pub(crate) fn board<F>(
        self: &Arc<Self>,
        key: &str,
        patience: Duration,
        urgency: Urgency,
        known: impl FnOnce() -> Option<F>,
    ) -> Result<Boarding<T>, F> {
        let now = Instant::now();
        let mut flights = self.lock();
        if let Some(flight) = flights.get(key) {
            match flight {
                Flight::UnderWay(flight) if flight.overdue > now => {
                    return Ok(Boarding::Join(Joined::at(flight, false, urgency)));
                }
                Flight::Failed { error, until } if *until > now => {
                    return Ok(Boarding::Failed(error.clone()));
                }
                _ => {}
            }
        }
        if let Some(found) = known() {
            return Err(found);
        }
        let (shared, waiters) = (Arc::new(Shared::new()), WaiterCount::default());
        let flight = UnderWay { shared, overdue: now + patience, waiters };
        flights.insert(key.to_owned(), Flight::UnderWay(flight.clone()));
        // Failures that nobody asked about again.
        if flights.len().is_multiple_of(64) {
            flights.retain(
                |_, flight| !matches!(flight, Flight::Failed { until, .. } if *until <= now),
            );
        }
        let (shared, waiters) = (Arc::clone(&flight.shared), flight.waiters.clone());
        let lead = Lead { flights: Arc::clone(self), key: key.to_owned(), shared, waiters };
        Ok(Boarding::Lead(lead, Joined::at(&flight, true, urgency)))
    }

    /// How many flights are under way, and how many wait for them.
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
    /// Tells everybody who waits. What failed is told for a moment longer, unless it was our bug, is
    /// nobody else's matter, or costs nothing to find out again.
    pub(crate) fn land(self, outcome: Result<T>) {
        if let Err(error) = &outcome
            && let Entry::Occupied(mut flight) = self.flights.lock().entry(self.key.clone())
            && self.is(flight.get())
        {
            if error.is_of_one_caller() {
                // Before they are told: the others begin anew.
                flight.remove();
            } else if !matches!(error.kind(), ErrorKind::Internal | ErrorKind::Unavailable) {
                let until = Instant::now() + self.flights.failures_last;
                flight.insert(Flight::Failed { error: error.clone(), until });
            }
        }
        self.shared.end(End::Landed(outcome));
    }

    /// Whether it is this flight, and not one that replaced it.
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
        // No effect after landing. A panic drops this while the stack unwinds.
        self.shared.end(if std::thread::panicking() { End::Panicked } else { End::Left });
    }
}

impl<T: Clone> Joined<T> {
    fn at(flight: &UnderWay<T>, is_own: bool, urgency: Urgency) -> Self {
        Self { flight: flight.clone(), is_own, _guard: flight.waiters.take(urgency) }
    }

    /// The answer of the one who asks, however long it takes.
    pub(crate) async fn landed(self) -> Result<Result<T>, LeaderGone<T>> {
        let Self { flight: UnderWay { shared, .. }, is_own, _guard } = self;
        match shared.ended().await {
            End::Left => Err(LeaderGone::Left),
            End::Panicked => Err(LeaderGone::Panicked),
            End::Landed(Err(error)) if error.is_of_one_caller() && !is_own => {
                Err(LeaderGone::ForItself)
            }
            End::Landed(outcome) => Ok(outcome),
        }
    }

    /// The same until it is overdue.
    pub(crate) async fn landed_in_time(self) -> Result<Result<T>, LeaderGone<T>> {
        let guard = self._guard.clone();
        let again = Self { flight: self.flight.clone(), is_own: self.is_own, _guard: guard };
        match timeout_at(again.flight.overdue, self.landed()).await {
            Ok(ended) => ended,
            Err(_) => Err(LeaderGone::Overdue(again)),
        }
    }
}

/// The answer of whichever of two is there first.
pub(crate) async fn first<T: Clone>(
    one: Joined<T>,
    other: Joined<T>,
) -> Result<Result<T>, LeaderGone<T>> {
    match future::select(pin!(one.landed()), pin!(other.landed())).await {
        Either::Left((Err(_), other)) => other.await,
        Either::Right((Err(_), one)) => one.await,
        Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
    }
}
