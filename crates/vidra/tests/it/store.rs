//! The cache's stores: one suite for all of them, and what can go wrong with each.

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

/// Far off, so that no store finds a record to be past its time by the real clock.
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

/// This program again, running the same test, which finds that it was [`told`] a value and plays the
/// other process.
fn another_process(test: &str, value: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("VIDRA_TEST_VALUE", value).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// What [`another_process`] was told; `None` in the first process.
fn told() -> Option<String> {
    std::env::var("VIDRA_TEST_VALUE").ok()
}

/// A store in trouble on demand, counting what it is asked.
struct Faulty {
    memory: Memory,
    trouble: Mutex<Trouble>,
    calls: AtomicUsize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
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
    fn new(trouble: Trouble) -> Self {
        let memory = Memory::new(256 * 1024 * 1024);
        Self { memory, trouble: Mutex::new(trouble), calls: AtomicUsize::new(0) }
    }

    fn suffer(&self, trouble: Trouble) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    async fn meet(&self, is_write: bool) -> Result<(), StoreError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let trouble = *self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Trouble::Hangs => std::future::pending().await,
            Trouble::Slow => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok(())
            }
            Trouble::CorruptAndHangsToWrite if is_write => std::future::pending().await,
            Trouble::FailsToWrite if !is_write => Ok(()),
            Trouble::Fails | Trouble::FailsToWrite => {
                Err(StoreError::Unavailable("no space left".to_owned()))
            }
            Trouble::Panics => panic!("a store of somebody's own"),
            Trouble::CorruptAndHangsToWrite => Err(StoreError::Corrupt),
            Trouble::Corrupt if !is_write => Err(StoreError::Corrupt),
            Trouble::None | Trouble::Corrupt => Ok(()),
        }
    }
}

impl Store for Faulty {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            self.meet(false).await?;
            Ok(self.memory.peek(key))
        })
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        Box::pin(async move {
            self.meet(false).await?;
            Ok(keys.iter().map(|key| self.memory.peek(key)).collect())
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.meet(true).await?;
            self.memory.insert(key, record.clone());
            Ok(())
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.meet(true).await?;
            self.memory.forget(key);
            Ok(())
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.meet(true).await?;
            self.memory.forget_all();
            Ok(())
        })
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            self.meet(false).await?;
            Ok(self.memory.held())
        })
    }
}
