//! Orders the writes of each key by the time of their calls.
//!
//! A cancelled caller leaves, but its thread continues to write. That late write must not overwrite
//! a newer put or removal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::folder::Place;
use super::lock;

/// Callers take turns, so the lock is held only briefly and never during disk I/O.
#[derive(Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    /// The last number given out.
    last: u64,
    /// The number of the last clear.
    cleared: u64,
    /// The locations with writes in progress.
    places: HashMap<Place, UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// The number of open turns.
    writes: usize,
    /// The last turn that took effect.
    done: u64,
}

impl Turns {
    /// Takes the next turn to write to `place`.
    pub(super) fn take(self: &Arc<Self>, place: Place) -> Turn {
        let mut state = self.lock();
        state.last += 1;
        state.places.entry(place.clone()).or_default().writes += 1;
        Turn { turns: Arc::clone(self), place, number: state.last }
    }

    /// Takes the next turn to clear the store.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        state.last
    }

    /// Ends all turns before `number`, because the store is being cleared.
    pub(super) fn clear(&self, number: u64) {
        let mut state = self.lock();
        state.cleared = state.cleared.max(number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

/// A turn to write. It is held as long as the write can still take effect.
pub(super) struct Turn {
    turns: Arc<Turns>,
    pub(super) place: Place,
    number: u64,
}

impl Turn {
    /// Whether a later write has taken effect. The caller must hold the lock of the subfolder for
    /// the check, the write and [`Turn::done`].
    pub(super) fn is_over(&self) -> bool {
        let state = self.turns.lock();
        let done = state.places.get(&self.place).map_or(0, |place| place.done);
        self.number < done.max(state.cleared)
    }

    /// Records that this write took effect.
    pub(super) fn done(&self) {
        if let Some(place) = self.turns.lock().places.get_mut(&self.place) {
            place.done = self.number;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        if let Some(place) = state.places.get_mut(&self.place) {
            place.writes -= 1;
            if place.writes == 0 {
                state.places.remove(&self.place);
            }
        }
    }
}
