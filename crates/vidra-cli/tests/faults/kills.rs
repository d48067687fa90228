//! F15: kill -9 in the middle of a batch, at any moment. A batch is not a persistent job: the caller
//! repeats the request, and cached transcripts are not fetched again.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use vidra_sim::Endpoint;

use crate::is_long;
use crate::platform::{Platform, Running};
use crate::process::Service;

const SEED: u64 = 15;
const ENTRIES: usize = 200;
const CONCURRENCY: usize = 8;

/// Requests the transcripts of the playlist and yields the lines of the stream as they arrive.
fn batch(service: &Service) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(service.address).unwrap();
    let body = format!("{{\"concurrency\":{CONCURRENCY}}}");
    // HTTP/1.0: no chunks, the end of the connection is the end of the body.
    write!(
        stream,
        "POST /api/playlist/PLsize{ENTRIES}/transcript HTTP/1.0\r\nhost: {}\r\n\
         accept: application/x-ndjson\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    )
    .unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter(|line| line.starts_with('{'))
}

/// The video that a line is about; `None` for the summary.
fn video(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("\"videoId\":\"")?;
    Some(rest.split('"').next()?.to_owned())
}

/// The whole batch: every result by its video.
fn whole_batch(service: &Service) -> BTreeMap<String, String> {
    let results: BTreeMap<_, _> =
        batch(service).filter_map(|line| Some((video(&line)?, line))).collect();
    assert_eq!(results.len(), ENTRIES, "every result is present");
    results
}

/// How often the transcript of each video was fetched.
fn fetched(platform: &Platform) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for request in platform.sim.record().requests_to(Endpoint::TimedText) {
        *times.entry(request.video_id().unwrap()).or_default() += 1;
    }
    times
}

#[test]
fn f15_batch_is_complete_after_a_kill() {
    let platform = Platform::new();
    let expected = whole_batch(&platform.service(&[]));
    platform.sim.set_latency(Duration::from_millis(5));
    let kills: u32 = if is_long() { 100 } else { 5 };
    let mut dice = fastrand::Rng::with_seed(SEED);
    let (mut most_again, mut all_again, mut slow, mut counted) = (0, 0, 0, 0_u32);
    for kill in 0.. {
        // Kills that are not counted are repeated, up to four times as many.
        if counted == kills || kill == 4 * kills {
            break;
        }
        let cache = platform.folder().join(format!("cache-{kill}"));
        let cache = format!("fs:{}", cache.display());
        let start = || platform.service(&[("VIDRA_CACHE", &cache)]);
        platform.sim.reset_record();
        let Running(killed) = start();
        let lines = batch(&killed);
        // One call for the first page, and two calls per transcript.
        let calls = dice.u64(1..2 * ENTRIES as u64);
        platform.runtime.block_on(platform.sim.until(|record| record.calls >= calls));
        let log = killed.kill();
        let received = lines.filter_map(|line| video(&line)).count();

        let again = start();
        assert_eq!(whole_batch(&again), expected, "kill {kill} at call {calls}, seed {SEED}");
        let times = fetched(&platform);
        assert_eq!(times.len(), ENTRIES);
        assert!(times.values().all(|times| *times <= 2));
        let twice = times.values().filter(|times| **times == 2).count();
        // On a busy machine a slow folder pauses the store for a second, before the kill or after it. Such a
        // kill is not counted.
        let missed = again.metric("vidra_cache_store_failures_total{operation=\"skipped\"} ");
        if missed > 0.0 || log.contains("cache store failed") {
            slow += 1;
            continue;
        }
        counted += 1;
        assert!(
            twice <= CONCURRENCY,
            "kill {kill} at call {calls}, {received} received: {twice} again"
        );
        most_again = most_again.max(twice);
        all_again += twice as u32;
    }
    println!(
        "{counted} kills, seed {SEED}: all results correct; fetched again {most_again} at most \
         ({CONCURRENCY} in flight), {:.1} on average; {slow} more with a slow folder",
        f64::from(all_again) / f64::from(counted).max(1.0)
    );
    assert!(counted > 0, "the folder was too slow for all {slow} kills: the test proves nothing");
}
