//! Host and origin checks against DNS rebinding.
//!
//! Any web page can point its own name to 127.0.0.1. A browser then treats a service on loopback as a part
//! of that page. The name in `Host` and `Origin` reveals it. Both are parsed, because
//! `127.0.0.1.evil.example` begins like an address and is a name.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;
use std::sync::OnceLock;

use axum::http::{HeaderName, HeaderValue, Request, Version, header};

use super::cors::Origin;
use super::rejection::RejectReason;
use crate::hot::{HeaderLines, RequestHead, SEC_FETCH_SITE};

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
        // A name may end with the dot of the DNS root.
        let name = text.strip_suffix('.').unwrap_or(text);
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_known);
        name.split('.').all(is_label).then_some(Self::Name(name))
    }

    /// The host of an `http` or `https` origin.
    fn of_origin(origin: &'a str) -> Option<Self> {
        let web = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        Self::parse(web?)
    }

    /// Whether the host is always this machine. Nobody can register a name below `localhost`.
    fn is_loopback(self) -> bool {
        match self {
            Self::Address(address) => address.to_canonical().is_loopback(),
            Self::Name(name) => {
                let last = name.rsplit('.').next().unwrap_or_default();
                last.eq_ignore_ascii_case("localhost")
            }
        }
    }

    /// Whether the host is this service: loopback, or one of the allowed hosts.
    fn is_own(self, allowed: &[AllowedHost]) -> bool {
        self.is_loopback() || allowed.iter().any(|named| self.is(named))
    }

    fn is(self, named: &AllowedHost) -> bool {
        match self {
            Self::Address(address) => named.0.parse() == Ok(address),
            Self::Name(name) => named.0.eq_ignore_ascii_case(name),
        }
    }
}

/// A host name or address that requests may use for the service.
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

/// Checks the host that a request is for. `usual` is the first accepted `Host` as it was written: nearly all
/// callers send the same, which then needs no parsing.
pub(super) fn check_host<B>(
    request: &Request<B>,
    head: &RequestHead<'_>,
    allowed: &[AllowedHost],
    usual: &OnceLock<Box<str>>,
) -> Result<(), RejectReason> {
    let check = |authority: &str| match Host::parse(authority) {
        Some(host) if host.is_own(allowed) => {
            usual.get_or_init(|| authority.into());
            Ok(())
        }
        Some(_) => Err(RejectReason::UnknownHost),
        None => Err(RejectReason::MalformedHost),
    };
    // HTTP/2 and absolute targets name the host in the target. HTTP/1.1 has `Host` as well.
    let in_target = request.uri().authority();
    in_target.map_or(Ok(()), |authority| check(authority.as_str()))?;
    match head.host {
        HeaderLines::One(line) if usual.get().is_some_and(|it| *line == **it) => Ok(()),
        HeaderLines::One(line) => check(line.to_str().map_err(|_| RejectReason::MalformedHost)?),
        // No browser uses HTTP/1.0, so DNS rebinding is impossible there.
        HeaderLines::None if in_target.is_some() || request.version() < Version::HTTP_11 => Ok(()),
        HeaderLines::None | HeaderLines::Several => Err(RejectReason::MalformedHost),
    }
}

/// Checks the page that sent a request.
pub(super) fn check_origin(
    head: &RequestHead<'_>,
    allowed: &[AllowedHost],
    origins: &[Origin],
) -> Result<(), RejectReason> {
    let is_allowed = |origin: &HeaderValue| {
        // Behind a proxy, the origin of our own pages is the name of the proxy.
        let host = origin.to_str().ok().and_then(Host::of_origin);
        host.is_some_and(|host| host.is_own(allowed)) || origins.iter().any(|it| it.0 == origin)
    };
    let is_allowed = match head.has_origin {
        true => head.headers.get_all(header::ORIGIN).iter().all(is_allowed),
        false => !is_embedded(head),
    };
    if is_allowed { Ok(()) } else { Err(RejectReason::ForeignOrigin) }
}

/// Whether a page of another site embeds the response, as an image for example. Browsers send no `Origin`
/// then, but `Sec-Fetch-Site`. Following a link is allowed.
fn is_embedded(head: &RequestHead<'_>) -> bool {
    let is = |name: HeaderName, value: &str| head.headers.get(name).is_some_and(|it| it == value);
    head.has_fetch_site && is(SEC_FETCH_SITE, "cross-site") && !is(SEC_FETCH_DEST, "document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_and_never_matched_by_prefix() {
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
    fn allowed_hosts_match_by_exact_name() {
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
