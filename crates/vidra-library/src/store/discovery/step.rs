//! The common parts of all steps: their beginning, the next task of a source, and failures.

use jiff::Timestamp;
use vidra::{Reason, Result};

use super::TaskSource;
use crate::collection::CollectionRequest;
use crate::job::Failure;
use crate::store::leases::Lease;
use crate::store::listing::{Charge, count_units, is_held};
use crate::store::sql::{Connection, params};

/// When a sync with a source that failed for a passing reason is repeated. The time doubles with each failure.
const SOON_MS: i64 = 3600 * 1000;

/// Counts the cost of a step, and reads whether its source was listed before. `None` if the lease was lost, or if the
/// result is stored already.
pub(super) fn begin(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    source: &TaskSource,
) -> Result<Option<bool>> {
    if !begin_several(connection, lease, charge)? {
        return Ok(None);
    }
    let before = "SELECT is_listed FROM collection_sources WHERE number = ? AND task = ? AND cursor IS NOT DISTINCT FROM ?";
    let parameters = params![source.number, source.task, source.cursor];
    connection.query_optional(before, parameters, |row| row.get(0))
}

/// Counts the cost of a step for several sources. Returns whether the lease is valid.
pub(super) fn begin_several(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
) -> Result<bool> {
    count_units(connection, lease, charge)?;
    is_held(connection, lease)
}

/// The options of a collection, as they are now: somebody may have changed them during the call.
pub(super) fn read_request(connection: &Connection, collection: i64) -> Result<CollectionRequest> {
    let options = "SELECT options FROM collections WHERE number = ?";
    let options: String = connection.query_row(options, [collection], |row| row.get(0))?;
    Ok(CollectionRequest::from_stored(&options))
}

/// Sets the next task of a source after a successful step.
pub(super) fn set_task(
    connection: &Connection,
    source: i64,
    task: Option<&str>,
    cursor: Option<&str>,
    now: Timestamp,
) -> Result<()> {
    let update = "UPDATE collection_sources SET task = ?1, cursor = ?2,
            checked_at = CASE WHEN ?1 IS NULL THEN ?3 ELSE checked_at END, error_reason = NULL, error_message = NULL,
            failures = CASE WHEN ?1 IS NULL THEN 0 ELSE failures END
        WHERE number = ?4";
    let parameters = params![task, cursor, now.as_millisecond(), source];
    connection.execute(update, parameters)?;
    Ok(())
}

/// Ends the tasks of sources that failed. The next sync tries again.
pub(crate) fn fail_sources(
    connection: &Connection,
    lease: &Lease,
    charge: Charge,
    sources: &[TaskSource],
    failure: &Failure,
    now: Timestamp,
) -> Result<()> {
    if begin_several(connection, lease, charge)? {
        sources.iter().try_for_each(|source| fail(connection, source, failure, now))?;
    }
    Ok(())
}

pub(super) fn fail(
    connection: &Connection,
    source: &TaskSource,
    failure: &Failure,
    now: Timestamp,
) -> Result<()> {
    let update = "UPDATE collection_sources SET task = NULL, error_reason = ?2, error_message = ?3, checked_at = ?4,
            cursor = CASE WHEN ?5 THEN NULL ELSE cursor END, failures = failures + 1
        WHERE number = ?1 AND task IS NOT NULL RETURNING failures";
    let code = failure.reason.code();
    // A list whose cursor has expired begins again.
    let is_expired = failure.reason == Reason::InvalidCursor;
    let parameters =
        params![source.number, code, failure.message, now.as_millisecond(), is_expired];
    let failures: Option<u32> = connection.query_optional(update, parameters, |row| row.get(0))?;
    let Some(failures) = failures else { return Ok(()) };
    // Searches of this day are spent for all syncs.
    let is_passing = failure.reason.is_retryable() || is_expired;
    if is_passing && failure.reason != Reason::SearchQuotaExhausted {
        let soon = "UPDATE collections SET next_sync = ?1
            WHERE next_sync > ?1 AND number = (SELECT collection FROM collection_sources WHERE number = ?2)";
        let pause = SOON_MS.saturating_mul(1 << failures.saturating_sub(1).min(20));
        let at = now.as_millisecond().saturating_add(pause);
        connection.execute(soon, params![at, source.number])?;
    }
    Ok(())
}
