//! The stores of the cache: one suite for all of them, and the faults of each.

mod codec;
#[cfg(unix)]
mod damage;
#[cfg(unix)]
mod fs;
mod guarded;
#[cfg(unix)]
mod kill;
mod memory;
#[cfg(all(unix, feature = "redis"))]
pub(crate) mod redis;
mod tiers;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use vidra::store::{BoxFuture, Memory, Record, Store, StoreError, Usage};

/// Far in the future, so that no record is expired by the real clock.
const NOW: u64 = 4_000_000_000_000;

fn record(body: &str) -> Record {
    let body = body.to_owned().into();
    Record {
        stored_at: NOW,
        keep_until: NOW + 60_000,
        is_refusal: false,
        is_cheap: false,
        schema: 1,
        body,
    }
}

/// Runs the same test of this program in another process. There the test gets `value` from
/// [`passed_value`] and acts as the other process.
fn another_process(test: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("VIDRA_TEST_VALUE", value).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The value that [`another_process`] passed; `None` in the first process.
fn passed_value() -> Option<String> {
    std::env::var("VIDRA_TEST_VALUE").ok()
}

/// A store with faults on demand, which counts its calls.
struct Faulty {
    memory: Memory,
    fault: Mutex<StoreFault>,
    calls: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreFault {
    None,
    Hangs,
    /// Takes 300 ms for everything.
    Slow,
    Fails,
    FailsToWrite,
    Panics,
    Corrupt,
    CorruptAndHangsToWrite,
}

impl Faulty {
    fn new(fault: StoreFault) -> Self {
        let memory = Memory::new(256 * 1024 * 1024);
        Self { memory, fault: Mutex::new(fault), calls: AtomicUsize::new(0) }
    }

    fn set_fault(&self, fault: StoreFault) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    async fn apply_fault(&self, is_write: bool) -> Result<(), StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match fault {
            StoreFault::Hangs => std::future::pending().await,
            StoreFault::Slow => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok(())
            }
            StoreFault::CorruptAndHangsToWrite if is_write => std::future::pending().await,
            StoreFault::FailsToWrite if !is_write => Ok(()),
            StoreFault::Fails | StoreFault::FailsToWrite => {
                Err(StoreError::Unavailable("no space left".to_owned()))
            }
            StoreFault::Panics => panic!("a panic in a custom store"),
            StoreFault::CorruptAndHangsToWrite => Err(StoreError::Corrupt),
            StoreFault::Corrupt if !is_write => Err(StoreError::Corrupt),
            StoreFault::None | StoreFault::Corrupt => Ok(()),
        }
    }
}

impl Store for Faulty {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            self.apply_fault(false).await?;
            Ok(self.memory.peek(key))
        })
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        Box::pin(async move {
            self.apply_fault(false).await?;
            Ok(keys.iter().map(|key| self.memory.peek(key)).collect())
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.apply_fault(true).await?;
            self.memory.insert(key, record.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.apply_fault(true).await?;
            self.memory.forget(key);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.apply_fault(true).await?;
            self.memory.forget_all();
            Ok(())
        })
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            self.apply_fault(false).await?;
            Ok(self.memory.held())
        })
    }
}
