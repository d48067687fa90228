//! How many files the process may have open, of which each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the log, the ledger, the store and what is asked of the platform.
const RESERVED: u64 = 128;

/// As many connections as were asked for, or as the system has files for: whoever uses up the last one
/// takes it from the way to the platform. The limit is raised as far as that is allowed first.
pub(crate) fn connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    // No limit at all is `None`.
    let Some(files) = files else { return wanted };
    let places = files.saturating_sub(RESERVED.min(files / 2));
    let places = usize::try_from(places).unwrap_or(usize::MAX);
    if places < wanted {
        tracing::warn!(
            places,
            wanted,
            files,
            "fewer connections than asked for: too few open files"
        );
    }
    wanted.min(places)
}
