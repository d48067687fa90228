//! Whether the file of a count works.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::day::date;

/// The state of a file with spent units: the quota ledger, or the spending of callers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LedgerHealth {
    /// The file cannot be read, written or synced. Counting continues in memory, and the file gets
    /// the missing units when it works again.
    pub is_failing: bool,
    /// All copies of the file were unreadable, so that earlier charges of today are not counted.
    /// YouTube's own `quotaExceeded` closes a bucket then.
    pub is_incomplete: bool,
}

/// The health of one file, which is reported without waiting for it.
#[derive(Debug)]
pub(super) struct Health {
    /// The name of the file's purpose in the log.
    what: &'static str,
    is_write_failing: AtomicBool,
    is_sync_failing: AtomicBool,
    /// The last day whose count is incomplete.
    incomplete_on: Mutex<Option<String>>,
}

impl Health {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            is_write_failing: AtomicBool::new(false),
            is_sync_failing: AtomicBool::new(false),
            incomplete_on: Mutex::default(),
        }
    }

    pub(super) fn report(&self, now: Timestamp) -> LedgerHealth {
        let incomplete_on = self.incomplete_on.lock().unwrap_or_else(PoisonError::into_inner);
        LedgerHealth {
            is_failing: self.is_write_failing() || self.is_sync_failing.load(Ordering::Relaxed),
            is_incomplete: incomplete_on.as_ref().is_some_and(|day| *day == date(now)),
        }
    }

    pub(super) fn is_write_failing(&self) -> bool {
        self.is_write_failing.load(Ordering::Relaxed)
    }

    /// Records the result of a read or write.
    pub(super) fn access_ended(&self, result: &io::Result<()>) {
        let was_failing = self.is_write_failing.swap(result.is_err(), Ordering::Relaxed);
        match result {
            // A full disk must not stop the service.
            Err(error) if !was_failing => {
                tracing::error!(file = self.what, %error, "ledger file unusable, counting in memory");
            }
            Ok(()) if was_failing => tracing::info!(file = self.what, "ledger file usable again"),
            _ => {}
        }
    }

    /// Records the result of a sync.
    pub(super) fn sync_ended(&self, result: &io::Result<()>) {
        let was_failing = self.is_sync_failing.swap(result.is_err(), Ordering::Relaxed);
        match result {
            Err(error) if !was_failing => {
                tracing::error!(file = self.what, %error, "ledger file not synced");
            }
            Ok(()) if was_failing => tracing::info!(file = self.what, "ledger file synced again"),
            _ => {}
        }
    }

    /// Records that one copy was damaged, but not all.
    pub(super) fn found_damaged_copy(&self) {
        tracing::warn!(
            file = self.what,
            "a copy of the ledger file was damaged, using another one"
        );
    }

    /// Records that no copy was readable.
    pub(super) fn found_no_copy(&self) {
        tracing::error!(
            file = self.what,
            "all copies of the ledger file are unreadable, counting today from zero"
        );
    }

    /// Records whether the count of `today` is incomplete.
    pub(super) fn set_incomplete(&self, today: &str, is_incomplete: bool) {
        let mut day = self.incomplete_on.lock().unwrap_or_else(PoisonError::into_inner);
        if is_incomplete {
            *day = Some(today.to_owned());
        } else if day.as_deref() == Some(today) {
            *day = None;
        }
    }
}
