//! The request of a collection.

use std::time::Duration;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use vidra::member::{self, number};
use vidra::{Result, TranscriptQuery};

use super::CollectionSource;
use crate::job::{
    JobRequest, MAX_LIMIT, MAX_UNITS, captions_member, each_member, finish, object,
    serialize_captions, sources, webhook,
};

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// The shortest and the longest time between two syncs, in seconds.
const INTERVALS: std::ops::RangeInclusive<u64> = 15 * MINUTE..=30 * DAY;

/// The options of a collection. Their JSON is the body of `PUT /api/collections/{name}` without `sources`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectionRequest {
    /// The languages and the kind of captions.
    pub transcript: TranscriptQuery,
    /// The time between two syncs.
    pub every: Duration,
    /// The earliest publication of its videos.
    pub since: Option<Timestamp>,
    /// How many videos the first sync takes from each list: the newest of a channel, the first of a playlist.
    pub limit: Option<u64>,
    /// How many quota units it may cost on one day.
    pub unit_budget: Option<u64>,
    /// The name of the webhook that gets its news.
    pub webhook: Option<String>,
}

impl Default for CollectionRequest {
    fn default() -> Self {
        Self {
            transcript: TranscriptQuery::default(),
            every: Duration::from_secs(6 * HOUR),
            since: None,
            limit: None,
            unit_budget: None,
            webhook: None,
        }
    }
}

impl CollectionRequest {
    /// Parses `{"sources", "lang", "translate", "captions", "every", "since", "limit", "unitBudget", "webhook"}`. Only
    /// `sources` is required.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`](vidra::Reason::InvalidInput) with one detail for each fault, and
    /// [`Reason::TooManySources`](vidra::Reason::TooManySources).
    ///
    /// ```
    /// use vidra_library::CollectionRequest;
    /// let body = serde_json::json!({"sources": ["@fermata", "search:night trains"], "every": "12h"});
    /// let (request, sources) = CollectionRequest::from_json(&body)?;
    /// assert_eq!((request.every.as_secs(), sources.len()), (43_200, 2));
    /// # Ok::<_, vidra::Error>(())
    /// ```
    pub fn from_json(body: &Value) -> Result<(Self, Vec<CollectionSource>)> {
        let mut faults = vec![];
        let members = object(body)?;
        let request = options(members, &["sources"], &mut faults);
        let sources = match members.get("sources") {
            Some(value) => sources(value, &mut faults, CollectionSource::parse)?,
            None => {
                faults.push("sources: is required".to_owned());
                vec![]
            }
        };
        finish(faults, (request, sources))
    }

    /// Reads stored options. A newer release may have written options that this one does not know.
    pub(crate) fn from_stored(options_json: &str) -> Self {
        let value: Value = serde_json::from_str(options_json).unwrap_or_default();
        value.as_object().map(|members| options(members, &[], &mut vec![])).unwrap_or_default()
    }

    /// The options of the jobs that sync the collection.
    pub(crate) fn job_request(&self) -> JobRequest {
        JobRequest { transcript: self.transcript.clone(), ..JobRequest::default() }
    }
}

/// Reads the options. Members with `other` names are read elsewhere.
fn options(
    members: &Map<String, Value>,
    other: &[&str],
    faults: &mut Vec<String>,
) -> CollectionRequest {
    let mut request = CollectionRequest::default();
    each_member(members, faults, |name, value| {
        if let Some(read) = captions_member(name, value, &mut request.transcript) {
            return read;
        }
        match name {
            name if other.contains(&name) => Ok(()),
            "every" => interval(value).map(|every| request.every = every),
            "since" => member::since(value).map(|date| request.since = Some(date)),
            "limit" => number(value, 1..=MAX_LIMIT).map(|limit| request.limit = Some(limit)),
            "unitBudget" => {
                number(value, 0..=MAX_UNITS).map(|units| request.unit_budget = Some(units))
            }
            "webhook" => webhook(value).map(|name| request.webhook = name),
            _ => Err("unknown field".to_owned()),
        }
    });
    request
}

/// Reads `30m`, `6h` or `1d`.
fn interval(value: &Value) -> Result<Duration, String> {
    let text = value.as_str().unwrap_or_default().trim();
    let parse = || {
        let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let unit = match unit {
            "m" => MINUTE,
            "h" => HOUR,
            "d" => DAY,
            _ => return None,
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| is_number)?.checked_mul(unit)
    };
    match parse().filter(|seconds| INTERVALS.contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err("must be a time from 15m to 30d, such as 6h".to_owned()),
    }
}

/// Writes an interval in its largest unit.
fn interval_text(every: Duration) -> String {
    let seconds = every.as_secs();
    let (unit, word) = match seconds {
        _ if seconds.is_multiple_of(DAY) => (DAY, "d"),
        _ if seconds.is_multiple_of(HOUR) => (HOUR, "h"),
        _ => (MINUTE, "m"),
    };
    format!("{}{word}", seconds / unit)
}

impl Serialize for CollectionRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { transcript, every, since, limit, unit_budget, webhook } = self;
        let mut map = serializer.serialize_map(None)?;
        serialize_captions(transcript, &mut map)?;
        map.serialize_entry("every", &interval_text(*every))?;
        if let Some(since) = since {
            map.serialize_entry("since", &since.to_string())?;
        }
        if let Some(limit) = limit {
            map.serialize_entry("limit", limit)?;
        }
        if let Some(budget) = unit_budget {
            map.serialize_entry("unitBudget", budget)?;
        }
        if let Some(webhook) = webhook {
            map.serialize_entry("webhook", webhook)?;
        }
        map.end()
    }
}

/// The JSON of a request, for the schema alone.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(as = CollectionOptions, rename_all = "camelCase")]
#[expect(dead_code, reason = "documentation: `Serialize` writes it")]
struct Schema {
    /// The accepted languages.
    #[schema(nullable = false)]
    lang: Option<String>,
    /// The target language of a translation.
    #[schema(nullable = false)]
    translate: Option<String>,
    /// The accepted kind of captions.
    #[schema(nullable = false)]
    captions: Option<vidra::CaptionKind>,
    /// The time between two syncs.
    #[schema(example = "6h")]
    every: String,
    /// The earliest publication of its videos.
    #[schema(nullable = false)]
    since: Option<String>,
    /// How many videos the first sync takes from each list.
    #[schema(nullable = false)]
    limit: Option<u64>,
    /// How many quota units it may cost on one day.
    #[schema(nullable = false)]
    unit_budget: Option<u64>,
    /// The name of the webhook that gets its news.
    #[schema(nullable = false)]
    webhook: Option<String>,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for CollectionRequest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Schema::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for CollectionRequest {
    fn name() -> std::borrow::Cow<'static, str> {
        "CollectionOptions".into()
    }

    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        Schema::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use vidra::Reason;

    #[test]
    fn all_faults_are_reported_at_once() {
        let body = json!({
            "sources": ["search:", "https://evil.example/watch?v=dQw4w9WgXcQ", "@fermata"], "every": "5m",
            "since": "soon", "limit": 0, "lang": 1, "unitBudget": "many", "webhook": "http://10.0.0.1/", "name": "x",
        });
        let error = CollectionRequest::from_json(&body).unwrap_err();
        let mut named: Vec<&str> =
            error.details().iter().map(|it| it.split(':').next().unwrap()).collect();
        named.sort_unstable();
        let expected = [
            "every",
            "lang",
            "limit",
            "name",
            "since",
            "sources.1",
            "sources.2",
            "unitBudget",
            "webhook",
        ];
        assert_eq!(named, expected, "{error:?}");
        let many: Vec<String> = (0..501).map(|n| format!("video{n:06}")).collect();
        let error = CollectionRequest::from_json(&json!({"sources": many})).unwrap_err();
        assert_eq!(error.reason(), Reason::TooManySources);
    }

    #[test]
    fn intervals_have_a_unit() {
        let table =
            [("15m", 900), ("90m", 5_400), ("6h", 21_600), ("1d", 86_400), ("30d", 2_592_000)];
        for (text, seconds) in table {
            let every = interval(&json!(text)).unwrap();
            assert_eq!(every.as_secs(), seconds);
            assert_eq!(interval_text(every), text);
        }
        for text in ["", "6", "h", "14m", "31d", "-6h", "+6h", "6 h", "6ö", "99999999999999999999h"]
        {
            interval(&json!(text)).unwrap_err();
        }
        interval(&json!(6)).unwrap_err();
    }

    #[test]
    fn options_survive_their_storage() {
        let full = json!({
            "sources": ["@fermata"], "lang": "de,en", "translate": "fr", "captions": "auto", "every": "30m",
            "since": "2026-01-31", "limit": 5, "unitBudget": 0, "webhook": "ops",
        });
        for body in [full, json!({"sources": ["search:a b"]})] {
            let (request, sources) = CollectionRequest::from_json(&body).unwrap();
            let stored = serde_json::to_string(&request).unwrap();
            assert_eq!(CollectionRequest::from_stored(&stored), request, "{stored}");
            for source in sources {
                let stored = CollectionSource::from_stored(source.kind(), &source.id());
                assert_eq!(stored.unwrap(), source);
            }
        }
    }
}
