//! Stands in for the ledger's file in a simulation.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::day::Day;

/// A day's count that outlives the clients it is given to, as a file would. Its work runs as a task of its
/// own, after a delay and with a delay before the result arrives: a blocking thread is as slow and cannot
/// be stopped either.
#[derive(Clone)]
pub struct LedgerDouble(Arc<Inner>);

struct Inner {
    day: Mutex<Option<Day>>,
    /// Drawn anew for each piece of work: before it and after it.
    delays: Box<dyn Fn() -> (Duration, Duration) + Send + Sync>,
}

impl LedgerDouble {
    /// An empty one with these delays.
    pub fn new(delays: impl Fn() -> (Duration, Duration) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner { day: Mutex::default(), delays: Box::new(delays) }))
    }

    pub(super) fn update<T>(&self, change: impl FnOnce(&mut Option<Day>) -> T) -> T {
        change(&mut self.0.day.lock().unwrap_or_else(PoisonError::into_inner))
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
