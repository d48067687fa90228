//! Overload: the throughput of the service, the latency of rejections, and the recovery afterwards. Service
//! and platform share one core, so that rejected requests compete with answered ones.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::open::{self, Phase, PhaseResult};
use crate::process::{SERVER_CORE, has_two_cores};
use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

const CONNECTIONS: usize = 2_000;

/// The offered load as a multiple of the capacity.
const FACTOR: f64 = 3.0;

/// The length of the baseline phase before the overload, in seconds.
const BASELINE: f64 = 10.0;

const SAMPLES_PER_SECOND: f64 = 4.0;

pub(crate) fn measure(upstream: &Upstream, seconds: f64, report: &mut Report) -> io::Result<()> {
    if !has_two_cores() {
        report.word("overload", "", "skipped: there is one core");
        return Ok(());
    }
    // A small cache, so that a repeated request for one of many videos is a miss again.
    let flags = ["--quota-limit", "4000000000", "--cache-size", "2MB"];
    let setup = Setup { core: Some(SERVER_CORE), is_quiet: true, flags: &flags };
    let service = upstream.service(&setup)?;
    let known = paths(&service, "PLsize50")?;
    let others = paths(&service, "PLsize20000")?;
    let others: Vec<String> = others.into_iter().filter(|path| !known.contains(path)).collect();
    pin_to_cores(&SERVER_CORE.to_string())?;
    let outcome = overload(&service, [&known, &others], seconds, report)
        .and_then(|()| flood(&service, [&known, &others], report));
    pin_to_cores("0-1023")?;
    outcome
}

/// Pins this process, which is the platform, to these cores.
fn pin_to_cores(cores: &str) -> io::Result<()> {
    let pid = std::process::id().to_string();
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--cpu-list", "--pid", cores, &pid]);
    expect(command.output()?.status.success(), "taskset failed")
}

/// The paths of the videos of a playlist.
pub(crate) fn paths(service: &Service, playlist: &str) -> io::Result<Vec<String>> {
    let (_, body) = service.get(&format!("/api/playlist/{playlist}/ids"))?;
    let body: serde_json::Value = serde_json::from_slice(&body)?;
    let ids = body["videoIds"].as_array().into_iter().flatten();
    Ok(ids.filter_map(|id| Some(format!("/api/video/{}", id.as_str()?))).collect())
}

fn run_phases(
    service: &Service,
    lists: [&[String]; 2],
    connections: usize,
    phases: &[([f64; 2], f64)],
) -> io::Result<Vec<PhaseResult>> {
    let phases = phases.iter().map(|&(rates, seconds)| Phase { rates, seconds }).collect();
    open::run(&open::Args { address: service.address, connections, phases }, lists)
}

fn is_good(kind: &str) -> bool {
    kind.ends_with(" 200")
}

fn overload(
    service: &Service,
    lists: [&[String]; 2],
    seconds: f64,
    report: &mut Report,
) -> io::Result<()> {
    let (mut peak, mut at) = (0.0, 0);
    for connections in [16, 64, 256, 1_000] {
        let results = run_phases(service, lists, connections, &[([0.0; 2], 5.0)])?;
        let goodput = results[0].count(is_good) as f64 / 5.0;
        if goodput > peak {
            (peak, at) = (goodput, connections);
        }
    }
    let case = "half hits, half misses, closed loop: the most successful answers";
    report.word(case, "", &format!("{peak:.0}/s over {at} connections"));

    let baseline = [0.15 * peak; 2];
    let phases = [(baseline, BASELINE), ([FACTOR / 2.0 * peak; 2], seconds), (baseline, 15.0)];
    let is_over = AtomicBool::new(false);
    let (results, memory) = thread::scope(|scope| {
        let sampler = scope.spawn(|| sample_memory(service, &is_over));
        let results = run_phases(service, lists, CONNECTIONS, &phases);
        is_over.store(true, Ordering::Relaxed);
        (results, sampler.join().expect("no panic"))
    });
    let (results, memory) = (results?, memory?);
    // The open connections use memory before the overload, too.
    let most = |memory: &[f64]| memory.iter().copied().fold(0.0, f64::max);
    let samples = memory.len().min((BASELINE * SAMPLES_PER_SECOND) as usize);
    let (before, since) = memory.split_at(samples);
    let (before, most) = (most(before), most(since));
    let [baseline, over, after] = &results[..] else { return expect(false, "three phases") };

    let name = format!("{CONNECTIONS} connections, {FACTOR} times that for {seconds} s");
    let goodput = over.count(is_good) as f64 / seconds;
    let case = format!("{name}: successful answers over the most");
    report.word(&case, "≥ 0.9", &format!("{:.2} ({goodput:.0}/s)", goodput / peak));
    let busy = over.times("1 busy");
    let refused = format!("{} rejected, p50 {:.1} ms", busy.count, busy.p50);
    report.word(
        "the same: time of a 503 for a rejected request, p99",
        "< 10 ms",
        &format!("{:.1} ms ({refused})", busy.p99),
    );
    let wrong =
        results.iter().map(|result| result.count(|kind| !is_good(kind) && !kind.ends_with("busy")));
    report.word("the same: any other answer", "0", &wrong.sum::<usize>().to_string());
    let broken = results.iter().map(|result| result.broken).sum::<usize>();
    report.word("the same: broken connections", "0", &broken.to_string());
    let unsent = format!("{}", over.unsent);
    report.word("the same: not sent, because no connection was free for a second", "", &unsent);
    for (list, name) in ["hits", "misses"].into_iter().enumerate() {
        let kind = format!("{list} 200");
        let [before, during] = [baseline, over].map(|result| result.times(&kind));
        report.word(
            &format!("the same: {name}, p50 and p99, beside those at 0.3 of the most"),
            "",
            &format!(
                "{:.1} and {:.1} ms ({:.1} and {:.1})",
                during.p50, during.p99, before.p50, before.p99
            ),
        );
    }
    report.word(
        "the same: resident memory, most over that with the same connections before",
        "flat",
        &format!("{:.1} MB ({before:.1} to {most:.1})", most - before),
    );
    let slowest = baseline.halves.iter().map(|(_, slowest)| *slowest).fold(10.0, f64::max);
    let is_normal = |(busy, time): &&(usize, f64)| *busy == 0 && *time <= 2.0 * slowest;
    let odd = after.halves.iter().rposition(|half| !is_normal(&half)).map_or(0, |at| at + 1);
    report.word(
        "the same: time until no request is rejected and all are as fast as before",
        "≤ 5 s",
        &format!("{:.1} s", odd as f64 / 2.0),
    );
    Ok(())
}

/// 2,000 hits per second, alone and beside 10,000 misses per second (F20).
fn flood(service: &Service, lists: [&[String]; 2], report: &mut Report) -> io::Result<()> {
    let phases = [([2_000.0, 0.0], 10.0), ([2_000.0, 10_000.0], 10.0)];
    let results = run_phases(service, lists, CONNECTIONS, &phases)?;
    let [alone, beside] = [&results[0], &results[1]].map(|result| result.times("0 200"));
    report.word(
        "2,000 hits a second beside 10,000 misses a second: p99 over that alone",
        "≤ 1.5",
        &format!("{:.1} ({:.2} ms, {:.2} ms alone)", beside.p99 / alone.p99, beside.p99, alone.p99),
    );
    let errors = results[1].count(|kind| kind.starts_with('0') && !is_good(kind));
    report.word("the same: errors of hits", "0", &errors.to_string());
    Ok(())
}

/// Samples the resident memory in MB until `is_over`.
fn sample_memory(service: &Service, is_over: &AtomicBool) -> io::Result<Vec<f64>> {
    let mut memory = vec![];
    while !is_over.load(Ordering::Relaxed) {
        memory.push(service.memory_mb()?);
        thread::park_timeout(Duration::from_secs_f64(1.0 / SAMPLES_PER_SECOND));
    }
    Ok(memory)
}
