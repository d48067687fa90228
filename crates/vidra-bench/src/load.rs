//! A closed-loop load generator over keep-alive connections, as a separate process on its own core.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Instant;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::process::{LOAD_CORE, pinned};
use crate::report::expect;

/// The arguments of the load. The paths are read from standard input, one per line, and are repeated.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    pub(crate) address: SocketAddr,
    #[arg(long)]
    pub(crate) connections: usize,
    #[arg(long)]
    pub(crate) requests: usize,
    /// An additional header line
    #[arg(long, default_value = "")]
    pub(crate) header: String,
}

/// Runs the load in a separate process. Every answer must have the given status.
pub(crate) fn run(args: &Args, paths: &[String], status: u16) -> io::Result<()> {
    let mut command = pinned(LOAD_CORE, env::current_exe()?);
    command.arg("load").args(["--address", &args.address.to_string()]);
    command.args(["--connections", &args.connections.to_string()]);
    command.args(["--requests", &args.requests.to_string()]);
    command.args(["--header", &args.header]);
    let result = output_of(command, &paths.join("\n"))?;
    let result: serde_json::Value = serde_json::from_slice(&result)?;
    let is_expected = result["statuses"] == json!({status.to_string(): args.requests});
    expect(is_expected, &format!("not all answers are {status}: {result}"))
}

fn output_of(mut command: Command, input: &str) -> io::Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().expect("stdin is piped").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let failed = || io::Error::other("the load generator failed");
    output.status.success().then_some(output.stdout).ok_or_else(failed)
}

/// Sends the requests and prints the statuses as JSON.
pub(crate) fn generate(args: &Args) -> io::Result<()> {
    let paths: Vec<String> = io::stdin().lines().collect::<io::Result<_>>()?;
    let Args { address, connections, requests: total, ref header } = *args;
    let end = if header.is_empty() { "\r\n" } else { "\r\n\r\n" };
    let request_text = |path| format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{header}{end}");
    let requests: Rc<[String]> = paths.into_iter().map(request_text).collect();
    let next = Rc::new(Cell::new(0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let started = Instant::now();
    let statuses = runtime.block_on(LocalSet::new().run_until(async {
        let mut open = Vec::with_capacity(connections);
        for _ in 0..connections {
            open.push(Connection::open(address, 256 << 10).await?);
        }
        let callers: Vec<_> = open
            .into_iter()
            .map(|mut connection| {
                let (requests, next) = (Rc::clone(&requests), Rc::clone(&next));
                tokio::task::spawn_local(async move {
                    let mut statuses = BTreeMap::<u16, usize>::new();
                    while next.get() < total {
                        let request = &requests[next.replace(next.get() + 1) % requests.len()];
                        connection.send(request).await?;
                        *statuses.entry(connection.answer().await?.0).or_default() += 1;
                    }
                    Ok::<_, io::Error>(statuses)
                })
            })
            .collect();
        let mut all = BTreeMap::<u16, usize>::new();
        for caller in callers {
            for (status, count) in caller.await.map_err(io::Error::other)?? {
                *all.entry(status).or_default() += count;
            }
        }
        Ok::<_, io::Error>(all)
    }))?;
    println!("{}", json!({"seconds": started.elapsed().as_secs_f64(), "statuses": statuses}));
    Ok(())
}

/// A keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects. `buffer_size` is the most bytes of one read.
    pub(crate) async fn open(address: SocketAddr, buffer_size: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; buffer_size] })
    }

    pub(crate) async fn send(&mut self, request: &str) -> io::Result<()> {
        self.stream.write_all(request.as_bytes()).await
    }

    /// Reads an answer to the end. Returns its status, and all of it if it fits into the buffer.
    pub(crate) async fn answer(&mut self) -> io::Result<(u16, &[u8])> {
        let (mut filled, mut head) = (0, None);
        loop {
            // The body is not used, and may be longer than the buffer.
            let room = if head.is_some() { 0 } else { filled };
            let read = self.stream.read(&mut self.buffer[room..]).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            filled += read;
            head = head.or_else(|| self::head(&self.buffer[..filled]));
            if let Some(Head { status, ends, body }) = head
                && filled >= ends + body
            {
                let small = filled.min(self.buffer.len());
                return Ok((status, &self.buffer[..small]));
            }
        }
    }
}

/// The parts of a response head that are needed to read the response.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// The end of the head, where the body begins.
    pub(crate) ends: usize,
    /// The length of the body.
    pub(crate) body: usize,
}

/// Parses the head of an answer; `None` while it is incomplete.
pub(crate) fn head(start: &[u8]) -> Option<Head> {
    let ends = start.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&start[..ends]).ok()?;
    let name = "content-length:";
    let body = text.lines().find_map(|line| {
        let is_content_length =
            line.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        is_content_length.then(|| line[name.len()..].trim().parse().ok())?
    });
    Some(Head { status: text.get(9..12)?.parse().ok()?, ends, body: body.unwrap_or(0) })
}
