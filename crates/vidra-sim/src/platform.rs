//! The simulated platform behind every interface: its world, its clock and its counts of keyless calls.

pub(crate) mod clock;

use crate::call::Call;
use crate::route::Endpoint;
use crate::world::World;
use crate::world::change::{Change, Changes, PlaylistChange, Present};
use crate::world::clock::Seconds;
use clock::Clock;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The simulated platform.
#[derive(Debug)]
pub(crate) struct Platform {
    world: World,
    seed: u64,
    start: Timestamp,
    clock: Mutex<Clock>,
    /// The scheduled changes of videos. A request works on the value that it found.
    changes: Mutex<Arc<Changes>>,
    /// Calls per documented video or feed, for those that answer differently after the first calls.
    call_counts: Mutex<BTreeMap<(Endpoint, String), u64>>,
}

impl Platform {
    /// The platform whose world is computed from `seed`, with a clock that starts at `start`.
    pub(crate) fn new(seed: u64, start: Timestamp) -> Self {
        Self {
            world: World::new(seed),
            seed,
            start,
            clock: Mutex::new(Clock::starting_at(start)),
            changes: Mutex::default(),
            call_counts: Mutex::default(),
        }
    }

    /// The world at this moment.
    pub(crate) fn world(&self) -> World {
        let changes = lock(&self.changes).clone();
        self.world.at(Present { start: self.start, now: self.time(), changes })
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The time of the platform's clock.
    pub(crate) fn time(&self) -> Timestamp {
        lock(&self.clock).now()
    }

    pub(crate) fn set_time(&self, to: Timestamp) {
        *lock(&self.clock) = Clock::starting_at(to);
    }

    pub(crate) fn advance(&self, by: Duration) {
        lock(&self.clock).advance(by);
    }

    /// The time in URLs and `Date` headers: the whole hour, so that answers within an hour are equal in every
    /// byte.
    pub(crate) fn hour(&self) -> Seconds {
        let now = self.time().as_second();
        now - now.rem_euclid(3600)
    }

    /// Schedules a change. Returns `false` if there is no such video.
    pub(crate) fn schedule(&self, video_id: &str, change: Change, at: Timestamp) -> bool {
        let Some(key) = self.world.video_key(video_id) else { return false };
        Arc::make_mut(&mut lock(&self.changes)).schedule(key, change, at);
        true
    }

    /// Schedules a change of a playlist. Returns `false` if there is no such playlist.
    pub(crate) fn schedule_playlist(
        &self,
        id: &str,
        change: PlaylistChange,
        at: Timestamp,
    ) -> bool {
        if self.world.playlist(id).is_none() {
            return false;
        }
        Arc::make_mut(&mut lock(&self.changes)).schedule_playlist(id, change, at);
        true
    }

    pub(crate) fn clear_changes(&self) {
        *lock(&self.changes) = Arc::default();
    }

    /// Counts a call: how often its endpoint was called for its video, channel or playlist, this call
    /// included.
    pub(crate) fn count_call(&self, call: &Call) -> u64 {
        let names = ["videoId", "channel_id", "playlist_id"];
        let subject = names.iter().find_map(|name| call.query.get(name));
        let subject = subject.unwrap_or_default().to_owned();
        let mut call_counts = lock(&self.call_counts);
        let count = call_counts.entry((call.endpoint, subject)).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn reset_call_counts(&self) {
        lock(&self.call_counts).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
