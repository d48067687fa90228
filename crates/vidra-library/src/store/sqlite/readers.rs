//! Connections for reading.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use vidra::{Error, Result};

use super::error::sql;
use crate::store::background::run_with_permit;
use crate::store::sql::Connection as Transaction;

/// Runs `work` in a read transaction: all its statements see the same state.
pub(super) fn in_read<T>(
    connection: &Connection,
    work: impl FnOnce(&Transaction) -> Result<T>,
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

    /// Runs `work` on a free connection, on a thread that may block.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let readers = Arc::clone(self);
        run_with_permit(&self.permits, move || readers.with(work)).await
    }

    /// Runs `work` on a free connection. The caller holds a permit.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = free().pop().ok_or_else(|| Error::internal("no free reader"))?;
        let done = work(&connection);
        free().push(connection);
        done
    }
}
