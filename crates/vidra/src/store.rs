//! Where fetched answers are kept: in memory, in a folder, in Redis, or in a store of your own.
//!
//! A [`Store`] keeps [`Record`]s under keys. The cache asks memory first, and one far store behind it,
//! guarded so that a store in trouble is a miss and never an error.

mod codec;
pub mod conformance;
#[cfg(unix)]
mod fs;
mod guarded;
mod memory;
#[cfg(feature = "redis")]
mod redis;
mod tiers;

use std::fmt;

use bytes::Bytes;

pub use crate::transport::BoxFuture;
#[cfg(unix)]
pub use fs::Fs;
#[doc(hidden)] // For the tests of this crate alone.
pub use guarded::{Failures, Guarded};
pub use memory::Memory;
#[cfg(feature = "redis")]
pub use redis::Redis;
#[doc(hidden)] // For the tests of this crate alone.
pub use tiers::{Tiers, TiersUsage};

/// What is kept under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When it was fetched, in milliseconds of Unix time.
    pub stored_at: u64,
    /// When it may be thrown away, in milliseconds of Unix time.
    pub keep_until: u64,
    /// Whether `body` says why there is nothing, instead of what there is.
    pub is_refusal: bool,
    /// Whether one call fetches many such records, so that it is evicted before others.
    pub is_cheap: bool,
    /// The format of `body`. The cache takes a record with another format than its own for a miss.
    pub schema: u16,
    /// What was fetched. It should own its bytes: a slice keeps all that it was cut from.
    pub body: Bytes,
}

/// How much a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Records.
    pub entries: u64,
    /// What they take up, keys and the store's own bookkeeping included.
    pub bytes: u64,
}

/// Why a store did not do what it was asked. Texts are for the log and never hold a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// It is gone, full, not permitted, or broken in another way.
    Unavailable(String),
    /// It did not answer in the time that there was.
    TimedOut,
    /// It failed a moment ago and is not asked for now.
    LeftAlone,
    /// What it keeps under the key is not what was put there.
    Corrupt,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => f.write_str(why),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::LeftAlone => f.write_str("not asked, because it failed a moment ago"),
            Self::Corrupt => f.write_str("a damaged record"),
        }
    }
}

impl std::error::Error for StoreError {}

/// Keeps records under keys, as long as it sees fit: a cache may forget.
///
/// - A key is any string, also one that looks like a path, holds NUL or is very long.
/// - What `get` gives is exactly what was last put, or nothing. Never a part, never another key's.
/// - No store looks at a clock to answer. Past `keep_until` a record is of no use to anybody, so a store
///   should throw it away some time after; it may still give it back, and the caller judges by its own
///   clock (clocks jump, and those of two machines differ).
/// - A call may be given up at any moment by dropping its future, and is done then or not; never after a
///   later call for the same key. It must not block its thread.
/// - Several processes may share one store.
///
/// [`conformance::check`] tells whether a store of your own keeps to this; `examples/custom_store.rs` is one.
///
/// ```
/// use std::sync::Arc;
/// use vidra::store::{Memory, Store, conformance};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // Any store will do; this one has the advantage that it is there.
/// let store = Arc::new(Memory::new(8 << 20));
/// conformance::check(&*store).await;
///
/// let vidra = vidra::Vidra::builder().store(store).build().unwrap();
/// assert!(!vidra.is_store_failing());
/// # }
/// ```
pub trait Store: Send + Sync + 'static {
    /// What is kept under `key`.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// What is kept under each of `keys`, in their order. A damaged record is `None` here.
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

    /// Keeps `record` under `key` instead of what was there. A record that is too large for the store
    /// is not kept, which is no error; what was there is gone all the same.
    fn put<'a>(&'a self, key: &'a str, record: &'a Record)
    -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets what is kept under `key`, if anything.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets everything.
    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>>;

    /// How much there is. A large store may answer with an estimate.
    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>>;
}
