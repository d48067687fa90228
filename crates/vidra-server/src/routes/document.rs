//! Completes the OpenAPI document with what annotations cannot express: headers of every response, the
//! responses of HTTP itself, default values, and real examples.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, ObjectBuilder, OpenApi, Ref, RefOr, Response, Schema, Type,
};

use super::patterns;
use crate::gate::Access;

/// Responses of the service over the simulator, by operation. A test generates them.
const EXAMPLES: &str = include_str!("examples.json");

/// Completes the document that the annotations give.
pub(super) fn completed(mut document: OpenApi) -> OpenApi {
    let mut examples: BTreeMap<String, Value> =
        serde_json::from_str(EXAMPLES).expect("a test reads the examples");
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in [("GET", &mut item.get), ("POST", &mut item.post)] {
            let Some(operation) = operation else { continue };
            let example = examples.remove(&format!("{method} {path}"));
            add_gate(operation, Access::for_path(path));
            complete(operation, path, method, example);
        }
    }
    let components = document.components.get_or_insert_default();
    let bearer = Http::builder().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    let plain = ApiKey::Header(ApiKeyValue::new("X-API-Key"));
    components.add_security_scheme(PLAIN, SecurityScheme::ApiKey(plain));
    document
}

/// The two ways to send a key.
const BEARER: &str = "bearer";
const PLAIN: &str = "apiKey";

/// Adds the responses of the gate: missing keys and rate limits.
fn add_gate(operation: &mut Operation, access: Access) {
    let responses = &mut operation.responses.responses;
    if access != Access::Always && !responses.contains_key("429") {
        let what = "The caller sends more requests than its rate limit allows; see `Retry-After`.";
        let error = json!({"code": 429, "reason": "caller_rate_limited", "message": "Too many requests to this service", "details": ["the next is allowed in 3 s"]});
        let response =
            error_response(what, &error, ("Retry-After", "Seconds to wait", Type::Integer));
        responses.insert("429".to_owned(), response);
    }
    if access != Access::WithKey {
        return;
    }
    let what = "The service requires a caller key, and the key is missing or not valid.";
    let error = json!({"code": 401, "reason": "caller_key_missing", "message": "This service requires a key", "details": ["send it as Authorization: Bearer KEY or as X-API-Key: KEY"]});
    let challenge = ("WWW-Authenticate", "The scheme that the service accepts", Type::String);
    responses.insert("401".to_owned(), error_response(what, &error, challenge));
    // The first alternative is no key, because not every service requires one.
    let either = [BEARER, PLAIN].map(|name| SecurityRequirement::new(name, [""; 0]));
    operation.security = Some([SecurityRequirement::default()].into_iter().chain(either).collect());
}

fn complete(operation: &mut Operation, path: &str, method: &str, example: Option<Value>) {
    let name = operation.operation_id.clone().unwrap_or_default();
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            add_pattern(parameter, path);
            add_default(parameter, &name);
        }
    }
    let is_service = operation.tags.iter().flatten().any(|tag| tag == "Service");
    let responses = &mut operation.responses.responses;
    // Metrics are not JSON and have no tag.
    let mut is_tagged = false;
    if let Some(RefOr::T(success)) = responses.get_mut("200") {
        is_tagged = success.content.contains_key("application/json");
        if is_tagged {
            let what = format!("Changes only when the answer does{}", stream_note(success));
            add_headers(success, &[("ETag", &what, Type::String)]);
        }
        if method == "GET" && !is_service {
            add_headers(success, &CACHE_HEADERS);
        }
        if let Some(RefOr::T(content)) = success.content.get_mut("application/json") {
            content.example = example;
        }
    }
    if method == "GET" && is_tagged {
        let unchanged = Response::new("`If-None-Match` has the `ETag` of the current answer.");
        responses.insert("304".to_owned(), unchanged.into());
    }
    let what = "The path does not support this method.";
    let error = json!({"code": 405, "reason": "method_not_allowed", "message": "DELETE is not possible on /api/quota", "details": []});
    let allow = ("Allow", "The methods that the path supports", Type::String);
    responses.insert("405".to_owned(), error_response(what, &error, allow));
    for response in responses.values_mut() {
        let RefOr::T(response) = response else { continue };
        let cost = format!("Upstream units that this answer cost{}", stream_note(response));
        let id = "The request's id: the caller's own, or a new one";
        let headers = [("X-Quota-Cost", &*cost, Type::Integer), ("X-Request-Id", id, Type::String)];
        add_headers(response, &headers);
    }
}

/// The name, the description and the type of a header.
type HeaderInfo<'a> = (&'a str, &'a str, Type);

/// The headers of a response from the cache.
const CACHE_HEADERS: [HeaderInfo<'_>; 5] = [
    ("X-Cache", "`hit`, `stale`, `miss` or `coalesced`", Type::String),
    ("Cache-Status", "The same in the terms of RFC 9211", Type::String),
    ("Age", "Seconds since it was fetched", Type::Integer),
    ("Cache-Control", "How long it may be cached, counted as `Age` is", Type::String),
    ("Vary", "The request headers that the answer depends on", Type::String),
];

/// A note for headers that streams do not have.
fn stream_note(response: &Response) -> &'static str {
    match response.content.contains_key("text/event-stream") {
        true => "; not sent with streams, because it is not known when they begin",
        false => "",
    }
}

/// Adds the pattern of a parameter.
fn add_pattern(parameter: &mut Parameter, path: &str) {
    let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { return };
    match parameter.parameter_in {
        ParameterIn::Path => {
            schema.pattern = patterns::path_pattern(path);
            schema.max_length = Some(patterns::MAX_ID_CHARS);
        }
        _ => schema.pattern = patterns::query_pattern(path, &parameter.name),
    }
}

/// Adds the default of a parameter and the words that it accepts.
fn add_default(parameter: &mut Parameter, operation: &str) {
    let (default, words): (Value, &[&str]) = match parameter.name.as_str() {
        "limit" => (json!(if operation == "get_top_comments" { 10 } else { 5 }), &[]),
        "maxResults" => (json!(100), &[]),
        "order" => (json!("time"), &["time", "relevance"]),
        "replies" => (json!("preview"), &["preview", "all"]),
        "region" => (json!("US"), &[]),
        _ => return,
    };
    if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema {
        schema.default = Some(default);
        if !words.is_empty() {
            schema.enum_values = Some(words.iter().map(|word| json!(word)).collect());
        }
    }
}

/// The response of an error, with a header that belongs to it.
fn error_response(description: &str, error: &Value, header: HeaderInfo<'_>) -> RefOr<Response> {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorBody")))
        .example(Some(json!({"error": error})))
        .build();
    let mut response = Response::new(description);
    response.content.insert("application/json".to_owned(), content.into());
    add_headers(&mut response, &[header]);
    response.into()
}

fn add_headers(response: &mut Response, headers: &[HeaderInfo<'_>]) {
    for (name, description, kind) in headers {
        let schema = ObjectBuilder::new().schema_type(kind.clone());
        let header = HeaderBuilder::new().schema(Some(schema)).description(Some(*description));
        response.headers.insert((*name).to_owned(), header.build().into());
    }
}
