//! Orders the writes of each key by the time of their calls.
//!
//! A cancelled caller leaves, but its thread continues to write. That late write must not overwrite
//! a newer put or removal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::folder::Location;
use super::lock;

/// The order is in memory, so the lock is held only briefly and never during disk I/O.
#[derive(Default)]
pub(super) struct WriteOrder(Mutex<State>);

#[derive(Default)]
struct State {
    /// The last number given out.
    last: u64,
    /// The number of the last clear.
    cleared: u64,
    /// The locations with writes in progress.
    locations: HashMap<Location, UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// The number of writes in progress.
    writes: usize,
    /// The last write that took effect.
    done: u64,
}

impl WriteOrder {
    /// Registers the next write to `location`.
    pub(super) fn begin(self: &Arc<Self>, location: Location) -> PendingWrite {
        let mut state = self.lock();
        state.last += 1;
        state.locations.entry(location.clone()).or_default().writes += 1;
        PendingWrite { order: Arc::clone(self), location, number: state.last }
    }

    /// The number of a clear, in the order of the writes.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        state.last
    }

    /// Ends all writes before `number`, because the store is being cleared.
    pub(super) fn clear(&self, number: u64) {
        let mut state = self.lock();
        state.cleared = state.cleared.max(number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

/// A write in progress. It is held as long as the write can still take effect.
pub(super) struct PendingWrite {
    order: Arc<WriteOrder>,
    pub(super) location: Location,
    number: u64,
}

impl PendingWrite {
    /// Whether a later write has taken effect. The caller must hold the lock of the subfolder for
    /// the check, the write and [`PendingWrite::done`].
    pub(super) fn is_over(&self) -> bool {
        let state = self.order.lock();
        let done = state.locations.get(&self.location).map_or(0, |location| location.done);
        self.number < done.max(state.cleared)
    }

    /// Records that this write took effect.
    pub(super) fn done(&self) {
        if let Some(location) = self.order.lock().locations.get_mut(&self.location) {
            location.done = self.number;
        }
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        if let Some(location) = state.locations.get_mut(&self.location) {
            location.writes -= 1;
            if location.writes == 0 {
                state.locations.remove(&self.location);
            }
        }
    }
}
