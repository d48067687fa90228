//! A guard that turns failures and timeouts of a store into cache misses.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Record, Store, StoreError, Usage};

/// The timeout of a read.
const PATIENCE: Duration = Duration::from_millis(50);
/// The timeout of a write. No caller waits for a write, so it can be longer. While the gate is
/// shut, writes are dropped.
const PATIENCE_TO_PUT: Duration = Duration::from_millis(500);
/// The wait for a count, the timeout of the count itself, and the lifetime of its result. A count
/// is expensive, and any caller can request one.
const PATIENCE_TO_COUNT: Duration = Duration::from_secs(1);
const LONGEST_COUNT: Duration = Duration::from_secs(60);
const COUNT_LASTS: Duration = Duration::from_secs(5);
/// The timeout of clearing the store.
const PATIENCE_TO_CLEAR: Duration = Duration::from_secs(60);
/// The pause after the first failure. Each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The minimum time between two log messages.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The failures of a store so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// Reads that failed or timed out.
    pub reads: u64,
    /// Writes and removals that failed or timed out.
    pub writes: u64,
    /// Calls that were skipped, because the store had failed shortly before.
    pub skipped: u64,
    /// Damaged records.
    pub corrupt: u64,
}

/// Wraps a store with timeouts and a circuit breaker.
///
/// A read that fails or exceeds 50 ms is a miss. A write has 500 ms, because no caller waits for
/// it. After a failure the guard skips calls for one second, and for up to 30 seconds after
/// repeated failures. Then a single call probes the store. Reads and writes have separate breakers,
/// because a full disk is still readable.
pub struct Guarded {
    store: Arc<dyn Store>,
    reads: Gate,
    writes: Gate,
    skipped: AtomicU64,
    corrupt: AtomicU64,
    /// The time of the last log message.
    told: Mutex<Option<Instant>>,
    /// The last count and its time. Locked during a count.
    counted: Arc<tokio::sync::Mutex<Option<Counted>>>,
}

struct Counted {
    at: Instant,
    usage: Option<Usage>,
}

impl Guarded {
    /// Guards `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            reads: Gate::default(),
            writes: Gate::default(),
            skipped: AtomicU64::new(0),
            corrupt: AtomicU64::new(0),
            told: Mutex::new(None),
            counted: Arc::default(),
        }
    }

    /// Returns the record under `key`. It removes a damaged record.
    pub async fn get(&self, key: &str) -> Option<Record> {
        let until = Instant::now() + PATIENCE;
        match self.ask(&self.reads, PATIENCE, async { self.store.get(key).await }).await {
            Ok(found) => found,
            Err(StoreError::Corrupt) => {
                self.corrupt.fetch_add(1, Ordering::Relaxed);
                self.tell(&StoreError::Corrupt);
                let _ = timeout_at(until, self.remove(key)).await;
                None
            }
            Err(_) => None,
        }
    }

    /// Returns the record under each of `keys`, in their order.
    pub async fn get_many(&self, keys: &[String]) -> Vec<Option<Record>> {
        let found = self.ask(&self.reads, PATIENCE, async { self.store.get_many(keys).await });
        let found = found.await;
        let mut found = found.unwrap_or_default();
        found.resize(keys.len(), None);
        found
    }

    /// Stores `record` under `key`. A failure is only counted and logged.
    pub async fn put(&self, key: &str, record: &Record) {
        let put = async { self.store.put(key, record).await };
        let _ = self.ask(&self.writes, PATIENCE_TO_PUT, put).await;
    }

    /// Removes the record under `key`.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The record can still exist.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.ask(&self.writes, PATIENCE, async { self.store.remove(key).await }).await
    }

    /// Removes all records. It calls the store even while the breaker is open, because an operator
    /// requested it.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. Some records can still exist.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let outcome = within(PATIENCE_TO_CLEAR, async { self.store.clear().await }).await;
        if let Ok(mut counted) = self.counted.try_lock() {
            *counted = None;
        }
        outcome
    }

    /// Returns the size of the store, which can be some seconds old. `None` if the store does not
    /// report it.
    pub async fn usage(&self) -> Option<Usage> {
        if self.is_left_alone() {
            return None;
        }
        let until = Instant::now() + PATIENCE_TO_COUNT;
        let mut counted = timeout_at(until, Arc::clone(&self.counted).lock_owned()).await.ok()?;
        if let Some(last) = &*counted
            && last.at.elapsed() < COUNT_LASTS
        {
            return last.usage;
        }
        let store = Arc::clone(&self.store);
        // A separate task, so that callers that come and leave do not start a count each.
        let counting = tokio::spawn(async move {
            let usage = within(LONGEST_COUNT, async { store.usage().await }).await.ok();
            *counted = Some(Counted { at: Instant::now(), usage });
            usage
        });
        timeout_at(until, counting).await.ok()?.ok()?
    }

    /// The failures so far.
    pub fn failures(&self) -> Failures {
        Failures {
            reads: self.reads.failures.load(Ordering::Relaxed),
            writes: self.writes.failures.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            corrupt: self.corrupt.load(Ordering::Relaxed),
        }
    }

    /// Whether the breaker of reads or of writes is open.
    pub fn is_left_alone(&self) -> bool {
        self.reads.is_shut() || self.writes.is_shut()
    }

    async fn ask<T>(
        &self,
        gate: &Gate,
        patience: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let Some(round) = gate.enter() else {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return Err(StoreError::LeftAlone);
        };
        let outcome = within(patience, call).await;
        match &outcome {
            // The store works; only the record is damaged.
            Ok(_) | Err(StoreError::Corrupt) => gate.worked(round),
            Err(error) => {
                gate.failed(round);
                self.tell(error);
            }
        }
        outcome
    }

    fn tell(&self, error: &StoreError) {
        let now = Instant::now();
        {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.is_some_and(|told| now < told + LOG_EVERY) {
                return;
            }
            *told = Some(now);
        }
        let failures = self.failures();
        tracing::warn!(%error, ?failures, "cache store failed");
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("failures", &self.failures()).finish_non_exhaustive()
    }
}

/// Runs `call` with a timeout. A panic counts as a failure.
async fn within<T>(
    patience: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(patience, AssertUnwindSafe(call).catch_unwind()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(StoreError::Unavailable("the store panicked".to_owned())),
        Err(_) => Err(StoreError::TimedOut),
    }
}

/// A circuit breaker. It opens after one failure, and after a pause it admits one probe at a time.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<Shut>,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Shut {
    /// `None` while the breaker is closed.
    until: Option<Instant>,
    pause: Duration,
    /// Counts transitions and probes, so that a call from an earlier round cannot change the
    /// current state.
    round: u64,
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, Shut> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_shut(&self) -> bool {
        self.lock().until.is_some()
    }

    /// Returns the round of the call, or `None` if the breaker is open.
    fn enter(&self) -> Option<u64> {
        let mut shut = self.lock();
        if let Some(until) = shut.until {
            let now = Instant::now();
            if now < until {
                return None;
            }
            // This call is the probe. If it never returns, the next probe follows one pause later.
            shut.until = Some(now + shut.pause);
            shut.round += 1;
        }
        Some(shut.round)
    }

    fn worked(&self, round: u64) {
        let mut shut = self.lock();
        if shut.until.is_some() && shut.round == round {
            *shut = Shut { round: round + 1, ..Shut::default() };
        }
    }

    fn failed(&self, round: u64) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut shut = self.lock();
        if shut.round == round {
            shut.pause = (shut.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
            shut.until = Some(Instant::now() + shut.pause);
            shut.round += 1;
        }
    }
}
