//! Processes under measurement, each pinned to a core.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::{Child, Command};
use std::thread;

/// The core of servers under load. A server that shared its core with the load generator would also share
/// its CPU caches.
pub(crate) const SERVER_CORE: usize = 0;
/// The core of load generators.
pub(crate) const LOAD_CORE: usize = 1;

/// Whether both cores exist.
pub(crate) fn has_two_cores() -> bool {
    thread::available_parallelism().is_ok_and(|cores| cores.get() > LOAD_CORE)
}

/// `program` on one core.
pub(crate) fn pinned(core: usize, program: impl AsRef<OsStr>) -> Command {
    // taskset replaces itself with the program, under the same process id.
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(core.to_string()).arg(program);
    command
}

/// A running process; killed when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// The CPU time used so far in seconds, user and system.
    pub(crate) fn cpu(&self) -> io::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The name in parentheses may contain any character.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        match ticks[..] {
            [user, system] => Ok((user + system) / TICKS_PER_SECOND),
            _ => Err(missing()),
        }
    }

    /// Kills the process and waits for its end.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// A figure of `/proc/PID/status`, in MB.
    pub(crate) fn status_mb(&self, name: &str) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = value.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map(|kb| kb / 1024.0).ok_or_else(missing)
    }
}

/// `USER_HZ`, which is 100 on Linux.
const TICKS_PER_SECOND: f64 = 100.0;

fn missing() -> io::Error {
    io::Error::other("not found in /proc")
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
