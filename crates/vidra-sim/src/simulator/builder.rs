//! The builder of a simulator.

use super::{Inner, SharedState, Simulator};
use crate::platform::Platform;
use crate::record::Units;
use jiff::Timestamp;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

/// The configuration of a [`Simulator`].
#[derive(Clone, Debug)]
pub struct Builder {
    pub(super) seed: u64,
    pub(super) key: String,
    pub(super) latency: Duration,
    pub(super) limits: Units,
    pub(super) web_origin: Option<String>,
    pub(super) max_requests: usize,
    pub(super) start: Timestamp,
}

impl Builder {
    /// The seed of the world; 1 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The accepted API key; `demo-key` by default.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// The latency of every call; none by default.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The daily units of the default bucket and of the search bucket; 10,000 and 100 by default.
    pub fn limits(mut self, default: u64, search: u64) -> Self {
        self.limits = Units { default, search };
        self
    }

    /// The origin of caption URLs, such as `http://127.0.0.1:3900`. By default it is the host of the request
    /// if that is this machine, and `https://www.youtube.com` otherwise.
    pub fn web_origin(mut self, origin: impl Into<String>) -> Self {
        self.web_origin = Some(origin.into());
        self
    }

    /// How many requests the record stores in full; 10,000 by default. It counts all of them.
    pub fn keep_requests(mut self, most: usize) -> Self {
        self.max_requests = most;
        self
    }

    /// The time at which the simulator's clock starts; 2026-06-01T00:00:00Z by default, so that tests are
    /// deterministic. See [`Simulator::time`].
    pub fn start_at(mut self, time: Timestamp) -> Self {
        self.start = time;
        self
    }

    /// Starts the simulator's clock at the system time, for programs that run beside others.
    pub fn system_time(self) -> Self {
        self.start_at(Timestamp::now())
    }

    /// Builds the simulator.
    pub fn build(self) -> Simulator {
        let shared = Mutex::new(SharedState { latency: self.latency, ..SharedState::default() });
        Simulator(Arc::new(Inner {
            platform: Platform::new(self.seed, self.start),
            web_origin: self.web_origin,
            key: self.key,
            limits: self.limits,
            max_requests: self.max_requests,
            shared,
            changed: Notify::default(),
        }))
    }
}
