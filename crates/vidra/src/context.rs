//! The plain data of one operation: deadline, payer, waiters and cache mode.

mod bill;
pub(crate) mod waiters;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::error::{Error, Reason};
use crate::video::Include;
use waiters::{Urgency, Waiters};

pub use bill::Cost;
pub(crate) use bill::{Bill, Charged, Refused};

/// The data that accompanies an operation from the client to a single exchange.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) mode: CacheMode,
    /// The members of videos that are requested.
    pub(crate) include: Include,
    /// Whether this is part of a composite, which is counted instead of its parts.
    pub(crate) is_part: bool,
    /// The deadline of the operation.
    pub(crate) deadline: Instant,
    pub(crate) bill: Bill,
    /// The waiters of the shared fetch that this operation is part of.
    pub(crate) waiters: Waiters,
    pub(crate) urgency: Urgency,
    pub(crate) slot: Slot,
    /// Called with the time that the operation has to wait for the rate limiter.
    pub(crate) on_wait: Option<OnWait>,
}

/// The slot of an operation for its uncached fetches. All parts share it, and the last one to end
/// releases it.
#[derive(Clone)]
pub(crate) struct Slot(Arc<Mutex<SlotState>>);

enum SlotState {
    /// The first uncached fetch takes it.
    NotTaken,
    Taken {
        _permit: OwnedSemaphorePermit,
    },
    /// Another limit applies to the operation.
    NotNeeded,
}

impl Slot {
    pub(crate) fn not_taken() -> Self {
        Self(Arc::new(Mutex::new(SlotState::NotTaken)))
    }

    pub(crate) fn not_needed() -> Self {
        Self(Arc::new(Mutex::new(SlotState::NotNeeded)))
    }

    /// Takes one of these slots, unless the operation already has one. Returns `false` if all are
    /// taken.
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
    /// Serves fresh records, and stale ones within their limits.
    Normal,
    /// Fetches everything (`Cache-Control: no-cache`).
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

/// The error that ends work without waiters. No caller gets it: a later caller starts a new fetch.
pub(crate) fn no_waiters() -> Error {
    Error::new(Reason::TimedOut, "No caller is waiting").for_one_caller()
}
