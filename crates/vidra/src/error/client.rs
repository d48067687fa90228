//! Constructors of the errors that only a client returns.

use std::error::Error as StdError;
use std::time::Duration;

use super::{Error, Reason};

impl Error {
    /// The service is at its limit.
    pub(crate) fn overloaded() -> Self {
        let soon = Duration::from_secs(1);
        Self::new(Reason::Overloaded, "The service is at its limit").with_retry_after(Some(soon))
    }

    /// A bug. Only the log names the cause.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Reason::Internal, "Something went wrong inside the service").with_source(cause)
    }

    /// An operation that exceeded its deadline. Other waiters of the same fetch may have more time.
    pub(crate) fn past_deadline() -> Self {
        Self::new(Reason::TimedOut, "YouTube did not answer in time").for_one_caller()
    }

    /// Restores an error from a stored record.
    pub(crate) fn from_stored(reason: Reason, message: String, details: Vec<String>) -> Self {
        Self::new(reason, message).with(|inner| inner.details = details)
    }

    /// Sets the time after which a retry can help.
    pub fn with_retry_after(self, wait: Option<Duration>) -> Self {
        self.with(|inner| inner.retry_after = wait)
    }

    /// Marks an error that concerns one caller only. Followers of the shared fetch do not get it,
    /// and the cache does not store it.
    pub(crate) fn for_one_caller(self) -> Self {
        self.with(|inner| inner.is_for_one_caller = true)
    }

    pub(crate) fn is_for_one_caller(&self) -> bool {
        self.inner.is_for_one_caller
    }
}
