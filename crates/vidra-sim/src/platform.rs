//! The simulated platform behind every interface: its world, its clock and its counts of keyless calls.

use crate::call::Call;
use crate::route::Endpoint;
use crate::world::World;
use crate::world::clock::{LAST, Seconds};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The simulated platform.
#[derive(Debug)]
pub(crate) struct Platform {
    world: World,
    seed: u64,
    started: Instant,
    /// Calls per documented video or feed, for those that answer differently after the first calls.
    call_counts: Mutex<BTreeMap<(Endpoint, String), u64>>,
}

impl Platform {
    /// The platform whose world is computed from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let world = World::new(seed);
        Self { world, seed, started: Instant::now(), call_counts: Mutex::default() }
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The time in answers: the hour on the tokio clock, counted from the day after the newest video. The
    /// world does not age, but URLs expire. Within an hour answers are equal in every byte.
    pub(crate) fn now(&self) -> Seconds {
        let hours = self.started.elapsed().as_secs() / 3600;
        LAST + hours as Seconds * 3600
    }

    /// Counts a call: how often its endpoint was called for its video, channel or playlist, this call
    /// included.
    pub(crate) fn count_call(&self, call: &Call) -> u64 {
        let names = ["videoId", "channel_id", "playlist_id"];
        let subject = names.iter().find_map(|name| call.query.get(name));
        let subject = subject.unwrap_or_default().to_owned();
        let mut call_counts = self.call_counts();
        let count = call_counts.entry((call.endpoint, subject)).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn reset_call_counts(&self) {
        self.call_counts().clear();
    }

    fn call_counts(&self) -> MutexGuard<'_, BTreeMap<(Endpoint, String), u64>> {
        self.call_counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
