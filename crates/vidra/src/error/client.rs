//! Errors as a client makes them: what was asked for, of whom, and when to come again.

use std::fmt;
use std::time::Duration;

use super::{Error, ErrorKind};
use crate::transcript::Reason;

impl Error {
    /// There is too much to do already.
    pub(crate) fn busy() -> Self {
        let soon = Duration::from_secs(1);
        Self::new(ErrorKind::Unavailable, "The service is busy").retry_in(Some(soon))
    }

    /// A mistake of ours: what it was is for the log alone.
    pub(crate) fn bug(cause: impl fmt::Display) -> Self {
        let message = "Something went wrong inside the service";
        Self::new(ErrorKind::Internal, message).because(cause.to_string())
    }

    /// An error that was kept, told again.
    pub(crate) fn retold(
        kind: ErrorKind,
        message: String,
        details: Vec<String>,
        reason: Option<Reason>,
    ) -> Self {
        Self::new(kind, message).with(|inner| {
            inner.details = details;
            inner.reason = reason;
        })
    }

    pub(crate) fn retry_in(self, wait: Option<Duration>) -> Self {
        self.with(|inner| inner.retry_after = wait)
    }

    /// Marks it as about whoever asked: it is told to nobody else and not remembered.
    pub(crate) fn of_the_asker(self) -> Self {
        self.with(|inner| inner.is_of_the_asker = true)
    }

    pub(crate) fn is_of_the_asker(&self) -> bool {
        self.inner.is_of_the_asker
    }

    pub(crate) fn because(self, cause: impl Into<String>) -> Self {
        self.with(|inner| inner.cause = Some(cause.into()))
    }
}
