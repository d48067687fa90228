//! The limit of open files, which also limits connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// File descriptors for everything but connections: log, ledger, store, upstream requests.
const RESERVED: u64 = 128;

/// Raises the limit of open files as far as allowed, and returns how many of the `wanted` connections fit.
/// Without this bound, connections could use up the descriptors for upstream requests.
pub(crate) fn connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    // `None` means no limit.
    let Some(files) = files else { return wanted };
    let possible = files.saturating_sub(RESERVED.min(files / 2));
    let possible = usize::try_from(possible).unwrap_or(usize::MAX);
    if possible < wanted {
        tracing::warn!(
            possible,
            wanted,
            files,
            "connection limit lowered to fit the limit of open files"
        );
    }
    wanted.min(possible)
}
