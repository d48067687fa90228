//! A store in memory with a limit in bytes.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::{BoxFuture, Record, Store, StoreError, Usage};

/// The overhead of a record beyond its key and body: its slot in the hash tables and the
/// allocator's share. A test measures it.
const OVERHEAD: u64 = 336;

/// One shard. A record must fit into a single shard, and a response cache already absorbs the
/// hottest reads.
const SHARDS: usize = 1;

/// The guaranteed share of cheap records, as a fraction of the limit: one part in this many.
const FOR_CHEAP: u64 = 4;

/// Stores records in memory, up to a limit in bytes.
///
/// It evicts cheap records first, but guarantees them up to a quarter of the limit. Among equal
/// records it evicts the least recently used ones.
pub struct Memory {
    cheap: Records,
    others: Records,
    limit: u64,
    /// Held while the limit is divided between the two kinds.
    dividing: Mutex<()>,
}

type Records = Cache<Box<str>, Record, Bytewise>;

#[derive(Debug, Clone, Copy)]
struct Bytewise;

impl Weighter<Box<str>, Record> for Bytewise {
    fn weight(&self, key: &Box<str>, record: &Record) -> u64 {
        weight(key, record)
    }
}

fn weight(key: &str, record: &Record) -> u64 {
    OVERHEAD + (key.len() + record.body.len()) as u64
}

fn records(limit_bytes: u64) -> Records {
    // This sets how many hashes of evicted records the cache remembers. A video has 4 KB.
    let items = usize::try_from(limit_bytes / 4096).unwrap_or(usize::MAX);
    let options = OptionsBuilder::new()
        .shards(SHARDS)
        .estimated_items_capacity(items)
        // The library rounds the share of a shard up.
        .weight_capacity(limit_bytes.saturating_sub(SHARDS as u64 - 1))
        .build()
        .expect("both capacities are given");
    let hasher = quick_cache::DefaultHashBuilder::default();
    Cache::with_options(options, Bytewise, hasher, DefaultLifecycle::default())
}

impl Memory {
    /// Creates a store of at most `limit_bytes`, including keys and overhead. It does not store a
    /// record larger than half the limit, which would evict everything else.
    pub fn new(limit_bytes: u64) -> Self {
        let (cheap, others) = (records(limit_bytes), records(limit_bytes));
        Self { cheap, others, limit: limit_bytes, dividing: Mutex::new(()) }
    }

    /// Returns the record under `key`.
    pub fn peek(&self, key: &str) -> Option<Record> {
        self.cheap.get(key).or_else(|| self.others.get(key))
    }

    /// Stores `record` under `key` and replaces the old record.
    pub fn insert(&self, key: &str, record: Record) {
        let weight = weight(key, &record);
        let (store, other) = match record.is_cheap {
            true => (&self.cheap, &self.others),
            false => (&self.others, &self.cheap),
        };
        other.remove(key);
        if weight > self.limit / 2 {
            store.remove(key);
            return;
        }
        let _dividing = self.dividing.lock().unwrap_or_else(PoisonError::into_inner);
        // First, so that the limit holds at every moment.
        match record.is_cheap {
            true => self.divide(weight, 0),
            false => self.divide(0, weight),
        }
        store.insert(key.into(), record);
    }

    /// Divides the limit for this many additional bytes of each kind. Cheap records keep their
    /// guaranteed share. The other records take the rest as they need it, and cheap records get the
    /// remainder.
    fn divide(&self, more_cheap: u64, more_others: u64) {
        let reserved = (self.cheap.weight() + more_cheap).min(self.limit / FOR_CHEAP);
        self.others.set_capacity(self.limit - reserved);
        let others = (self.others.weight() + more_others).min(self.limit - reserved);
        self.cheap.set_capacity(self.limit - others);
    }

    /// Removes the record under `key`.
    pub fn forget(&self, key: &str) {
        self.cheap.remove(key);
        self.others.remove(key);
    }

    /// Removes all records.
    pub fn forget_all(&self) {
        self.cheap.clear();
        self.others.clear();
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Visits every key with the size of its record.
    pub fn each(&self, mut visit: impl FnMut(&str, u64)) {
        for (key, record) in self.cheap.iter().chain(self.others.iter()) {
            visit(&key, weight(&key, &record));
        }
    }

    /// The number and size of the records.
    pub fn held(&self) -> Usage {
        Usage {
            entries: (self.cheap.len() + self.others.len()) as u64,
            bytes: self.cheap.weight() + self.others.weight(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("limit", &self.limit).field("held", &self.held()).finish()
    }
}

impl Store for Memory {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move { Ok(self.peek(key)) })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.insert(key, record.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.forget(key);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.forget_all();
            Ok(())
        })
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move { Ok(self.held()) })
    }
}
