//! The slots of batches, and the counters of their entries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Batches since the client was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchReport {
    /// The number of running batches.
    pub running: usize,
    /// All entries: queued, running and done.
    pub entries: u64,
    /// Entries with a transcript.
    pub succeeded: u64,
    /// Entries without a transcript.
    pub failed: u64,
}

/// The slots of batches, and the counters of their entries.
pub(crate) struct Batches {
    slots: Arc<Semaphore>,
    max: usize,
    entries: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
}

impl Batches {
    pub(crate) fn new(max: usize) -> Self {
        let max = max.min(Semaphore::MAX_PERMITS);
        let zero = AtomicU64::default;
        let slots = Arc::new(Semaphore::new(max));
        Self { slots, max, entries: zero(), succeeded: zero(), failed: zero() }
    }

    /// The maximum number of concurrent batches.
    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Takes a slot. `None` if all slots are taken.
    pub(crate) fn take_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    pub(crate) fn note_listed(&self) {
        self.entries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note_done(&self, succeeded: bool) {
        let count = if succeeded { &self.succeeded } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn report(&self) -> BatchReport {
        BatchReport {
            running: self.max - self.slots.available_permits(),
            entries: self.entries.load(Ordering::Relaxed),
            succeeded: self.succeeded.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }
}
