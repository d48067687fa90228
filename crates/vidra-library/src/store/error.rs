//! Errors of the library that do not depend on its database.

use std::time::Duration;

use vidra::{Error, Reason};

/// When a caller may try again while the library cannot be used.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(30);

/// The error of a search that took too long.
pub(super) fn search_timed_out() -> Error {
    let message = "The search took too long; use rarer words, longer prefixes, or filters";
    Error::new(Reason::SearchTimedOut, message)
}

/// The error of a disk or a server that does not answer.
pub(super) fn unavailable(source: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Reason::LibraryUnavailable, "The library cannot be used now")
        .with_retry_after(Some(RETRY_AFTER))
        .with_source(source)
}
