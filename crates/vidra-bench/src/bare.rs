//! A minimal hyper server: the same answer to every request, as a baseline.

use std::convert::Infallible;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;
use std::{env, fs};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::process::{Process, SERVER_CORE, pinned};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A complete response in wire format
    answer: PathBuf,
}

/// The server as a process of its own.
pub(crate) struct Bare {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

impl Bare {
    /// Starts the server with an answer from a file.
    pub(crate) fn start(answer: &Path) -> io::Result<Self> {
        let mut child = pinned(SERVER_CORE, env::current_exe()?)
            .arg("bare")
            .arg(answer)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let process = Process(child);
        output.read_line(&mut line)?;
        let address = line.trim().parse();
        let address = address.map_err(|_| io::Error::other("the bare server did not start"))?;
        Ok(Self { process, address })
    }
}

/// Serves until the process is killed.
pub(crate) fn serve(args: &Args) -> io::Result<()> {
    let answer = fs::read(&args.answer)?;
    let (headers, body) = read(&answer).ok_or_else(|| io::Error::other("not an answer"))?;
    Runtime::new()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let (headers, body) = (headers.clone(), body.clone());
            let service = service_fn(move |_: Request<Incoming>| {
                let mut response = Response::new(Full::new(body.clone()));
                *response.headers_mut() = headers.clone();
                async move { Ok::<_, Infallible>(response) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    })
}

/// Headers and body, without the headers that hyper writes itself.
fn read(answer: &[u8]) -> Option<(HeaderMap, Bytes)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = pairs
        .filter(|(name, _)| !matches!(*name, "date" | "content-length" | "connection"))
        .map(|(name, value)| Some((HeaderName::from_str(name).ok()?, value.parse().ok()?)))
        .collect::<Option<HeaderMap<HeaderValue>>>()?;
    Some((headers, Bytes::copy_from_slice(&answer[end + 4..])))
}
