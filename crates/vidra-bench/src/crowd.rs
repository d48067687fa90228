//! Many large answers: cached answers beside playlists of 20,000 entries and whole batches of 5,000.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::open::{self, Phase, PhaseResult};
use crate::overload::paths;
use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

/// Cached answers per second.
const RATE: f64 = 200.0;

const PLAYLIST: &str = "GET /api/playlist/PLsize20000 HTTP/1.1\r\nhost: localhost\r\n\
                        accept-encoding: gzip\r\nconnection: close\r\n\r\n";

const BATCH: &str = "POST /api/playlist/PLsize5000/transcript HTTP/1.1\r\nhost: localhost\r\n\
                     connection: close\r\ncontent-type: application/json\r\ncontent-length: 19\r\n\r\n\
                     {\"concurrency\": 20}";

/// The requests for large answers, and the number of callers that repeat each.
const CROWD: [(&str, usize); 2] = [(PLAYLIST, 6), (BATCH, 8)];

pub(crate) fn measure(upstream: &Upstream, seconds: f64, report: &mut Report) -> io::Result<()> {
    let setup = Setup { flags: &["--quota-limit", "4000000000"], ..Setup::default() };
    let service = upstream.service(&setup)?;
    let known = paths(&service, "PLsize50")?;
    for path in &known {
        service.get(path)?;
    }
    let (_, _) = service.get("/api/playlist/PLsize20000")?;
    let alone = cached_answers(&service, &known, seconds)?;
    let (is_over, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    let beside = thread::scope(|scope| {
        for (request, callers) in CROWD {
            for _ in 0..callers {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let is_whole = service.send(request).is_ok_and(|length| length > 1_000_000);
                        answers.fetch_add(usize::from(is_whole), Ordering::Relaxed);
                    }
                });
            }
        }
        let beside = cached_answers(&service, &known, seconds);
        is_over.store(true, Ordering::Relaxed);
        beside
    })?;
    let [alone, beside] = [alone, beside].map(|result| {
        let times = result.times("0 200");
        (times.count, times.p50, times.p99, result.count(|kind| kind != "0 200") + result.broken)
    });
    expect(alone.3 == 0, "a cached answer failed without the large ones")?;
    let name =
        format!("{} cached answers beside 6 playlists of 20,000 and 8 batches of 5,000", beside.0);
    report.row(&format!("{name}: p99"), "< 50 ms", &[beside.2], "ms");
    let others = format!("{:.1} ms; alone {:.1} and {:.1} ms", beside.1, alone.1, alone.2);
    report.word("the same: p50; p50 and p99 without them", "", &others);
    report.word("the same: failed", "0", &beside.3.to_string());
    report.word("the same: large answers meanwhile", "", &answers.into_inner().to_string());
    report.row("the same: peak resident memory", "", &[service.peak_memory_mb()?], "MB");
    Ok(())
}

/// Requests cached answers at a steady rate.
fn cached_answers(service: &Service, known: &[String], seconds: f64) -> io::Result<PhaseResult> {
    let phases = vec![Phase { rates: [RATE, 0.0], seconds }];
    let args = open::Args { address: service.address, connections: 32, phases };
    let mut results = open::run(&args, [known, known])?;
    results.pop().ok_or_else(|| io::Error::other("no result"))
}
