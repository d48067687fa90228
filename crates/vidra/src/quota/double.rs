//! Replaces the ledger's file in a simulation.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::counts::UnitCounts;

/// A count that outlives its clients, as a file does. Its work runs in a separate task with a
/// delay before and after it. Like a blocking thread, it cannot be cancelled.
#[derive(Clone)]
pub struct LedgerDouble(Arc<Inner>);

struct Inner {
    counts: Mutex<UnitCounts>,
    /// Returns the delays before and after one piece of work.
    delays: Box<dyn Fn() -> (Duration, Duration) + Send + Sync>,
}

impl LedgerDouble {
    /// Creates an empty double with these delays.
    pub fn new(delays: impl Fn() -> (Duration, Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { counts: Mutex::default(), delays: Box::new(delays) }))
    }

    pub(super) fn update<T>(&self, change: impl FnOnce(&mut UnitCounts) -> T) -> T {
        change(&mut self.0.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (before, after) = (self.0.delays)();
        tokio::spawn(async move {
            pause(before).await;
            let done = work();
            pause(after).await;
            done
        })
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

impl fmt::Debug for LedgerDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerDouble").finish_non_exhaustive()
    }
}
