//! Answers from the cache: the CPU that they take, against a server that does nothing else and
//! against nginx.

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

/// An answer, and what is wanted of it.
struct Case {
    name: &'static str,
    path: &'static str,
    /// Enough that a tick of the clock by which time is told does not count.
    requests: usize,
    over_nginx: &'static str,
}

const CASES: [Case; 2] = [
    Case {
        name: "cached video",
        path: "/api/video/fda4eREcaTQ",
        requests: 200_000,
        over_nginx: "> 1",
    },
    Case {
        name: "cached playlist of 50",
        path: "/api/playlist/PLsize50",
        requests: 60_000,
        over_nginx: "≥ 0.8",
    },
];

pub(crate) fn measure(upstream: &Upstream, runs: usize, report: &mut Report) -> io::Result<()> {
    if !has_two_cores() {
        report.word("answers from the cache", "", "skipped: it takes two cores");
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("vidra-bench-hot-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let measured = CASES.iter().try_for_each(|case| compare(case, upstream, &folder, runs, report));
    fs::remove_dir_all(&folder)?;
    measured
}

/// Measures all servers in turn, run by run: what disturbs the machine for a while disturbs them all.
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
    let measure = |process: &Process, address, header: &str, status| {
        cpu(process, address, requests, (path, header), status)
    };
    let of_vidra = |header: &str, status| measure(&vidra.process, vidra.address, header, status);
    let (mut own, mut floor, mut other, mut known) = (vec![], vec![], vec![], vec![]);
    for _ in 0..runs {
        own.push(of_vidra("", 200)?);
        floor.push(measure(&bare.process, bare.address, "", 200)?);
        if let Some(nginx) = &nginx {
            other.push(measure(&nginx.process, nginx.address, "", 200)?);
        }
        known.push(of_vidra(&condition, 304)?);
    }

    report.row(&format!("{name}, {length} bytes: CPU a request"), "", &own, "µs");
    report.row("the same by a bare hyper server", "", &floor, "µs");
    report.row("the same: speed over that", "≥ 0.85", &ratios(&floor, &own), "");
    if nginx.is_some() {
        report.row("the same by nginx from `proxy_cache`", "", &other, "µs");
        report.row("the same: speed over that", over_nginx, &ratios(&other, &own), "");
    } else {
        report.word("the same: speed over nginx", over_nginx, "skipped: nginx is not installed");
    }
    report.row("the same as a 304: CPU a request", "", &known, "µs");
    report.row("the same: speed over the 200", "> 1", &ratios(&own, &known), "");
    Ok(())
}

/// Microseconds of CPU that a server needs for a request.
fn cpu(
    process: &Process,
    address: SocketAddr,
    requests: usize,
    (path, header): (&str, &str),
    status: u16,
) -> io::Result<f64> {
    let paths = [path.to_owned()];
    let ask = |requests| {
        let header = header.to_owned();
        load::run(
            &load::Args { address, connections: CONNECTIONS, requests, header },
            &paths,
            status,
        )
    };
    ask(requests / 20)?;
    let before = process.cpu()?;
    ask(requests)?;
    Ok((process.cpu()? - before) / requests as f64 * 1e6)
}

/// The length of the body and the tag of an answer that must have been there.
fn read(answer: &[u8]) -> io::Result<(usize, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    expect(head.contains("x-cache: hit"), &format!("not from the cache: {head}"))?;
    let etag = head.lines().find_map(|line| line.strip_prefix("etag: "));
    Ok((body.len(), etag.unwrap_or_default().to_owned()))
}

/// How many times as fast as each of `by` each of `than` is.
fn ratios(by: &[f64], than: &[f64]) -> Vec<f64> {
    by.iter().zip(than).map(|(by, than)| by / than).collect()
}
