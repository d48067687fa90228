//! A guard that turns failures and timeouts of a store into cache misses.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

use super::{Record, Store, StoreError, Usage};
use crate::resilience::breaker::{Breaker, BreakerPolicy, Pass};
use crate::resilience::circuit::BreakerState;

/// The timeout of a read.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// The timeout of a read of an expensive record: a list of many pages, or a transcript. Fetching it again
/// takes longer, and costs quota or risks a block.
const EXPENSIVE_READ_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of a write. No caller waits for a write, so it can be longer. While the breaker is
/// open, writes are dropped.
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a caller waits for a count.
const COUNT_WAIT: Duration = Duration::from_secs(1);
/// The timeout of a count.
const COUNT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a count is reused. It is expensive, and any caller can request one.
const COUNT_LASTS: Duration = Duration::from_secs(5);
/// The timeout of clearing the store.
const CLEAR_TIMEOUT: Duration = Duration::from_secs(60);
/// One failure opens a breaker, because a cache that is slow to answer is worse than none.
const BREAKER: BreakerPolicy = BreakerPolicy {
    failures: 1,
    first_pause: Duration::from_secs(1),
    longest_pause: Duration::from_secs(30),
};
/// The key of a probe. No record has it.
const PROBE: &str = "probe";
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
/// A read that fails or exceeds 50 ms is a miss. A read of an expensive record has a second, and is tried even
/// while the breaker is open. A write has 500 ms, because no caller waits for
/// it. After a failure the guard skips calls for about one second, and for one second more after
/// each failed probe, up to about 30 seconds. Then a single call probes the store. Reads and writes have separate breakers,
/// because a full disk is still readable.
pub struct Guarded {
    store: Arc<dyn Store>,
    reads: Side,
    writes: Side,
    skipped: AtomicU64,
    corrupt: AtomicU64,
    /// The time of the last log message.
    logged: Mutex<Option<Instant>>,
    /// The last count and its time. Locked during a count.
    counted: Arc<tokio::sync::Mutex<Option<Counted>>>,
}

/// Reads or writes.
struct Side {
    breaker: Arc<Breaker>,
    failures: AtomicU64,
}

impl Side {
    fn new() -> Self {
        let breaker = Arc::new(Breaker::unlogged(BREAKER, Instant::now()));
        Self { breaker, failures: AtomicU64::new(0) }
    }

    fn is_failing(&self) -> bool {
        self.breaker.state(Instant::now()) != BreakerState::Closed
    }
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
            reads: Side::new(),
            writes: Side::new(),
            skipped: AtomicU64::new(0),
            corrupt: AtomicU64::new(0),
            logged: Mutex::new(None),
            counted: Arc::default(),
        }
    }

    /// Returns the record under `key`. It removes a damaged record.
    pub async fn get(&self, key: &str) -> Option<Record> {
        let read = self.call(&self.reads, READ_TIMEOUT, async { self.store.get(key).await }).await;
        self.checked(key, read).await
    }

    /// Returns the record under `key` as [`Self::get`] does, and waits longer for it, because a miss would be
    /// expensive: up to a second, and not much longer than the caller has.
    pub async fn get_expensive(&self, key: &str, left: Duration) -> Option<Record> {
        let limit = left.clamp(READ_TIMEOUT, EXPENSIVE_READ_TIMEOUT);
        let read = async { self.store.get(key).await };
        let read = match self.reads.breaker.admit(Instant::now()) {
            Err(_) if left <= limit => self.skip(),
            // While the breaker is open it reads too: a fetch would cost more.
            pass => self.observed(&self.reads, pass.ok(), limit, read).await,
        };
        self.checked(key, read).await
    }

    /// The record that was read. It removes a damaged record.
    async fn checked(&self, key: &str, read: Result<Option<Record>, StoreError>) -> Option<Record> {
        match read {
            Ok(found) => found,
            Err(StoreError::Corrupt) => {
                self.corrupt.fetch_add(1, Ordering::Relaxed);
                self.log(&StoreError::Corrupt);
                let _ = self.remove(key).await;
                None
            }
            Err(_) => None,
        }
    }

    /// Returns the record under each of `keys`, in their order.
    pub async fn get_many(&self, keys: &[String]) -> Vec<Option<Record>> {
        self.read_many(keys, None).await
    }

    /// Returns the records as [`Self::get_many`] does. For parts of an expensive composite it waits up to a
    /// second, and not much longer than the caller has.
    pub(crate) async fn read_many(
        &self,
        keys: &[String],
        expensive_for: Option<Duration>,
    ) -> Vec<Option<Record>> {
        let limit = expensive_for
            .map_or(READ_TIMEOUT, |left| left.clamp(READ_TIMEOUT, EXPENSIVE_READ_TIMEOUT));
        let found = self.call(&self.reads, limit, async { self.store.get_many(keys).await });
        let found = found.await;
        let mut found = found.unwrap_or_default();
        found.resize(keys.len(), None);
        found
    }

    /// Returns the records under `keys`, in their order, with the time limit of expensive ones. It reads even while the
    /// breaker is open, because another machine stored them a moment ago.
    pub(crate) async fn read_announced(&self, keys: &[String]) -> Vec<Option<Record>> {
        // One by one, because a store may accept only small records in a read of many.
        let read = keys.iter().map(|key| async move {
            let pass = self.reads.breaker.admit(Instant::now()).ok();
            let read = async { self.store.get(key).await };
            self.observed(&self.reads, pass, EXPENSIVE_READ_TIMEOUT, read).await.ok().flatten()
        });
        join_all(read).await
    }

    /// Stores `record` under `key`. A failure is only counted and logged.
    pub async fn put(&self, key: &str, record: &Record) {
        let put = async { self.store.put(key, record).await };
        let _ = self.call(&self.writes, WRITE_TIMEOUT, put).await;
    }

    /// Removes the record under `key`.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The record can still exist.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.call(&self.writes, READ_TIMEOUT, async { self.store.remove(key).await }).await
    }

    /// Removes all records. It calls the store even while the breaker is open, because an operator
    /// requested it.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. Some records can still exist.
    pub async fn clear(&self) -> Result<(), StoreError> {
        let outcome = within(CLEAR_TIMEOUT, async { self.store.clear().await }).await;
        if let Ok(mut counted) = self.counted.try_lock() {
            *counted = None;
        }
        outcome
    }

    /// Returns the size of the store, which can be some seconds old. `None` if the store does not
    /// report it.
    pub async fn usage(&self) -> Option<Usage> {
        if self.is_failing() {
            return None;
        }
        let until = Instant::now() + COUNT_WAIT;
        let mut counted = timeout_at(until, Arc::clone(&self.counted).lock_owned()).await.ok()?;
        if let Some(last) = &*counted
            && last.at.elapsed() < COUNT_LASTS
        {
            return last.usage;
        }
        let store = Arc::clone(&self.store);
        // A separate task, so that callers that come and leave do not start a count each.
        let counting = tokio::spawn(async move {
            let usage = within(COUNT_TIMEOUT, async { store.usage().await }).await.ok();
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

    /// Tries the store again if a breaker admits a probe. Without it, a service that has no requests for the store would
    /// report its failure forever.
    pub(crate) fn probe(self: &Arc<Self>) {
        let Ok(runtime) = Handle::try_current() else { return };
        let now = Instant::now();
        let pass = |side: &Side| match side.breaker.state(now) {
            BreakerState::HalfOpen => side.breaker.admit(now).ok(),
            BreakerState::Open | BreakerState::Closed => None,
        };
        let (read, write) = (pass(&self.reads), pass(&self.writes));
        if read.is_none() && write.is_none() {
            return;
        }
        let guarded = Arc::clone(self);
        runtime.spawn(async move {
            if let Some(pass) = read {
                let read = within(READ_TIMEOUT, async { guarded.store.get(PROBE).await }).await;
                guarded.record(pass, is_failure(&read));
            }
            if let Some(pass) = write {
                // A full store can still remove records, so a record is written.
                let write = async {
                    guarded.store.put(PROBE, &probe_record()).await?;
                    guarded.store.remove(PROBE).await
                };
                let written = within(WRITE_TIMEOUT, write).await;
                guarded.record(pass, is_failure(&written));
            }
        });
    }

    /// Records the outcome of a call.
    fn record(&self, pass: Pass, is_failure: bool) {
        let was_failing = self.is_failing();
        pass.record(Some(is_failure));
        if was_failing && !self.is_failing() {
            tracing::info!("cache store answers again");
        }
    }

    /// Whether the breaker of reads or of writes is open.
    pub fn is_failing(&self) -> bool {
        self.reads.is_failing() || self.writes.is_failing()
    }

    async fn call<T>(
        &self,
        side: &Side,
        limit: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match side.breaker.admit(Instant::now()) {
            Ok(pass) => self.observed(side, Some(pass), limit, call).await,
            Err(_) => self.skip(),
        }
    }

    fn skip<T>(&self) -> Result<T, StoreError> {
        self.skipped.fetch_add(1, Ordering::Relaxed);
        Err(StoreError::BreakerOpen)
    }

    /// Calls the store, and records the outcome.
    async fn observed<T>(
        &self,
        side: &Side,
        pass: Option<Pass>,
        limit: Duration,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let outcome = within(limit, call).await;
        if let Some(pass) = pass {
            self.record(pass, is_failure(&outcome));
        }
        if let Some(error) = outcome.as_ref().err().filter(|_| is_failure(&outcome)) {
            side.failures.fetch_add(1, Ordering::Relaxed);
            self.log(error);
        }
        outcome
    }

    fn log(&self, error: &StoreError) {
        let now = Instant::now();
        {
            let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.is_some_and(|logged| now < logged + LOG_EVERY) {
                return;
            }
            *logged = Some(now);
        }
        let Failures { reads, writes, skipped, corrupt } = self.failures();
        tracing::warn!(%error, reads, writes, skipped, damaged = corrupt, "cache store failed");
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("failures", &self.failures()).finish_non_exhaustive()
    }
}

/// A record that ends at once.
fn probe_record() -> Record {
    let (is_refusal, is_cheap, schema) = (false, true, 0);
    Record { stored_at: 0, keep_until: 1, is_refusal, is_cheap, schema, body: Bytes::new() }
}

/// Whether the store failed. With a damaged record the store itself works.
fn is_failure<T>(outcome: &Result<T, StoreError>) -> bool {
    outcome.as_ref().is_err_and(|error| !matches!(error, StoreError::Corrupt))
}

/// Runs `call` with a timeout. A panic counts as a failure.
async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, AssertUnwindSafe(call).catch_unwind()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Err(StoreError::Unavailable("the store panicked".to_owned())),
        Err(_) => Err(StoreError::TimedOut),
    }
}
