//! The counters of the service.
//!
//! Labels are words of the service and never text of a caller, which bounds the number of series.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;

use vidra::{Error, ErrorKind, Histogram, Reason};

/// Everything that the service counts itself. The client counts what it fetches and caches.
#[derive(Default)]
pub(crate) struct Counters {
    /// By [`RouteId`]; the last one counts requests without a known route.
    pub(crate) routes: Box<[RouteCounters]>,
    /// How many series of `routes` are in use.
    series: AtomicUsize,
    /// Requests beyond [`MAX_SERIES`].
    pub(crate) overflow: AtomicU64,
    /// Requests without a response, and streams that have not ended.
    pub(crate) in_flight: AtomicI64,
    pub(crate) connections: ConnectionCounters,
    /// Requests that were refused because of a limit or an access rule, by reason.
    pub(crate) refused: ReasonCounter,
}

/// The index of a route in [`Counters::routes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RouteId(u8);

/// The counters of one route.
pub(crate) struct RouteCounters {
    pub(crate) template: Box<str>,
    /// By method and status, in the order of [`METHODS`] and [`STATUSES`]; the last of each counts all
    /// others.
    pub(crate) requests: [[AtomicU64; STATUSES.len() + 1]; METHODS.len() + 1],
    /// Whether its requests may last for an hour.
    pub(crate) is_long: bool,
    pub(crate) times: Histogram,
}

/// The upper bounds of response times in microseconds: fine for cached responses, wide for fetches.
const BOUNDS: [u64; 16] = [
    100, 500, 1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// The upper bounds for routes whose requests may last for an hour.
const LONG_BOUNDS: [u64; 11] = [
    100_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    1_200_000_000,
    2_400_000_000,
    3_600_000_000,
];

/// Methods with a label of their own; the most frequent first.
pub(crate) const METHODS: [Method; 5] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE];

/// Statuses with a label of their own; the most frequent first.
pub(crate) const STATUSES: [u16; 26] = [
    200, 304, 404, 400, 429, 503, 401, 403, 405, 406, 408, 409, 411, 413, 415, 421, 499, 500, 502,
    504, 204, 307, 308, 202, 422, 201,
];

/// The status of a request whose caller disconnected before the response, as nginx counts it.
pub(crate) const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The label of an unknown method, status or route.
pub(crate) const OTHER: &str = "other";

/// The maximum number of series of routes, methods and statuses. A service uses about a hundred. A caller
/// that tries every combination must not fill the memory of the metrics store.
const MAX_SERIES: usize = 200;

impl Counters {
    /// Counters for routes with these templates. Requests to the `long` ones may last for an hour.
    pub(crate) fn new(templates: impl Iterator<Item = String>, long: &[&str]) -> Self {
        let templates = templates.chain([OTHER.to_owned()]);
        let routes: Box<[_]> = templates
            .map(|template| {
                let is_long = long.contains(&&*template);
                let bounds: &[u64] = if is_long { &LONG_BOUNDS } else { &BOUNDS };
                RouteCounters {
                    template: template.into(),
                    requests: Default::default(),
                    is_long,
                    times: Histogram::new(bounds),
                }
            })
            .collect();
        debug_assert!(u8::try_from(routes.len()).is_ok(), "a route id is one byte");
        Self { routes, ..Self::default() }
    }

    /// The route with this template, or the one for unknown routes.
    pub(crate) fn route(&self, template: Option<&str>) -> RouteId {
        let named = &self.routes[..self.routes.len() - 1];
        let index = template.and_then(|it| named.iter().position(|route| *route.template == *it));
        RouteId(index.unwrap_or(named.len()) as u8)
    }

    pub(crate) fn template(&self, route: RouteId) -> &str {
        &self.routes[usize::from(route.0)].template
    }

    /// Counts a request that has ended. Uses atomics only, because cached responses pass here.
    pub(crate) fn count(&self, route: RouteId, method: &Method, status: u16, time: Duration) {
        let RouteCounters { requests, times, .. } = &self.routes[usize::from(route.0)];
        let method = METHODS.iter().position(|known| known == method).unwrap_or(METHODS.len());
        let column = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len());
        let count = &requests[method][column];
        let has_series = count.load(Ordering::Relaxed) > 0
            // Successes and our own failures always count, whatever callers have used up.
            || matches!(status, 200 | 304 | 500..)
            || self.series.fetch_add(1, Ordering::Relaxed) < MAX_SERIES;
        let count = if has_series { count } else { &self.overflow };
        count.fetch_add(1, Ordering::Relaxed);
        times.add(time);
    }
}

impl Counters {
    /// Counts the error of a request if it is a refusal: the request was valid, and a limit, an access rule or
    /// the state of the service prevents it.
    pub(crate) fn note_error(&self, error: &Error) {
        let reason = error.reason();
        let is_refusal = match reason {
            Reason::UnknownHost
            | Reason::OriginNotAllowed
            | Reason::CallerKeyMissing
            | Reason::CallerKeyInvalid
            | Reason::OperatorKeyRequired => true,
            reason => matches!(
                reason.kind(),
                ErrorKind::QuotaExhausted
                    | ErrorKind::RateLimited
                    | ErrorKind::UpstreamKey
                    | ErrorKind::Unavailable
                    | ErrorKind::Blocked
            ),
        };
        if is_refusal {
            self.refused.add(reason.code());
        }
    }
}

/// Connections, as the accept loop counts them.
#[derive(Default)]
pub(crate) struct ConnectionCounters {
    pub(crate) open: AtomicI64,
    /// Connections that were refused, or closed early by the service.
    pub(crate) refused: ReasonCounter,
}

/// Counts by reason. It locks, which only rejections do.
#[derive(Default)]
pub(crate) struct ReasonCounter(Mutex<BTreeMap<&'static str, u64>>);

impl ReasonCounter {
    pub(crate) fn add(&self, reason: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
