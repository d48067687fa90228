//! Names to addresses. The platform's own names lead out into the internet or nowhere: whoever can lie
//! to the resolver of this machine must not have us ask this machine, or one beside it, with our key.
//!
//! A connection is made to the addresses that are given out here and to no others, so that there is no
//! second look-up that could be answered otherwise. Names of the operator's choice (another base URL, a
//! proxy, a provider of tokens) may lead anywhere.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The host of the Data API.
pub(crate) const DATA_API_HOST: &str = "www.googleapis.com";

/// The host of the public pages.
pub(crate) const WEB_HOST: &str = "www.youtube.com";

type Found = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Looks names up, and leaves out what cannot be the platform's.
pub(super) struct Resolver {
    look_up: fn(String) -> Found,
}

impl Resolver {
    /// As this machine does.
    pub(super) fn new() -> Self {
        let look_up = |name: String| -> Found {
            Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
        };
        Self { look_up }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().trim_end_matches('.').to_ascii_lowercase();
        let is_platform = [DATA_API_HOST, WEB_HOST].contains(&name.as_str());
        let found = (self.look_up)(name);
        Box::pin(async move {
            let mut found = found.await?;
            if is_platform {
                found.retain(|address| is_public(address.ip()));
                if found.is_empty() {
                    return Err("the platform's name leads to a private address".into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is out in the internet.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// 198.18.0.0/15 is let through: proxies that catch all of a machine's traffic stand for every name with
/// an address from there.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0b1100_0000 == 64;
    let is_assigned_by_protocols = [first, second, third] == [192, 0, 0];
    // "This network", then multicast and what is beyond it.
    let is_no_host = first == 0 || first >= 224;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || is_shared
        || is_assigned_by_protocols
        || is_no_host)
}

/// All that is given out to the internet begins with 001; what an address of the old kind is packed into
/// is judged by that.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let old = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        // A translator (NAT64) and a tunnel (6to4).
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
    fn s4_only_addresses_of_the_internet_are_the_platforms() {
        let table = [
            // Those of the platform, packed and unpacked.
            ("142.250.74.110", true),
            ("2a00:1450:400f:80d::200e", true),
            ("::ffff:142.250.74.110", true),
            ("64:ff9b::8efa:4a6e", true),
            // What a proxy for the whole machine stands for names with.
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
            // Those beside it.
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("::ffff:192.168.1.1", false),
            ("fc00::1", false),
            ("fd12:3456:789a::1", false),
            ("fec0::1", false),
            // On the link: also where clouds keep the credentials of a machine.
            ("169.254.169.254", false),
            ("::ffff:a9fe:a9fe", false),
            ("64:ff9b::a9fe:a9fe", false),
            ("2002:a9fe:a9fe::1", false),
            ("fe80::1", false),
            ("fd00:ec2::254", false),
            // Shared by the customers of a provider.
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("100.128.0.1", true),
            ("100.63.255.255", true),
            // Nobody in particular.
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
    async fn s4_the_platforms_name_is_not_followed_to_a_private_address() {
        let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = trap.local_addr().unwrap().port();
        // Every name leads to this machine, by two ways of writing it.
        let network = Network::resolving(Arc::new(Resolver {
            look_up: |_| {
                let addresses = ["127.0.0.1:0", "[::ffff:127.0.0.1]:0"];
                Box::pin(async move { Ok(addresses.map(|it| it.parse().unwrap()).to_vec()) })
            },
        }));
        let ask = async |host: &str| {
            let request = Request::get(format!("http://{host}:{port}/")).body(Bytes::new());
            network.exchange(request.unwrap()).await
        };
        let told = Failure::NotSent("the platform's name leads to a private address".to_owned());
        for host in [DATA_API_HOST, WEB_HOST, "WWW.YouTube.com", "www.youtube.com."] {
            assert_eq!(ask(host).await.err(), Some(told.clone()), "{host}");
        }
        // A stand-in under another name may be anywhere; whoever comes first there is the one.
        let came = async {
            tokio::select! {
                biased;
                taken = trap.accept() => taken.is_ok(),
                _ = ask("mirror.example") => false,
            }
        };
        assert!(came.await);
    }
}
