//! Writes of one key take effect in the order in which they were asked for.
//!
//! Who has no more patience leaves, but the thread that writes goes on. When it is done at last, it must
//! not undo what was put or removed since.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use super::folder::Place;
use super::lock;

/// Locked for moments only, never while the disk is waited for: turns are taken by callers.
#[derive(Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number last given out.
    last: u64,
    /// That of the last clearing.
    cleared: u64,
    /// The places that are being written to.
    places: HashMap<Place, UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    /// How many have a turn there.
    writes: usize,
    /// The last turn that took effect.
    done: u64,
}

impl Turns {
    /// The next turn to write to `place`.
    pub(super) fn take(self: &Arc<Self>, place: Place) -> Turn {
        let mut state = self.lock();
        state.last += 1;
        state.places.entry(place.clone()).or_default().writes += 1;
        Turn { turns: Arc::clone(self), place, number: state.last }
    }

    /// The next turn to clear everything.
    pub(super) fn number(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        state.last
    }

    /// Everything is being cleared: turns before `number` are over.
    pub(super) fn clear(&self, number: u64) {
        let mut state = self.lock();
        state.cleared = state.cleared.max(number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

/// Held as long as a write may still take effect.
pub(super) struct Turn {
    turns: Arc<Turns>,
    pub(super) place: Place,
    number: u64,
}

impl Turn {
    /// Whether a later write took effect. Asked, acted on and noted under the lock of the folder.
    pub(super) fn is_over(&self) -> bool {
        let state = self.turns.lock();
        let done = state.places.get(&self.place).map_or(0, |place| place.done);
        self.number < done.max(state.cleared)
    }

    /// Notes that this write took effect.
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
