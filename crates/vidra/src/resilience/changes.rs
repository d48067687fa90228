//! A counter of changes, for callers that store the state of what changes.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts changes, and wakes those who wait for the next one. Clones share the count.
#[derive(Debug, Clone)]
pub(crate) struct Changes(Arc<watch::Sender<u64>>);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Counts a change.
    pub(crate) fn note(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// The count, which can be awaited.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
