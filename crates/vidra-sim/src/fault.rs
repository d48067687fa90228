//! Faults: rules that make calls fail.

pub(crate) mod body;

use crate::query::Query;
use crate::route::Endpoint;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A rule: which calls fail, and how.
///
/// Rules apply in the order in which they were injected. All matching delays add up; of the other actions,
/// only the first that matches applies.
///
/// ```
/// use vidra_sim::{Action, Endpoint, Fault};
/// // The second and third call of videos.list fail, then calls succeed again.
/// let fault = Fault::on(Endpoint::Videos, Action::error("backendError")).from_call(2).times(2);
/// // As JSON, for the program's /_sim/faults:
/// let json = serde_json::to_value(&fault).unwrap();
/// assert_eq!(json["endpoint"], "videos");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// The endpoint; all endpoints if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// A query parameter that the call must have; no condition if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Parameter>,
    /// The first call to which the rule applies, counted from 1 among the matching calls.
    #[serde(default = "first_call")]
    pub from_call: u64,
    /// To how many calls the rule applies; no limit if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// The action on these calls.
    pub action: Action,
}

const fn first_call() -> u64 {
    1
}

/// A query parameter and the value it must have. For lists, one entry of the list is enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its decoded value.
    pub value: String,
}

/// An action on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// A custom status and body.
    Status {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
        /// `Retry-After`, in seconds or as a date.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<String>,
    },
    /// An error with the platform's body.
    Error {
        /// `quotaExceeded`, `backendError`, … For reasons within `details[]`, the reason there.
        reason: String,
        /// Replaces the status of the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// `Retry-After`, in seconds or as a date.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<String>,
    },
    /// The correct answer after a delay.
    Delay {
        /// The delay.
        millis: u64,
    },
    /// No answer, ever.
    Hang,
    /// The connection is dropped without an answer.
    Reset,
    /// Half of the body, then the connection is dropped.
    Cut,
    /// Status 200 and a wrong body.
    Junk {
        /// The kind of the wrong body.
        kind: Junk,
    },
    /// Status 200 and a huge body that begins well and never closes its list.
    Huge {
        /// The length of the body.
        bytes: u64,
    },
    /// Status 200 and a small gzip body that decompresses to a large one of white space.
    GzipBomb {
        /// The decompressed size.
        mebibytes: u32,
    },
    /// Status 200 and a small gzip body: a list of so many empty items.
    GzipItems {
        /// The number of items.
        count: usize,
    },
    /// A redirect.
    Redirect {
        /// The target.
        location: String,
    },
    /// The correct answer, a few bytes at a time.
    Drip {
        /// The size of a chunk, in bytes.
        chunk: usize,
        /// The pause before each chunk.
        every_millis: u64,
    },
    /// The answer for another identifier.
    WrongId {
        /// The other identifier.
        id: String,
    },
}

/// Kinds of wrong bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Junk {
    /// An HTML page.
    Html,
    /// Plain text.
    Text,
    /// An empty body.
    Empty,
    /// The first half of the correct body, complete for HTTP.
    Truncated,
    /// JSON of another shape.
    OtherShape,
    /// Bytes that are not UTF-8.
    NotUtf8,
}

impl Action {
    /// An error with the status of its reason.
    pub fn error(reason: &str) -> Self {
        Self::Error { reason: reason.to_owned(), status: None, retry_after: None }
    }

    /// The error of an exhausted daily quota.
    pub fn quota_exceeded() -> Self {
        Self::error("quotaExceeded")
    }

    /// A status with a short text as body.
    pub fn status(status: u16) -> Self {
        Self::Status { status, body: format!("status {status}"), retry_after: None }
    }

    /// The correct answer after a delay.
    pub fn delay(by: Duration) -> Self {
        Self::Delay { millis: by.as_millis() as u64 }
    }

    /// Adds a `Retry-After` header to an action that answers with an error.
    pub fn retry_after(mut self, value: &str) -> Self {
        if let Self::Status { retry_after, .. } | Self::Error { retry_after, .. } = &mut self {
            *retry_after = Some(value.to_owned());
        }
        self
    }
}

impl Fault {
    /// Applies to every call.
    pub fn any(action: Action) -> Self {
        Self { endpoint: None, parameter: None, from_call: 1, times: None, action }
    }

    /// Applies to every call of an endpoint.
    pub fn on(endpoint: Endpoint, action: Action) -> Self {
        Self { endpoint: Some(endpoint), ..Self::any(action) }
    }

    /// Limits the rule to calls with this query parameter.
    pub fn when(mut self, name: &str, value: &str) -> Self {
        self.parameter = Some(Parameter { name: name.to_owned(), value: value.to_owned() });
        self
    }

    /// Limits the rule to the n-th matching call and later ones, counted from 1.
    pub fn from_call(mut self, n: u64) -> Self {
        self.from_call = n;
        self
    }

    /// Limits the rule to that many calls.
    pub fn times(mut self, n: u64) -> Self {
        self.times = Some(n);
        self
    }

    /// Limits the rule to one call.
    pub fn once(self) -> Self {
        self.times(1)
    }

    fn matches(&self, endpoint: Endpoint, query: &Query) -> bool {
        let here = self.endpoint.is_none_or(|wanted| wanted == endpoint);
        let parameter = self.parameter.as_ref();
        here && parameter.is_none_or(|p| {
            query.get(&p.name) == Some(&p.value) || query.list(&p.name).contains(&p.value.as_str())
        })
    }
}

/// The active rules, and how often each has matched.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<(Fault, u64)>);

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) {
        self.0.push((fault, 0));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts a call in all matching rules, and returns its delay and its action.
    pub(crate) fn next_for(
        &mut self,
        endpoint: Endpoint,
        query: &Query,
    ) -> (Duration, Option<Action>) {
        let mut delay = Duration::ZERO;
        let mut action = None;
        for (fault, matched) in
            self.0.iter_mut().filter(|(fault, _)| fault.matches(endpoint, query))
        {
            *matched += 1;
            let past = matched.saturating_sub(fault.from_call.max(1));
            let applies =
                *matched >= fault.from_call && fault.times.is_none_or(|times| past < times);
            match &fault.action {
                Action::Delay { millis } if applies => delay += Duration::from_millis(*millis),
                other if applies && action.is_none() => action = Some(other.clone()),
                _ => {}
            }
        }
        (delay, action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_applies_to_matching_calls() {
        let mut faults = Faults::default();
        faults.inject(
            Fault::on(Endpoint::Videos, Action::Reset).when("id", "b").from_call(2).times(2),
        );
        faults.inject(Fault::any(Action::delay(Duration::from_millis(5))).once());
        let query = Query::parse("id=a,b");
        assert_eq!(faults.next_for(Endpoint::Channels, &query), (Duration::from_millis(5), None));
        let applies: Vec<_> =
            (0..5).map(|_| faults.next_for(Endpoint::Videos, &query).1.is_some()).collect();
        assert_eq!(applies, [false, true, true, false, false]);
        assert_eq!(faults.next_for(Endpoint::Videos, &Query::parse("id=a")).1, None);
    }

    #[test]
    fn faults_round_trip_through_json() {
        let fault =
            Fault::on(Endpoint::PlaylistItems, Action::error("backendError").retry_after("3"))
                .once();
        let text = serde_json::to_string(&fault).expect("plain data");
        assert_eq!(serde_json::from_str::<Fault>(&text).expect("written by us"), fault);
        let short: Fault = serde_json::from_str(r#"{"action":"hang"}"#).expect("defaults");
        assert_eq!(short, Fault::any(Action::Hang));
    }
}
