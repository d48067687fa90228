//! Callers as they are: they keep their connection, and open another one where they are told to.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Far more than anything takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Asks one thing after the other.
pub(crate) struct Caller {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    pub(crate) took: Duration,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Caller {
    pub(crate) fn of(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Whether it has no connection: at first, and once it was told that it ends.
    pub(crate) fn is_free(&self) -> bool {
        self.stream.is_none()
    }

    /// Opens a connection where there is none.
    pub(crate) fn connect(&mut self) -> io::Result<()> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LONG))?;
            self.stream = Some(BufReader::new(stream));
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<Heard> {
        self.connect()?;
        let begun = Instant::now();
        // Without it where anything goes wrong on the way.
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
        let mut heard = Heard { status, head, body: vec![], took: Duration::ZERO };
        let length = heard.header("content-length").and_then(|text| text.parse().ok());
        heard.body.resize(length.ok_or(io::ErrorKind::InvalidData)?, 0);
        stream.read_exact(&mut heard.body)?;
        heard.took = begun.elapsed();
        if heard.header("connection") != Some("close") {
            self.stream = Some(stream);
        }
        Ok(heard)
    }
}
