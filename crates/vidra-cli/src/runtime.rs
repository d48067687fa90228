//! The runtimes of asynchronous work.

use tokio::runtime::{Builder, Runtime};

/// Starts a runtime with a thread for each core.
pub(crate) fn runtime() -> Result<Runtime, String> {
    start(&mut Builder::new_multi_thread())
}

/// Starts a runtime, with a thread for each core, for the connections of the service and its cached responses. Other
/// requests, which can keep the threads of their runtime busy, do not delay them.
pub(crate) fn connections_runtime() -> Result<Runtime, String> {
    start(Builder::new_multi_thread().thread_name("connections"))
}

fn start(builder: &mut Builder) -> Result<Runtime, String> {
    builder.enable_all().build().map_err(|error| format!("cannot start: {error}"))
}
