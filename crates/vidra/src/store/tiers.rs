//! The two tiers of records: memory in front of one far store.

mod writes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::{Failures, Guarded, Memory, Record, Store, StoreError, Usage};
use writes::Writes;

/// The number of keys in one call, small enough to stay well below the store's timeout.
const AT_ONCE: usize = 100;
/// How long clearing waits for pending writes.
const SETTLE: Duration = Duration::from_secs(1);
/// The longest wait of one call for capacity in the queue.
const CAPACITY_WAIT: Duration = Duration::from_millis(250);

/// The size of each tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TiersUsage {
    /// The size of the memory tier.
    pub memory: Usage,
    /// The size of the far store. `None` if there is none or it does not report its size.
    pub far: Option<Usage>,
}

/// Memory and an optional far store. The far store is [`Guarded`], so its failures affect no
/// caller. Writes to it happen in the background.
///
/// `now` is Unix time in milliseconds. A record past its `keep_until` is a miss.
#[derive(Debug)]
pub struct Tiers {
    memory: Memory,
    far: Option<Far>,
    /// Counts removals, so that a slow read does not restore a removed record. Every change of
    /// memory holds this lock, so that its precondition still holds. Reads of memory do not need
    /// it.
    removals: Mutex<u64>,
    /// Whether the far store's record has the form that its key requires.
    is_valid: fn(&str, &Record) -> bool,
}

#[derive(Debug)]
struct Far {
    store: Arc<Guarded>,
    writes: Arc<Writes>,
}

impl Tiers {
    /// Creates the tiers: `memory` alone, or in front of `far`.
    pub fn new(memory: Memory, far: Option<Arc<dyn Store>>) -> Self {
        let far = far.map(|store| {
            let store = Arc::new(Guarded::new(store));
            Far { writes: Arc::new(Writes::to(Arc::clone(&store))), store }
        });
        Self { memory, far, removals: Mutex::new(0), is_valid: |_, _| true }
    }

    /// Checks the records of the far store with `is_valid`. A record of another form, which another
    /// program may have written, is a miss. It is checked once, when it comes into memory.
    pub(crate) fn checked(self, is_valid: fn(&str, &Record) -> bool) -> Self {
        Self { is_valid, ..self }
    }

    /// Returns the record in memory. It never waits.
    pub fn peek(&self, key: &str, now: u64) -> Option<Record> {
        self.memory.peek(key).filter(|record| now < record.keep_until)
    }

    /// Returns the record in memory or in the far store.
    pub async fn get(&self, key: &str, now: u64) -> Option<Record> {
        self.read(key, now, None).await
    }

    /// Returns the record as [`Self::get`] does. For an expensive record it waits longer for the far store, at
    /// most as long as the caller has.
    pub(crate) async fn read(
        &self,
        key: &str,
        now: u64,
        expensive_for: Option<Duration>,
    ) -> Option<Record> {
        if let Some(record) = self.peek(key, now) {
            return Some(record);
        }
        let far = self.far.as_ref()?;
        let removals = *self.removals();
        let record = match expensive_for {
            None => far.store.get(key).await?,
            Some(left) => far.store.get_expensive(key, left).await?,
        };
        self.bring_near(key, record, now, removals)
    }

    /// Returns the record under each of `keys`, in their order. It reads the keys that memory lacks
    /// from the far store, in chunks.
    pub async fn get_many(&self, keys: &[String], now: u64) -> Vec<Option<Record>> {
        self.read_many(keys, now, None).await
    }

    /// Returns the records as [`Self::get_many`] does. For the parts of an expensive composite it waits longer for
    /// the far store, at most as long as the caller has.
    pub(crate) async fn read_many(
        &self,
        keys: &[String],
        now: u64,
        expensive_for: Option<Duration>,
    ) -> Vec<Option<Record>> {
        let mut found: Vec<_> = keys.iter().map(|key| self.peek(key, now)).collect();
        let Some(far) = &self.far else { return found };
        let missing: Vec<usize> = (0..keys.len()).filter(|&at| found[at].is_none()).collect();
        for chunk in missing.chunks(AT_ONCE) {
            let wanted: Vec<String> = chunk.iter().map(|&at| keys[at].clone()).collect();
            let removals = *self.removals();
            for (&at, record) in chunk.iter().zip(far.store.read_many(&wanted, expensive_for).await)
            {
                found[at] = record.and_then(|it| self.bring_near(&keys[at], it, now, removals));
            }
        }
        found
    }

    /// Returns the records of the far store under `keys`, in their order, even if memory has older ones. Another machine
    /// may have stored them a moment ago.
    pub(crate) async fn read_announced(&self, keys: &[String], now: u64) -> Vec<Option<Record>> {
        let Some(far) = &self.far else { return vec![None; keys.len()] };
        let removals = *self.removals();
        let records = far.store.read_announced(keys).await.into_iter().zip(keys);
        let near =
            |(record, key): (Option<Record>, &String)| self.bring_near(key, record?, now, removals);
        records.map(near).collect()
    }

    /// Stores `record` under `key`: in memory at once, and in the far store in the background. It
    /// must run inside a runtime.
    pub fn put(&self, key: &str, record: Record) {
        // Both tiers see concurrent puts in the same order.
        let _changing = self.removals();
        if let Some(far) = &self.far {
            far.writes.put(key, record.clone());
        }
        self.memory.insert(key, record);
    }

    /// Removes the record under `key`.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The far store can still have the record.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.forget(|| self.memory.forget(key));
        let Some(far) = &self.far else { return Ok(()) };
        let outcome = far.writes.remove(key).await;
        self.forget(|| self.memory.forget(key));
        outcome
    }

    /// Removes all records.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The far store can still have records.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.forget(|| self.memory.forget_all());
        let Some(far) = &self.far else { return Ok(()) };
        far.writes.forget_waiting();
        let _ = timeout(SETTLE, far.writes.settled()).await;
        let outcome = far.store.clear().await;
        self.forget(|| self.memory.forget_all());
        outcome
    }

    /// The size of both tiers.
    pub async fn usage(&self) -> TiersUsage {
        let far = match &self.far {
            Some(far) => far.store.usage().await,
            None => None,
        };
        TiersUsage { memory: self.memory.held(), far }
    }

    /// Visits every key in memory with the size of its record.
    pub fn each_in_memory(&self, visit: impl FnMut(&str, u64)) {
        self.memory.each(visit);
    }

    /// The limit of memory in bytes.
    pub fn memory_limit(&self) -> u64 {
        self.memory.limit()
    }

    /// Waits until the far store has received all pending writes. Call it before the process exits.
    pub async fn settled(&self) {
        if let Some(far) = &self.far {
            far.writes.settled().await;
        }
    }

    /// Waits until the far store has received the pending writes of `key`.
    pub(crate) async fn written(&self, key: &str) {
        if let Some(far) = &self.far {
            far.writes.written(key).await;
        }
    }

    /// Waits until the queue of the far store has capacity, but not long: a slow store must not delay
    /// its callers.
    pub(crate) async fn wait_for_capacity(&self) {
        if let Some(far) = &self.far {
            let _ = timeout(CAPACITY_WAIT, far.writes.wait_for_capacity()).await;
        }
    }

    /// The number of keys with pending or running writes to the far store.
    pub(crate) fn writes_under_way(&self) -> usize {
        self.far.as_ref().map_or(0, |far| far.writes.under_way())
    }

    /// The failures of the far store so far. `None` if there is none.
    pub fn failures(&self) -> Option<Failures> {
        self.far.as_ref().map(|far| far.store.failures())
    }

    /// The number of records that were not written to the far store, because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.far.as_ref().map_or(0, |far| far.writes.dropped())
    }

    /// Whether the far store's circuit breaker is open. If its pause is over, this tries the store again in the background.
    pub fn is_store_failing(&self) -> bool {
        let is_failing = |far: &Far| {
            far.store.probe();
            far.store.is_failing()
        };
        self.far.as_ref().is_some_and(is_failing)
    }

    /// Copies a record of the far store into memory. It does nothing if memory has a newer record,
    /// or if a removal happened since `removals` was read.
    fn bring_near(&self, key: &str, record: Record, now: u64, removals: u64) -> Option<Record> {
        if record.keep_until <= now || !(self.is_valid)(key, &record) {
            return None;
        }
        let changing = self.removals();
        match self.memory.peek(key) {
            Some(near) if near.stored_at > record.stored_at => {
                return Some(near).filter(|near| now < near.keep_until);
            }
            _ => {}
        }
        if *changing == removals {
            self.memory.insert(key, record.clone());
        }
        Some(record)
    }

    fn forget(&self, forget: impl FnOnce()) {
        let mut removals = self.removals();
        *removals += 1;
        forget();
    }

    fn removals(&self) -> MutexGuard<'_, u64> {
        self.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
