//! Errors as a client makes them.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use super::{Error, Reason};

impl Error {
    /// The service is at its limit.
    pub(crate) fn overloaded() -> Self {
        let soon = Duration::from_secs(1);
        Self::new(Reason::Overloaded, "The service is at its limit").with_retry_after(Some(soon))
    }

    /// A bug. Only the log names the cause.
    pub(crate) fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Reason::Internal, "Something went wrong inside the service").with_source(cause)
    }

    /// An operation that ran out of time. Others that share its fetch may have more time.
    pub(crate) fn past_deadline() -> Self {
        Self::new(Reason::TimedOut, "YouTube did not answer in time").of_one_caller()
    }

    /// A stored error.
    pub(crate) fn from_stored(reason: Reason, message: String, details: Vec<String>) -> Self {
        Self::new(reason, message).with(|inner| inner.details = details)
    }

    pub(crate) fn with_retry_after(self, wait: Option<Duration>) -> Self {
        self.with(|inner| inner.retry_after = wait)
    }

    /// Marks an error that concerns one caller alone: others that share the fetch do not get it, and it is not
    /// remembered.
    pub(crate) fn of_one_caller(self) -> Self {
        self.with(|inner| inner.is_of_one_caller = true)
    }

    pub(crate) fn is_of_one_caller(&self) -> bool {
        self.inner.is_of_one_caller
    }

    pub(crate) fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.with(|inner| inner.source = Some(Arc::from(source.into())))
    }
}
