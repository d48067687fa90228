//! Lists that are read page by page or as a stream: the time to the first item, and memory.

use std::io;
use std::time::{Duration, Instant};

use crate::report::{Report, expect};
use crate::service::Setup;
use crate::upstream::Upstream;

const LATENCY: Duration = Duration::from_millis(50);

/// A playlist of 20,000 entries.
const VIDEOS: &str = "/api/playlist/PLsize20000/videos";

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    upstream.sim.set_latency(LATENCY);
    first_items(upstream, runs, report)?;
    upstream.sim.set_latency(Duration::ZERO);
    memory(upstream, runs, report)
}

/// The time to the first page and to the first line of a stream, in upstream exchanges: the page and its videos.
fn first_items(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let exchanges = |time: Duration| time.as_secs_f64() / LATENCY.as_secs_f64();
    let (mut pages, mut firsts) = (vec![], vec![]);
    for _ in 0..runs {
        let service = upstream.service(&Setup::UNCACHED)?;
        let started = Instant::now();
        let (status, _) = service.get(VIDEOS)?;
        pages.push(exchanges(started.elapsed()));
        expect(status == 200, "the page is missing")?;
    }
    for _ in 0..runs {
        let service = upstream.service(&Setup::UNCACHED)?;
        let (started, mut first, mut lines) = (Instant::now(), Duration::ZERO, 0);
        service.list("/api/playlist/PLsize500/videos", |_| {
            first = if lines == 0 { started.elapsed() } else { first };
            lines += 1;
        })?;
        expect(lines == 501, &format!("{lines} lines"))?;
        firsts.push(exchanges(first));
    }
    let case = "first page of a playlist of 20,000, 50 ms an exchange: exchanges";
    report.row(case, "≤ 2.5", &pages, "");
    let case = "a stream of 500 videos, 50 ms an exchange: exchanges until the first item";
    report.row(case, "≤ 2.5", &firsts, "");
    Ok(())
}

/// The memory of a stream of 20,000 videos beyond that of an idle service.
fn memory(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let (mut over, mut rates) = (vec![], vec![]);
    for _ in 0..runs {
        let service = upstream.service(&Setup::UNCACHED)?;
        service.get("/api/video/fda4eREcaTQ")?;
        let idle = service.memory_mb()?;
        let (mut lines, started) = (0_u32, Instant::now());
        service.list(VIDEOS, |_| lines += 1)?;
        expect(lines == 20_001, &format!("{lines} lines"))?;
        rates.push(f64::from(lines) / started.elapsed().as_secs_f64());
        over.push(service.peak_memory_mb()? - idle);
    }
    report.row("20,000 videos streamed, no cache: memory over idle", "≤ 30 MB", &over, "MB");
    report.row("the same: videos a second, simulator included", "", &rates, "/s");
    Ok(())
}
