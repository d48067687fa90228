//! HTTP callers with keep-alive. They open a new connection after `Connection: close`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A timeout that no passing test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Sends one request after the other.
pub(crate) struct Caller {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Caller {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Whether it has no connection: before the first request and after `Connection: close`.
    pub(crate) fn is_disconnected(&self) -> bool {
        self.stream.is_none()
    }

    /// Opens a connection if there is none.
    pub(crate) fn connect(&mut self) -> io::Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LONG))?;
            self.stream = Some(BufReader::new(stream));
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<Response> {
        self.connect()?;
        let begun = Instant::now();
        // Taken out, so that an error drops the connection.
        let mut stream = self.stream.take().unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        stream.get_mut().write_all(head.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        head.make_ascii_lowercase();
        let status = head.get(9..12).and_then(|text| text.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut response = Response { status, head, body: vec![], took: Duration::ZERO };
        let length = response.header("content-length").and_then(|text| text.parse().ok());
        response.body.resize(length.ok_or(io::ErrorKind::InvalidData)?, 0);
        stream.read_exact(&mut response.body)?;
        response.took = begun.elapsed();
        if response.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Ok(response)
    }
}
