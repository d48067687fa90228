//! Several machines with one key: real `vidra` processes, a real PostgreSQL behind a proxy that cuts connections, and the
//! simulator as the platform, whose bill is the truth.
//!
//! `VIDRA_LONG=1` runs the long form: 50 faults of each kind instead of 2. Random choices have a fixed seed.

#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
#[path = "../faults/callers.rs"]
mod callers;
mod machines;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
#[path = "../it/process.rs"]
mod process;
mod quota;

/// Whether to run the long form of a test.
fn is_long() -> bool {
    std::env::var_os("VIDRA_LONG").is_some()
}
