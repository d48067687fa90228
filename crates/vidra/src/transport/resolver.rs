//! Resolves host names. YouTube's host names must resolve to public addresses. An attacker who
//! controls DNS must not redirect our key to this machine or its network.
//!
//! Connections use only the addresses returned here, so that no second lookup can differ. Host
//! names from the operator (another base URL, a proxy, a token provider) may resolve to any
//! address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The host of the Data API.
pub(crate) const DATA_API_HOST: &str = "www.googleapis.com";

/// The host of the public pages.
pub(crate) const WEB_HOST: &str = "www.youtube.com";

type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Resolves names, and rejects private addresses for YouTube's hosts.
pub(super) struct Resolver {
    look_up: fn(String) -> Found,
    /// Whether it rejects private addresses for all hosts.
    is_public_only: bool,
}

impl Resolver {
    /// Creates a resolver that uses this machine's DNS configuration.
    pub(super) fn new() -> Self {
        let look_up = |name: String| -> Found {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
        };
        Self { look_up, is_public_only: false }
    }

    /// Creates a resolver that rejects private addresses for all hosts.
    pub(super) fn only_public() -> Self {
        Self { is_public_only: true, ..Self::new() }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let is_checked = self.is_public_only || [DATA_API_HOST, WEB_HOST].contains(&name.as_str());
        let found = (self.look_up)(name);
        Box::pin(async move {
            let mut found = found.await?;
            if is_checked {
                found.retain(|address| is_public(address.ip()));
                if found.is_empty() {
                    return Err("the name leads to a private address".into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is public.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Accepts 198.18.0.0/15, because transparent proxies map every name to an address of that range.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0b1100_0000 == 64;
    let is_assigned_by_protocols = [first, second, third] == [192, 0, 0];
    // "This network", multicast and reserved addresses.
    let is_no_host = first == 0 || first >= 224;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || is_shared
        || is_assigned_by_protocols
        || is_no_host)
}

/// Public IPv6 addresses begin with 001. Embedded IPv4 addresses follow the rules of IPv4.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let old = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // NAT64 and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => old(high, low),
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::Request;
    use tokio::net::TcpListener;

    use super::*;
    use crate::transport::{Failure, Network, Transport};

    #[test]
    fn s4_only_public_addresses_are_accepted() {
        let table = [
            // YouTube's addresses, plain and embedded.
            ("142.250.74.110", true),
            ("2a00:1450:400f:80d::200e", true),
            ("::ffff:142.250.74.110", true),
            ("64:ff9b::8efa:4a6e", true),
            // Addresses of transparent proxies.
            ("198.18.0.7", true),
            // This machine.
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("2002:7f00:1::", false),
            // Private networks.
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("::ffff:192.168.1.1", false),
            ("fc00::1", false),
            ("fd12:3456:789a::1", false),
            ("fec0::1", false),
            // Link-local addresses, including the metadata service of clouds.
            ("169.254.169.254", false),
            ("::ffff:a9fe:a9fe", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("2002:a9fe:a9fe::1", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            // Carrier-grade NAT.
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("100.128.0.1", true),
            ("100.63.255.255", true),
            // Addresses without a host.
            ("192.0.0.8", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("ff02::1", false),
        ];
        for (address, expected) in table {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[tokio::test]
    async fn s4_the_platforms_names_lead_to_no_private_address() {
        let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = trap.local_addr().unwrap().port();
        // Every name resolves to this machine, in two notations.
        let network = Network::resolving(Arc::new(Resolver {
            look_up: |_| {
                let addresses = ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"];
                Box::pin(async move { Ok(addresses.map(|it| it.parse().unwrap()).to_vec()) })
            },
            is_public_only: false,
        }));
        let fetch = async |host: &str| {
            let request = Request::get(format!("http://{host}:{port}/")).body(Bytes::new());
            network.exchange(request.unwrap()).await
        };
        let expected = Failure::NotSent("the name leads to a private address".to_owned());
        for host in [DATA_API_HOST, WEB_HOST, "WWW.YouTube.com", "www.youtube.com."] {
            assert_eq!(fetch(host).await.err(), Some(expected.clone()), "{host}");
        }
        // Another host name may resolve to any address. The first connection decides.
        let connected = async {
            tokio::select! {
                biased;
                taken = trap.accept() => taken.is_ok(),
                _ = fetch("mirror.example") => false,
            }
        };
        assert!(connected.await);
    }
}
