//! Asks a server over and over on connections that stay open, as a process on a core of its own.

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

/// What to ask. The paths come on standard input, a line each, and are gone through over and over.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    #[arg(long)]
    pub(crate) address: SocketAddr,
    #[arg(long)]
    pub(crate) connections: usize,
    #[arg(long)]
    pub(crate) requests: usize,
    /// A header line to send along
    #[arg(long, default_value = "")]
    pub(crate) header: String,
}

/// Has it asked by a process of its own. Every answer must have that status.
pub(crate) fn run(args: &Args, paths: &[String], status: u16) -> io::Result<()> {
    let mut command = pinned(LOAD_CORE, env::current_exe()?);
    command.arg("load").args(["--address", &args.address.to_string()]);
    command.args(["--connections", &args.connections.to_string()]);
    command.args(["--requests", &args.requests.to_string()]);
    command.args(["--header", &args.header]);
    let told = output_of(command, &paths.join("\n"))?;
    let told: serde_json::Value = serde_json::from_slice(&told)?;
    let is_so = told["statuses"] == json!({status.to_string(): args.requests});
    expect(is_so, &format!("not all were answered with {status}: {told}"))
}

fn output_of(mut command: Command, input: &str) -> io::Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().expect("it is piped").write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let failed = || io::Error::other("the load could not be made");
    output.status.success().then_some(output.stdout).ok_or_else(failed)
}

/// Asks, and prints what came of it.
pub(crate) fn make(args: &Args) -> io::Result<()> {
    let paths: Vec<String> = io::stdin().lines().collect::<io::Result<_>>()?;
    let Args { address, connections, requests: wanted, ref header } = *args;
    let end = if header.is_empty() { "\r\n" } else { "\r\n\r\n" };
    let whole = |path| format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{header}{end}");
    let requests: Rc<[String]> = paths.into_iter().map(whole).collect();
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
                    while next.get() < wanted {
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

/// A connection that stays open.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Reads at most so many bytes at a time.
    pub(crate) async fn open(address: SocketAddr, at_a_time: usize) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; at_a_time] })
    }

    pub(crate) async fn send(&mut self, request: &str) -> io::Result<()> {
        self.stream.write_all(request.as_bytes()).await
    }

    /// Reads an answer to the end. Gives its status, and the whole of it where it is small.
    pub(crate) async fn answer(&mut self) -> io::Result<(u16, &[u8])> {
        let (mut filled, mut head) = (0, None);
        loop {
            // The body is not looked at, and may be longer than the buffer.
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

/// What has to be known of an answer to read it.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Where it ends and the body begins.
    pub(crate) ends: usize,
    /// How long the body is.
    pub(crate) body: usize,
}

/// The head of an answer, once it is all there.
pub(crate) fn head(start: &[u8]) -> Option<Head> {
    let ends = start.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&start[..ends]).ok()?;
    let name = "content-length:";
    let body = text.lines().find_map(|line| {
        let is_it = line.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
        is_it.then(|| line[name.len()..].trim().parse().ok())?
    });
    Some(Head { status: text.get(9..12)?.parse().ok()?, ends, body: body.unwrap_or(0) })
}
