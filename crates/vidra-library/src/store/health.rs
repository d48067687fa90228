//! Whether the database of a library works.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use vidra::Error;

/// A transaction over this time is counted and logged.
const SLOW: Duration = Duration::from_secs(1);

/// Whether the database of a library works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether the last transaction failed because of the disk, because the file is damaged, or because the server of
    /// the database does not answer.
    pub is_failing: bool,
    /// Transactions since the library was opened.
    pub commits: u64,
    /// Writes in these transactions.
    pub writes: u64,
    /// Transactions over one second.
    pub slow: u64,
}

/// Counts transactions.
#[derive(Debug, Default)]
pub(super) struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
    slow: AtomicU64,
    is_failing: AtomicBool,
}

impl Counters {
    pub(super) fn health(&self) -> Health {
        let Self { commits, writes, slow, is_failing } = self;
        let [commits, writes, slow] = [commits, writes, slow].map(|it| it.load(Ordering::Relaxed));
        let is_failing = is_failing.load(Ordering::Relaxed);
        Health { is_failing, commits, writes, slow }
    }

    /// Counts a transaction, and logs a slow one.
    pub(super) fn note_transaction(&self, writes: usize, elapsed: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
        if elapsed > SLOW {
            self.slow.fetch_add(1, Ordering::Relaxed);
            let elapsed_s = elapsed.as_secs_f64();
            tracing::warn!(writes, elapsed_s, "slow transaction of the library");
        }
    }

    /// Logs the first of several failures, and the end of them.
    pub(super) fn note_failure(&self, error: Option<&Error>) {
        let was_failing = self.is_failing.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_failing => {
                let (reason, source) = (error.reason().code(), std::error::Error::source(error));
                tracing::error!(reason, source, "library transaction failed");
            }
            None if was_failing => tracing::info!("library writes recovered"),
            _ => {}
        }
    }
}
