//! What callers may take up of a server.

use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::gate::TrustedProxy;

/// What callers may take up: time, connections, bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long the head of a request may take from its first byte, and the first byte of a new
    /// connection.
    pub head_timeout: Duration,
    /// How long a connection may lie idle between two requests.
    pub idle_timeout: Duration,
    /// How long a caller may take none of what is sent to it.
    pub stall_timeout: Duration,
    /// The longest head of a request, in bytes. At least 8 KB.
    pub head_bytes: usize,
    /// The most connections together.
    pub connections: usize,
    /// The most connections from one address; `None` for the usual number, which is not for this
    /// machine itself: a proxy on it stands for many.
    pub connections_per_address: Option<usize>,
    /// Proxies elsewhere, which stand for many too: they have no limit of their own.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Whether HTTP/2 is spoken too, also without encryption (by prior knowledge).
    pub http2: bool,
    /// How long new connections are still taken in after the signal to stop, with connections open.
    pub drain_delay: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(30),
            // Hyper's own limit of a target is 64 KB, which has an error of its own.
            head_bytes: 80 * 1024,
            connections: 10_000,
            connections_per_address: None,
            trusted_proxies: vec![],
            http2: false,
            drain_delay: Duration::from_secs(1),
        }
    }
}

/// Requests under way together on one connection of HTTP/2.
const MOST_STREAMS: u32 = 100;

impl Limits {
    /// What speaks HTTP/1.
    pub(super) fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder.max_header_size(self.head_bytes);
        builder
    }

    /// What speaks HTTP/2.
    pub(super) fn http2(&self) -> http2::Builder<TokioExecutor> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let head_bytes = u32::try_from(self.head_bytes).unwrap_or(u32::MAX);
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(MOST_STREAMS)
            .max_header_list_size(head_bytes)
            // A caller that is gone without a word is noticed also while nothing is sent to it.
            .keep_alive_interval(self.idle_timeout / 2)
            .keep_alive_timeout(self.head_timeout);
        builder
    }
}
