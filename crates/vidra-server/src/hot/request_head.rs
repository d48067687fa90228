//! The headers that the service checks on every request.

use axum::http::header::{ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, HOST, IF_NONE_MATCH, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::request_id::X_REQUEST_ID;
use crate::extract::X_REQUEST_TIMEOUT;

pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The headers of a request, and which of the checked ones it has. Most requests have few headers, so one
/// pass over them takes a third of the instructions of one lookup per checked header.
#[derive(Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) host: HeaderLines<'a>,
    pub(crate) request_id: HeaderLines<'a>,
    pub(crate) has_accept: bool,
    pub(crate) has_accept_encoding: bool,
    pub(crate) has_cache_control: bool,
    pub(crate) has_fetch_site: bool,
    pub(crate) has_if_none_match: bool,
    pub(crate) has_origin: bool,
    pub(crate) has_request_timeout: bool,
}

/// The lines of a header that should occur once.
#[derive(Clone, Copy)]
pub(crate) enum HeaderLines<'a> {
    None,
    One(&'a HeaderValue),
    Several,
}

impl<'a> HeaderLines<'a> {
    fn with(self, line: &'a HeaderValue) -> Self {
        if let Self::None = self { Self::One(line) } else { Self::Several }
    }
}

impl<'a> RequestHead<'a> {
    pub(crate) fn new(headers: &'a HeaderMap) -> Self {
        let mut head = Self {
            headers,
            host: HeaderLines::None,
            request_id: HeaderLines::None,
            has_accept: false,
            has_accept_encoding: false,
            has_cache_control: false,
            has_fetch_site: false,
            has_if_none_match: false,
            has_origin: false,
            has_request_timeout: false,
        };
        for (name, line) in headers {
            if *name == HOST {
                head.host = head.host.with(line);
            } else if *name == X_REQUEST_ID {
                head.request_id = head.request_id.with(line);
            } else {
                head.has_accept |= *name == ACCEPT;
                head.has_accept_encoding |= *name == ACCEPT_ENCODING;
                head.has_cache_control |= *name == CACHE_CONTROL;
                head.has_fetch_site |= *name == SEC_FETCH_SITE;
                head.has_if_none_match |= *name == IF_NONE_MATCH;
                head.has_origin |= *name == ORIGIN;
                head.has_request_timeout |= *name == X_REQUEST_TIMEOUT;
            }
        }
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_that_are_present_are_reported() {
        let parsed = |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(*name, HeaderValue::from_static("it"));
            }
            let head = RequestHead::new(&headers);
            let [host, id] = [head.host, head.request_id].map(|lines| match lines {
                HeaderLines::None => 0,
                HeaderLines::One(line) if line == "it" => 1,
                _ => 2,
            });
            let has = [
                head.has_accept,
                head.has_accept_encoding,
                head.has_cache_control,
                head.has_fetch_site,
                head.has_if_none_match,
                head.has_origin,
                head.has_request_timeout,
            ];
            (host, id, has.map(u8::from))
        };
        let table: [(&[&'static str], _); 9] = [
            (&[], (0, 0, [0; 7])),
            (&["host", "accept", "x-other"], (1, 0, [1, 0, 0, 0, 0, 0, 0])),
            (&["host", "accept-language", "host", "x-request-id"], (2, 1, [0; 7])),
            (&["x-request-id", "x-request-id", "x-request-id"], (0, 2, [0; 7])),
            (&["accept-encoding", "accept-encoding"], (0, 0, [0, 1, 0, 0, 0, 0, 0])),
            (&["cache-control", "sec-fetch-site"], (0, 0, [0, 0, 1, 1, 0, 0, 0])),
            (&["if-none-match", "host"], (1, 0, [0, 0, 0, 0, 1, 0, 0])),
            (&["origin", "sec-fetch-dest"], (0, 0, [0, 0, 0, 0, 0, 1, 0])),
            (&["x-request-timeout"], (0, 0, [0, 0, 0, 0, 0, 0, 1])),
        ];
        for (names, expected) in table {
            assert_eq!(parsed(names), expected, "{names:?}");
        }
    }
}
