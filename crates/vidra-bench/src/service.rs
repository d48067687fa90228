//! A `vidra serve` process under measurement.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{Process, pinned};

/// The process; killed when dropped.
pub(crate) struct Service {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    /// The folder of the ledger; removed when dropped.
    folder: PathBuf,
}

/// The configuration of the process.
#[derive(Default)]
pub(crate) struct Setup<'a> {
    /// The core to pin the process to.
    pub(crate) core: Option<usize>,
    /// Whether to omit the log line of each request.
    pub(crate) is_quiet: bool,
    /// Additional flags.
    pub(crate) flags: &'a [&'a str],
}

impl Setup<'_> {
    /// Almost no cache, because the memory of a list is measured without it.
    pub(crate) const UNCACHED: Self = Self {
        core: None,
        is_quiet: true,
        flags: &["--quota-limit", "4000000000", "--cache-size", "100KB"],
    };
}

impl Service {
    /// Starts the binary beside this one and waits until it logs its address.
    pub(crate) fn start(data_api_url: &str, web_url: &str) -> io::Result<Self> {
        Self::start_as(data_api_url, web_url, &Setup::default())
    }

    pub(crate) fn start_as(data_api_url: &str, web_url: &str, setup: &Setup) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("vidra-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut command = match setup.core {
            Some(core) => pinned(core, binary()?),
            None => Command::new(binary()?),
        };
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"])
            .args(["--data-api-url", data_api_url, "--web-url", web_url, "--state-dir"])
            .arg(&folder)
            .args(setup.flags)
            .env_clear()
            .env("YOUTUBE_API_KEY", "demo-key")
            // As in the image and the systemd unit.
            .env("MIMALLOC_PURGE_DELAY", "50")
            .env("MIMALLOC_ALLOW_THP", "0")
            .env("RUST_LOG", if setup.is_quiet { "info,vidra_server=warn" } else { "info" })
            .current_dir(&folder)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let process = Process(child);
        let mut lines = String::new();
        let address = loop {
            let start = lines.len();
            if log.read_line(&mut lines)? == 0 {
                return Err(io::Error::other(format!("the service did not start: {lines}")));
            }
            let address = lines[start..].split_once("\"address\":\"");
            let address = address.and_then(|(_, rest)| rest.split('"').next()?.parse().ok());
            if let Some(address) = address {
                break address;
            }
        };
        // Drains the log, so that a full pipe does not block the service.
        std::thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Ok(Self { process, address, folder })
    }

    /// Sends one request on its own connection and returns the response in wire format.
    pub(crate) fn answer(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(self.address)?;
        let host = self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    /// Sends one request in wire format, discards the response and returns its length.
    pub(crate) fn send(&self, request: &str) -> io::Result<u64> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.write_all(request.as_bytes())?;
        io::copy(&mut stream, &mut io::sink())
    }

    /// Sends one request and returns the status and the body.
    pub(crate) fn get(&self, path: &str) -> io::Result<(u16, Vec<u8>)> {
        status_and_body(self.answer(path)?)
    }

    /// Sends JSON and returns the status and the body.
    pub(crate) fn post(&self, path: &str, json: &str) -> io::Result<(u16, Vec<u8>)> {
        let (mut stream, host) = (TcpStream::connect(self.address)?, self.address);
        write!(stream, "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n")?;
        let length = json.len();
        write!(stream, "content-type: application/json\r\ncontent-length: {length}\r\n\r\n{json}")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        status_and_body(answer)
    }

    /// Streams the transcripts of a playlist as NDJSON and calls `line` for each line.
    pub(crate) fn transcripts(
        &self,
        playlist: &str,
        concurrency: usize,
        line: impl FnMut(&str),
    ) -> io::Result<()> {
        let body = format!("{{\"concurrency\":{concurrency}}}");
        let length = body.len();
        let rest =
            format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
        self.lines(&format!("POST /api/playlist/{playlist}/transcript"), &rest, line)
    }

    /// Streams a list as NDJSON and calls `line` for each line.
    pub(crate) fn list(&self, path: &str, line: impl FnMut(&str)) -> io::Result<()> {
        self.lines(&format!("GET {path}"), "\r\n", line)
    }

    fn lines(&self, request: &str, rest: &str, mut line: impl FnMut(&str)) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.address)?;
        let head = format!("host: {}\r\naccept: application/x-ndjson\r\n", self.address);
        // HTTP/1.0: no chunks, the end of the connection is the end of the body.
        write!(stream, "{request} HTTP/1.0\r\n{head}{rest}")?;
        for text in BufReader::new(stream).lines() {
            let text = text?;
            if text.starts_with('{') {
                line(&text);
            }
        }
        Ok(())
    }

    /// The current resident memory in MB.
    pub(crate) fn memory_mb(&self) -> io::Result<f64> {
        self.process.status_mb("VmRSS:")
    }

    /// The peak resident memory in MB.
    pub(crate) fn peak_memory_mb(&self) -> io::Result<f64> {
        self.process.status_mb("VmHWM:")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A running process would write its files again.
        self.process.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn status_and_body(mut answer: Vec<u8>) -> io::Result<(u16, Vec<u8>)> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n");
    let head = head.ok_or_else(|| io::Error::other("no answer"))?;
    let status = std::str::from_utf8(&answer[9..12]).ok().and_then(|text| text.parse().ok());
    Ok((status.unwrap_or(0), answer.split_off(head + 4)))
}

fn binary() -> io::Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("vidra");
    let missing = || io::Error::other(format!("{} is not built", beside.display()));
    if beside.exists() { Ok(beside) } else { Err(missing()) }
}
