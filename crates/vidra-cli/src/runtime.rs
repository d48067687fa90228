//! The runtime of asynchronous work.

use tokio::runtime::Runtime;

/// Starts a runtime with a thread for each core.
pub(crate) fn runtime() -> Result<Runtime, String> {
    Runtime::new().map_err(|error| format!("cannot start: {error}"))
}
