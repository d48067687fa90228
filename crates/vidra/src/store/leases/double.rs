//! Leases in memory, for tests of machines that share them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{FencingToken, Leases, Listeners, Listening};
use crate::store::{BoxFuture, StoreError};

/// Leases in the memory of one process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LeasesDouble {
    table: Arc<Mutex<Table>>,
    listeners: Listeners,
}

#[derive(Debug, Default)]
struct Table {
    leases: HashMap<String, (FencingToken, Instant)>,
    last: u64,
    is_down: bool,
}

impl LeasesDouble {
    /// Makes all operations fail, or work again.
    pub fn set_down(&self, is_down: bool) {
        self.lock().is_down = is_down;
    }

    /// The number of leases that are taken.
    pub fn taken(&self) -> usize {
        let table = self.lock();
        table.leases.values().filter(|(_, until)| *until > Instant::now()).count()
    }

    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Table) -> T,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let mut table = self.lock();
        let done = match table.is_down {
            true => Err(StoreError::Unavailable("down".to_owned())),
            false => Ok(work(&mut table)),
        };
        Box::pin(std::future::ready(done))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn is_current(&self, key: &str, fence: FencingToken) -> bool {
        self.leases.get(key).is_some_and(|it| it.0 == fence && it.1 > Instant::now())
    }
}

impl Leases for LeasesDouble {
    fn take<'a>(
        &'a self,
        key: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<FencingToken>, StoreError>> {
        self.with(|table| {
            if table.leases.get(key).is_some_and(|(_, until)| *until > Instant::now()) {
                return None;
            }
            table.last += 1;
            let fence = FencingToken(table.last);
            table.leases.insert(key.to_owned(), (fence, Instant::now() + time));
            Some(fence)
        })
    }

    fn renew<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.with(|table| {
            let is_current = table.is_current(key, fence);
            if is_current {
                table.leases.insert(key.to_owned(), (fence, Instant::now() + time));
            }
            is_current
        })
    }

    fn release<'a>(
        &'a self,
        key: &'a str,
        fence: FencingToken,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.with(|table| {
            if table.is_current(key, fence) {
                table.leases.remove(key);
            }
        })
    }

    fn announce<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>> {
        let listeners = self.listeners.clone();
        self.with(move |_| listeners.announce(keys))
    }

    fn listen(&self, keys: &[String]) -> Listening {
        self.listeners.listen(keys)
    }
}
