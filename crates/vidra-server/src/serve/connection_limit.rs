//! Limits on connections, in total and per address.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Limits;
use crate::error_body::ApiError;
use crate::gate::{ClientNetwork, TrustedProxy};
use crate::hot::new_request_id;
use crate::slots::{Slot, Slots};
use vidra::Reason;

/// The default limit of an address other than loopback.
const DEFAULT_PER_ADDRESS: usize = 256;

/// How many refused connections get a response at the same time. Others are just closed.
const MAX_REFUSALS: usize = 64;

/// How long a refused caller may take to read the response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The limit on connections, in total and per address.
pub(super) struct ConnectionLimit {
    all: Arc<Semaphore>,
    max_per_address: Option<usize>,
    trusted_proxies: Vec<TrustedProxy>,
    by_address: Arc<Slots<ClientNetwork>>,
    refusals: Arc<Semaphore>,
}

/// The slots of one connection.
pub(super) struct ConnectionSlot {
    _of_all: OwnedSemaphorePermit,
    _of_address: Slot<ClientNetwork>,
}

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitReached {
    Total,
    PerAddress,
}

impl LimitReached {
    /// The label of the metric.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Total => "all_taken",
            Self::PerAddress => "address",
        }
    }
}

impl ConnectionLimit {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            all: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            max_per_address: limits.connections_per_address,
            trusted_proxies: limits.trusted_proxies.clone(),
            by_address: Arc::default(),
            refusals: Arc::new(Semaphore::new(MAX_REFUSALS)),
        }
    }

    pub(super) fn take(&self, address: IpAddr) -> Result<ConnectionSlot, LimitReached> {
        let of_all = Arc::clone(&self.all).try_acquire_owned();
        let _of_all = of_all.map_err(|_| LimitReached::Total)?;
        let max = match self.max_per_address {
            _ if self.trusted_proxies.iter().any(|proxy| proxy.contains(address)) => usize::MAX,
            Some(max) => max,
            None if address.is_loopback() => usize::MAX,
            None => DEFAULT_PER_ADDRESS,
        };
        let of_address = self.by_address.take(ClientNetwork::from_address(address), max);
        let _of_address = of_address.ok_or(LimitReached::PerAddress)?;
        Ok(ConnectionSlot { _of_all, _of_address })
    }

    /// Sends a refusal in a task of its own, if not too many are being sent.
    pub(super) fn refuse(&self, mut stream: TcpStream, limit: LimitReached) {
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let (reason, message) = match limit {
            LimitReached::Total => (Reason::Overloaded, "The service is at its limit"),
            LimitReached::PerAddress => {
                (Reason::CallerRateLimited, "Too many connections from your address")
            }
        };
        tokio::spawn(async move {
            let refusal = async {
                stream.write_all(&raw_response(reason, message)).await?;
                stream.shutdown().await?;
                // Closing with unread data resets the connection, and the response would be lost.
                let mut unread = [0; 1024];
                while stream.read(&mut unread).await? > 0 {}
                std::io::Result::Ok(())
            };
            let _ = timeout(REFUSAL_TIMEOUT, refusal).await;
            drop(permit);
        });
    }
}

/// A whole response that closes the connection. No request has been read, so no route can answer.
fn raw_response(reason: Reason, message: &str) -> Vec<u8> {
    let error = ApiError::new(reason, message);
    let (status, body) = (error.status(), error.into_body());
    let body = serde_json::to_string(&body).expect("texts and a number");
    let id = new_request_id();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-request-id: {}\r\nretry-after: 1\r\nconnection: close\r\n\r\n",
        body.len(),
        id.to_str().unwrap_or_default(),
    );
    (head + &body).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_slot_is_free_again() {
        let limits =
            Limits { connections: 3, connections_per_address: Some(2), ..Limits::default() };
        let slots = ConnectionLimit::new(&limits);
        let [here, there] = ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap());
        let first = slots.take(here).ok().unwrap();
        let _second = slots.take(here).ok().unwrap();
        assert_eq!(slots.take(here).err(), Some(LimitReached::PerAddress));
        let third = slots.take(there).ok().unwrap();
        assert_eq!(slots.take(there).err(), Some(LimitReached::Total));
        drop(first);
        assert!(slots.take(here).is_ok());
        drop(third);
        assert!(slots.take(there).is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_prefix_share_the_limit() {
        let limits = Limits { connections_per_address: Some(2), ..Limits::default() };
        let slots = ConnectionLimit::new(&limits);
        let take = |address: &str| slots.take(address.parse().unwrap());
        let _taken = (take("2001:db8::1").ok().unwrap(), take("2001:db8::2").ok().unwrap());
        assert_eq!(take("2001:db8::3").err(), Some(LimitReached::PerAddress));
        assert!(take("2001:db8:0:1::1").is_ok());
    }

    #[test]
    fn loopback_and_trusted_proxies_have_no_per_address_limit() {
        let trusted_proxies = vec!["10.1.0.0/16".parse().unwrap()];
        let slots = ConnectionLimit::new(&Limits { trusted_proxies, ..Limits::default() });
        let table =
            [("127.0.0.1", 10_000), ("::1", 10_000), ("10.1.0.1", 10_000), ("10.0.0.1", 256)];
        for (address, slots_for_it) in table {
            let address = address.parse().unwrap();
            let taken: Vec<_> = std::iter::from_fn(|| slots.take(address).ok()).collect();
            assert_eq!(taken.len(), slots_for_it, "{address}");
        }
    }
}
