//! The activity of a connection, shared between its stream and its requests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;

use crate::drain::Drain;

/// The requests of one connection.
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    opened: Instant,
    /// When the last request ended, in milliseconds since `opened`.
    quiet_since: AtomicU64,
    drain: Drain,
    /// HTTP/2 only, where a caller can stall one response while it reads others: the stall of each
    /// response in flight.
    stalls: Option<Mutex<Vec<Weak<Stall>>>>,
}

/// Since when a frame of a response waits for the caller to read it.
type Stall = Mutex<Option<Instant>>;

/// A request in flight. Dropping it ends the request.
pub(super) struct RequestGuard {
    activity: Arc<Activity>,
    stall: Option<Arc<Stall>>,
    ended: Option<Instant>,
}

impl Activity {
    pub(super) fn new(drain: Drain, is_http2: bool) -> Self {
        Self {
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            opened: Instant::now(),
            quiet_since: AtomicU64::new(0),
            drain,
            stalls: is_http2.then(Mutex::default),
        }
    }

    pub(super) fn begin(self: &Arc<Self>) -> RequestGuard {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let stall = self.stalls.as_ref().map(|stalls| {
            let own = Arc::new(Stall::default());
            let mut stalls = lock(stalls);
            stalls.retain(|stall| stall.strong_count() > 0);
            stalls.push(Arc::downgrade(&own));
            own
        });
        RequestGuard { activity: Arc::clone(self), stall, ended: None }
    }

    /// How many requests have begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.begun() != self.ended.load(Ordering::Relaxed)
    }

    pub(super) fn is_http2(&self) -> bool {
        self.stalls.is_some()
    }

    /// When the last request ended.
    pub(super) fn quiet_since(&self) -> Instant {
        self.opened + Duration::from_millis(self.quiet_since.load(Ordering::Relaxed))
    }

    /// Since when the longest stalled response waits.
    pub(super) fn stalled_since(&self) -> Option<Instant> {
        let stalls = lock(self.stalls.as_ref()?);
        stalls.iter().filter_map(|stall| *lock(&*stall.upgrade()?)).min()
    }
}

impl RequestGuard {
    pub(super) fn is_draining(&self) -> bool {
        self.activity.drain.has_begun()
    }

    /// Records that the whole response was complete at `at`. HTTP/1 sends it at once, so the guard need
    /// not read the clock again.
    pub(super) fn completed(&mut self, at: Instant) {
        self.ended = self.stall.is_none().then_some(at);
    }

    /// Records whether a frame of the response waits to be sent.
    pub(super) fn set_waiting(&self, is_waiting: bool) {
        if let Some(stall) = &self.stall {
            *lock(stall) = is_waiting.then(Instant::now);
        }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let Activity { opened, quiet_since, ended, .. } = &*self.activity;
        let now = self.ended.unwrap_or_else(Instant::now);
        let since_opened = now.saturating_duration_since(*opened);
        quiet_since.store(since_opened.as_millis() as u64, Ordering::Relaxed);
        ended.fetch_add(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
