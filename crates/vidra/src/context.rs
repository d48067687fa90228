//! The plain data of one operation: how long it may take, who pays for it, who waits for it, and how it uses
//! the cache.

mod bill;
pub(crate) mod waiters;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::error::{Error, Reason};
use waiters::{Urgency, Waiters};

pub use bill::Cost;
pub(crate) use bill::{Bill, Charged, Refused};

/// What travels with an operation from the client down to one exchange.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) mode: CacheMode,
    /// Whether this is part of a composite, which is counted in its place.
    pub(crate) is_part: bool,
    /// When the operation has to end.
    pub(crate) deadline: Instant,
    pub(crate) bill: Bill,
    /// The callers of the shared fetch that this operation is part of.
    pub(crate) waiters: Waiters,
    pub(crate) urgency: Urgency,
    pub(crate) slot: Slot,
    /// Called with the time that the operation has to wait for its turn at the platform.
    pub(crate) on_wait: Option<OnWait>,
}

/// The slot of an operation for its uncached fetches. All its parts share it, and the last one to end releases it.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Mutex<SlotState>>);

enum SlotState {
    /// It is taken with the first uncached fetch.
    NotTaken,
    Taken {
        _permit: OwnedSemaphorePermit,
    },
    /// The operation is limited in another way.
    NotNeeded,
}

impl Slot {
    pub(crate) fn not_taken() -> Self {
        Self(Arc::new(Mutex::new(SlotState::NotTaken)))
    }

    pub(crate) fn not_needed() -> Self {
        Self(Arc::new(Mutex::new(SlotState::NotNeeded)))
    }

    /// Takes one of these slots, unless the operation has one. False if there is none.
    pub(crate) fn take(&self, slots: &Arc<Semaphore>) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let SlotState::NotTaken = *state {
            let Ok(_permit) = Arc::clone(slots).try_acquire_owned() else { return false };
            *state = SlotState::Taken { _permit };
        }
        true
    }
}

pub(crate) type OnWait = Arc<dyn Fn(Duration) + Send + Sync>;

/// How an operation uses the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheMode {
    /// Fresh records are served, and stale ones within their limits.
    Normal,
    /// Everything is fetched (`Cache-Control: no-cache`).
    Refresh,
}

impl Context {
    /// This context for the parts of a composite.
    pub(crate) fn for_parts(&self) -> Self {
        Self { is_part: true, ..self.clone() }
    }

    /// The time until the deadline.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// Ends work without waiters. No caller sees it: a caller that arrives later starts a new fetch.
pub(crate) fn nobody_waits() -> Error {
    Error::new(Reason::TimedOut, "Nobody waits for the answer any more").of_one_caller()
}
