//! How a simulator is made.

use super::{Changing, Inner, Simulator};
use crate::record::Units;
use crate::world::World;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// What a [`Simulator`] is made from.
#[derive(Clone, Debug)]
pub struct Builder {
    pub(super) seed: u64,
    pub(super) key: String,
    pub(super) latency: Duration,
    pub(super) limits: Units,
    pub(super) web_origin: Option<String>,
    pub(super) kept: usize,
}

impl Builder {
    /// The number the world is computed from; 1 unless set.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The key that is accepted; `demo-key` unless set.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// How long every call takes; nothing unless set.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Units a day in the default bucket and in that of searches; 10,000 and 100 unless set.
    pub fn limits(mut self, default: u64, search: u64) -> Self {
        self.limits = Units { default, search };
        self
    }

    /// Where the URLs of captions point to, for instance `http://127.0.0.1:3900`. Unless set it is
    /// where the request came to, if that is this machine, else `https://www.youtube.com`.
    pub fn web_origin(mut self, origin: impl Into<String>) -> Self {
        self.web_origin = Some(origin.into());
        self
    }

    /// How many requests the record keeps whole; 10,000 unless set. They are counted all the same.
    pub fn keep_requests(mut self, most: usize) -> Self {
        self.kept = most;
        self
    }

    /// The simulator.
    pub fn build(self) -> Simulator {
        let changing = Mutex::new(Changing { latency: self.latency, ..Changing::default() });
        Simulator(Arc::new(Inner {
            world: World::new(self.seed),
            seed: self.seed,
            web_origin: self.web_origin,
            born: tokio::time::Instant::now(),
            key: self.key,
            limits: self.limits,
            kept: self.kept,
            changing,
            stirred: Notify::default(),
        }))
    }
}
