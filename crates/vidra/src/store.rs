//! Stores for fetched answers: memory, a folder, Redis, or a custom implementation.
//!
//! A [`Store`] maps keys to [`Record`]s. The cache reads memory first, then one store behind it. A
//! guard turns every failure of that store into a cache miss.

mod codec;
pub mod conformance;
#[cfg(unix)]
mod fs;
mod guarded;
mod leases;
mod memory;
mod rates;
#[cfg(feature = "redis")]
mod redis;
mod tiers;

use std::fmt;

use bytes::Bytes;

pub use crate::transport::BoxFuture;
#[cfg(unix)]
pub use fs::Fs;
#[doc(hidden)] // Only for the tests of this crate.
pub use guarded::{Failures, Guarded};
#[doc(hidden)] // Only for the client and the tests of this crate.
pub use leases::{FencingToken, Leases, LeasesDouble, Listeners, Listening};
pub use memory::Memory;
#[doc(hidden)] // Only for the service and the tests of this crate.
pub use rates::{RatePool, RateUse};
#[cfg(feature = "redis")]
pub use redis::Redis;
#[doc(hidden)] // Only for the tests of this crate.
pub use tiers::{Tiers, TiersUsage};

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The time of the fetch, in milliseconds of Unix time.
    pub stored_at: u64,
    /// The end of retention, in milliseconds of Unix time.
    pub keep_until: u64,
    /// Whether `body` is a cached refusal instead of data.
    pub is_refusal: bool,
    /// Whether one call fetches many such records. Cheap records are evicted first.
    pub is_cheap: bool,
    /// The format of `body`. The cache treats a record with another format than its own as a miss.
    pub schema: u16,
    /// The content. It should own its bytes, because a slice keeps its whole source buffer alive.
    pub body: Bytes,
}

/// Copies the bytes of a record into an allocation of their exact size. `into_boxed_slice` does not do this: mimalloc leaves a
/// vector in place unless it shrinks below half, so that the slice could take twice its length.
pub(crate) fn to_exact_bytes(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// The size of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of records.
    pub entries: u64,
    /// The size of all records, including keys and the store's own overhead.
    pub bytes: u64,
}

/// Why a store operation failed. The texts are for the log and never contain a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store is missing, full, not permitted, or broken in another way.
    Unavailable(String),
    /// The store exceeded its timeout.
    TimedOut,
    /// The circuit breaker is open: the store failed recently, so the cache does not call it.
    BreakerOpen,
    /// The stored record is damaged.
    Corrupt,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => f.write_str(why),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::BreakerOpen => f.write_str("not called, because it failed a moment ago"),
            Self::Corrupt => f.write_str("a damaged record"),
        }
    }
}

impl std::error::Error for StoreError {}

/// Maps keys to records. A store is a cache, so it may forget a record at any time.
///
/// - A key is any string. It can look like a path, contain NUL or be very long.
/// - `get` returns exactly the last record that was put, or nothing. It never returns a part of a
///   record, nor a record of another key.
/// - A store does not need a clock to answer. It should delete a record some time after its
///   `keep_until`, but it may still return it. The caller checks the time with its own clock,
///   because clocks jump and differ between machines.
/// - A caller can cancel a call by dropping its future. The call then has an effect or not, but
///   never after a later call for the same key. A call must not block its thread.
/// - Several processes can share one store.
///
/// [`conformance::check`] verifies that a custom store follows these rules.
/// `examples/custom_store.rs` is an example.
///
/// ```
/// use std::sync::Arc;
/// use vidra::store::{Memory, Store, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // Any implementation of `Store` works.
/// let store = Arc::new(Memory::new(8 << 20));
/// conformance::check(&*store).await;
///
/// let vidra = vidra::Vidra::builder().store(store).build().unwrap();
/// assert!(!vidra.is_store_failing());
/// # }
/// ```
pub trait Store: Send + Sync + 'static {
    /// Returns the record under `key`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] if the record is damaged, and any other [`StoreError`] if the store
    /// fails.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Returns the record under each of `keys`, in their order. A damaged record is `None`.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] except [`StoreError::Corrupt`] if the store fails.
    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        Box::pin(async move {
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                found.push(match self.get(key).await {
                    Err(StoreError::Corrupt) => None,
                    other => other?,
                });
            }
            Ok(found)
        })
    }

    /// Stores `record` under `key` and replaces the old record. A record that is too large is not
    /// stored, which is no error; the old record is removed all the same.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] if the store fails.
    fn put<'a>(&'a self, key: &'a str, record: &'a Record)
    -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes the record under `key`. A missing key is no error.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] if the store fails. The record can still exist.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Removes all records.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] if the store fails. Some records can still exist.
    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns the size of the store. A large store may return an estimate.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] if the store fails.
    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>>;
}
