//! Jobs of the service: their rate and memory, and cached answers beside them.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::open::{self, Phase, PhaseResult};
use crate::overload::paths;
use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

/// Items of all jobs that run at the same time.
const CONCURRENCY: &str = "32";

/// The two jobs beside cached answers, and the items of each that run at the same time.
const JOBS: [(&str, usize); 2] = [("PLsize20000", 16), ("PLsize5000", 16)];

/// The latency of the platform while cached answers are measured beside a job.
const LATENCY: Duration = Duration::from_millis(100);

/// The rate of cached answers as a share of the most that the service answers.
const SHARE: f64 = 0.3;

const CONNECTIONS: usize = 32;

/// The length of a measurement of cached answers, in seconds.
const SECONDS: f64 = 10.0;

const FLAGS: [&str; 8] = [
    "--quota-limit",
    "4000000000",
    "--cache-size",
    "100KB",
    "--job-concurrency",
    CONCURRENCY,
    "--job-reserve-units",
    "0",
];

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    whole_job(upstream, report)?;
    upstream.sim.set_latency(LATENCY);
    let outcome = cached_answers_beside_a_job(upstream, runs, report);
    upstream.sim.set_latency(Duration::ZERO);
    outcome
}

/// A job over a playlist of 20,000: its rate, and its memory beyond that of an idle service.
fn whole_job(upstream: &Upstream, report: &mut Report) -> io::Result<()> {
    let service = upstream.service(&Setup { is_quiet: true, flags: &FLAGS, core: None })?;
    service.get("/api/transcript/txOneCue___")?;
    let (idle, started) = (service.memory_mb()?, Instant::now());
    let mut job = start(&service, "PLsize20000", 20)?;
    while !matches!(job["state"].as_str(), Some("completed" | "failed" | "cancelled")) {
        let path = format!("/api/jobs/{}?wait=30&seen={}", text(&job, "id"), job["version"]);
        job = serde_json::from_slice(&service.get(&path)?.1)?;
    }
    let rate = 20_000.0 / started.elapsed().as_secs_f64();
    expect(job["succeeded"] == 20_000, &format!("not all succeeded: {job}"))?;
    let over = service.peak_memory_mb()? - idle;
    report.row("a job of 20,000 transcripts: memory over idle", "≤ 80 MB", &[over], "MB");
    report.row("the same: items a second, simulator included", "≥ 500", &[rate], "/s");
    Ok(())
}

fn cached_answers_beside_a_job(
    upstream: &Upstream,
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let flags = [&FLAGS[..2], &FLAGS[4..]].concat();
    let service = upstream.service(&Setup { is_quiet: true, flags: &flags, core: None })?;
    let known = paths(&service, "PLsize50")?;
    for path in &known {
        service.get(path)?;
    }
    // Both rates 0: each request is sent as soon as the last one is answered.
    let most = answers(&service, &known, 0.0)?.count(is_good) as f64 / SECONDS;
    let (mut ratios, mut alone, mut beside, mut rates) = (vec![], vec![], vec![], vec![]);
    let mut jobs = vec![];
    for _ in 0..runs {
        let quiet = answers(&service, &known, SHARE * most)?;
        let started = Instant::now();
        for (playlist, concurrency) in JOBS {
            jobs.push(start(&service, playlist, concurrency)?);
        }
        let busy = answers(&service, &known, SHARE * most)?;
        let mut ended = 0;
        for job in jobs.drain(..) {
            let id = text(&job, "id");
            service.post(&format!("/api/jobs/{id}/cancel"), "")?;
            let job: Value = serde_json::from_slice(&service.get(&format!("/api/jobs/{id}"))?.1)?;
            ended += job["succeeded"].as_u64().unwrap_or(0);
        }
        rates.push(ended as f64 / started.elapsed().as_secs_f64());
        for result in [&quiet, &busy] {
            let failed = result.count(|kind| !is_good(kind)) + result.broken;
            // Fewer than would change the p99.
            let is_sent = result.unsent * 1_000 < result.count(is_good);
            expect(failed == 0 && is_sent, &format!("cached answers failed: {result:?}"))?;
        }
        let [quiet, busy] = [quiet, busy].map(|result| result.times("0 200").p99);
        ratios.push(busy / quiet);
        alone.push(quiet);
        beside.push(busy);
    }
    let name = format!(
        "cached answers at 30 % load ({:.0}/s) while {CONCURRENCY} items run",
        SHARE * most
    );
    report.row(&format!("{name}: p99 over that alone"), "≤ 2", &ratios, "");
    report.row("the same: p99", "", &beside, "ms");
    report.row("the same: p99 alone", "", &alone, "ms");
    report.row("the same: items a second, 100 ms an exchange", "", &rates, "/s");
    Ok(())
}

fn is_good(kind: &str) -> bool {
    kind.ends_with(" 200")
}

/// Requests cached answers at a steady rate.
fn answers(service: &Service, known: &[String], rate: f64) -> io::Result<PhaseResult> {
    let phases = vec![Phase { rates: [rate, 0.0], seconds: SECONDS }];
    let args = open::Args { address: service.address, connections: CONNECTIONS, phases };
    let mut results = open::run(&args, [known, known])?;
    results.pop().ok_or_else(|| io::Error::other("no result"))
}

fn start(service: &Service, playlist: &str, concurrency: usize) -> io::Result<Value> {
    // An id of 11 characters alone would be that of a video.
    let link = format!("https://www.youtube.com/playlist?list={playlist}");
    let body = json!({"sources": [link], "concurrency": concurrency, "refresh": true});
    let (status, job) = service.post("/api/jobs", &body.to_string())?;
    expect(status == 202, &format!("the job did not start: {status}"))?;
    Ok(serde_json::from_slice(&job)?)
}

fn text<'a>(job: &'a Value, name: &str) -> &'a str {
    job[name].as_str().unwrap_or_default()
}
