//! The record of received requests and billed quota.

use crate::call::Call;
use crate::query::Query;
use crate::route::Endpoint;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The default number of recorded requests. A load test sends millions, and the rest is only counted.
pub(crate) const MAX_REQUESTS: usize = 10_000;
const MAX_VIOLATIONS: usize = 1000;

/// Everything that happened since the start or the last reset.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// All calls, including rejected ones.
    pub calls: u64,
    /// Calls of each endpoint.
    pub by_endpoint: BTreeMap<Endpoint, u64>,
    /// The spent quota of all days.
    pub units: Units,
    /// The spent quota of each day, such as `2026-11-01`: the date in Los Angeles.
    pub units_by_day: BTreeMap<String, Units>,
    /// Calls that were rejected because the quota was exhausted. They cost nothing.
    pub refused_for_quota: u64,
    /// Calls in flight: from the request to the head of its answer.
    pub in_flight: u64,
    /// The most calls in flight at once.
    pub peak: u64,
    /// The most calls in flight at once, per endpoint.
    pub peak_by_endpoint: BTreeMap<Endpoint, u64>,
    /// The most keyless calls in flight at once. A transcript has one at a time, so this is the number of
    /// transcripts that were fetched at once.
    pub peak_keyless: u64,
    /// Calls with the key in the URL. It belongs in a header, because URLs end up in logs.
    pub key_in_url: u64,
    /// Keyless calls per egress: the value of `X-Sim-Egress`, or `direct`.
    pub by_egress: BTreeMap<String, u64>,
    /// Calls that were refused because their egress is blocked.
    pub blocked: u64,
    /// The same calls per egress.
    pub blocked_by_egress: BTreeMap<String, u64>,
    /// The first 1,000 violations of keyless calls: behaviour that a careful client avoids.
    pub violations: Vec<String>,
    /// The first requests in order of arrival: 10,000, or as many as [`crate::Builder::keep_requests`] sets.
    pub requests: Vec<RecordedRequest>,
    #[serde(skip)]
    in_flight_by_endpoint: BTreeMap<Endpoint, u64>,
}

/// Quota units of each bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Units {
    /// The bucket of all methods except `search.list`.
    pub default: u64,
    /// The bucket of `search.list`.
    pub search: u64,
}

/// One request.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedRequest {
    /// 0 for the first request, 1 for the next.
    pub order: u64,
    /// The time of its arrival by the simulator's clock.
    #[serde(serialize_with = "as_text")]
    pub time: Timestamp,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The method, in capitals.
    pub method: String,
    /// The path as sent.
    pub path: String,
    /// Decoded query parameters in the order sent.
    pub query: Vec<(String, String)>,
    /// Header names in lower case, and their values, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body; empty if there was none.
    pub body: String,
}

impl RecordedRequest {
    /// The first value of a query parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        first(&self.query, name)
    }

    /// The video of a keyless call: `v` in the query, `videoId` in the body.
    pub fn video_id(&self) -> Option<String> {
        let json: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        let body = json["videoId"].as_str().or_else(|| json["content_binding"].as_str());
        body.or_else(|| self.parameter("v")).map(str::to_owned)
    }

    /// The innertube client of a player call.
    pub fn client_name(&self) -> Option<String> {
        let json: serde_json::Value = serde_json::from_str(&self.body).ok()?;
        json["context"]["client"]["clientName"].as_str().map(str::to_owned)
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

    /// The requests to an endpoint, in order.
    pub fn requests_to(&self, endpoint: Endpoint) -> impl Iterator<Item = &RecordedRequest> {
        self.requests.iter().filter(move |recorded| recorded.endpoint == endpoint)
    }

    pub(crate) fn begin(&mut self, call: &Call, now: Timestamp, max_requests: usize) {
        let endpoint = call.endpoint;
        if self.requests.len() < max_requests {
            self.requests.push(recorded(self.calls, now, call));
        }
        if endpoint.is_keyless() {
            *self.by_egress.entry(call.egress().to_owned()).or_default() += 1;
            if call.blocked {
                self.blocked += 1;
                *self.blocked_by_egress.entry(call.egress().to_owned()).or_default() += 1;
            }
        } else {
            self.key_in_url += u64::from(call.query.get("key").is_some());
        }
        self.calls += 1;
        *self.by_endpoint.entry(endpoint).or_default() += 1;
        self.in_flight += 1;
        self.peak = self.peak.max(self.in_flight);
        let now = self.in_flight_by_endpoint.entry(endpoint).or_default();
        *now += 1;
        let peak = self.peak_by_endpoint.entry(endpoint).or_default();
        *peak = (*peak).max(*now);
        let keyless =
            self.in_flight_by_endpoint.iter().filter(|(endpoint, _)| endpoint.is_keyless());
        self.peak_keyless = self.peak_keyless.max(keyless.map(|(_, now)| now).sum());
    }

    /// Records the violations of the last call.
    pub(crate) fn add_violations(&mut self, violations: Vec<String>) {
        let order = self.calls.saturating_sub(1);
        let room = MAX_VIOLATIONS.saturating_sub(self.violations.len());
        self.violations.extend(violations.into_iter().take(room).map(|v| format!("#{order} {v}")));
    }

    pub(crate) fn end(&mut self, endpoint: Endpoint) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(now) = self.in_flight_by_endpoint.get_mut(&endpoint) {
            *now = now.saturating_sub(1);
        }
    }

    /// Resets everything but the calls in flight, the quota included.
    pub(crate) fn reset(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight_by_endpoint);
        *self =
            Self { in_flight: self.in_flight, in_flight_by_endpoint: in_flight, ..Self::default() };
    }

    /// Bills one call on a day. Returns `false` if the bucket of that day is exhausted.
    pub(crate) fn bill(&mut self, endpoint: Endpoint, day: String, limits: Units) -> bool {
        let today = self.units_by_day.entry(day).or_default();
        let (used, total, limit) = match endpoint {
            Endpoint::Search => (&mut today.search, &mut self.units.search, limits.search),
            _ => (&mut today.default, &mut self.units.default, limits.default),
        };
        if *used >= limit {
            self.refused_for_quota += 1;
            return false;
        }
        *used += 1;
        *total += 1;
        true
    }
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn recorded(order: u64, time: Timestamp, call: &Call) -> RecordedRequest {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = call.head.headers.iter();
    RecordedRequest {
        order,
        time,
        endpoint: call.endpoint,
        method: call.head.method.to_string(),
        path: call.head.uri.path().to_owned(),
        // The query as sent, without the parameters that `Call` adds.
        query: Query::parse(call.head.uri.query().unwrap_or_default()).pairs().to_vec(),
        headers: headers.map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: String::from_utf8_lossy(&call.sent).into_owned(),
    }
}
