//! Limits of the server.

use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::gate::TrustedProxy;

/// Limits on the time, the connections and the bytes of callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a request head may take from its first byte, and a new connection to its first byte.
    pub head_timeout: Duration,
    /// How long a connection may be idle between two requests.
    pub idle_timeout: Duration,
    /// How long a caller may read nothing of a response.
    pub stall_timeout: Duration,
    /// The longest request head in bytes; at least 8 KB.
    pub head_bytes: usize,
    /// The maximum number of connections in total.
    pub connections: usize,
    /// The maximum number of connections of one address. `None` is a default of 256, which does not apply to
    /// loopback, where a proxy connects for many callers.
    pub connections_per_address: Option<usize>,
    /// Proxies on other machines, which have no limit per address.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Whether HTTP/2 is served too, also without TLS (prior knowledge).
    pub http2: bool,
    /// How long the service accepts new connections after the stop signal, while others are open.
    pub drain_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(30),
            // Above hyper's limit of 64 KB for a target, which has its own status (414).
            head_bytes: 80 * 1024,
            connections: 10_000,
            connections_per_address: None,
            trusted_proxies: vec![],
            http2: false,
            drain_delay: Duration::from_secs(1),
        }
    }
}

/// Concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 100;

impl Limits {
    pub(super) fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder.max_header_size(self.head_bytes);
        builder
    }

    pub(super) fn http2(&self) -> http2::Builder<TokioExecutor> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let head_bytes = u32::try_from(self.head_bytes).unwrap_or(u32::MAX);
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(head_bytes)
            // Detects a caller that disappeared without closing the connection.
            .keep_alive_interval(self.idle_timeout / 2)
            .keep_alive_timeout(self.head_timeout);
        builder
    }
}
