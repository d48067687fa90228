//! Searches: reads with a deadline, on connections of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle};
use vidra::{Error, Result};

use super::super::error::search_timed_out;
use super::readers::in_read;
use super::{Database, Mode};

/// How many searches run at the same time: they use at most half of the processors.
pub(super) fn searchers() -> usize {
    thread::available_parallelism().map_or(1, |it| it.get().div_ceil(2))
}

impl Database {
    /// Runs `work` in a read transaction, on a connection for searches. It ends after `limit`, also while it waits for
    /// other searches, and when the caller leaves.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`](vidra::Reason::SearchTimedOut).
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Mode::File { searchers, .. } = &self.mode else { return self.try_read(work).await };
        let stop = StopOnDrop::default();
        let search = async {
            let permit = searchers.permit().await?;
            let (searchers, interrupt) = (Arc::clone(searchers), Arc::clone(&stop.0));
            let read = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                searchers.with(|it| interrupt.guard(it, || in_read(it, work)))
            });
            read.await.map_err(Error::internal)?
        };
        tokio::time::timeout(limit, search).await.unwrap_or_else(|_| Err(search_timed_out()))
    }
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
