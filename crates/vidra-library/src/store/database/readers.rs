//! Connections for reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vidra::{Error, Result};

use super::super::error::sql;

/// Runs `work` in a read transaction: all its statements see the same state.
pub(super) fn in_read<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    connection.execute_batch("BEGIN").map_err(sql)?;
    let done = catch_unwind(AssertUnwindSafe(|| work(connection)));
    let _ = connection.execute_batch("COMMIT");
    if !connection.is_autocommit() {
        // An interrupted COMMIT leaves the transaction open.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done.unwrap_or_else(|_| Err(Error::internal("a read of the library panicked")))
}

/// Connections for reading. A permit of the semaphore stands for each.
pub(super) struct Readers {
    free: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(free: Vec<Connection>) -> Self {
        let permits = Arc::new(Semaphore::new(free.len()));
        Self { free: Mutex::new(free), permits }
    }

    /// Waits for a free connection.
    pub(super) async fn permit(&self) -> Result<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.map_err(Error::internal)
    }

    /// Runs `work` on a free connection. The caller holds a permit.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = free().pop().ok_or_else(|| Error::internal("no free reader"))?;
        let done = work(&connection);
        free().push(connection);
        done
    }
}
