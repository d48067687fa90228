//! What goes wrong around a running `vidra`, by its number in `docs/testing.md`: a process, real
//! sockets, and the simulator as the platform. What needs a clock that is stopped, or a store or a
//! platform that is played, is tested in the crates below.
//!
//! `VIDRA_LONG=1` runs the long form of those that have one: 100 kills instead of 5, and slow readers
//! until they are cut off. Where chance plays a part its seed is fixed and told.

mod callers;
mod drain;
mod files;
mod flood;
mod kills;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
mod outage;
mod platform;
#[expect(dead_code, reason = "it is the other suite's, which needs more of it")]
#[path = "../it/process.rs"]
mod process;
mod readers;
mod stores;

/// Whether the long form of a test is wanted.
fn is_long() -> bool {
    std::env::var_os("VIDRA_LONG").is_some()
}
