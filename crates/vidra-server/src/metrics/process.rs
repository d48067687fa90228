//! What the system knows about this process, from `/proc`; nothing where there is none.

use std::fs;

use super::text::{Kind, Page};

/// The kernel tells times to others in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn write(page: &mut Page) {
    if let Some(kilobytes) = resident_kilobytes() {
        let help = "Memory that is held.";
        page.one("process_resident_memory_bytes", Kind::Gauge, help, kilobytes * 1024);
    }
    // The folder that is being read is open meanwhile.
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let open = open.count().saturating_sub(1);
        page.one("process_open_fds", Kind::Gauge, "Files and sockets that are open.", open);
    }
    if let Some((cpu, since_boot)) = cpu_and_start() {
        let help = "Processor time used.";
        page.one("process_cpu_seconds_total", Kind::Counter, help, cpu);
        // Not everybody is shown when the machine began.
        if let Some(boot) = boot() {
            let help = "When the process began, in Unix time.";
            page.one("process_start_time_seconds", Kind::Gauge, help, boot + since_boot);
        }
    }
}

fn resident_kilobytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// In seconds; the start since that of the machine.
fn cpu_and_start() -> Option<(f64, f64)> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in brackets may hold anything, brackets too.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Counted from the field after the name, which proc(5) numbers 3.
    let ticks = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let cpu = (ticks(14)? + ticks(15)?) / TICKS_PER_SECOND;
    Some((cpu, ticks(22)? / TICKS_PER_SECOND))
}

/// When the machine began, in Unix time.
fn boot() -> Option<f64> {
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
    boot.trim().parse().ok()
}
