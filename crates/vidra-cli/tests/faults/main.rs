//! Faults around a running `vidra`, by their number in `docs/testing.md`: a process, real sockets, and
//! the simulator as the platform. Tests that need a paused clock, a simulated store or a simulated
//! platform are in the crates below.
//!
//! `VIDRA_LONG=1` runs the long form of some tests: 100 kills instead of 5, and slow readers until they
//! are disconnected. Random choices have a fixed seed, which is printed.

mod callers;
mod drain;
mod files;
mod flood;
mod jobs;
mod kills;
mod memory;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
mod outage;
mod platform;
#[expect(dead_code, reason = "shared with the other suite, which uses more of it")]
#[path = "../it/process.rs"]
mod process;
mod readers;
mod stores;

/// Whether to run the long form of a test.
fn is_long() -> bool {
    std::env::var_os("VIDRA_LONG").is_some()
}
