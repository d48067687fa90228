//! Searches: reads with a deadline, on connections of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle};
use vidra::Result;

use super::readers::{Readers, in_read};
use crate::store::error::search_timed_out;
use crate::store::sql::Connection as Transaction;

/// Runs `work` in a read transaction. It ends after `limit`, also while it waits for other searches, and when the caller
/// leaves.
pub(super) async fn run<T: Send + 'static>(
    searchers: &Arc<Readers>,
    limit: Duration,
    work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
) -> Result<T> {
    let stop = StopOnDrop::default();
    let interrupt = Arc::clone(&stop.0);
    let search = searchers.run(move |it| interrupt.guard(it, || in_read(it, work)));
    tokio::time::timeout(limit, search).await.unwrap_or_else(|_| Err(search_timed_out()))
}

/// Stops the work when nobody waits for it any more.
#[derive(Default)]
struct StopOnDrop(Arc<Interrupt>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

/// Stops the work on a connection from another thread.
#[derive(Default)]
struct Interrupt {
    state: Mutex<InterruptState>,
}

#[derive(Default)]
struct InterruptState {
    is_requested: bool,
    /// The connection, while it does this work and no other.
    running: Option<InterruptHandle>,
}

impl Interrupt {
    fn state(&self) -> MutexGuard<'_, InterruptState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on a connection, so that [`Interrupt::interrupt`] stops it.
    fn guard<T>(&self, connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<T> {
        {
            let mut state = self.state();
            if state.is_requested {
                return Err(search_timed_out());
            }
            state.running = Some(connection.get_interrupt_handle());
        }
        let done = work();
        self.state().running = None;
        done
    }

    fn interrupt(&self) {
        let mut state = self.state();
        state.is_requested = true;
        if let Some(running) = &state.running {
            running.interrupt();
        }
    }
}
