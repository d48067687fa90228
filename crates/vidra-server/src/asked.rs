//! What the head of a request holds of the headers that every request is looked at for.

use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, HOST, IF_NONE_MATCH, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::request_id::X_REQUEST_ID;

pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A head, and which of these headers it has. Most requests have hardly any of them: to go once over
/// what is there takes a third of the steps that it takes to find out one by one what is not.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) host: Lines<'a>,
    pub(crate) request_id: Lines<'a>,
    pub(crate) has_accept_encoding: bool,
    pub(crate) has_cache_control: bool,
    pub(crate) has_fetch_site: bool,
    pub(crate) has_if_none_match: bool,
    pub(crate) has_origin: bool,
}

/// The lines of one header of which there should be no more than one.
#[derive(Clone, Copy)]
pub(crate) enum Lines<'a> {
    None,
    One(&'a HeaderValue),
    Several,
}

impl<'a> Lines<'a> {
    fn and(self, line: &'a HeaderValue) -> Self {
        if let Self::None = self { Self::One(line) } else { Self::Several }
    }
}

impl<'a> Asked<'a> {
    pub(crate) fn by(headers: &'a HeaderMap) -> Self {
        let mut asked = Self {
            headers,
            host: Lines::None,
            request_id: Lines::None,
            has_accept_encoding: false,
            has_cache_control: false,
            has_fetch_site: false,
            has_if_none_match: false,
            has_origin: false,
        };
        for (name, line) in headers {
            if *name == HOST {
                asked.host = asked.host.and(line);
            } else if *name == X_REQUEST_ID {
                asked.request_id = asked.request_id.and(line);
            } else {
                asked.has_accept_encoding |= *name == ACCEPT_ENCODING;
                asked.has_cache_control |= *name == CACHE_CONTROL;
                asked.has_fetch_site |= *name == SEC_FETCH_SITE;
                asked.has_if_none_match |= *name == IF_NONE_MATCH;
                asked.has_origin |= *name == ORIGIN;
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_seen_and_nothing_else() {
        let of = |names: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for name in names {
                headers.append(*name, HeaderValue::from_static("it"));
            }
            let asked = Asked::by(&headers);
            let [host, id] = [asked.host, asked.request_id].map(|lines| match lines {
                Lines::None => 0,
                Lines::One(line) if line == "it" => 1,
                _ => 2,
            });
            let has = [
                asked.has_accept_encoding,
                asked.has_cache_control,
                asked.has_fetch_site,
                asked.has_if_none_match,
                asked.has_origin,
            ];
            (host, id, has.map(u8::from))
        };
        let table: [(&[&'static str], _); 8] = [
            (&[], (0, 0, [0; 5])),
            (&["host", "accept", "x-other"], (1, 0, [0; 5])),
            (&["host", "accept", "host", "x-request-id"], (2, 1, [0; 5])),
            (&["x-request-id", "x-request-id", "x-request-id"], (0, 2, [0; 5])),
            (&["accept-encoding", "accept-encoding"], (0, 0, [1, 0, 0, 0, 0])),
            (&["cache-control", "sec-fetch-site"], (0, 0, [0, 1, 1, 0, 0])),
            (&["if-none-match", "host"], (1, 0, [0, 0, 0, 1, 0])),
            (&["origin", "sec-fetch-dest"], (0, 0, [0, 0, 0, 0, 1])),
        ];
        for (names, expected) in table {
            assert_eq!(of(names), expected, "{names:?}");
        }
    }
}
