//! Records in this process, up to so many bytes.

use std::fmt;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};

use super::{BoxFuture, Record, Store, StoreError, Usage};

/// What a record takes up beyond its key and body: its place in the cache's tables, which have room
/// to grow, and what the allocator adds. A test measures it.
const OVERHEAD: u64 = 336;

/// The cache could be cut into parts with a lock each, but a record has to fit into one of them, and
/// what is asked for often is answered before it comes here.
const SHARDS: usize = 1;

/// Keeps records in memory. When the limit is reached, those go that were not asked for lately.
pub struct Memory {
    records: Cache<Box<str>, Record, Bytewise>,
    limit: u64,
}

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

impl Memory {
    /// At most `limit_bytes` with keys and bookkeeping. A record of more than half of that is not
    /// kept: it would push out everything else.
    pub fn new(limit_bytes: u64) -> Self {
        // How many of those gone are remembered by their hash hangs on this; 4 KB is a video.
        let items = usize::try_from(limit_bytes / 4096).unwrap_or(usize::MAX);
        let options = OptionsBuilder::new()
            .shards(SHARDS)
            .estimated_items_capacity(items)
            // A part's share is rounded up.
            .weight_capacity(limit_bytes.saturating_sub(SHARDS as u64 - 1))
            .build()
            .expect("both capacities are given");
        let hasher = quick_cache::DefaultHashBuilder::default();
        let records = Cache::with_options(options, Bytewise, hasher, DefaultLifecycle::default());
        Self { records, limit: limit_bytes }
    }

    /// What is kept under `key`.
    pub fn peek(&self, key: &str) -> Option<Record> {
        self.records.get(key)
    }

    /// Keeps `record` under `key` instead of what was there.
    pub fn insert(&self, key: &str, record: Record) {
        if weight(key, &record) > self.limit / 2 {
            self.records.remove(key);
        } else {
            self.records.insert(key.into(), record);
        }
    }

    /// Forgets what is kept under `key`.
    pub fn forget(&self, key: &str) {
        self.records.remove(key);
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        self.records.clear();
    }

    /// The most that it may hold, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Every key, and what is kept under it takes up.
    pub fn each(&self, mut visit: impl FnMut(&str, u64)) {
        for (key, record) in self.records.iter() {
            visit(&key, weight(&key, &record));
        }
    }

    /// How much there is now.
    pub fn held(&self) -> Usage {
        Usage { entries: self.records.len() as u64, bytes: self.records.weight() }
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
