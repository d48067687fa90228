//! Jobs of a service that is killed, and of two services with one file. The platform's record is the oracle.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use vidra_sim::Endpoint;

use crate::is_long;
use crate::platform::{Platform, Running};
use crate::process::Service;

const SEED: u64 = 17;

/// Items of all jobs that run at once in one service.
const CONCURRENCY: usize = 8;

/// Starts a job over the first entries of a playlist, and returns its id.
fn start(service: &Service, entries: usize) -> String {
    let list = if entries > 500 { 5_000 } else { entries };
    let body =
        format!(r#"{{"sources":["PLsize{list}"],"limit":{entries},"concurrency":{CONCURRENCY}}}"#);
    let mut stream = TcpStream::connect(service.address).unwrap();
    write!(
        stream,
        "POST /api/jobs HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 202") || answer.starts_with("HTTP/1.1 202"), "{answer}");
    member(&answer, "id")
}

/// A member of the JSON of a job.
fn member(text: &str, name: &str) -> String {
    let (_, rest) =
        text.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name} in {text}"));
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap().to_owned()
}

/// Waits until a job has ended, and returns it.
fn ended(service: &Service, id: &str) -> String {
    let (begun, mut seen) = (Instant::now(), "0".to_owned());
    loop {
        let (status, job) = service.get(&format!("/api/jobs/{id}?wait=5&seen={seen}"));
        assert_eq!(status, 200, "{job}");
        if ["completed", "failed", "cancelled"].contains(&&*member(&job, "state")) {
            return job;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{job}");
        seen = member(&job, "version");
    }
}

/// How often the transcript of each video was fetched.
fn fetched(platform: &Platform) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for request in platform.sim.record().requests_to(Endpoint::TimedText) {
        *times.entry(request.video_id().unwrap()).or_default() += 1;
    }
    times
}

/// Checks that a job has ended well with every item once.
fn check(service: &Service, id: &str, entries: usize) {
    let job = ended(service, id);
    assert_eq!(member(&job, "state"), "completed", "{job}");
    assert_eq!(member(&job, "total"), entries.to_string(), "{job}");
    assert_eq!(member(&job, "pending"), "0", "{job}");
    let (status, lines) = service.get(&format!("/api/jobs/{id}/results?format=ndjson"));
    assert_eq!(status, 200);
    let positions: Vec<usize> = lines
        .lines()
        .filter(|line| line.contains(r#""type":"result""#))
        .map(|line| member(line, "position").parse().unwrap())
        .collect();
    assert_eq!(positions, (1..=entries).collect::<Vec<_>>(), "every item exactly once, in order");
}

#[test]
fn f30_a_job_survives_kills() {
    let platform = Platform::new();
    platform.sim.set_latency(Duration::from_millis(5));
    let (entries, kills) = if is_long() { (2_000, 100) } else { (200, 5) };
    let concurrency = CONCURRENCY.to_string();
    // Without a cache, a second fetch of anything reaches the platform.
    let settings = [
        ("VIDRA_CACHE", "off"),
        ("VIDRA_CACHE_SIZE", "0"),
        ("VIDRA_JOB_CONCURRENCY", &*concurrency),
    ];
    let mut dice = fastrand::Rng::with_seed(SEED);
    let Running(mut service) = platform.service(&settings);
    let id = start(&service, entries);
    let mut killed = 0;
    for _ in 0..kills {
        let begun = platform.sim.record().calls;
        // Two calls for each transcript.
        let calls = begun + dice.u64(1..2 * entries as u64 / kills);
        let until = platform.sim.until(|record| record.calls >= calls);
        let is_reached = platform
            .runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(10), until).await.is_ok() });
        if !is_reached {
            break;
        }
        service.kill();
        killed += 1;
        let Running(next) = platform.service(&settings);
        service = next;
    }
    check(&service, &id, entries);
    let times = fetched(&platform);
    assert_eq!(times.len(), entries, "none lost");
    let again: usize = times.values().map(|times| times - 1).sum();
    assert!(again <= killed * CONCURRENCY, "{again} fetched again after {killed} kills");
    let pages = platform.sim.record().calls_to(Endpoint::PlaylistItems) as usize;
    assert!(pages <= entries.div_ceil(50) + killed, "{pages} pages");
    println!(
        "{killed} kills, seed {SEED}: {entries} items once each, {again} fetched again, {pages} pages"
    );
    assert!(killed > 2, "{killed} kills prove nothing");
}

#[test]
fn f31_two_services_share_one_file() {
    let platform = Platform::new();
    platform.sim.set_latency(Duration::from_millis(5));
    let entries = if is_long() { 2_000 } else { 200 };
    let database = format!("sqlite:{}", platform.folder().join("shared.db").display());
    let settings =
        [("VIDRA_CACHE", "off"), ("VIDRA_CACHE_SIZE", "0"), ("VIDRA_DATABASE", &*database)];
    let services = [platform.service(&settings), platform.service(&settings)];
    let id = start(&services[0], entries);
    for service in &services {
        check(service, &id, entries);
    }
    let times = fetched(&platform);
    assert_eq!(times.len(), entries, "none lost");
    assert!(times.values().all(|times| *times == 1), "no item twice");
    // Both have worked.
    let writes = services.each_ref().map(|service| service.metric("vidra_library_writes_total "));
    println!("two services, one job of {entries} items: {writes:?} writes");
}
