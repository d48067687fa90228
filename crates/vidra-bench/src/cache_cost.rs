//! The cost of the cache: the added time of misses, memory, and upstream units.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::load::{self, Head};
use crate::report::{Report, expect, median};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let ids = ids(upstream)?;
    misses(upstream, &ids, runs, report)?;
    memory(upstream, &ids, runs, report)?;
    units(upstream, &ids, runs, report)
}

/// No log line per request, and unlimited quota.
const QUIET: Setup = Setup { core: None, is_quiet: true, flags: &["--quota-limit", "4000000000"] };

/// Twenty thousand different videos.
pub(crate) fn ids(upstream: &Upstream) -> io::Result<Vec<String>> {
    let service = upstream.service(&QUIET)?;
    let (_, body) = service.get("/api/playlist/PLsize20000/ids")?;
    let body: serde_json::Value = serde_json::from_slice(&body)?;
    let ids = body["videoIds"].as_array().into_iter().flatten();
    let ids: Vec<String> = ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect();
    expect(ids.len() == 20_000, "not all ids are present")?;
    Ok(ids)
}

pub(crate) fn path(id: &str) -> String {
    format!("/api/video/{id}")
}

/// The time that the service adds to an upstream call, with an upstream latency of zero.
fn misses(upstream: &Upstream, ids: &[String], runs: usize, report: &mut Report) -> io::Result<()> {
    let mut added = vec![];
    for _ in 0..runs {
        let service = upstream.service(&QUIET)?;
        let call = upstream.video_call(&service)?;
        let (mut upstream_caller, mut service_caller) =
            (Caller::connect(upstream.address)?, Caller::connect(service.address)?);
        let (mut calls, mut misses) = (vec![], vec![]);
        // The first hundred requests are for warm-up.
        for (turn, id) in ids.iter().take(1_100).enumerate() {
            let call =
                upstream_caller.time(&format!("{call}{id}"), "x-goog-api-key: demo-key\r\n")?;
            let miss = service_caller.time(&path(id), "")?;
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

/// A keep-alive connection with one request at a time.
pub(crate) struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 << 10] })
    }

    /// Sends a request and returns its duration in microseconds.
    pub(crate) fn time(&mut self, path: &str, headers: &str) -> io::Result<f64> {
        let started = Instant::now();
        self.get(path, headers)?;
        Ok(started.elapsed().as_secs_f64() * 1e6)
    }

    /// Sends a request and returns the body.
    fn get(&mut self, path: &str, headers: &str) -> io::Result<&[u8]> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes())?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            expect(read > 0, "the connection was closed")?;
            filled += read;
            let head = load::head(&self.buffer[..filled]);
            if let Some(Head { status, ends, body }) = head.filter(|it| filled >= it.ends + it.body)
            {
                expect(status == 200, &format!("{path} returned {status}"))?;
                return Ok(&self.buffer[ends..ends + body]);
            }
        }
    }
}

/// Measures the resident memory of a cached video beyond keys and bodies, as a fetched record and as a rendered
/// response, and the memory over the size limit.
fn memory(upstream: &Upstream, ids: &[String], runs: usize, report: &mut Report) -> io::Result<()> {
    let (first, rest) = ids.split_at(2_000);
    let (mut beyond, mut over) = (vec![], vec![]);
    for _ in 0..runs {
        let service = with_cache_size(upstream, "256MB")?;
        // Excludes the memory of a warm service, which does not depend on the cache size.
        fetch(&service, first)?;
        let before = service.memory_mb()?;
        fetch(&service, rest)?;
        let bytes = cached_bytes(&service, rest)?;
        let growth = (service.memory_mb()? - before) * MB;
        // Each video has a fetched record and a rendered response.
        let entries = 2 * rest.len();
        beyond.push((growth - bytes as f64) / entries as f64);

        // A cache that is too small for all videos, and almost no cache.
        let [some, none] = ["20MB", "100KB"].map(|limit| {
            let service = with_cache_size(upstream, limit)?;
            fetch(&service, ids)?;
            service.memory_mb()
        });
        over.push((some? - none?) * MB / 20e6);
    }
    let case =
        "18,000 videos, fetched and ready to be sent: memory of an entry beyond key and bodies";
    report.row(case, "≤ 600 B", &beyond, "B");
    let case = "20,000 of them under a limit of 20 MB: memory over the limit";
    report.row(case, "≤ 1.05", &over, "");
    Ok(())
}

const MB: f64 = 1024.0 * 1024.0;

fn with_cache_size(upstream: &Upstream, size: &str) -> io::Result<Service> {
    let flags = [QUIET.flags, &["--cache-size", size]].concat();
    upstream.service(&Setup { flags: &flags, ..QUIET })
}

/// The bytes of the keys and bodies of these videos, plain and compressed.
fn cached_bytes(service: &Service, ids: &[String]) -> io::Result<usize> {
    let mut caller = Caller::connect(service.address)?;
    let mut bytes = 0;
    for id in ids {
        bytes += "video/".len() + id.len() + path(id).len();
        bytes += caller.get(&path(id), "")?.len();
        let packed = caller.get(&path(id), "accept-encoding: gzip\r\n")?;
        bytes += if packed.starts_with(GZIP) { packed.len() } else { 0 };
    }
    Ok(bytes)
}

/// The magic number of gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Requests each video once, a few at a time.
fn fetch(service: &Service, ids: &[String]) -> io::Result<()> {
    let paths: Vec<String> = ids.iter().map(|id| path(id)).collect();
    let (address, requests) = (service.address, paths.len());
    let args = load::Args { address, connections: 16, requests, header: String::new() };
    load::run(&args, &paths, 200)
}

/// The upstream units for many callers whose requests follow a Zipf distribution.
fn units(upstream: &Upstream, ids: &[String], runs: usize, report: &mut Report) -> io::Result<()> {
    let videos = &ids[..2_000];
    let mut over = vec![];
    upstream.sim.set_latency(Duration::from_millis(30));
    for run in 0..runs {
        let requested = zipf(videos, 10_000, run as u64);
        let distinct: HashSet<&String> = requested.iter().collect();
        let least = distinct.len().div_ceil(50);
        let service = upstream.service(&QUIET)?;
        upstream.sim.reset_record();
        let args = load::Args {
            address: service.address,
            connections: 1_000,
            requests: requested.len(),
            header: String::new(),
        };
        load::run(&args, &requested, 200)?;
        over.push(upstream.sim.record().units.default as f64 / least as f64);
    }
    upstream.sim.set_latency(Duration::ZERO);
    let case = "10,000 requests, Zipf over 2,000 videos: units over the least possible";
    report.row(case, "≤ 1.3", &over, "");
    Ok(())
}

/// Paths in the order of the requests. The n-th video is requested 1/n as often as the first.
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
