//! CORS: pages of the listed origins may read responses. Origins are compared exactly.

use std::str::FromStr;

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};

/// Request headers that pages may send.
const ALLOWED_HEADERS: &str = "accept, authorization, cache-control, content-type, if-none-match, \
                       last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, \
                       x-api-key, x-request-id, x-request-timeout";

/// Response headers that pages may read.
const EXPOSED_HEADERS: &str = "age, allow, cache-status, etag, mcp-session-id, ratelimit-limit, ratelimit-remaining, \
                       ratelimit-reset, retry-after, www-authenticate, x-cache, x-quota-cost, x-request-id";

/// DELETE is for MCP sessions only.
const METHODS: &str = "GET, HEAD, POST, DELETE";

/// How long a browser caches a preflight, in seconds. Browsers allow no more.
const MAX_AGE: &str = "7200";

/// An origin whose pages may read responses, in the form that browsers send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected an origin such as https://app.example.org or \
                             http://localhost:5173, without a path";
        match text {
            "*" => {
                return Err(
                    "* would let every page on the web ask in its visitors' name: list the origins",
                );
            }
            "null" => return Err("null is the origin of every sandboxed page, whoever made it"),
            _ => {}
        }
        let text = text.to_ascii_lowercase();
        let usual_port = match text.split_once("://") {
            Some(("http", _)) => ":80",
            Some(("https", _)) => ":443",
            _ => return Err(WRONG),
        };
        let uri: Uri = text.parse().map_err(|_| WRONG)?;
        let host = uri.authority().filter(|it| !it.as_str().contains('@') && !it.host().is_empty());
        let has_bad_port = uri.authority().is_some_and(|it| {
            it.port().is_some() != it.as_str().rsplit(']').next().unwrap_or_default().contains(':')
        });
        // The parser adds the path `/` to a URL without one.
        let is_bare = host.is_some_and(|it| text.ends_with(it.as_str())) && uri.path() == "/";
        if !is_bare || has_bad_port || host.is_some_and(|it| it.host().contains('*')) {
            return Err(WRONG);
        }
        let origin = text.strip_suffix(usual_port).unwrap_or(&text);
        HeaderValue::try_from(origin).map(Self).map_err(|_| WRONG)
    }
}

/// Whether `origin` is listed.
pub(super) fn lists(origins: &[Origin], origin: &[u8]) -> bool {
    origins.iter().any(|listed| listed.0.as_bytes() == origin)
}

/// The origin of a request, if it is listed.
pub(super) fn origin_of(headers: &HeaderMap, origins: &[Origin]) -> Option<HeaderValue> {
    let mut lines = headers.get_all(ORIGIN).iter();
    let (origin, None) = (lines.next()?, lines.next()) else { return None };
    origins.iter().find(|listed| listed.0 == origin).map(|listed| listed.0.clone())
}

/// Whether a request is a CORS preflight.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Allows a page of `origin` to read a response. Credentials are never allowed: browsers would send them for
/// pages that do not have the key.
pub(super) fn allow(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
}

/// Answers a preflight of a page of `origin`.
pub(super) fn allow_sending(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any other request is checked like all others, with its key and its rate limit.
    #[test]
    fn a_preflight_has_all_three_marks() {
        let marks = [ORIGIN, ACCESS_CONTROL_REQUEST_METHOD];
        for method in [Method::OPTIONS, Method::GET, Method::POST] {
            for chosen in 0..4 {
                let mut headers = HeaderMap::new();
                for (_, mark) in marks.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1)
                {
                    headers.insert(mark, HeaderValue::from_static("GET"));
                }
                let expected = method == Method::OPTIONS && chosen == 3;
                assert_eq!(is_preflight(&method, &headers), expected, "{method} {headers:?}");
            }
        }
    }

    #[test]
    fn origins_are_written_as_browsers_do() {
        for (text, expected) in [
            ("https://app.example.org", "https://app.example.org"),
            ("HTTPS://App.Example.org", "https://app.example.org"),
            ("https://app.example.org:443", "https://app.example.org"),
            ("http://app.example.org:443", "http://app.example.org:443"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().0, expected, "{text}");
        }
        for text in [
            "",
            "*",
            "null",
            "app.example.org",
            "https://",
            "https://*.example.org",
            "https://app.example.org/",
            "https://app.example.org/path",
            "https://app.example.org?x",
            "https://user@app.example.org",
            "https://app.example.org:",
            "https://app.example.org:x",
            "https://app.example.org:99999",
            "ftp://app.example.org",
            "https://b\u{fc}cher.example",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
        assert!("*".parse::<Origin>().unwrap_err().contains("every page"));
        assert!("null".parse::<Origin>().unwrap_err().contains("sandboxed"));
    }
}
