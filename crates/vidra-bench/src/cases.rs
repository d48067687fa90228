//! The cases and their goals.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tokio::runtime::Runtime;
use vidra_sim::{Endpoint, Simulator};

use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;
use crate::{cache_cost, crowd, hot, jobs, lists, overload, searches, shared, soak};

const LATENCY: Duration = Duration::from_millis(50);
const ENTRIES: u64 = 5_000;

/// A group of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Start, playlists, transcripts
    Service,
    /// Answers from the cache, against a bare server and nginx
    Hot,
    /// Cost of the cache: misses, memory, upstream units
    CacheCost,
    /// Lists page by page and as a stream: time to the first item, memory
    Lists,
    /// Jobs: rate, memory, cached answers beside them
    Jobs,
    /// Searches in a large library, cached answers beside them; runs only if it is named
    Search,
    /// PostgreSQL and Redis that machines share: misses, hits, outages; runs only if it is named
    Shared,
    /// Overload: three times the capacity, over 2,000 connections; runs only if it is named
    Load,
    /// Cached answers beside many large ones; runs only if it is named
    Crowd,
    /// Soak: a long mixture of requests with faults; runs only if it is named
    Soak,
}

/// The length of the long cases.
pub(crate) struct Durations {
    pub(crate) seconds: f64,
    pub(crate) minutes: f64,
}

/// Runs the selected cases and returns the table of results.
pub(crate) fn run_all(
    runs: usize,
    durations: &Durations,
    is_selected: impl Fn(Part) -> bool,
) -> io::Result<Report> {
    let runtime = Runtime::new()?;
    let sim = Simulator::builder().latency(LATENCY).limits(u64::MAX, u64::MAX).build();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let listening = runtime.block_on(sim.listen(loopback))?;
    let urls = (listening.data_api_url(), listening.web_url());
    let urls = (urls.0.as_str(), urls.1.as_str());

    let mut report = Report::new();
    if is_selected(Part::Service) {
        startup(urls, runs, &mut report)?;
        playlist(&sim, urls, runs, &mut report)?;
        sim.set_latency(TRANSCRIPT_LATENCY);
        transcripts(&sim, urls, runs, &mut report)?;
        sim.set_latency(Duration::ZERO);
        long_stream(&sim, urls, &mut report)?;
    }
    sim.set_latency(Duration::ZERO);
    let upstream = Upstream { sim: &sim, runtime: &runtime, address: listening.addr(), urls };
    if is_selected(Part::Hot) {
        hot::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::CacheCost) {
        cache_cost::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::Lists) {
        lists::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::Jobs) {
        jobs::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::Search) {
        searches::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::Shared) {
        shared::measure(&upstream, runs, &mut report)?;
    }
    if is_selected(Part::Load) {
        overload::measure(&upstream, durations.seconds, &mut report)?;
    }
    if is_selected(Part::Crowd) {
        crowd::measure(&upstream, durations.seconds, &mut report)?;
    }
    if is_selected(Part::Soak) {
        soak::measure(&upstream, durations.minutes, &mut report)?;
    }
    Ok(report)
}

/// The time from the start of the process to its first answer, without a persistent cache.
fn startup((data, web): (&str, &str), runs: usize, report: &mut Report) -> io::Result<()> {
    let mut times = vec![];
    for _ in 0..runs {
        let started = Instant::now();
        let service = Service::start(data, web)?;
        let (status, _) = service.get("/healthz")?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        expect(status == 200, "healthz did not answer 200")?;
    }
    report.row("process start to first answer", "< 100 ms", &times, "ms");
    Ok(())
}

/// A whole playlist from an upstream with latency. Pages are sequential, so the goal is the time of the
/// pages, of the last details, and of the playlist's own data.
fn playlist(
    sim: &Simulator,
    (data, web): (&str, &str),
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let pages = ENTRIES.div_ceil(50);
    let bound = LATENCY.as_secs_f64() * (pages + 2) as f64;
    let (mut times, mut memory) = (vec![], vec![]);
    for _ in 0..runs {
        sim.reset_record();
        let service = Service::start(data, web)?;
        let started = Instant::now();
        let (status, body) = service.get(&format!("/api/playlist/PLsize{ENTRIES}"))?;
        times.push(started.elapsed().as_secs_f64() / bound);
        memory.push(service.peak_memory_mb()?);
        let body: serde_json::Value = serde_json::from_slice(&body)?;
        expect(status == 200 && body["videoCount"] == ENTRIES, "the playlist is not complete")?;
        let record = sim.record();
        let calls = [Endpoint::PlaylistItems, Endpoint::Videos, Endpoint::Playlists]
            .map(|endpoint| record.calls_to(endpoint));
        expect(calls == [pages, pages, 1], &format!("pages, details, playlist: {calls:?}"))?;
    }
    let case = format!("playlist of {ENTRIES}, upstream 50 ms: time over (pages + 2) × 50 ms");
    report.row(&case, "≤ 1.15", &times, "");
    report.row("the same: peak resident memory", "< 120 MB", &memory, "MB");
    let (goal, billed) = (2 * pages + 1, sim.record().units.default);
    report.word("the same: upstream units", &goal.to_string(), &billed.to_string());
    Ok(())
}

const TRANSCRIPT_LATENCY: Duration = Duration::from_millis(100);

/// 200 transcripts, sixteen at a time, from a platform with 100 ms per exchange: two exchanges each in
/// thirteen rounds, after the first page of the playlist.
fn transcripts(
    sim: &Simulator,
    (data, web): (&str, &str),
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let (entries, concurrency) = (200_u32, 16_u32);
    let bound = TRANSCRIPT_LATENCY * (1 + 2 * entries.div_ceil(concurrency));
    let (mut times, mut firsts) = (vec![], vec![]);
    for _ in 0..runs {
        sim.reset_record();
        let service = Service::start(data, web)?;
        let started = Instant::now();
        let (mut first, mut last) = (None, String::new());
        service.transcripts("PLsize200", concurrency as usize, |line| {
            first.get_or_insert_with(|| started.elapsed());
            line.clone_into(&mut last);
        })?;
        times.push(started.elapsed().as_secs_f64() / bound.as_secs_f64());
        firsts.push(first.unwrap_or_default().as_secs_f64() / TRANSCRIPT_LATENCY.as_secs_f64());
        let summary: serde_json::Value = serde_json::from_str(&last)?;
        expect(summary["succeeded"] == entries, &format!("not all succeeded: {last}"))?;
        let record = sim.record();
        let calls = [Endpoint::Player, Endpoint::TimedText, Endpoint::Watch]
            .map(|endpoint| record.calls_to(endpoint));
        expect(calls == [200, 200, 0], &format!("players, captions, pages: {calls:?}"))?;
    }
    let case = "200 transcripts, 16 at a time, 100 ms an exchange: time over the least possible";
    report.row(case, "≤ 1.05", &times, "");
    report.row("the same: exchanges until the first result", "3", &firsts, "");
    Ok(())
}

/// A stream of 20,000 transcripts: its memory beyond that of an idle service.
fn long_stream(sim: &Simulator, (data, web): (&str, &str), report: &mut Report) -> io::Result<()> {
    sim.reset_record();
    let service = Service::start_as(data, web, &Setup::UNCACHED)?;
    service.get("/api/transcript/txOneCue___")?;
    let idle = service.memory_mb()?;
    let (mut lines, started) = (0_u32, Instant::now());
    service.transcripts("PLsize20000", 20, |_| lines += 1)?;
    expect(lines == 20_001, &format!("{lines} lines"))?;
    let over = service.peak_memory_mb()? - idle;
    report.row("20,000 transcripts streamed, no cache: memory over idle", "< 60 MB", &[over], "MB");
    let rate = f64::from(lines) / started.elapsed().as_secs_f64();
    report.row("the same: transcripts a second, simulator included", "", &[rate], "/s");
    Ok(())
}
