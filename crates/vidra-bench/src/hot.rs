//! Cache hits: their CPU time, compared with a minimal server and with nginx.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use crate::bare::Bare;
use crate::load;
use crate::nginx::{self, Nginx};
use crate::process::{Process, SERVER_CORE, has_two_cores};
use crate::report::{Report, expect};
use crate::service::Setup;
use crate::upstream::Upstream;

const CONNECTIONS: usize = 64;

/// The rounds over all servers in a run. Many rounds spread disturbances of the machine over all servers.
const TURNS: usize = 8;

/// A cached answer and its goal.
struct Case {
    name: &'static str,
    path: &'static str,
    /// The requests per turn.
    requests: usize,
    over_nginx: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        name: "cached video",
        path: "/api/video/fda4eREcaTQ",
        requests: 30_000,
        over_nginx: "> 1",
    },
    Case {
        name: "cached playlist of 50",
        path: "/api/playlist/PLsize50",
        requests: 10_000,
        over_nginx: "≥ 0.8",
    },
];

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    if !has_two_cores() {
        report.word("answers from the cache", "", "skipped: it needs two cores");
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("vidra-bench-hot-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let measured = CASES.iter().try_for_each(|case| compare(case, upstream, &folder, runs, report));
    fs::remove_dir_all(&folder)?;
    measured
}

fn compare(
    case: &Case,
    upstream: &Upstream,
    folder: &Path,
    runs: usize,
    report: &mut Report,
) -> io::Result<()> {
    let Case { name, path, requests, over_nginx } = *case;
    upstream.enlarge_videos(path)?;
    let setup = Setup { core: Some(SERVER_CORE), is_quiet: true, ..Setup::default() };
    let vidra = upstream.service(&setup)?;
    vidra.get(path)?;
    let logging = upstream.service(&Setup { is_quiet: false, ..setup })?;
    logging.get(path)?;
    let answer = vidra.answer(path)?;
    let (length, etag) = read(&answer)?;
    let file = folder.join("answer");
    fs::write(&file, answer)?;
    let bare = Bare::start(&file)?;
    let nginx = match nginx::binary() {
        Some(binary) => Some(Nginx::start(&binary, folder, bare.address)?),
        None => None,
    };

    let condition = format!("if-none-match: {etag}");
    let server = |process, address| Server { process, address, path, header: "", status: 200 };
    let own = server(&vidra.process, vidra.address);
    let mut servers = vec![
        own,
        Server { header: &condition, status: 304, ..own },
        server(&logging.process, logging.address),
        server(&bare.process, bare.address),
    ];
    servers.extend(nginx.as_ref().map(|nginx| server(&nginx.process, nginx.address)));
    let mut results = vec![vec![]; servers.len()];
    for _ in 0..runs {
        let mut spent = vec![0.0; servers.len()];
        for _ in 0..TURNS {
            for (spent, server) in spent.iter_mut().zip(&servers) {
                *spent += server.cpu(requests)?;
            }
        }
        for (results, spent) in results.iter_mut().zip(spent) {
            results.push(spent / (TURNS * requests) as f64 * 1e6);
        }
    }

    let [own, not_modified, logging, floor, others @ ..] = &results[..] else {
        unreachable!("four at least")
    };
    report.row(&format!("{name}, {length} bytes: CPU a request"), "", own, "µs");
    report.row("the same by a bare hyper server", "", floor, "µs");
    report.row("the same: CPU over that, without the access log", "≤ 1.1", &ratios(own, floor), "");
    report.row("the same: CPU over that, as shipped", "≤ 1.25", &ratios(logging, floor), "");
    match others {
        [nginx] => {
            report.row("the same by nginx from `proxy_cache`", "", nginx, "µs");
            report.row("the same: speed over that", over_nginx, &ratios(nginx, own), "");
        }
        _ => {
            let why = "skipped: nginx is not installed";
            report.word("the same: speed over nginx", over_nginx, why);
        }
    }
    report.row("the same as a 304: CPU a request", "", not_modified, "µs");
    report.row("the same: speed over the 200", "> 1", &ratios(own, not_modified), "");
    Ok(())
}

/// A server and the request that it gets.
#[derive(Clone, Copy)]
pub(crate) struct Server<'a> {
    pub(crate) process: &'a Process,
    pub(crate) address: SocketAddr,
    pub(crate) path: &'a str,
    pub(crate) header: &'a str,
    pub(crate) status: u16,
}

impl Server<'_> {
    /// The CPU seconds that the server needs for this number of requests.
    pub(crate) fn cpu(&self, requests: usize) -> io::Result<f64> {
        let before = self.process.cpu()?;
        let header = self.header.to_owned();
        let args = load::Args { address: self.address, connections: CONNECTIONS, requests, header };
        load::run(&args, &[self.path.to_owned()], self.status)?;
        Ok(self.process.cpu()? - before)
    }
}

/// The length of the body and the `ETag` of an answer, which must be a cache hit.
fn read(answer: &[u8]) -> io::Result<(usize, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    expect(head.contains("x-cache: hit"), &format!("not from the cache: {head}"))?;
    let etag = head.lines().find_map(|line| line.strip_prefix("etag: "));
    Ok((body.len(), etag.unwrap_or_default().to_owned()))
}

/// The speed of `own` relative to `other`, run by run, from their CPU times.
pub(crate) fn ratios(other: &[f64], own: &[f64]) -> Vec<f64> {
    other.iter().zip(own).map(|(other, own)| other / own).collect()
}
