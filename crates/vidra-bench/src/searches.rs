//! Searches in a large library, and cached answers beside them.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::cached::CachedLoad;
use crate::report::{Report, expect};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

/// The library file: that of `cargo bench -p vidra-library --bench search`.
const LIBRARY: &str = "VIDRA_BENCH_LIBRARY";

/// Callers that send a search as soon as the last one is answered. On two cores, one caller already saturates the searches.
const CALLERS: usize = 4;

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let Ok(library) = std::env::var(LIBRARY) else {
        report.word("searches", "", &format!("skipped: {LIBRARY} is not set"));
        return Ok(());
    };
    let database = format!("sqlite:{library}");
    let flags = ["--quota-limit", "4000000000", "--database", &database];
    let service = upstream.service(&Setup { is_quiet: true, flags: &flags, core: None })?;
    let searches = searches(&service)?;
    for path in &searches {
        service.get(path)?;
    }
    let (load, mut rates) = (CachedLoad::new(&service)?, vec![]);
    let work = format!("while {CALLERS} callers search");
    load.compare(runs, &work, report, |load| {
        let (is_over, count, started) =
            (AtomicBool::new(false), AtomicUsize::new(0), Instant::now());
        let p99 = thread::scope(|scope| {
            let (service, searches, is_over, count) = (&service, &searches, &is_over, &count);
            let start =
                |caller| scope.spawn(move || call(service, searches, caller, is_over, count));
            let callers: Vec<_> = (0..CALLERS).map(start).collect();
            let p99 = load.p99();
            is_over.store(true, Ordering::Relaxed);
            callers.into_iter().try_for_each(|it| it.join().expect("no panic"))?;
            p99
        });
        rates.push(count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64());
        p99
    })?;
    report.row("the same: searches a second", "", &rates, "/s");
    Ok(())
}

/// Searches until the measurement is over.
fn call(
    service: &Service,
    searches: &[String],
    caller: usize,
    is_over: &AtomicBool,
    count: &AtomicUsize,
) -> io::Result<()> {
    for path in searches.iter().cycle().skip(caller * searches.len() / CALLERS) {
        if is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (status, _) = service.get(path)?;
        expect(status == 200, &format!("{path}: {status}"))?;
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Searches for words of titles, one or two each, from the commonest to rare ones.
fn searches(service: &Service) -> io::Result<Vec<String>> {
    let (_, body) = service.get("/api/library/videos?limit=20")?;
    let videos: Value = serde_json::from_slice(&body)?;
    let titles = videos["items"].as_array().into_iter().flatten();
    let words: Vec<&str> =
        titles.filter_map(|it| it["title"].as_str()).flat_map(|it| it.split(' ')).collect();
    expect(!words.is_empty(), "the library has no videos")?;
    let query = |words: &[&str]| format!("/api/library/search?q={}", words.join("+"));
    Ok(words.chunks(3).flat_map(|it| [query(&it[..1]), query(&it[it.len() / 2..])]).collect())
}
