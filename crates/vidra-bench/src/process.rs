//! Processes under measurement, each on the core that it is given.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::process::{Child, Command};
use std::thread;

/// The core of servers under load, and that of whoever asks them. A server that shared its core
/// would be measured with the caches of another.
pub(crate) const SERVER_CORE: usize = 0;
pub(crate) const LOAD_CORE: usize = 1;

/// Whether there is a core for each.
pub(crate) fn has_two_cores() -> bool {
    thread::available_parallelism().is_ok_and(|cores| cores.get() > LOAD_CORE)
}

/// `program` on one core.
pub(crate) fn pinned(core: usize, program: impl AsRef<OsStr>) -> Command {
    // It becomes the program, under the same process id.
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(core.to_string()).arg(program);
    command
}

/// A running process; killed when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// The time it had on a core so far, in seconds: its own and the kernel's on its behalf.
    pub(crate) fn cpu(&self) -> io::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        // The name in parentheses may hold anything.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|it| it.parse().ok()).collect();
        match ticks[..] {
            [user, system] => Ok((user + system) / TICKS_A_SECOND),
            _ => Err(not_told()),
        }
    }

    /// A figure of `/proc/PID/status`, in MB.
    pub(crate) fn status_mb(&self, name: &str) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = value.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kilobytes.map(|kb| kb / 1024.0).ok_or_else(not_told)
    }
}

/// `USER_HZ`, which is 100 on every Linux there is.
const TICKS_A_SECOND: f64 = 100.0;

fn not_told() -> io::Error {
    io::Error::other("not told in /proc")
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
