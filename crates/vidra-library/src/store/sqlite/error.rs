//! Maps errors of SQLite to reasons.

use std::time::Duration;

use rusqlite::ErrorCode;
use vidra::{Error, Reason};

use crate::store::error::{RETRY_AFTER, search_timed_out, unavailable};

/// When a caller may try again while the file is damaged: an operator has to restore it.
const DAMAGED_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The error of a failed SQL statement. Its message names neither the file nor the statement.
pub(in crate::store) fn sql(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    match code {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::new(Reason::LibraryDamaged, "The library file is damaged")
                .with_retry_after(Some(DAMAGED_RETRY_AFTER))
                .with_source(error)
        }
        Some(ErrorCode::OperationInterrupted) => search_timed_out(),
        Some(ErrorCode::DiskFull) => {
            let message = "The disk is full, or the library file has reached its size limit";
            Error::new(Reason::LibraryUnavailable, message)
                .with_retry_after(Some(RETRY_AFTER))
                .with_source(error)
        }
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory,
        ) => unavailable(error),
        _ => Error::internal(error),
    }
}
