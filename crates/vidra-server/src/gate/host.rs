//! Hosts: whether a request means this machine by the name that it uses.
//!
//! A web page anywhere can have its own name point to 127.0.0.1, and its visitor's browser then takes
//! a service on loopback for a part of that page (DNS rebinding). What gives it away is the name, in
//! `Host` and `Origin`. Both are parsed: `127.0.0.1.evil.example` begins like an address and is none.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::OnceLock;

use axum::http::{HeaderName, Uri, Version, header};

use crate::asked::{Asked, Lines, SEC_FETCH_SITE};

const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// A host by name or address.
#[derive(Debug, Clone, Copy)]
enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
}

impl<'a> Host<'a> {
    /// Reads `host`, `host:port`, `[address]` or `[address]:port`.
    fn parse(authority: &'a str) -> Option<Self> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (Self::Address(address.parse::<Ipv6Addr>().ok()?.into()), port)
            }
            None => {
                let at = authority.find(':').unwrap_or(authority.len());
                let (name, port) = authority.split_at(at);
                (Self::bare(name)?, port)
            }
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() < 6;
        (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host)
    }

    /// Reads a name or an IPv4 address.
    fn bare(text: &'a str) -> Option<Self> {
        if let Ok(address) = text.parse() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        // A name may be written with the dot of the root.
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_known);
        name.split('.').all(is_label).then_some(Self::Name(name))
    }

    /// The host of an origin, where it is one of the web.
    fn of_origin(origin: &'a str) -> Option<Self> {
        let web = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        Self::parse(web?)
    }

    /// Whether it can only ever be this machine. Nobody can own a name below `localhost`.
    fn is_loopback(self) -> bool {
        match self {
            Self::Address(address) => address.to_canonical().is_loopback(),
            Self::Name(name) => {
                let last = name.rsplit('.').next().unwrap_or_default();
                last.eq_ignore_ascii_case("localhost")
            }
        }
    }

    fn is(self, named: &AllowedHost) -> bool {
        match self {
            Self::Address(address) => named.0.parse() == Ok(address),
            Self::Name(name) => named.0.eq_ignore_ascii_case(name),
        }
    }
}

/// A host under which the service may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost(Box<str>);

impl FromStr for AllowedHost {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self(address.to_string().into()));
        }
        match Host::bare(text) {
            Some(Host::Name(name)) => Ok(Self(name.into())),
            _ => Err("expected a host such as vidra.example.org, without scheme and port"),
        }
    }
}

/// What is wrong with the hosts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stranger {
    /// There is no `Host`, or more than one, or it is none.
    NoHost,
    /// It is meant for another host.
    Host,
    /// It was sent by a page of somebody else.
    Origin,
}

/// The first host that was found to be one of ours, as it was written. Nearly all callers write the
/// same, and what is equal need not be parsed.
#[derive(Default)]
pub(super) struct UsualHost(OnceLock<Box<str>>);

/// Looks at the host that a request was meant for.
pub(super) fn check_host(
    version: Version,
    uri: &Uri,
    asked: &Asked<'_>,
    allowed: &[AllowedHost],
    UsualHost(usual): &UsualHost,
) -> Result<(), Stranger> {
    let check = |authority: &str| match Host::parse(authority) {
        Some(host) if host.is_loopback() || allowed.iter().any(|it| host.is(it)) => {
            usual.get_or_init(|| authority.into());
            Ok(())
        }
        Some(_) => Err(Stranger::Host),
        None => Err(Stranger::NoHost),
    };
    // What is asked for as a whole URL, as HTTP/2 does, names its host there; HTTP/1.1 in both places.
    let in_target = uri.authority().map(|authority| check(authority.as_str()));
    in_target.unwrap_or(Ok(()))?;
    match asked.host {
        Lines::One(line) if usual.get().is_some_and(|it| it.as_bytes() == line.as_bytes()) => {
            Ok(())
        }
        Lines::One(line) => check(line.to_str().map_err(|_| Stranger::NoHost)?),
        Lines::Several => Err(Stranger::NoHost),
        // No browser speaks HTTP/1.0.
        Lines::None if in_target.is_some() || version < Version::HTTP_11 => Ok(()),
        Lines::None => Err(Stranger::NoHost),
    }
}

/// Looks at the page that a request was sent by; `is_listed` knows those that may.
pub(super) fn check_origin(
    asked: &Asked<'_>,
    allowed: &[AllowedHost],
    is_listed: impl Fn(&[u8]) -> bool,
) -> Result<(), Stranger> {
    let may_ask = |origin: &[u8]| {
        // A page of the service itself, behind a proxy, has the name of the proxy.
        let host = std::str::from_utf8(origin).ok().and_then(Host::of_origin);
        let is_own = |host: Host<'_>| host.is_loopback() || allowed.iter().any(|it| host.is(it));
        host.is_some_and(is_own) || is_listed(origin)
    };
    let may_ask = if asked.has_origin {
        let mut origins = asked.headers.get_all(header::ORIGIN).iter();
        origins.all(|origin| may_ask(origin.as_bytes()))
    } else {
        !is_drawn_in(asked)
    };
    if may_ask { Ok(()) } else { Err(Stranger::Origin) }
}

/// Whether a page of somebody else draws it in, as a picture for example. Browsers name no origin then,
/// but say so; a link that somebody follows is another matter.
fn is_drawn_in(asked: &Asked<'_>) -> bool {
    let is = |name: HeaderName, value: &str| asked.headers.get(name).is_some_and(|it| it == value);
    asked.has_fetch_site && is(SEC_FETCH_SITE, "cross-site") && !is(SEC_FETCH_DEST, "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_and_never_taken_by_their_beginning() {
        let loopback = [
            "localhost",
            "localhost:3000",
            "LOCALHOST",
            "localhost.",
            "localhost.:80",
            "localhost:",
            "vidra.localhost:1",
            "127.0.0.1",
            "127.0.0.1:65535",
            "127.9.8.7",
            "[::1]",
            "[::1]:3000",
            "[::ffff:127.0.0.1]",
        ];
        for authority in loopback {
            let host = Host::parse(authority);
            assert!(host.is_some_and(Host::is_loopback), "{authority}: {host:?}");
        }
        let others = [
            "evil.example",
            "evil.example:3000",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.",
            "127.1",
            "0177.0.0.1",
            "2130706433",
            "0.0.0.0",
            "192.0.2.1",
            "[::]",
            "[2001:db8::1]:80",
        ];
        for authority in others {
            let host = Host::parse(authority);
            assert!(host.is_some_and(|host| !host.is_loopback()), "{authority}: {host:?}");
        }
        let none = [
            "",
            ":3000",
            ".",
            "a..b",
            "user@localhost",
            "localhost:http",
            "localhost:1:2",
            "localhost:123456",
            "localhost/",
            "localhost, evil.example",
            "::1",
            "[::1",
            "[::1]3000",
            "[localhost]",
            "[::1%lo]",
            "local host",
            "lo\u{441}alhost",
        ];
        for authority in none {
            assert!(Host::parse(authority).is_none(), "{authority}");
        }
    }

    #[test]
    fn hosts_that_are_allowed_by_name() {
        for (text, authority, expected) in [
            ("vidra.example.org", "vidra.example.org", true),
            ("Vidra.Example.org", "vidra.example.ORG:443", true),
            ("vidra.example.org.", "vidra.example.org", true),
            ("example.org", "vidra.example.org", false),
            ("vidra.example.org", "vidra.example.org.evil.example", false),
            ("192.0.2.1", "192.0.2.1:80", true),
            ("::2", "[::2]:80", true),
            ("[::2]", "[0::2]", true),
        ] {
            let named: AllowedHost = text.parse().unwrap();
            assert_eq!(Host::parse(authority).unwrap().is(&named), expected, "{text} {authority}");
        }
        for text in ["", "*", "*.example.org", "example.org:80", "https://example.org", "a/b"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
