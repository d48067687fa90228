//! Metrics of the process, from `/proc`. Systems without it have none.

use std::fs;

use super::table;
use super::text::Page;

/// The kernel reports times in hundredths of a second, whatever its internal clock.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn write(page: &mut Page) {
    if let Some(kilobytes) = resident_kilobytes() {
        page.one(&table::RESIDENT_MEMORY, kilobytes * 1024);
    }
    // Reading the folder opens one more.
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        page.one(&table::OPEN_FDS, open.count().saturating_sub(1));
    }
    if let Some(limit) = max_fds() {
        page.one(&table::MAX_FDS, limit);
    }
    if let Some((cpu, since_boot)) = cpu_and_start() {
        page.one(&table::CPU_SECONDS, cpu);
        // Some containers hide the boot time.
        if let Some(boot) = boot() {
            page.one(&table::START_TIME, boot + since_boot);
        }
    }
}

fn resident_kilobytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The soft limit; `None` if there is none.
fn max_fds() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// CPU time, and the start of the process since boot, in seconds.
fn cpu_and_start() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may contain anything, also brackets.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // The first field after the name is number 3 in proc(5).
    let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let cpu = (ticks(14)? + ticks(15)?) / TICKS_PER_SECOND;
    Some((cpu, ticks(22)? / TICKS_PER_SECOND))
}

/// The boot time as Unix time.
fn boot() -> Option<f64> {
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
    boot.trim().parse().ok()
}
