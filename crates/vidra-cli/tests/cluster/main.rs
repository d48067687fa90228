//! Several machines with one key: real `vidra` processes, a real PostgreSQL and a real Redis behind proxies that cut
//! connections, and the simulator as the platform, whose bill is the truth.
//!
//! `VIDRA_LONG=1` runs the long form: 50 faults of each kind instead of 2, and also a cluster of Redis servers and sentinels.
//! Random choices have a fixed seed.

mod budgets;
#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
#[path = "../faults/callers.rs"]
mod callers;
mod fetches;
mod jobs;
mod machines;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
#[expect(dead_code, reason = "shared with the other suites, which use more of it")]
#[path = "../it/process.rs"]
mod process;
mod quota;

use std::thread;
use std::time::{Duration, Instant};

/// Lets time pass in which requests run.
fn pause(time: Duration) {
    thread::park_timeout(time);
}

#[track_caller]
fn wait_until(at_most: Duration, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + at_most;
    while !is_so() {
        assert!(Instant::now() < until, "not within {at_most:?}");
        pause(Duration::from_millis(20));
    }
}

/// Whether to run the long form of a test.
fn is_long() -> bool {
    std::env::var_os("VIDRA_LONG").is_some()
}
