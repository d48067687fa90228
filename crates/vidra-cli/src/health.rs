//! `vidra health`: whether the service on this machine is ready. For health checks in images that contain
//! neither a shell nor an HTTP client.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use clap::Args;

use crate::values::listen_address;

/// Shorter than the usual timeout of a health check, so that the cause is reported.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How much of an answer is read: the length of `HTTP/1.1 200`.
const STATUS_BYTES: usize = 12;

/// Options of `vidra health`.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Address that the service listens on
    #[arg(long, env = "VIDRA_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:3000", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,

    /// The operator's address of the service, used instead of --listen if set; it never uses TLS
    #[arg(long, env = "VIDRA_ADMIN_LISTEN", value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) admin_listen: Option<SocketAddr>,
}

/// Requests `/readyz`. The error is the reason why the service is not ready.
pub(crate) fn check(args: &HealthArgs) -> Result<(), String> {
    let address = reachable(args.admin_listen.unwrap_or(args.listen));
    match status(address) {
        Ok(200) => Ok(()),
        Ok(status) => Err(format!("{address} answered {status}")),
        Err(error) => Err(format!("{address}: {error}")),
    }
}

/// The address to connect to: loopback for a service that listens on all addresses.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

fn status(address: SocketAddr) -> io::Result<u16> {
    // One deadline for the whole exchange, so that a service that sends byte by byte fails too.
    let deadline = Instant::now() + TIMEOUT;
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(Some(left)) }
    };
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_write_timeout(left()?)?;
    let request = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let (mut head, mut length) = ([0; STATUS_BYTES], 0);
    while length < STATUS_BYTES {
        stream.set_read_timeout(left()?)?;
        match stream.read(&mut head[length..])? {
            0 => break,
            count => length += count,
        }
    }
    status_in(&head[..length]).ok_or_else(|| {
        io::Error::other("the answer is not HTTP; a service with TLS needs --admin-listen")
    })
}

/// The status at the beginning of an answer.
fn status_in(head: &[u8]) -> Option<u16> {
    let status = head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(status).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcard_addresses_are_checked_on_loopback() {
        let table = [
            ("0.0.0.0:3000", "127.0.0.1:3000"),
            ("[::]:3000", "[::1]:3000"),
            ("10.1.2.3:80", "10.1.2.3:80"),
            ("127.0.0.1:3000", "127.0.0.1:3000"),
        ];
        for (listen, checked) in table {
            assert_eq!(reachable(listen.parse().unwrap()), checked.parse().unwrap(), "{listen}");
        }
    }

    #[test]
    fn status_is_parsed_from_the_first_line_only() {
        assert_eq!(status_in(b"HTTP/1.1 200 OK\r\nx: y\r\n"), Some(200));
        assert_eq!(status_in(b"HTTP/1.1 503 Service Unavailable\r\n"), Some(503));
        for answer in [&b""[..], b"\r\nHTTP/1.1 200 OK", b"HTTP/1.1 2", b"\x15\x03\x03", b"200"] {
            assert_eq!(status_in(answer), None);
        }
    }
}
