//! What is measured, and what it is measured against.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use vidra_sim::{Endpoint, Simulator};

use crate::service::Service;

const LATENCY: Duration = Duration::from_millis(50);
const ENTRIES: u64 = 5_000;

/// Runs every case and gives the table of results.
pub(crate) fn run_all(runs: usize) -> io::Result<String> {
    let runtime = Runtime::new()?;
    let sim = Simulator::builder().latency(LATENCY).build();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = runtime.block_on(sim.listen(loopback))?;
    let url = listening.data_api_url();

    let mut report = String::from("| case | goal | measured (median, range) |\n|---|---|---|\n");
    startup(&url, runs, &mut report)?;
    playlist(&sim, &url, runs, &mut report)?;
    Ok(report)
}

/// From starting the process to its first answer, without a persisted cache.
fn startup(url: &str, runs: usize, report: &mut String) -> io::Result<()> {
    let mut times = vec![];
    for _ in 0..runs {
        let started = Instant::now();
        let service = Service::start(url)?;
        let (status, _) = service.get("/healthz")?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        expect(status == 200, "healthz did not answer 200")?;
    }
    row(report, "process start to first answer", "< 100 ms", &times, "ms");
    Ok(())
}

/// A whole playlist over an upstream that takes its time: pages can only be had one after the other,
/// so the goal is the time of the pages, of the last details, and of the playlist's own data.
fn playlist(sim: &Simulator, url: &str, runs: usize, report: &mut String) -> io::Result<()> {
    let pages = ENTRIES.div_ceil(50);
    let bound = LATENCY.as_secs_f64() * (pages + 2) as f64;
    let (mut times, mut memory) = (vec![], vec![]);
    for _ in 0..runs {
        sim.reset_record();
        let service = Service::start(url)?;
        let started = Instant::now();
        let (status, body) = service.get(&format!("/api/playlist/PLsize{ENTRIES}"))?;
        times.push(started.elapsed().as_secs_f64() / bound);
        memory.push(service.peak_memory_mb()?);
        let body: serde_json::Value = serde_json::from_slice(&body)?;
        expect(status == 200 && body["videoCount"] == ENTRIES, "the playlist is not whole")?;
        let record = sim.record();
        let calls = [Endpoint::PlaylistItems, Endpoint::Videos, Endpoint::Playlists]
            .map(|endpoint| record.calls_to(endpoint));
        expect(calls == [pages, pages, 1], &format!("pages, details, playlist: {calls:?}"))?;
    }
    let case = format!("playlist of {ENTRIES}, upstream 50 ms: time over (pages + 2) × 50 ms");
    row(report, &case, "≤ 1.15", &times, "");
    row(report, "the same: peak resident memory", "< 120 MB", &memory, "MB");
    let (goal, billed) = (2 * pages + 1, sim.record().units.default);
    let _ = writeln!(report, "| the same: upstream units | {goal} | {billed} |");
    Ok(())
}

fn expect(holds: bool, otherwise: &str) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::other(otherwise.to_owned())) }
}

fn row(report: &mut String, case: &str, goal: &str, values: &[f64], unit: &str) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, median, most) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let _ = writeln!(report, "| {case} | {goal} | {median:.3} {unit} ({least:.3} to {most:.3}) |");
}
