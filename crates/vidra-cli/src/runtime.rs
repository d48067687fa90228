//! The runtimes of asynchronous work.

use tokio::runtime::{Builder, Runtime};

/// How many threads of the connections may read temporary files.
const CONNECTION_FILES: usize = 64;

/// Starts a runtime with a thread for each core.
pub(crate) fn runtime() -> Result<Runtime, String> {
    start(&mut Builder::new_multi_thread())
}

/// Starts a runtime, with a thread for each core, for the connections of the service and its cached responses. Other
/// requests, which can keep the threads of their runtime busy, do not delay them.
pub(crate) fn connections_runtime() -> Result<Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    start(builder.thread_name("connections").max_blocking_threads(CONNECTION_FILES))
}

fn start(builder: &mut Builder) -> Result<Runtime, String> {
    builder.enable_all().build().map_err(|error| format!("cannot start: {error}"))
}
