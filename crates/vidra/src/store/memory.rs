//! Records in this process, up to so many bytes.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::{BoxFuture, Record, Store, StoreError, Usage};

/// What a record takes up beyond its key and body: its place in the cache's tables, which have room
/// to grow, and what the allocator adds. A test measures it.
const OVERHEAD: u64 = 336;

/// The cache could be cut into parts with a lock each, but a record has to fit into one of them, and
/// what is asked for often is answered before it comes here.
const SHARDS: usize = 1;

/// Cheap records keep up to this part of the limit, however many others there are: 1 of so many.
const FOR_CHEAP: u64 = 4;

/// Stores records in memory, up to a limit of bytes.
///
/// Cheap records are evicted first, but keep up to a quarter of the limit. Of equal records, those go that were not
/// requested lately.
pub struct Memory {
    cheap: Records,
    others: Records,
    limit: u64,
    /// Held while the space is divided anew.
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
    // The number of evicted records that are remembered by their hash depends on this; 4 KB is a video.
    let items = usize::try_from(limit_bytes / 4096).unwrap_or(usize::MAX);
    let options = OptionsBuilder::new()
        .shards(SHARDS)
        .estimated_items_capacity(items)
        // A part's share is rounded up.
        .weight_capacity(limit_bytes.saturating_sub(SHARDS as u64 - 1))
        .build()
        .expect("both capacities are given");
    let hasher = quick_cache::DefaultHashBuilder::default();
    Cache::with_options(options, Bytewise, hasher, DefaultLifecycle::default())
}

impl Memory {
    /// At most `limit_bytes` with keys and bookkeeping. A record of more than half of that is not
    /// stored: it would evict everything else.
    pub fn new(limit_bytes: u64) -> Self {
        let (cheap, others) = (records(limit_bytes), records(limit_bytes));
        Self { cheap, others, limit: limit_bytes, dividing: Mutex::new(()) }
    }

    /// The record under `key`.
    pub fn peek(&self, key: &str) -> Option<Record> {
        self.cheap.get(key).or_else(|| self.others.get(key))
    }

    /// Stores `record` under `key` and replaces the record that was there.
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

    /// Divides the space for so many more bytes of each: cheap records keep up to their part, the others take what
    /// they need of the rest, and cheap records get what is left.
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

    /// The most bytes that it may hold.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Visits every key with the bytes that its record takes.
    pub fn each(&self, mut visit: impl FnMut(&str, u64)) {
        for (key, record) in self.cheap.iter().chain(self.others.iter()) {
            visit(&key, weight(&key, &record));
        }
    }

    /// How much it holds.
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
