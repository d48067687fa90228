//! What the cache gives: an answer and how it came about, and an account of itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::freshness::{Life, Resource};
use crate::error::{Error, Result};
use crate::store::{Failures, Usage};

/// An answer as JSON, and how it came about.
#[derive(Debug, Clone)]
pub struct Cached {
    /// The JSON.
    pub body: Bytes,
    /// Whether anybody had to be asked.
    pub outcome: Outcome,
    /// How long ago it was fetched.
    pub age: Duration,
    /// The ages at which it stops being good for one thing or another.
    pub life: Life,
}

impl Cached {
    /// For how much longer it is fresh.
    pub fn fresh_for(&self) -> Duration {
        self.life.ttl.saturating_sub(self.age)
    }

    /// Reads the JSON.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(Error::internal)
    }
}

/// How an answer came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was there and fresh.
    Hit,
    /// It was there and not fresh any more; it is being renewed, or could not be.
    Stale,
    /// The platform was asked.
    Miss,
    /// Somebody else was asking the platform.
    Coalesced,
}

impl Outcome {
    /// The outcome that took more effort.
    pub(crate) fn worst(self, other: Self) -> Self {
        let effort = |outcome| match outcome {
            Self::Hit => 0,
            Self::Stale => 1,
            Self::Coalesced => 2,
            Self::Miss => 3,
        };
        if effort(other) > effort(self) { other } else { self }
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Miss => "miss",
            Self::Coalesced => "coalesced",
        }
    }
}

/// How often answers came about in each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Fresh ones that were there.
    pub hits: u64,
    /// Ones that were there and not fresh any more.
    pub stale: u64,
    /// Ones that the platform was asked for.
    pub misses: u64,
    /// Ones that somebody else was asking the platform for.
    pub coalesced: u64,
}

impl Counts {
    /// The part of answers that were there, fresh or not; 0 where there were none.
    pub fn hit_ratio(&self) -> f64 {
        let there = self.hits + self.stale;
        let all = there + self.misses + self.coalesced;
        if all == 0 { 0.0 } else { there as f64 / all as f64 }
    }
}

/// Counts how answers come about, by kind and way.
#[derive(Default)]
pub(super) struct Tally {
    counts: [[AtomicU64; 4]; Resource::ALL.len()],
    oldest: Mutex<Oldest>,
}

/// The greatest age of what was sent although it was not fresh: in this minute and in the last.
#[derive(Debug, Default)]
struct Oldest {
    /// Counted in minutes.
    minute: u64,
    now: Duration,
    before: Duration,
}

impl Oldest {
    fn turn(&mut self, minute: u64) {
        if self.minute != minute {
            let before = if self.minute + 1 == minute { self.now } else { Duration::ZERO };
            *self = Self { minute, now: Duration::ZERO, before };
        }
    }
}

impl Tally {
    pub(super) fn add(&self, resource: Resource, outcome: Outcome) {
        self.counts[resource as usize][outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that something of this age was sent although it is not fresh. `now` is in milliseconds.
    pub(super) fn note_stale(&self, age: Duration, now: u64) {
        let mut oldest = self.oldest(now);
        oldest.now = oldest.now.max(age);
    }

    /// The greatest age of those in the last minute or two.
    pub(super) fn oldest_stale(&self, now: u64) -> Duration {
        let oldest = self.oldest(now);
        oldest.now.max(oldest.before)
    }

    fn oldest(&self, now: u64) -> MutexGuard<'_, Oldest> {
        let mut oldest = self.oldest.lock().unwrap_or_else(PoisonError::into_inner);
        oldest.turn(now / 60_000);
        oldest
    }

    pub(super) fn of(&self, resource: Resource) -> Counts {
        let count =
            |outcome| self.counts[resource as usize][outcome as usize].load(Ordering::Relaxed);
        Counts {
            hits: count(Outcome::Hit),
            stale: count(Outcome::Stale),
            misses: count(Outcome::Miss),
            coalesced: count(Outcome::Coalesced),
        }
    }
}

/// What the cache holds and what it was good for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CacheReport {
    /// By kind: how answers came about, and how much of it memory holds.
    pub resources: Vec<(Resource, Counts, Usage)>,
    /// What memory holds in all.
    pub memory: Usage,
    /// The most bytes that memory may hold.
    pub memory_limit: u64,
    /// What the store behind memory holds; `None` where there is none or it does not say.
    pub far: Option<Usage>,
    /// Whether the store behind memory failed when last tried.
    pub is_far_failing: bool,
    /// What went wrong with the store behind memory so far; `None` where there is none.
    pub far_failures: Option<Failures>,
    /// The greatest age of an answer that was sent in the last minute or two although it was not fresh;
    /// zero where there was none.
    pub oldest_stale: Duration,
    /// How many renewals have failed in a row: while this grows, what is sent grows old.
    pub renewal_failures: u32,
}
