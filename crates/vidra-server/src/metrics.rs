//! What is counted while requests are answered. Told by [`page`], which also asks the client for what
//! it counted.
//!
//! Labels hold words of ours and never what a caller sent, so that there are only so many series.

mod histogram;
pub(crate) mod page;
mod process;
mod text;
mod upstream;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;

use histogram::Histogram;

/// Everything that the service counts itself.
pub(crate) struct Metrics {
    /// By route; the last is for what has none.
    routes: Box<[OfRoute]>,
    /// How many of the counts in `routes` have been used.
    used: AtomicUsize,
    /// Requests beyond the most counts that may be used.
    uncounted: AtomicU64,
    /// Requests that wait for their answer, and streams that have not ended.
    pub(crate) in_flight: AtomicI64,
    pub(crate) connections: Connections,
    /// Requests that were turned away to protect the service, by reason.
    pub(crate) limited: ByReason,
}

/// A route by its place in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route(u8);

/// The counts of a route.
struct OfRoute {
    template: Box<str>,
    /// By method and status.
    counts: [[AtomicU64; STATUSES.len() + 1]; METHODS.len() + 1],
    times: Histogram,
}

/// Methods that are told by name; the first is the most frequent.
const METHODS: [Method; 3] = [Method::GET, Method::HEAD, Method::POST];

/// Statuses that are told by number; the most frequent first.
const STATUSES: [u16; 20] = [
    200, 304, 404, 400, 429, 503, 401, 403, 405, 408, 409, 411, 413, 415, 421, 499, 500, 502, 504,
    204,
];

/// The status of a request whose caller left before there was one: nginx made it known.
pub(crate) const ABANDONED: u16 = 499;

/// What is neither a known method, status nor route.
const OTHER: &str = "other";

/// How many series of routes, methods and statuses there may be. A service sees a hundred; who tries
/// every combination shall not fill the memory of whoever keeps them.
const MOST_COUNTS: usize = 200;

impl Metrics {
    /// For routes with these templates.
    pub(crate) fn new(templates: impl Iterator<Item = String>) -> Self {
        let templates = templates.chain([OTHER.to_owned()]);
        let routes: Box<[OfRoute]> = templates.map(OfRoute::new).collect();
        debug_assert!(u8::try_from(routes.len()).is_ok(), "a route is told by one byte");
        Self {
            routes,
            used: AtomicUsize::new(0),
            uncounted: AtomicU64::new(0),
            in_flight: AtomicI64::new(0),
            connections: Connections::default(),
            limited: ByReason::default(),
        }
    }

    /// The route with this template; that of others where it is not known.
    pub(crate) fn route(&self, template: Option<&str>) -> Route {
        let named = &self.routes[..self.routes.len() - 1];
        let place = template.and_then(|it| named.iter().position(|route| *route.template == *it));
        Route(place.unwrap_or(named.len()) as u8)
    }

    /// The template of a route.
    pub(crate) fn template(&self, route: Route) -> &str {
        &self.routes[usize::from(route.0)].template
    }

    /// Counts a request that is over. Atomics only: this is on the way of answers that are ready.
    pub(crate) fn count(&self, route: Route, method: &Method, told: u16, time: Duration) {
        let OfRoute { counts, times, .. } = &self.routes[usize::from(route.0)];
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let status = STATUSES.iter().position(|known| *known == told).unwrap_or(STATUSES.len());
        let is_ours = matches!(told, 200 | 304 | 500..);
        let count = &counts[method][status];
        let is_allowed = count.load(Ordering::Relaxed) > 0
            // Whoever tries every combination shall not hide what goes wrong here.
            || is_ours
            || self.used.fetch_add(1, Ordering::Relaxed) < MOST_COUNTS;
        let count = if is_allowed { count } else { &self.uncounted };
        count.fetch_add(1, Ordering::Relaxed);
        times.add(time);
    }
}

impl OfRoute {
    fn new(template: String) -> Self {
        Self {
            template: template.into_boxed_str(),
            counts: Default::default(),
            times: Histogram::default(),
        }
    }
}

/// Connections, as the accept loop tells of them.
#[derive(Default)]
pub(crate) struct Connections {
    open: AtomicI64,
    refused: ByReason,
}

impl Connections {
    pub(crate) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// One that was not taken; the reason is a word.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.add(reason);
    }
}

/// Counts by a reason. A lock will do: a refusal is no answer that is ready.
#[derive(Default)]
pub(crate) struct ByReason(Mutex<BTreeMap<&'static str, u64>>);

impl ByReason {
    pub(crate) fn add(&self, reason: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    fn told(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
