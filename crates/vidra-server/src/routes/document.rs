//! Completes the OpenAPI document with what annotations cannot express: path parameters, headers of every response,
//! the responses of HTTP itself, default values, and real examples. Moves the parts that operations share to the
//! components.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    Header, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Response, Schema, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::patterns::{self, Values};
use super::shared;
use crate::error_body::{error_responses, references};
use crate::gate::Access;

/// Responses of the service over the simulator, by operation. A test generates them.
const EXAMPLES: &str = include_str!("examples.json");

/// An object with any members. The type `Object` of the annotations has none for some generators of clients.
pub(super) struct AnyObject;

impl ToSchema for AnyObject {}

impl PartialSchema for AnyObject {
    fn schema() -> RefOr<Schema> {
        let any = AdditionalProperties::<Schema>::FreeForm(true);
        ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(any)).into()
    }
}

/// Completes the document that the annotations give.
pub(super) fn completed(mut document: OpenApi) -> OpenApi {
    let mut examples: BTreeMap<String, Value> =
        serde_json::from_str(EXAMPLES).expect("a test reads the examples");
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in operations(item) {
            let example = examples.remove(&format!("{method} {path}"));
            add_gate(operation, Access::for_path(path));
            complete(operation, path, method, example);
            for status in ["201", "202", "204"] {
                let example = examples.remove(&format!("{method} {path} {status}"));
                complete_other(operation, status, example);
            }
        }
    }
    shared::share_parameters(&mut document);
    shared::name_variants(&mut document);
    let components = document.components.get_or_insert_default();
    let bearer = Http::builder().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    let plain = ApiKey::Header(ApiKeyValue::new("X-API-Key"));
    components.add_security_scheme(PLAIN, SecurityScheme::ApiKey(plain));
    let unchanged = Response::new("`If-None-Match` has the `ETag` of the current answer.");
    let responses = error_responses().chain([(NOT_MODIFIED, unchanged)]);
    let responses = responses.map(|(name, mut response)| {
        add_shared_headers(&mut response, &EVERY_RESPONSE);
        (name.to_owned(), response.into())
    });
    components.responses.extend(responses);
    let headers = EVERY_RESPONSE.iter().chain(&CACHED).chain([&ETAG]);
    components.headers.extend(headers.map(|info| (info.0.to_owned(), header(info, "").into())));
    document
}

/// The operations of a path, with their methods.
pub(super) fn operations(
    item: &mut PathItem,
) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let PathItem { get, put, post, delete, .. } = item;
    let all = [("GET", get), ("PUT", put), ("POST", post), ("DELETE", delete)].into_iter();
    all.filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
}

/// The two ways to send a key.
const BEARER: &str = "bearer";
const PLAIN: &str = "apiKey";

/// The name of the response 304.
const NOT_MODIFIED: &str = "NotModified";

/// Adds the responses of the gate: unknown hosts, missing keys and rate limits.
fn add_gate(operation: &mut Operation, access: Access) {
    let responses = &mut operation.responses.responses;
    responses.extend(references(&["UnknownHost"]));
    if access != Access::Always && !responses.contains_key("429") {
        responses.extend(references(&["RateLimited"]));
    }
    if access != Access::WithKey {
        // An empty list: the operation never requires a key.
        operation.security = Some(vec![]);
        return;
    }
    responses.extend(references(&["CallerKeyRequired"]));
    // The first alternative is no key, because not every service requires one.
    let either = [BEARER, PLAIN].map(|name| SecurityRequirement::new(name, [""; 0]));
    operation.security = Some([SecurityRequirement::default()].into_iter().chain(either).collect());
}

fn complete(operation: &mut Operation, path: &str, method: &str, example: Option<Value>) {
    let name = operation.operation_id.clone().unwrap_or_default();
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            describe(parameter, path);
            add_default(parameter, &name);
        }
    }
    let is_service = operation.tags.iter().flatten().any(|tag| tag == "Service");
    let is_monitored = matches!(path, "/healthz" | "/readyz" | "/metrics");
    let responses = &mut operation.responses.responses;
    responses.extend(references(&["MethodNotAllowed"]));
    if !is_monitored {
        responses.extend(references(&["NotAcceptable"]));
    }
    let Some(RefOr::T(success)) = responses.get_mut("200") else { return };
    // Neither metrics nor streams have a tag.
    let is_tagged =
        !matches!(path, "/metrics" | "/api/jobs/{id}/results" | "/api/jobs/{id}/events");
    if is_tagged {
        add_headers(success, &[ETAG]);
    }
    let is_stored = ["/api/jobs", "/api/collections"].iter().any(|it| path.starts_with(it));
    if method == "GET" && !is_service && !is_stored {
        add_headers(success, &CACHED);
    }
    add_headers(success, &EVERY_RESPONSE);
    if let Some(RefOr::T(content)) = success.content.get_mut("application/json") {
        content.example = example;
    } else if let Some(RefOr::T(content)) = success.content.get_mut("text/plain")
        && example.is_some()
    {
        content.example = example;
    }
    if method == "GET" && is_tagged {
        let unchanged = Ref::from_response_name(NOT_MODIFIED).into();
        responses.insert("304".to_owned(), unchanged);
    }
}

/// Completes a successful response with another status than 200: created, accepted or deleted.
fn complete_other(operation: &mut Operation, status: &str, example: Option<Value>) {
    let Some(RefOr::T(response)) = operation.responses.responses.get_mut(status) else { return };
    add_headers(response, &EVERY_RESPONSE);
    if let Some(RefOr::T(content)) = response.content.get_mut("application/json") {
        content.example = example;
    }
}

/// The name, the description and the type of a header.
type HeaderInfo = (&'static str, &'static str, Type);

/// The headers of every response.
const EVERY_RESPONSE: [HeaderInfo; 2] = [
    ("X-Quota-Cost", "Upstream units that this answer cost", Type::Integer),
    ("X-Request-Id", "The request's id: the caller's own, or a new one", Type::String),
];

const ETAG: HeaderInfo = ("ETag", "Changes only when the answer does", Type::String);

/// The headers of a response from the cache.
const CACHED: [HeaderInfo; 5] = [
    ("X-Cache", "`hit`, `stale`, `miss` or `coalesced`", Type::String),
    ("Cache-Status", "How the cache answered (RFC 9211)", Type::String),
    ("Age", "Seconds since it was fetched", Type::Integer),
    ("Cache-Control", "How long it may be cached, counted as `Age` is", Type::String),
    ("Vary", "The request headers that the answer depends on", Type::String),
];

/// Headers that streams do not have.
const NOT_IN_STREAMS: [&str; 2] = ["ETag", "X-Quota-Cost"];

/// Adds headers to a successful response. Those that a stream does not have get a note.
fn add_headers(response: &mut Response, headers: &[HeaderInfo]) {
    let can_stream = response.content.contains_key("text/event-stream");
    for info in headers {
        if can_stream && NOT_IN_STREAMS.contains(&info.0) {
            let note = "; not sent with streams, because it is not known when they begin";
            response.headers.insert(info.0.to_owned(), header(info, note).into());
        } else {
            add_shared_headers(response, std::slice::from_ref(info));
        }
    }
}

/// Adds references to shared headers.
fn add_shared_headers(response: &mut Response, headers: &[HeaderInfo]) {
    for (name, ..) in headers {
        let shared = Ref::new(format!("#/components/headers/{name}"));
        response.headers.insert((*name).to_owned(), RefOr::Ref(shared));
    }
}

fn header((_, description, kind): &HeaderInfo, note: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(kind.clone());
    let description = format!("{description}{note}");
    HeaderBuilder::new().schema(Some(schema)).description(Some(description)).build()
}

/// Adds the values that a parameter can have. Path parameters get their description and their example too.
fn describe(parameter: &mut Parameter, path: &str) {
    let values = match parameter.parameter_in {
        ParameterIn::Path => patterns::path_parameter(path).map(|it| {
            let complete = ParameterBuilder::from(std::mem::take(parameter));
            let complete = complete.description(Some(it.description));
            *parameter = complete.example(Some(json!(it.example))).build();
            it.values
        }),
        _ => patterns::query_values(path, &parameter.name),
    };
    let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { return };
    match values {
        Some(Values::Pattern(pattern)) => schema.pattern = Some(pattern),
        Some(Values::Words(words)) => {
            schema.enum_values = Some(words.into_iter().map(Value::from).collect());
        }
        None => {}
    }
    if parameter.parameter_in == ParameterIn::Path && schema.enum_values.is_none() {
        schema.max_length = Some(patterns::MAX_ID_CHARS);
    }
}

/// Adds the default of a parameter.
fn add_default(parameter: &mut Parameter, operation: &str) {
    let default = match (operation, parameter.name.as_str()) {
        ("get_search", "type") => json!("video"),
        ("get_search", "order") => json!("relevance"),
        ("get_search", "safe") => json!("moderate"),
        // All regions.
        ("get_search", "region") => return,
        ("get_channel_videos", "limit") => json!(5),
        ("get_top_comments", "limit") => json!(10),
        // All items.
        ("start_job", "limit") => return,
        (_, "limit") => json!(50),
        (_, "maxResults") => json!(100),
        (_, "order") => json!("time"),
        (_, "replies") => json!("preview"),
        (_, "region") => json!("US"),
        _ => return,
    };
    if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema {
        schema.default = Some(default);
    }
}
