//! What can be made to go wrong.

pub(crate) mod body;

use crate::query::Query;
use crate::route::Endpoint;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A rule: which calls it strikes, and how.
///
/// Rules are looked at in the order they were injected. All delays that match are added up; of the
/// other actions the first that matches happens.
///
/// ```
/// use vidra_sim::{Action, Endpoint, Fault};
/// // The second and third call of videos.list fail, then all is well.
/// let fault = Fault::on(Endpoint::Videos, Action::error("backendError")).from_call(2).times(2);
/// // As JSON, for the program's /_sim/faults:
/// let json = serde_json::to_value(&fault).unwrap();
/// assert_eq!(json["endpoint"], "videos");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// The endpoint; any where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// A query parameter the call must have; any call where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Parameter>,
    /// The first call that is struck, counting from 1 among the calls that match.
    #[serde(default = "first_call")]
    pub from_call: u64,
    /// How many calls are struck; all from then on where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// What happens to them.
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

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// An answer of one's own making.
    Status {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
        /// `Retry-After`, in seconds or as a date.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<String>,
    },
    /// An error as the platform words it.
    Error {
        /// `quotaExceeded`, `backendError`, … For reasons hidden in `details[]` the word there.
        reason: String,
        /// Instead of the status that goes with the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// `Retry-After`, in seconds or as a date.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<String>,
    },
    /// The right answer, later.
    Delay {
        /// By how much.
        millis: u64,
    },
    /// No answer, ever.
    Hang,
    /// The connection is dropped without an answer.
    Reset,
    /// Half of the body that `Content-Length` promises, then the connection is dropped.
    Cut,
    /// Status 200 and a body that is not what it should be.
    Junk {
        /// Of what kind.
        kind: Junk,
    },
    /// Status 200 and a body of that many bytes that looks right and never ends well.
    Huge {
        /// How long the body is.
        bytes: u64,
    },
    /// Status 200 and a small body in gzip that unpacks to that many mebibytes of white space.
    GzipBomb {
        /// How much it unpacks to.
        mebibytes: u32,
    },
    /// A redirect.
    Redirect {
        /// Where to.
        location: String,
    },
    /// The right answer, a few bytes at a time.
    Drip {
        /// Bytes at a time.
        chunk: usize,
        /// Between two of them.
        every_millis: u64,
    },
    /// The answer to another question: the same call, about this identifier.
    WrongId {
        /// The identifier answered for.
        id: String,
    },
}

/// Bodies that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Junk {
    /// A page for people.
    Html,
    /// Text.
    Text,
    /// Nothing.
    Empty,
    /// The right answer up to its middle, complete as far as HTTP goes.
    Truncated,
    /// JSON of another shape.
    OtherShape,
    /// Bytes that are not UTF-8.
    NotUtf8,
}

impl Action {
    /// An error with the status that goes with its reason.
    pub fn error(reason: &str) -> Self {
        Self::Error { reason: reason.to_owned(), status: None, retry_after: None }
    }

    /// The daily quota is spent.
    pub fn quota_exceeded() -> Self {
        Self::error("quotaExceeded")
    }

    /// A status with a short text as body.
    pub fn status(status: u16) -> Self {
        Self::Status { status, body: format!("status {status}"), retry_after: None }
    }

    /// The right answer, later.
    pub fn delay(by: Duration) -> Self {
        Self::Delay { millis: by.as_millis() as u64 }
    }

    /// With a `Retry-After` header, for the actions that answer with an error.
    pub fn retry_after(mut self, value: &str) -> Self {
        if let Self::Status { retry_after, .. } | Self::Error { retry_after, .. } = &mut self {
            *retry_after = Some(value.to_owned());
        }
        self
    }
}

impl Fault {
    /// Strikes every call.
    pub fn any(action: Action) -> Self {
        Self { endpoint: None, parameter: None, from_call: 1, times: None, action }
    }

    /// Strikes every call of an endpoint.
    pub fn on(endpoint: Endpoint, action: Action) -> Self {
        Self { endpoint: Some(endpoint), ..Self::any(action) }
    }

    /// Only calls with that query parameter.
    pub fn when(mut self, name: &str, value: &str) -> Self {
        self.parameter = Some(Parameter { name: name.to_owned(), value: value.to_owned() });
        self
    }

    /// Only from the n-th matching call on, counting from 1.
    pub fn from_call(mut self, n: u64) -> Self {
        self.from_call = n;
        self
    }

    /// Only that many calls.
    pub fn times(mut self, n: u64) -> Self {
        self.times = Some(n);
        self
    }

    /// Only one call.
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

/// The rules in force and how often each has matched.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<(Fault, u64)>);

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) {
        self.0.push((fault, 0));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// What happens to a call: how long it is delayed, and then what.
    pub(crate) fn strike(
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
            let struck =
                *matched >= fault.from_call && fault.times.is_none_or(|times| past < times);
            match &fault.action {
                Action::Delay { millis } if struck => delay += Duration::from_millis(*millis),
                other if struck && action.is_none() => action = Some(other.clone()),
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
    fn a_rule_strikes_the_calls_it_names() {
        let mut faults = Faults::default();
        faults.inject(
            Fault::on(Endpoint::Videos, Action::Reset).when("id", "b").from_call(2).times(2),
        );
        faults.inject(Fault::any(Action::delay(Duration::from_millis(5))).once());
        let query = Query::parse("id=a,b");
        assert_eq!(faults.strike(Endpoint::Channels, &query), (Duration::from_millis(5), None));
        let struck: Vec<_> =
            (0..5).map(|_| faults.strike(Endpoint::Videos, &query).1.is_some()).collect();
        assert_eq!(struck, [false, true, true, false, false]);
        assert_eq!(faults.strike(Endpoint::Videos, &Query::parse("id=a")).1, None);
    }

    #[test]
    fn faults_survive_json() {
        let fault =
            Fault::on(Endpoint::PlaylistItems, Action::error("backendError").retry_after("3"))
                .once();
        let text = serde_json::to_string(&fault).expect("plain data");
        assert_eq!(serde_json::from_str::<Fault>(&text).expect("written by us"), fault);
        let short: Fault = serde_json::from_str(r#"{"action":"hang"}"#).expect("defaults");
        assert_eq!(short, Fault::any(Action::Hang));
    }
}
