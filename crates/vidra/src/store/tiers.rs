//! Memory in front of one far store: what the cache asks.

mod writes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::{Failures, Guarded, Memory, Record, Store, StoreError, Usage};
use writes::Writes;

/// So many keys are asked for at once, so that a call stays far below the time a store has.
const AT_ONCE: usize = 100;
/// How long clearing waits for writes that are under way.
const SETTLE: Duration = Duration::from_secs(1);

/// How much each tier holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TiersUsage {
    /// In memory.
    pub memory: Usage,
    /// In the far store; `None` where there is none or it does not say.
    pub far: Option<Usage>,
}

/// Memory, and a far store behind it whose trouble is nobody else's: it is [`Guarded`], and what is
/// put goes to it in the background.
///
/// `now` is Unix time in milliseconds: a record past its `keep_until` is a miss.
#[derive(Debug)]
pub struct Tiers {
    memory: Memory,
    far: Option<Far>,
    /// Counts removals, so that a slow read does not bring back what was removed meanwhile. Held
    /// whenever memory is changed: what a change hangs on must still be so when it is made. Reading
    /// memory does without.
    removals: Mutex<u64>,
}

#[derive(Debug)]
struct Far {
    store: Arc<Guarded>,
    writes: Arc<Writes>,
}

impl Tiers {
    /// `memory` alone, or in front of `far`.
    pub fn new(memory: Memory, far: Option<Arc<dyn Store>>) -> Self {
        let far = far.map(|store| {
            let store = Arc::new(Guarded::new(store));
            Far { writes: Arc::new(Writes::to(Arc::clone(&store))), store }
        });
        Self { memory, far, removals: Mutex::new(0) }
    }

    /// What memory keeps under `key`, without waiting.
    pub fn peek(&self, key: &str, now: u64) -> Option<Record> {
        self.memory.peek(key).filter(|record| now < record.keep_until)
    }

    /// What is kept under `key`, in memory or far away.
    pub async fn get(&self, key: &str, now: u64) -> Option<Record> {
        if let Some(record) = self.peek(key, now) {
            return Some(record);
        }
        let far = self.far.as_ref()?;
        let removals = *self.removals();
        let record = far.store.get(key).await?;
        self.bring_near(key, record, now, removals)
    }

    /// What is kept under each of `keys`, in their order. The far store is asked for what memory does
    /// not have, many at once.
    pub async fn get_many(&self, keys: &[String], now: u64) -> Vec<Option<Record>> {
        let mut found: Vec<_> = keys.iter().map(|key| self.peek(key, now)).collect();
        let Some(far) = &self.far else { return found };
        let missing: Vec<usize> = (0..keys.len()).filter(|&at| found[at].is_none()).collect();
        for chunk in missing.chunks(AT_ONCE) {
            let wanted: Vec<String> = chunk.iter().map(|&at| keys[at].clone()).collect();
            let removals = *self.removals();
            for (&at, record) in chunk.iter().zip(far.store.get_many(&wanted).await) {
                found[at] = record.and_then(|it| self.bring_near(&keys[at], it, now, removals));
            }
        }
        found
    }

    /// Keeps `record` under `key`: in memory at once, far away in the background. Inside a runtime.
    pub fn put(&self, key: &str, record: Record) {
        // The last one is the same in both, however many put at once.
        let _changing = self.removals();
        if let Some(far) = &self.far {
            far.writes.put(key, record.clone());
        }
        self.memory.insert(key, record);
    }

    /// Forgets what is kept under `key`. An error says that the far store may still have it.
    pub async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.forget(|| self.memory.forget(key));
        let Some(far) = &self.far else { return Ok(()) };
        let outcome = far.writes.remove(key).await;
        self.forget(|| self.memory.forget(key));
        outcome
    }

    /// Forgets everything. An error says that the far store may still have it.
    pub async fn clear(&self) -> Result<(), StoreError> {
        self.forget(|| self.memory.forget_all());
        let Some(far) = &self.far else { return Ok(()) };
        far.writes.forget_waiting();
        let _ = timeout(SETTLE, far.writes.settled()).await;
        let outcome = far.store.clear().await;
        self.forget(|| self.memory.forget_all());
        outcome
    }

    /// How much there is.
    pub async fn usage(&self) -> TiersUsage {
        let far = match &self.far {
            Some(far) => far.store.usage().await,
            None => None,
        };
        TiersUsage { memory: self.memory.held(), far }
    }

    /// Every key in memory, and what is kept under it takes up.
    pub fn each_in_memory(&self, visit: impl FnMut(&str, u64)) {
        self.memory.each(visit);
    }

    /// The most bytes that memory may hold.
    pub fn memory_limit(&self) -> u64 {
        self.memory.limit()
    }

    /// Waits until the far store has been given all that was put: before a process ends.
    pub async fn settled(&self) {
        if let Some(far) = &self.far {
            far.writes.settled().await;
        }
    }

    /// How many keys wait to be written to the far store, or are being written.
    pub(crate) fn writes_under_way(&self) -> usize {
        self.far.as_ref().map_or(0, |far| far.writes.under_way())
    }

    /// What went wrong with the far store so far; `None` where there is none.
    pub fn failures(&self) -> Option<Failures> {
        self.far.as_ref().map(|far| far.store.failures())
    }

    /// How many records were not given to the far store, because too many were waiting.
    pub fn dropped(&self) -> u64 {
        self.far.as_ref().map_or(0, |far| far.writes.dropped())
    }

    /// Whether the far store failed when last tried.
    pub fn is_far_left_alone(&self) -> bool {
        self.far.as_ref().is_some_and(|far| far.store.is_left_alone())
    }

    /// Puts what the far store gave into memory, unless something newer is there by now or there was
    /// a removal since `removals` was read.
    fn bring_near(&self, key: &str, record: Record, now: u64, removals: u64) -> Option<Record> {
        if record.keep_until <= now {
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
