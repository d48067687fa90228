//! Jobs of the service: their rate and memory, and cached answers beside them.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cached::CachedLoad;
use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

/// Items of all jobs that run at the same time.
const CONCURRENCY: &str = "32";

/// The two jobs beside cached answers, and the items of each that run at the same time.
const JOBS: [(&str, usize); 2] = [("PLsize20000", 16), ("PLsize5000", 16)];

/// The latency of the platform while cached answers are measured beside a job.
const LATENCY: Duration = Duration::from_millis(100);

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

/// A job for a playlist of 20,000: its rate, and its memory beyond that of an idle service.
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
    let (load, mut rates) = (CachedLoad::new(&service)?, vec![]);
    let work = format!("while {CONCURRENCY} items run");
    load.compare(runs, &work, report, |load| {
        let (started, mut jobs) = (Instant::now(), vec![]);
        for (playlist, concurrency) in JOBS {
            jobs.push(start(&service, playlist, concurrency)?);
        }
        let p99 = load.p99()?;
        let mut ended = 0;
        for job in jobs {
            let id = text(&job, "id");
            service.post(&format!("/api/jobs/{id}/cancel"), "")?;
            let job: Value = serde_json::from_slice(&service.get(&format!("/api/jobs/{id}"))?.1)?;
            ended += job["succeeded"].as_u64().unwrap_or(0);
        }
        rates.push(ended as f64 / started.elapsed().as_secs_f64());
        Ok(p99)
    })?;
    report.row("the same: items a second, 100 ms an exchange", "", &rates, "/s");
    Ok(())
}

fn start(service: &Service, playlist: &str, concurrency: usize) -> io::Result<Value> {
    // A link, because a bare id of 11 characters would be a video id.
    let link = format!("https://www.youtube.com/playlist?list={playlist}");
    let body = json!({"sources": [link], "concurrency": concurrency, "refresh": true});
    let (status, job) = service.post("/api/jobs", &body.to_string())?;
    expect(status == 202, &format!("the job did not start: {status}"))?;
    Ok(serde_json::from_slice(&job)?)
}

fn text<'a>(job: &'a Value, name: &str) -> &'a str {
    job[name].as_str().unwrap_or_default()
}
