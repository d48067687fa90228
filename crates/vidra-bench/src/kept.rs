//! What the cache costs: time where it cannot help, memory, and units of the platform.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::load;
use crate::report::{Report, expect, median};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let ids = ids(upstream)?;
    misses(upstream, &ids, runs, report)?;
    memory(upstream, &ids, report)?;
    units(upstream, &ids, runs, report)
}

/// Without a line in the log for each request, and as much quota as one likes.
const QUIET: Setup = Setup { core: None, is_quiet: true, flags: &["--quota-limit", "4000000000"] };

/// Twenty thousand different videos.
fn ids(upstream: &Upstream) -> io::Result<Vec<String>> {
    let service = upstream.service(&QUIET)?;
    let (_, body) = service.get("/api/playlist/PLsize20000/ids")?;
    let body: serde_json::Value = serde_json::from_slice(&body)?;
    let ids = body["videoIds"].as_array().into_iter().flatten();
    let ids: Vec<String> = ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect();
    expect(ids.len() == 20_000, "the ids are not all there")?;
    Ok(ids)
}

fn path(id: &str) -> String {
    format!("/api/video/{id}")
}

/// How much longer a video takes than its call of the platform, where the platform takes no time.
fn misses(upstream: &Upstream, ids: &[String], runs: usize, report: &mut Report) -> io::Result<()> {
    let mut added = vec![];
    for _ in 0..runs {
        let service = upstream.service(&QUIET)?;
        let call = upstream.video_call(&service)?;
        let (mut there, mut here) = (Caller::of(upstream.address)?, Caller::of(service.address)?);
        let (mut calls, mut misses) = (vec![], vec![]);
        // The first hundred are for warming up.
        for (turn, id) in ids.iter().take(1_100).enumerate() {
            let call = there.time(&format!("{call}{id}"), "x-goog-api-key: demo-key\r\n")?;
            let miss = here.time(&path(id), "")?;
            if turn >= 100 {
                calls.push(call);
                misses.push(miss);
            }
        }
        added.push(median(&misses) - median(&calls));
    }
    report.row("a miss over an upstream of 0 ms: added", "≤ 300 µs", &added, "µs");
    Ok(())
}

/// A connection that stays open, one request at a time.
struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    fn of(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 << 10] })
    }

    /// Asks and gives the time it took, in microseconds.
    fn time(&mut self, path: &str, headers: &str) -> io::Result<f64> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{headers}\r\n");
        let started = Instant::now();
        let answer = self.ask(&request)?;
        let time = started.elapsed().as_secs_f64() * 1e6;
        expect(answer.starts_with(b"HTTP/1.1 200"), &String::from_utf8_lossy(answer))?;
        Ok(time)
    }

    fn ask(&mut self, request: &str) -> io::Result<&[u8]> {
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            expect(read > 0, "the connection was closed")?;
            filled += read;
            if load::length(&self.buffer[..filled]).is_some_and(|(_, length)| filled >= length) {
                return Ok(&self.buffer[..filled]);
            }
        }
    }
}

/// What is resident, beyond keys and bodies, for each video that is kept; and whether the limit holds.
fn memory(upstream: &Upstream, ids: &[String], report: &mut Report) -> io::Result<()> {
    let (first, rest) = ids.split_at(2_000);
    let service = upstream.service(&QUIET)?;
    // What a service needs at work, whatever it keeps.
    fetch(&service, first)?;
    let before = service.memory_mb()?;
    fetch(&service, rest)?;
    let growth = (service.memory_mb()? - before) * 1e6 * 1.048_576;
    let mut bytes = 0;
    for id in rest {
        let key = "video/".len() + id.len();
        bytes += key + path(id).len() + service.get(&path(id))?.1.len();
    }
    let each = (growth - bytes as f64) / rest.len() as f64;
    report.row("memory of a cached video beyond key and body", "≤ 600 B", &[each], "B");

    let limit = 24.0;
    let flags = ["--quota-limit", "4000000000", "--cache-size", "24MB"];
    let service = upstream.service(&Setup { flags: &flags, ..QUIET })?;
    let idle = service.memory_mb()?;
    fetch(&service, ids)?;
    let taken = (service.memory_mb()? - idle) / limit;
    report.row("20,000 of them under a limit of 24 MB: memory over it", "≤ 1.05", &[taken], "");
    Ok(())
}

/// Asks for each of them once, a few at a time.
fn fetch(service: &Service, ids: &[String]) -> io::Result<()> {
    let paths: Vec<String> = ids.iter().map(|id| path(id)).collect();
    let (address, requests) = (service.address, paths.len());
    let args = load::Args { address, connections: 16, requests, header: String::new() };
    load::run(&args, &paths, 200)
}

/// Many callers who ask for videos of which few are popular: what the platform bills for it.
fn units(upstream: &Upstream, ids: &[String], runs: usize, report: &mut Report) -> io::Result<()> {
    let videos = &ids[..2_000];
    let mut over = vec![];
    upstream.sim.set_latency(Duration::from_millis(30));
    for run in 0..runs {
        let wanted = zipf(videos, 10_000, run as u64);
        let distinct: HashSet<&String> = wanted.iter().collect();
        let least = distinct.len().div_ceil(50);
        let service = upstream.service(&QUIET)?;
        upstream.sim.reset_record();
        let args = load::Args {
            address: service.address,
            connections: 1_000,
            requests: wanted.len(),
            header: String::new(),
        };
        load::run(&args, &wanted, 200)?;
        over.push(upstream.sim.record().units.default as f64 / least as f64);
    }
    upstream.sim.set_latency(Duration::ZERO);
    let case = "10,000 requests, Zipf over 2,000 videos: units over the least possible";
    report.row(case, "≤ 1.3", &over, "");
    Ok(())
}

/// Paths in the order they are asked for: the n-th video 1/n as often as the first.
fn zipf(videos: &[String], requests: usize, seed: u64) -> Vec<String> {
    let mut total = 0.0;
    let sums: Vec<f64> = (1..=videos.len())
        .map(|rank| {
            total += 1.0 / rank as f64;
            total
        })
        .collect();
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut draw = || {
        let at = dice.f64() * total;
        sums.partition_point(|&sum| sum <= at).min(videos.len() - 1)
    };
    (0..requests).map(|_| path(&videos[draw()])).collect()
}
