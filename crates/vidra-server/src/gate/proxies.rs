//! The address of a caller behind trusted proxies.
//!
//! Only `X-Forwarded-For` is read. A proxy that sets one header passes the other through as its caller
//! sent it, so trusting `Forwarded` too would mean trusting anybody.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// A proxy, or a network of proxies, whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl FromStr for TrustedProxy {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        network.map(Self).map_err(|_| "expected an address or a network such as 10.0.0.0/8")
    }
}

impl TrustedProxy {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }
}

/// The first address that is not a trusted proxy, from the connection outwards. An unreadable entry ends the
/// chain, because nobody vouches for the entries before it.
pub(super) fn caller_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &[TrustedProxy],
) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|proxy| proxy.contains(*address));
    let mut nearest = peer.to_canonical();
    if !is_trusted(&nearest) {
        return nearest;
    }
    // Lines of the same name form one list. The nearest proxy adds the last entry.
    let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
    let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    for entry in entries {
        let Some(address) = address(entry) else { break };
        nearest = address;
        if !is_trusted(&nearest) {
            break;
        }
    }
    nearest
}

/// An address, with or without a port, IPv6 with or without brackets.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let parsed = match bare {
        Some(bare) => bare.parse().map(IpAddr::V6).ok(),
        None => text.parse().ok().or_else(|| text.parse().ok().map(|it: SocketAddr| it.ip())),
    };
    parsed.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn forwarded_addresses_are_read_only_from_trusted_proxies() {
        let trusted = ["10.0.0.0/8", "2001:db8::/32", "127.0.0.1"].map(|it| it.parse().unwrap());
        let (near, far) = ("10.0.0.1", "192.0.2.9");
        let table: [(&str, &[&str], &str); 22] = [
            (near, &[], near),
            (near, &["192.0.2.1"], "192.0.2.1"),
            ("::ffff:10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("127.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("127.0.0.2", &["192.0.2.1"], "127.0.0.2"),
            ("2001:db8::1", &["192.0.2.1"], "192.0.2.1"),
            // The header of an untrusted peer is ignored.
            (far, &["192.0.2.1"], far),
            (far, &["127.0.0.1"], far),
            // Entries of the caller itself are to the left of those that the proxy adds.
            (near, &["203.0.113.7, 192.0.2.1"], "192.0.2.1"),
            (near, &["203.0.113.7", "192.0.2.1"], "192.0.2.1"),
            (near, &["203.0.113.7, 192.0.2.1, 10.9.9.9"], "192.0.2.1"),
            (near, &["203.0.113.7, 192.0.2.1", "10.9.9.9"], "192.0.2.1"),
            (near, &["10.1.1.1, 10.2.2.2"], "10.1.1.1"),
            // Ports, brackets, several forms of one address.
            (near, &["192.0.2.1:4711"], "192.0.2.1"),
            (near, &["[2001:470::1]:4711"], "2001:470::1"),
            (near, &["[2001:470::1]"], "2001:470::1"),
            (near, &["2001:470::1"], "2001:470::1"),
            (near, &["::ffff:192.0.2.1"], "192.0.2.1"),
            // An invalid entry ends the chain.
            (near, &["unknown"], near),
            (near, &[""], near),
            (near, &["192.0.2.1, [192.0.2.1], 10.3.3.3"], "10.3.3.3"),
            (near, &["192.0.2.1, \u{ff11}, 10.3.3.3:99999"], near),
        ];
        for (peer, lines, expected) in table {
            let mut headers = HeaderMap::new();
            for line in lines {
                let line = HeaderValue::from_bytes(line.as_bytes()).unwrap();
                headers.append("x-forwarded-for", line);
            }
            let found = caller_address(peer.parse().unwrap(), &headers, &trusted);
            assert_eq!(found, expected.parse::<IpAddr>().unwrap(), "{peer} {lines:?}");
        }
    }

    #[test]
    fn a_trusted_proxy_is_an_address_or_a_network() {
        for text in ["10.0.0.0/8", "10.0.0.1", "::1", "fd00::/8"] {
            assert!(text.parse::<TrustedProxy>().is_ok(), "{text}");
        }
        for text in ["", "*", "10.0.0.0/33", "localhost", "10.0.0"] {
            assert!(text.parse::<TrustedProxy>().is_err(), "{text}");
        }
    }
}
