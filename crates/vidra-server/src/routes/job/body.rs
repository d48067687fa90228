//! The body of `POST /api/jobs`: JSON, or a list of ids.

use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::task::spawn_blocking;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};
use vidra::Reason;
use vidra_library::{JobRequest, JobSource};

use crate::error_body::{ApiError, Result};
use crate::extract::{BodyLimits, Query, invalid, media_type, parse_json, read_body};
use crate::gate::CallerId;
use crate::routes::patterns;
use crate::state::{AppState, SharedSlot};

/// The limits of a list: room for 50,000 ids, and for as many short links. A JSON body has the limits of other bodies, because
/// it has at most 500 sources.
const LIST_LIMITS: BodyLimits = BodyLimits { bytes: 4 << 20, time: Duration::from_secs(60) };

/// The options that a query can have.
const OPTIONS: [&str; 12] = [
    "type",
    "name",
    "since",
    "until",
    "limit",
    "lang",
    "translate",
    "captions",
    "concurrency",
    "unitBudget",
    "refresh",
    "webhook",
];

/// The options in the query.
pub(super) fn options(query: &Query) -> Map<String, Value> {
    let given = OPTIONS.iter().filter_map(|name| Some((*name, query.text(name)?)));
    given.map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// A body that was read to its end.
pub(in crate::routes) struct JobBody {
    headers: HeaderMap,
    bytes: Bytes,
    /// The slot of a list, held until it is parsed.
    _slot: Option<SharedSlot>,
}

impl FromRequest<AppState> for JobBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let (limits, slot) = match is_list(&parts.headers) {
            false => (BodyLimits::default(), None),
            true => {
                let slot = state.upload_slot(parts.extensions.get::<CallerId>().cloned());
                let slot = slot.map_err(|reason| {
                    let message = "The service receives too many lists at the same time";
                    ApiError::new(reason, message).with_retry_after(1)
                });
                (LIST_LIMITS, Some(slot?))
            }
        };
        Ok(Self { headers: parts.headers, bytes: read_body(body, limits).await?, _slot: slot })
    }
}

fn is_list(headers: &HeaderMap) -> bool {
    let given = media_type(headers);
    ["text/plain", "application/x-ndjson"].iter().any(|it| given.eq_ignore_ascii_case(it))
}

impl JobBody {
    /// Parses the request and its sources. Members of a JSON body win over `options`.
    pub(super) async fn parse(
        self,
        mut options: Map<String, Value>,
    ) -> Result<(JobRequest, Vec<JobSource>)> {
        if !is_list(&self.headers) {
            let body = self.json()?.unwrap_or_else(|| json!({}));
            let Value::Object(members) = body else { return Ok(JobRequest::from_json(&body)?) };
            options.extend(members);
            return Ok(JobRequest::from_json(&Value::Object(options))?);
        }
        if self.headers.contains_key(header::CONTENT_ENCODING) {
            let message = "The body must not be compressed";
            return Err(ApiError::new(Reason::UnsupportedMediaType, message));
        }
        let request = JobRequest::from_options(&Value::Object(options))?;
        // Parsing 50,000 links takes milliseconds.
        let parse = move || {
            let not_text = |_| invalid("The body is not valid", "body: must be UTF-8");
            let text = std::str::from_utf8(&self.bytes).map_err(not_text)?;
            Ok::<_, ApiError>(JobRequest::parse_list(text)?)
        };
        let sources = spawn_blocking(parse).await.map_err(ApiError::internal)??;
        Ok((request, sources))
    }

    fn json(&self) -> Result<Option<Value>> {
        // The message of other bodies names JSON alone.
        parse_json(&self.headers, &self.bytes).map_err(|error| match error.reason() {
            Reason::UnsupportedMediaType
                if !self.headers.contains_key(header::CONTENT_ENCODING) =>
            {
                let message =
                    "The body has to be application/json, text/plain or application/x-ndjson";
                ApiError::new(Reason::UnsupportedMediaType, message)
            }
            _ => error,
        })
    }
}

/// The name of a webhook. It has no example, because the operator chooses the names.
pub(in crate::routes) fn webhook() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(patterns::webhook()))
}

/// The JSON body, for the document only: `JobRequest` reads it, so that one error names every fault.
pub(in crate::routes) struct JobRequestBody;

impl ToSchema for JobRequestBody {}

impl PartialSchema for JobRequestBody {
    fn schema() -> RefOr<Schema> {
        let text = |pattern: String, example: &str| {
            let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
            text.examples([json!(example)])
        };
        let words = |words: &[&str]| {
            let text = ObjectBuilder::new().schema_type(Type::String);
            text.enum_values(Some(words.iter().copied())).examples([json!(words[0])])
        };
        let number = |what: &str, min: u64, max: u64, example: u64| {
            let number = ObjectBuilder::new().schema_type(Type::Integer).description(Some(what));
            number.minimum(Some(min)).maximum(Some(max)).examples([json!(example)])
        };
        let source = text(patterns::source_reference(), "@fermata");
        let sources = ArrayBuilder::new()
            .items(source)
            .min_items(Some(1))
            .max_items(Some(500))
            .examples([json!(["txManualAsr", "PLsize1"])])
            .description(Some("Links or ids of videos, playlists and channels."));
        let refresh = ObjectBuilder::new().schema_type(Type::Boolean).examples([json!(false)]);
        let since =
            "The earliest publication of videos in playlists and channels: a date (UTC) or a time.";
        let until = "The latest publication of videos in playlists and channels.";
        let budget = "How many quota units the job may cost. If they are used up, it fails with `unit_budget_exhausted` after its listed items.";
        ObjectBuilder::new()
            .description(Some("A job: its sources and its options."))
            .property("type", words(&["transcripts"]).description(Some("What the job fetches.")))
            .property("sources", sources)
            .property("name", text(patterns::job_name(), "Night").description(Some("A name for people.")))
            .property("since", text(patterns::date(), "2020-01-31").description(Some(since)))
            .property("until", text(patterns::date(), "2030-01-31").description(Some(until)))
            .property("limit", number("The maximum number of items.", 1, 1_000_000, 100))
            .property("lang", text(patterns::languages(), "de,en").description(Some("One language code, or several by preference; the spoken language if not given.")))
            .property("translate", text(patterns::language(), "fr").description(Some("The language that YouTube translates to; not translated if not given.")))
            .property("captions", words(&["manual", "auto"]).description(Some("The kind of captions; both if not given, and those by people are preferred.")))
            .property("concurrency", number("How many items run at once; 4 if not given.", 1, 20, 4))
            .property("unitBudget", number(budget, 0, 1_000_000_000, 100))
            .property("refresh", refresh.description(Some("Whether to fetch transcripts again that the library has.")))
            .property("webhook", webhook().description(Some("The name of a webhook of this service, which gets the changes of the job; none if not given.")))
            .required("sources")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
            .into()
    }
}
