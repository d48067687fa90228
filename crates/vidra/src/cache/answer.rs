//! The answers of the cache, and its report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::freshness::{Kind, Life};
use crate::error::{Error, Result};
use crate::spool::Body;
use crate::store::{Failures, Usage};

/// An answer as JSON, with its cache outcome and age.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cached<B = Bytes> {
    /// The JSON.
    pub body: B,
    /// The cache outcome.
    pub outcome: CacheOutcome,
    /// The time since the fetch.
    pub age: Duration,
    /// The lifetime of the answer.
    pub life: Life,
}

impl<B> Cached<B> {
    /// A composite of `parts`. It is not fresh if one of them is stale: the next request gets the
    /// renewed part instead of this answer.
    pub(crate) fn composite(body: B, parts: Parts, age: Duration, mut life: Life) -> Self {
        if parts.has_stale {
            life.ttl = life.ttl.min(age);
        }
        Self { body, outcome: parts.worst, age, life }
    }

    /// The same answer with another body.
    pub fn with_body<C>(self, body: C) -> Cached<C> {
        Cached { body, outcome: self.outcome, age: self.age, life: self.life }
    }

    /// The body, and the answer without it.
    pub fn split(self) -> (B, Cached<()>) {
        let Self { body, outcome, age, life } = self;
        (body, Cached { body: (), outcome, age, life })
    }

    /// The remaining time for which the answer is fresh.
    pub fn fresh_for(&self) -> Duration {
        self.life.ttl.saturating_sub(self.age)
    }
}

impl Cached {
    /// The answer as one that may be in a file. This one is in memory, where the cache counts it.
    pub(crate) fn into_body(self) -> Cached<Body> {
        let body = Body::Memory(self.body.clone(), None);
        self.with_body(body)
    }

    /// Deserialises the JSON.
    ///
    /// # Errors
    ///
    /// [`Reason::Internal`](crate::Reason::Internal) if the JSON does not match `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body).map_err(Error::internal)
    }
}

/// The cache outcome of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheOutcome {
    /// The cache had a fresh answer.
    Hit,
    /// The cache had a stale answer, and served it because a fetch failed, was slow, is running in
    /// the background, or is not allowed now.
    Stale,
    /// The client fetched the answer from YouTube.
    Miss,
    /// Another caller was already fetching the answer.
    Coalesced,
}

impl CacheOutcome {
    /// The more expensive of two outcomes.
    pub(crate) fn worst(self, other: Self) -> Self {
        let effort = |outcome| match outcome {
            Self::Hit => 0,
            Self::Stale => 1,
            Self::Coalesced => 2,
            Self::Miss => 3,
        };
        if effort(other) > effort(self) { other } else { self }
    }

    /// The name of the outcome, for example `hit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Miss => "miss",
            Self::Coalesced => "coalesced",
        }
    }
}

/// The cache outcomes of the parts of a composite. Without parts, nothing was fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    worst: CacheOutcome,
    /// `worst` does not say it if another part was fetched.
    has_stale: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self::from(CacheOutcome::Hit)
    }
}

impl From<CacheOutcome> for Parts {
    fn from(outcome: CacheOutcome) -> Self {
        Self { worst: outcome, has_stale: outcome == CacheOutcome::Stale }
    }
}

impl Parts {
    /// The most expensive outcome.
    pub(crate) fn worst(self) -> CacheOutcome {
        self.worst
    }

    /// These parts and others.
    pub(crate) fn with(self, others: impl Into<Self>) -> Self {
        let Self { worst, has_stale } = others.into();
        Self { worst: self.worst.worst(worst), has_stale: self.has_stale || has_stale }
    }
}

/// The number of answers with each outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Fresh answers from the cache.
    pub hits: u64,
    /// Stale answers from the cache.
    pub stale: u64,
    /// Answers that the client fetched from YouTube.
    pub misses: u64,
    /// Answers that another caller was already fetching.
    pub coalesced: u64,
}

impl Counts {
    /// The share of answers from the cache, fresh or stale. 0 if there are no answers.
    pub fn hit_ratio(&self) -> f64 {
        let there = self.hits + self.stale;
        let all = there + self.misses + self.coalesced;
        if all == 0 { 0.0 } else { there as f64 / all as f64 }
    }
}

/// Counts answers by kind and outcome.
pub(super) struct Tally {
    counts: Vec<[AtomicU64; 4]>,
    oldest: Mutex<Oldest>,
}

/// The maximum age of stale answers in this minute and in the previous one.
#[derive(Debug, Default)]
struct Oldest {
    /// Unix time in minutes.
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
    /// Creates counters for this many kinds.
    pub(super) fn new(kinds: usize) -> Self {
        let counts = (0..kinds).map(|_| Default::default()).collect();
        Self { counts, oldest: Mutex::default() }
    }

    pub(super) fn add(&self, kind: Kind, outcome: CacheOutcome) {
        self.counts[kind][outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Records a stale answer of this age. `now` is in milliseconds.
    pub(super) fn note_stale(&self, age: Duration, now: u64) {
        let mut oldest = self.oldest(now);
        oldest.now = oldest.now.max(age);
    }

    /// The maximum age of a stale answer within the last one or two minutes.
    pub(super) fn oldest_stale(&self, now: u64) -> Duration {
        let oldest = self.oldest(now);
        oldest.now.max(oldest.before)
    }

    fn oldest(&self, now: u64) -> MutexGuard<'_, Oldest> {
        let mut oldest = self.oldest.lock().unwrap_or_else(PoisonError::into_inner);
        oldest.turn(now / 60_000);
        oldest
    }

    pub(super) fn counts(&self, kind: Kind) -> Counts {
        let count = |outcome| self.counts[kind][outcome as usize].load(Ordering::Relaxed);
        Counts {
            hits: count(CacheOutcome::Hit),
            stale: count(CacheOutcome::Stale),
            misses: count(CacheOutcome::Miss),
            coalesced: count(CacheOutcome::Coalesced),
        }
    }
}

/// The content and effectiveness of the cache.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CacheReport {
    /// For each resource: the number of answers by outcome, and its share of memory.
    pub resources: Vec<(&'static str, Counts, Usage)>,
    /// The total size of the records in memory.
    pub memory: Usage,
    /// The limit of memory in bytes.
    pub memory_limit: u64,
    /// The size of the store behind memory. `None` if there is none or it does not report its size.
    pub store: Option<Usage>,
    /// Whether a circuit breaker of the store behind memory is not closed.
    pub is_store_failing: bool,
    /// The failures of the store behind memory so far. `None` if there is none.
    pub store_failures: Option<Failures>,
    /// The maximum age of a stale answer within the last one or two minutes. Zero if there was
    /// none.
    pub oldest_stale: Duration,
    /// The number of consecutive failed renewals. While it grows, stale answers grow older.
    pub renewal_failures: u32,
}
