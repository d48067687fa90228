//! CORS: pages of the listed origins may read responses. Origins are compared exactly.

use std::str::FromStr;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::response::IntoResponse;

/// Request headers that pages may send.
const ALLOWED_HEADERS: &str = "accept, authorization, cache-control, content-type, idempotency-key, \
                       if-none-match, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, \
                       x-api-key, x-request-id, x-request-timeout";

/// Response headers that pages may read.
const EXPOSED_HEADERS: &str = "age, allow, cache-status, etag, idempotency-replayed, location, mcp-session-id, ratelimit-limit, \
                       ratelimit-remaining, ratelimit-reset, retry-after, www-authenticate, x-cache, x-next-cursor, x-quota-cost, x-request-id, \
                       x-total-videos";

/// PUT is for collections. DELETE is for jobs, collections and MCP sessions.
const METHODS: &str = "GET, HEAD, POST, PUT, DELETE";

/// How long a browser caches a preflight, in seconds. Browsers allow no more.
const MAX_AGE: &str = "7200";

/// An origin whose pages may read responses, in the form that browsers send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(pub(super) HeaderValue);

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected an origin such as https://app.example.org or \
                             http://localhost:5173, without a path";
        if text == "*" {
            return Err("* would let every page use the service as its visitors: list the origins");
        }
        if text == "null" {
            return Err("null is the origin of every sandboxed page");
        }
        let text = text.to_ascii_lowercase();
        let (default_port, authority) = match text.split_once("://") {
            Some(("http", authority)) => (":80", authority),
            Some(("https", authority)) => (":443", authority),
            _ => return Err(WRONG),
        };
        let parsed: Authority = authority.parse().map_err(|_| WRONG)?;
        let has_port = authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
        let has_valid_port = parsed.port_u16().is_some() == has_port;
        if authority.contains(['@', '*']) || parsed.host().is_empty() || !has_valid_port {
            return Err(WRONG);
        }
        let origin = text.strip_suffix(default_port).unwrap_or(&text);
        HeaderValue::try_from(origin).map(Self).map_err(|_| WRONG)
    }
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

/// The response to a preflight of an allowed origin.
pub(super) fn preflight_response(origin: HeaderValue) -> Response<Body> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().extend([
        (ACCESS_CONTROL_ALLOW_ORIGIN, origin),
        (ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS)),
        (ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS)),
        (ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE)),
    ]);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any other request needs a key and counts towards the rate limit.
    #[test]
    fn a_preflight_needs_options_origin_and_request_method() {
        let required = [ORIGIN, ACCESS_CONTROL_REQUEST_METHOD];
        for method in [Method::OPTIONS, Method::GET, Method::POST] {
            for chosen in 0..4 {
                let mut headers = HeaderMap::new();
                for (_, name) in
                    required.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1)
                {
                    headers.insert(name, HeaderValue::from_static("GET"));
                }
                let expected = method == Method::OPTIONS && chosen == 3;
                assert_eq!(is_preflight(&method, &headers), expected, "{method} {headers:?}");
            }
        }
    }

    #[test]
    fn origins_are_normalized_as_browsers_send_them() {
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
