//! The cost of sharing: a service with PostgreSQL and Redis beside one without them.

use std::io;

use vidra_engines::{Postgres, Proxy, Redis, Traffic};

use crate::cache_cost::{Caller, ids, path};
use crate::cached::CachedLoad;
use crate::hot::{Server, ratios};
use crate::process::{SERVER_CORE, has_two_cores};
use crate::report::{Report, median};
use crate::service::{Service, Setup};
use crate::upstream::Upstream;

/// The cached answer whose CPU time is measured, and how often in each turn.
const CACHED: &str = "/api/video/fda4eREcaTQ";
const REQUESTS: usize = 30_000;
const TURNS: usize = 8;

/// Both servers, each behind a proxy.
struct Engines {
    postgres: Postgres,
    redis: Redis,
    proxies: [Proxy; 2],
}

impl Engines {
    /// `None` if one of them is not installed.
    fn start() -> Option<Self> {
        let (postgres, redis) = (Postgres::start()?, Redis::start(&[])?);
        let proxy = |port| Proxy::start(([127, 0, 0, 1], port).into());
        let proxies = [proxy(postgres.port()), proxy(redis.port())];
        Some(Self { postgres, redis, proxies })
    }

    /// A service that uses them directly, or through the proxies.
    fn service(
        &self,
        upstream: &Upstream,
        core: Option<usize>,
        is_behind_proxies: bool,
    ) -> io::Result<Service> {
        let mut database = self.postgres.url(&self.postgres.database());
        let mut cache = self.redis.url();
        if is_behind_proxies {
            let [postgres, redis] = &self.proxies;
            let port = format!(":{}/", self.postgres.port());
            database = database.replace(&port, &format!(":{}/", postgres.address().port()));
            cache = format!("redis://{}", redis.address());
        }
        let flags = ["--quota-limit", "2000000000", "--database", &database, "--cache", &cache];
        upstream.service(&Setup { core, is_quiet: true, flags: &flags })
    }
}

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    let Some(engines) = Engines::start() else {
        report.word(
            "shared quota and fetches",
            "",
            "skipped: PostgreSQL or Redis is not installed",
        );
        return Ok(());
    };
    misses(&engines, upstream, runs, report)?;
    if has_two_cores() {
        hits(&engines, upstream, runs, report)?;
    }
    outages(&engines, upstream, runs, report)
}

/// The time that PostgreSQL and Redis add to a miss.
fn misses(
    engines: &Engines,
    upstream: &Upstream,
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let ids = ids(upstream)?;
    let (mut added, mut alone) = (vec![], vec![]);
    for run in 0..runs {
        let flags = ["--quota-limit", "2000000000"];
        let plain = upstream.service(&Setup { core: None, is_quiet: true, flags: &flags })?;
        let shared = engines.service(upstream, None, false)?;
        let mut callers = [Caller::connect(plain.address)?, Caller::connect(shared.address)?];
        let mut times = [vec![], vec![]];
        // Other videos in each run, because Redis has those of the last one. The first hundred are for warm-up.
        for (turn, id) in ids.iter().skip(run * 1_100).take(1_100).enumerate() {
            for (caller, times) in callers.iter_mut().zip(&mut times) {
                let time = caller.time(&path(id), "")?;
                if turn >= 100 {
                    times.push(time / 1e3);
                }
            }
        }
        let [plain, shared] = times.map(|times| median(&times));
        alone.push(plain);
        added.push(shared - plain);
    }
    report.row("a miss with PostgreSQL and Redis: added, p50", "≤ 1.5 ms", &added, "ms");
    report.row("the same without them, p50", "", &alone, "ms");
    Ok(())
}

/// The CPU time of cached answers.
fn hits(
    engines: &Engines,
    upstream: &Upstream,
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let setup = Setup { core: Some(SERVER_CORE), is_quiet: true, ..Setup::default() };
    let services =
        [upstream.service(&setup)?, engines.service(upstream, Some(SERVER_CORE), false)?];
    let mut results = [vec![], vec![]];
    for service in &services {
        service.get(CACHED)?;
    }
    for _ in 0..runs {
        let mut spent = [0.0; 2];
        for _ in 0..TURNS {
            for (spent, service) in spent.iter_mut().zip(&services) {
                let (process, address) = (&service.process, service.address);
                let server = Server { process, address, path: CACHED, header: "", status: 200 };
                *spent += server.cpu(REQUESTS)?;
            }
        }
        for (results, spent) in results.iter_mut().zip(spent) {
            results.push(spent / (TURNS * REQUESTS) as f64 * 1e6);
        }
    }
    let [plain, shared] = &results;
    report.row("a cached video with PostgreSQL and Redis: CPU a request", "", shared, "µs");
    report.row("the same: CPU over that without them", "≤ 1.05", &ratios(shared, plain), "");
    Ok(())
}

/// The times of cached answers while one of the servers does not answer.
fn outages(
    engines: &Engines,
    upstream: &Upstream,
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let service = engines.service(upstream, None, true)?;
    let load = CachedLoad::new(&service)?;
    for (name, proxy) in ["PostgreSQL", "Redis"].into_iter().zip(&engines.proxies) {
        let work = format!("while {name} does not answer");
        load.compare(runs, &work, report, |load| {
            proxy.set(Traffic::Hold);
            let p99 = load.p99();
            proxy.set(Traffic::Pass);
            p99
        })?;
    }
    Ok(())
}
