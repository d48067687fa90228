//! `/api/usage`: what callers used, for operators.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use vidra::{Reason, UsageReport};

use crate::error_body::{ApiError, OperatorErrors, Result};
use crate::gate::Caller;
use crate::respond::Tagged;
use crate::state::AppState;

/// How long a report waits for the file of the usage.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// The usage of each caller in the last 30 days, by day.
///
/// Only keys of operators may read it. Days without usage are left out, and so are callers without usage on a
/// day. The rows of a revoked key stay until they are 30 days old. If the service requires no keys, every caller may
/// read it, and all callers are one row without a name.
///
/// Cost: none.
#[utoipa::path(
    get, path = "/api/usage", tag = "Service",
    responses(
        (status = 200, description = "The days, the newest first", body = UsageReport),
        OperatorErrors
    )
)]
pub(super) async fn get_usage(
    State(state): State<AppState>,
    caller: Option<Extension<Arc<Caller>>>,
) -> Result<Tagged<UsageReport>> {
    if caller.is_some_and(|Extension(caller)| !caller.is_operator) {
        let message = "Only operators may see the usage of callers";
        return Err(ApiError::new(Reason::OperatorKeyRequired, message));
    }
    let AppState { vidra, allowances, open_account, .. } = state;
    let now = vidra.clock().now();
    let report = spawn_blocking(move || allowances.usage(now));
    let report = timeout(REPORT_TIMEOUT, report).await.map_err(ApiError::internal)?;
    let report = report.map_err(ApiError::internal)?;
    Ok(Tagged(match open_account {
        // The file may have the names of keys from a time when the service required them.
        Some(_) => report.of_callers(|caller| caller.name.is_none()),
        None => report,
    }))
}
