//! What the simulator saw, and what it billed for it.

use crate::query::Query;
use crate::route::Endpoint;
use http::request::Parts;
use serde::Serialize;
use std::collections::BTreeMap;

/// Requests kept whole. A load test makes millions; they are counted, and only the first are kept.
const KEPT: usize = 10_000;

/// Everything that happened since the start or the last reset.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// All calls, refused ones included.
    pub calls: u64,
    /// Calls of each endpoint.
    pub by_endpoint: BTreeMap<Endpoint, u64>,
    /// Quota spent.
    pub units: Units,
    /// Calls refused because the quota was spent. They cost nothing more.
    pub refused_for_quota: u64,
    /// Calls under way right now: from the request to the head of its answer.
    pub in_flight: u64,
    /// The most calls that were under way at once.
    pub peak: u64,
    /// The same for each endpoint.
    pub peak_by_endpoint: BTreeMap<Endpoint, u64>,
    /// Calls whose URL carried the key: it belongs in a header, since URLs end up in logs.
    pub key_in_url: u64,
    /// The requests in the order they came, the first 10,000 of them.
    pub requests: Vec<Seen>,
    #[serde(skip)]
    in_flight_by_endpoint: BTreeMap<Endpoint, u64>,
}

/// Quota units of each bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Units {
    /// The bucket of all methods but one.
    pub default: u64,
    /// The bucket of `search.list`.
    pub search: u64,
}

/// One request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// 0 for the first request, 1 for the next.
    pub order: u64,
    /// What was called.
    pub endpoint: Endpoint,
    /// The method, in capitals.
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// Decoded query parameters in the order sent.
    pub query: Vec<(String, String)>,
    /// Header names in lower case, and their values, in the order sent.
    pub headers: Vec<(String, String)>,
}

impl Seen {
    /// The first value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        first(&self.query, name)
    }

    /// The first value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        first(&self.headers, name)
    }
}

fn first<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
}

impl Record {
    /// How often an endpoint was called.
    pub fn calls_to(&self, endpoint: Endpoint) -> u64 {
        self.by_endpoint.get(&endpoint).copied().unwrap_or(0)
    }

    /// The requests an endpoint got, in order.
    pub fn requests_to(&self, endpoint: Endpoint) -> impl Iterator<Item = &Seen> {
        self.requests.iter().filter(move |seen| seen.endpoint == endpoint)
    }

    pub(crate) fn begin(&mut self, endpoint: Endpoint, head: &Parts, query: &Query) {
        if self.requests.len() < KEPT {
            self.requests.push(seen(self.calls, endpoint, head, query));
        }
        self.calls += 1;
        *self.by_endpoint.entry(endpoint).or_default() += 1;
        self.key_in_url += u64::from(query.get("key").is_some());
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
        let now = self.in_flight_by_endpoint.entry(endpoint).or_default();
        *now += 1;
        let peak = self.peak_by_endpoint.entry(endpoint).or_default();
        *peak = (*peak).max(*now);
    }

    pub(crate) fn end(&mut self, endpoint: Endpoint) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(now) = self.in_flight_by_endpoint.get_mut(&endpoint) {
            *now = now.saturating_sub(1);
        }
    }

    /// Forgets all but what is under way: a new day, with its quota unspent.
    pub(crate) fn reset(&mut self) {
        let under_way = std::mem::take(&mut self.in_flight_by_endpoint);
        *self =
            Self { in_flight: self.in_flight, in_flight_by_endpoint: under_way, ..Self::default() };
    }

    /// Bills one call; `false` where the bucket is spent.
    pub(crate) fn bill(&mut self, endpoint: Endpoint, limits: Units) -> bool {
        let (used, limit) = match endpoint {
            Endpoint::Search => (&mut self.units.search, limits.search),
            _ => (&mut self.units.default, limits.default),
        };
        if *used >= limit {
            self.refused_for_quota += 1;
            return false;
        }
        *used += 1;
        true
    }
}

fn seen(order: u64, endpoint: Endpoint, head: &Parts, query: &Query) -> Seen {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Seen {
        order,
        endpoint,
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: query.pairs().to_vec(),
        headers: head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
    }
}
