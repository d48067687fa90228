//! The unit of limits by address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A caller without a key: an IPv4 address, or an IPv6 /64, which is what one customer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ClientNetwork {
    V4(u32),
    V6(u64),
}

impl ClientNetwork {
    pub(crate) fn from_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => match embedded_v4(address) {
                Some(address) => Self::V4(address),
                None => Self::V6((address.to_bits() >> 64) as u64),
            },
        }
    }
}

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(bits) => write!(f, "{}", Ipv4Addr::from_bits(*bits)),
            Self::V6(prefix) => write!(f, "{}/64", Ipv6Addr::from_bits(u128::from(*prefix) << 64)),
        }
    }
}

/// The IPv4 address behind a 6to4 (RFC 3056), Teredo (RFC 4380) or NAT64 (RFC 6052) address. One IPv4 address
/// has very many of them.
fn embedded_v4(address: Ipv6Addr) -> Option<u32> {
    let bits = address.to_bits();
    match address.segments() {
        [0x2002, ..] => Some((bits >> 80) as u32),
        [0x2001, 0, ..] => Some(!(bits as u32)),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(bits as u32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_of_one_prefix_share_a_network() {
        let table = [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
            ("::192.0.2.1", "192.0.2.1", false),
            // 6to4, Teredo (which inverts the address) and NAT64.
            ("2002:c000:201:1::1", "192.0.2.1", true),
            ("2002:c000:201:1::1", "2002:c000:201:ffff::9", true),
            ("2002:c000:201::1", "2002:c000:202::1", false),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "192.0.2.45", true),
            ("64:ff9b::192.0.2.1", "192.0.2.1", true),
        ];
        for (one, other, alike) in table {
            let [a, b] =
                [one, other].map(|text| ClientNetwork::from_address(text.parse().unwrap()));
            assert_eq!(a == b, alike, "{one} and {other}");
        }
    }
}
