//! A store that cannot hurt: slow, full, damaged or gone, it is a miss.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Record, Store, StoreError, Usage};

/// How long a store has for one answer.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long it has to keep something: nobody waits for that, and what comes while it is left alone is
/// not kept at all.
const PATIENCE_TO_PUT: Duration = Duration::from_millis(500);
/// How long is waited for it to say how much it keeps, how long it may go on counting after that, and
/// for how long what it said will do: anybody may ask, and counting is work.
const PATIENCE_TO_COUNT: Duration = Duration::from_secs(1);
const LONGEST_COUNT: Duration = Duration::from_secs(60);
const COUNT_LASTS: Duration = Duration::from_secs(5);
/// How long it has to throw all of it away.
const PATIENCE_TO_CLEAR: Duration = Duration::from_secs(60);
/// For how long a store is left alone after its first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often trouble is told in the log at most.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// What went wrong with a store so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    /// Reads that failed or took too long.
    pub reads: u64,
    /// Writes and removals that failed or took too long.
    pub writes: u64,
    /// Calls that were not made, because the store had failed a moment before.
    pub skipped: u64,
    /// Records that were damaged.
    pub corrupt: u64,
}

/// Wraps a store. A call that fails or takes more than 50 ms is a miss, or more than 500 ms where it
/// keeps something, for which nobody waits. Then the store is left alone, for a second at first and for
/// 30 at most, until one call tries it again. Reads and writes are left alone apart from each other,
/// because a full disk can still be read.
pub struct Guarded {
    store: Arc<dyn Store>,
    reads: Gate,
    writes: Gate,
    skipped: AtomicU64,
    corrupt: AtomicU64,
    /// When trouble was last told.
    told: Mutex<Option<Instant>>,
    /// When it was last counted and what came of it. Locked while it is being counted.
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

    /// What is kept under `key`. A damaged record is removed.
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

    /// What is kept under each of `keys`, in their order.
    pub async fn get_many(&self, keys: &[String]) -> Vec<Option<Record>> {
        let found = self.ask(&self.reads, PATIENCE, async { self.store.get_many(keys).await });
        let found = found.await;
        let mut found = found.unwrap_or_default();
        found.resize(keys.len(), None);
        found
    }

    /// Keeps `record` under `key`, if the store can.
    pub async fn put(&self, key: &str, record: &Record) {
        let put = async { self.store.put(key, record).await };
        let _ = self.ask(&self.writes, PATIENCE_TO_PUT, put).await;
    }

    /// Forgets what is kept under `key`. Whoever asks for that wants to know whether it is so.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.ask(&self.writes, PATIENCE, async { self.store.remove(key).await }).await
    }

    /// Forgets everything; asked for by hand, so also of a store that is left alone.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let outcome = within(PATIENCE_TO_CLEAR, async { self.store.clear().await }).await;
        if let Ok(mut counted) = self.counted.try_lock() {
            *counted = None;
        }
        outcome
    }

    /// How much there is or was some seconds ago; `None` where the store does not say.
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
        // A task of its own: those who come and leave must not begin a count each.
        let counting = tokio::spawn(async move {
            let usage = within(LONGEST_COUNT, async { store.usage().await }).await.ok();
            *counted = Some(Counted { at: Instant::now(), usage });
            usage
        });
        timeout_at(until, counting).await.ok()?.ok()?
    }

    /// What went wrong so far.
    pub fn failures(&self) -> Failures {
        Failures {
            reads: self.reads.failures.load(Ordering::Relaxed),
            writes: self.writes.failures.load(Ordering::Relaxed),
            skipped: self.skipped.load(Ordering::Relaxed),
            corrupt: self.corrupt.load(Ordering::Relaxed),
        }
    }

    /// Whether reads or writes failed when last tried.
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
            // The store works; it is the record that does not.
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
        tracing::warn!(%error, ?failures, "the cache's store is in trouble; going on without it");
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("failures", &self.failures()).finish_non_exhaustive()
    }
}

/// What `call` says in `patience`. A store that panics is one that failed.
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

/// Lets calls through until one fails; then, after a pause, one at a time until it works.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<Shut>,
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Shut {
    /// `None` while it is open.
    until: Option<Instant>,
    pause: Duration,
    /// Counts closings and trials, so that a call that was let in before does not decide over what
    /// came since.
    round: u64,
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, Shut> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_shut(&self) -> bool {
        self.lock().until.is_some()
    }

    /// The round in which the call takes place; `None` where it may not.
    fn enter(&self) -> Option<u64> {
        let mut shut = self.lock();
        if let Some(until) = shut.until {
            let now = Instant::now();
            if now < until {
                return None;
            }
            // This call tries. Should it never come back, the next one tries a pause later.
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
