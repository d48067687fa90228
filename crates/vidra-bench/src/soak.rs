//! Soak test: a mixture of requests at a steady rate, with a platform on which one call in a hundred fails.
//! Memory and open files must not grow, and every error must have a cause.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use vidra_sim::{Action, Fault, Simulator};

use crate::open::{self, DISCONNECTS, Phase};
use crate::overload::paths;
use crate::report::Report;
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

const SEED: u64 = 30;
const RATE: f64 = 300.0;

/// The number of upstream calls per injected fault.
const CALLS_PER_FAULT: u64 = 100;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn measure(upstream: &Upstream, minutes: f64, report: &mut Report) -> io::Result<()> {
    // A short lifetime and a small cache, so that expiry and eviction happen all the time.
    let flags = ["--quota-limit", "4000000000", "--cache-size", "8MB", "--cache-ttl", "20s"];
    let setup = Setup { core: None, is_quiet: true, flags: &flags };
    let service = upstream.service(&setup)?;
    let mixture = mixture(&paths(&service, "PLsize5000")?);
    upstream.sim.set_latency(Duration::from_millis(20));
    let is_over = AtomicBool::new(false);
    let args = open::Args {
        address: service.address,
        connections: 200,
        phases: vec![Phase { rates: [RATE, 0.0], seconds: minutes * 60.0 }],
    };
    let (results, observations) = thread::scope(|scope| {
        let observer = scope.spawn(|| observe(&service, upstream.sim, &is_over));
        let results = open::run(&args, [&mixture, &[]]);
        is_over.store(true, Ordering::Relaxed);
        (results, observer.join().expect("no panic"))
    });
    let (results, Observations { samples, faults }) = (results?, observations?);
    upstream.sim.clear_faults();
    upstream.sim.set_latency(Duration::ZERO);

    let result = &results[0];
    let all = result.count(|_| true);
    let case = format!("{minutes} minutes at {RATE} a second, seed {SEED}");
    let kinds: Vec<String> = result
        .answers
        .iter()
        .map(|(kind, times)| format!("{} {}", times.count, &kind[2..]))
        .collect();
    report.word(&format!("{case}: requests"), "", &format!("{all}: {}", kinds.join(", ")));
    report.word("the same: injected faults", "1 % of calls", &faults.to_string());
    let failed = result.count(|kind| kind.contains(" 5"));
    let unexplained = result.count(|kind| kind.ends_with("500")) + result.broken + result.unsent;
    report.word(
        "the same: 5xx without an injected fault; broken connections; requests that were not sent",
        "0",
        &format!("{unexplained} ({failed} others of {faults} faults)"),
    );
    let half = &samples[samples.len() / 2..];
    let memory = |samples: &[Sample]| {
        let least = samples.iter().map(|it| it.memory).fold(f64::MAX, f64::min);
        (least, samples.iter().map(|it| it.memory).fold(0.0, f64::max))
    };
    let ((least, most), slope) = (memory(half), slope(half));
    report.word(
        "the same: resident memory in the second half",
        "flat",
        &format!("{least:.1} to {most:.1} MB, {slope:+.2} MB an hour"),
    );
    let files = half.iter().map(|it| it.files);
    let (least, most) = (files.clone().min().unwrap_or(0), files.max().unwrap_or(0));
    report.word("the same: open files", "flat", &format!("{least} to {most}"));
    Ok(())
}

/// The requests of the callers, in order.
fn mixture(videos: &[String]) -> Vec<String> {
    let mut dice = fastrand::Rng::with_seed(SEED);
    let playlists = ["PLsize50", "PLsize51", "PLsize100", "PLsize200"];
    let requests = (0..50_000).map(|_| {
        // A few videos are requested often, many rarely.
        let video = &videos[(dice.f64().powi(3) * videos.len() as f64) as usize];
        let id = &video["/api/video/".len()..];
        match dice.u8(..100) {
            0..70 => video.clone(),
            70..80 => format!("/api/transcript/{id}"),
            80..84 => format!("/api/playlist/{}", playlists[dice.usize(..4)]),
            84..88 => format!("/api/comments/{id}"),
            88..92 => "/api/channel/@fermata".to_owned(),
            92..95 => format!("/api/video/nobody{:05}", dice.u32(..100_000)),
            95..97 => "/api/video/not-an-id".to_owned(),
            97..99 => format!("/api/transcript/{id}?format=srt"),
            _ => format!("{DISCONNECTS}{video}"),
        }
    });
    requests.collect()
}

struct Observations {
    samples: Vec<Sample>,
    faults: u64,
}

/// The resources of the service at one moment.
struct Sample {
    at: f64,
    memory: f64,
    files: usize,
}

/// Samples the service, and injects a fault into one upstream call in a hundred.
fn observe(service: &Service, sim: &Simulator, is_over: &AtomicBool) -> io::Result<Observations> {
    let mut dice = fastrand::Rng::with_seed(SEED);
    let began = Instant::now();
    let (mut samples, mut faults) = (vec![], 0);
    let files = format!("/proc/{}/fd", service.process.0.id());
    while !is_over.load(Ordering::Relaxed) {
        // Nearly all injected faults have happened by now: they are spread over as many calls as there were
        // in the second before.
        sim.clear_faults();
        let calls = sim_calls(sim);
        for _ in 0..calls.div_ceil(CALLS_PER_FAULT) {
            let action = match dice.u8(..6) {
                0 => Action::status(503),
                1 => Action::status(500),
                2 => Action::Reset,
                3 => Action::Cut,
                4 => Action::error("backendError"),
                _ => Action::delay(Duration::from_secs(2)),
            };
            sim.inject(Fault::any(action).from_call(dice.u64(1..=calls.max(1))).once());
            faults += 1;
        }
        let memory = service.memory_mb()?;
        let files = fs::read_dir(&files)?.count();
        samples.push(Sample { at: began.elapsed().as_secs_f64(), memory, files });
        thread::park_timeout(SAMPLE_INTERVAL);
    }
    Ok(Observations { samples, faults })
}

/// The calls since the last reset of the record, which this resets.
fn sim_calls(sim: &Simulator) -> u64 {
    let calls = sim.record().calls;
    sim.reset_record();
    calls
}

/// The slope of memory in MB per hour, by linear regression.
fn slope(samples: &[Sample]) -> f64 {
    let count = samples.len() as f64;
    let [at, memory] = [|it: &Sample| it.at, |it: &Sample| it.memory]
        .map(|value| samples.iter().map(value).sum::<f64>() / count);
    let both: f64 = samples.iter().map(|it| (it.at - at) * (it.memory - memory)).sum();
    let square: f64 = samples.iter().map(|it| (it.at - at).powi(2)).sum();
    if square > 0.0 { both / square * 3_600.0 } else { 0.0 }
}
