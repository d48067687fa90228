//! The OpenAPI document: it equals the file in the repository, covers every route and matches the service.

mod examples;
mod values;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use axum::body::Body;
use axum::http::Request;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::app::{PEER, TestApp};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

/// The document, with the shared parameters, responses and headers in place of their references.
fn document() -> Value {
    let raw = raw_document();
    let mut document = raw.clone();
    inline(&mut document["paths"], &raw);
    document
}

fn raw_document() -> Value {
    serde_json::to_value(vidra_server::routes::openapi()).unwrap()
}

fn inline(value: &mut Value, document: &Value) {
    let reference = value["$ref"].as_str().and_then(|it| it.strip_prefix('#'));
    if let Some(reference) = reference.filter(|it| !it.starts_with("/components/schemas/")) {
        *value = document.pointer(reference).expect("a component").clone();
    }
    match value {
        Value::Object(members) => members.values_mut().for_each(|it| inline(it, document)),
        Value::Array(items) => items.iter_mut().for_each(|it| inline(it, document)),
        _ => {}
    }
}

/// Run with `VIDRA_UPDATE_DOCS=1` to regenerate the file.
#[test]
fn the_document_in_the_repo_is_current() {
    let current = serde_json::to_string_pretty(&vidra_server::routes::openapi()).unwrap() + "\n";
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, &current).unwrap();
    }
    let stored = std::fs::read_to_string(Path::new(DOCUMENT)).unwrap();
    assert!(
        stored == current,
        "docs/openapi.json is out of date: regenerate it with VIDRA_UPDATE_DOCS=1"
    );
}

#[tokio::test]
async fn the_document_is_served_as_openapi_3_1() {
    let got = TestApp::new().get("/openapi.json").await;
    assert_eq!(got.json(), raw_document());
    assert!(got.json()["openapi"].as_str().unwrap().starts_with("3.1"));
}

#[tokio::test]
async fn users_10_the_document_is_served_compressed_with_a_tag() {
    let app = TestApp::new();
    let get = async |encoding: &str, tag: &str| {
        let request = Request::get("/openapi.json").header("accept-encoding", encoding);
        let request = request.header("if-none-match", tag).body(Body::empty()).unwrap();
        let (head, body) = app.app.answer(request, PEER).await.into_parts();
        (head, body.collect().await.unwrap().to_bytes())
    };
    let (plain, text) = get("identity", "\"other\"").await;
    let (gzip, packed) = get("gzip", "\"other\"").await;
    assert!(!plain.headers.contains_key("content-encoding"));
    assert_eq!(gzip.headers["content-encoding"], "gzip");
    assert_eq!(
        (plain.headers["vary"].as_bytes(), plain.status.as_u16()),
        (&b"accept-encoding"[..], 200)
    );
    assert!(packed.len() < text.len() / 4, "{} of {} bytes", packed.len(), text.len());
    let mut unpacked = vec![];
    GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);
    assert_ne!(plain.headers["etag"], gzip.headers["etag"]);
    for (encoding, head) in [("identity", plain), ("gzip", gzip)] {
        let (unchanged, body) = get(encoding, head.headers["etag"].to_str().unwrap()).await;
        assert_eq!((unchanged.status.as_u16(), body.len()), (304, 0), "{encoding}");
    }
}

#[test]
fn users_10_every_operation_describes_its_cost() {
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let description = operation["description"].as_str().unwrap_or_default();
            let cost = description.rsplit("\n\n").next().unwrap();
            assert!(
                cost.starts_with("Cost: ") && cost.ends_with('.'),
                "{method} {path}: the last paragraph of its documentation has to be `Cost: …`"
            );
        }
    }
}

/// Errors and parameters that operations have in common are written once.
#[test]
fn users_10_shared_parts_are_components() {
    let document = raw_document();
    let mut inlined = vec![];
    let mut parameters: Vec<&Value> = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let errors = responses.iter().filter(|(status, _)| !status.starts_with('2'));
            inlined.extend(
                errors
                    .filter(|(_, response)| response["$ref"].is_null())
                    .map(|(status, _)| format!("{method} {path} {status}")),
            );
            let own = operation["parameters"].as_array().into_iter().flatten();
            parameters.extend(own.filter(|parameter| parameter["$ref"].is_null()));
        }
    }
    assert_eq!(inlined, [""; 0]);
    let distinct: BTreeSet<String> = parameters.iter().map(|it| it.to_string()).collect();
    assert_eq!(distinct.len(), parameters.len(), "a parameter that occurs twice is shared");
    let text = document.to_string();
    for (kind, parts) in document["components"].as_object().unwrap() {
        for name in parts.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            let reference = format!("\"#/components/{kind}/{name}\"");
            assert!(text.contains(&reference), "nothing refers to {reference}");
        }
    }
}

#[test]
fn every_operation_is_complete() {
    let document = document();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations += 1;
            let name = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{name} has no summary");
            assert!(operation["tags"].is_array(), "{name} has no tag");
            assert!(operation["operationId"].is_string(), "{name} has no id");
            let responses = operation["responses"].as_object().unwrap();
            let success = match method.as_str() {
                "delete" => "204",
                _ if path == "/api/collections/{name}/sync" => "202",
                _ => "200",
            };
            assert!(responses.contains_key(success), "{name} has no success");
            // Only the start of a job calls YouTube itself, for an estimate.
            let is_job = path.starts_with("/api/jobs") && name != "post /api/jobs"
                || path.starts_with("/api/collections");
            let is_local = matches!(path.as_str(), "/api/quota" | "/api/cache" | "/api/usage");
            let is_text = |status: &str| {
                status == "200"
                    && matches!(
                        path.as_str(),
                        "/metrics" | "/llms.txt" | "/api/transcript/{id}/text"
                    )
            };
            let fallible = path.starts_with("/api/") && !is_local;
            assert_eq!(responses.contains_key("400"), fallible, "{name}");
            let is_monitored = matches!(path.as_str(), "/healthz" | "/readyz" | "/metrics");
            assert!(responses.contains_key("421"), "{name}");
            assert_eq!(responses.contains_key("406"), !is_monitored, "{name}");
            for status in ["405", "500", "502", "503", "504"] {
                let calls_upstream = fallible && path != "/api/url/parse" && !is_job;
                let is_library = is_job && matches!(status, "500" | "503");
                // Readiness fails while the service drains.
                let is_readiness = path == "/readyz" && status == "503";
                assert_eq!(
                    responses.contains_key(status),
                    calls_upstream || is_readiness || is_library || status == "405",
                    "{name} {status}"
                );
            }
            let is_empty = |status: &str| matches!(status, "304" | "204");
            for (status, response) in responses.iter().filter(|(status, _)| !is_empty(status)) {
                if status == "200" && path == "/api/jobs/{id}/events" {
                    let schema = &response["content"]["text/event-stream"]["schema"];
                    assert_eq!(schema["type"], "string");
                    continue;
                }
                let form = if is_text(status) { "text/plain" } else { "application/json" };
                let content = &response["content"][form];
                assert!(content["schema"].is_object(), "{name} {status} has no schema");
                assert!(response["description"].as_str().is_some_and(|text| !text.is_empty()));
                assert!(
                    !content["example"].is_null()
                        && content["example"].is_string() == is_text(status),
                    "{name} {status} has no example"
                );
                if !status.starts_with('2') {
                    assert_eq!(
                        content["schema"]["$ref"], "#/components/schemas/ErrorBody",
                        "{name} {status}"
                    );
                }
            }
            let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            for parameter in parameters {
                assert!(parameter["description"].is_string(), "{name}: {parameter}");
                // Examples are sent together, so only one of two exclusive parameters has one.
                let is_other = path == "/api/video-categories" && parameter["name"] == "ids"
                    // A cursor is valid for one list only, the operator chooses the names of keys and webhooks, and ids of
                    // jobs are random.
                    || matches!(parameter["name"].as_str(), Some("cursor" | "owner" | "webhook" | "job"));
                let has_example = !parameter["example"].is_null();
                assert_eq!(has_example, !is_other, "{name}: {parameter} has no example");
                let schema = &parameter["schema"];
                let optional = parameter["required"] == false;
                let has_default = schema["default"] != Value::Null
                    || parameter["description"].as_str().unwrap().contains("if not given")
                    || schema["maxLength"].is_number();
                assert!(!optional || has_default, "{name}: {parameter} has no default");
            }
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{name}");
        }
    }
    assert_eq!(operations, 62);
}

#[test]
fn every_reference_resolves() {
    let document = raw_document();
    let text = document.to_string();
    let references = text.match_indices("\"#/").map(|(at, _)| {
        let rest = &text[at + 2..];
        &rest[..rest.find('"').unwrap()]
    });
    let mut count = 0;
    for reference in references {
        assert!(document.pointer(reference).is_some(), "{reference}");
        count += 1;
    }
    assert!(count > 50);
}

#[tokio::test]
async fn every_documented_route_exists() {
    let app = TestApp::new();
    for (path, methods) in document()["paths"].as_object().unwrap() {
        // The identifier is invalid: a route that exists does not answer 404 or 405.
        let concrete = path.replace("{id}", "!").replace("{videoId}", "!");
        let concrete = concrete.replace("{name}", "get_video");
        for method in methods.as_object().unwrap().keys() {
            let got = app.method(method.to_uppercase().parse().unwrap(), &concrete).await;
            let is_stored = ["/api/jobs", "/api/collections", "/api/library"]
                .iter()
                .any(|it| path.starts_with(it));
            let is_missing = match is_stored {
                true => got.reason() != "library_off",
                false => matches!(got.status.as_u16(), 404 | 405),
            };
            assert!(!is_missing, "{method} {path}: {}", got.text);
        }
    }
}

#[test]
fn the_guide_lists_every_endpoint() {
    let guide = include_str!("../../../../docs/guide/rest-api.md");
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let endpoint = format!("`{} {path}", method.to_uppercase());
            assert!(guide.contains(&endpoint), "{endpoint} is not in the guide");
        }
    }
}

#[test]
fn descriptions_contain_no_rust_examples() {
    assert!(!document().to_string().contains("```"), "no examples in Rust");
}

#[tokio::test]
async fn transcript_errors_are_documented_as_they_are_sent() {
    let batch = "/paths/~1api~1playlist~1{id}~1transcript/post/responses";
    let single = "/paths/~1api~1transcript~1{id}/get/responses";
    let (app, document) = (TestApp::new(), document());
    let got = [
        (batch, 403, app.post("/api/playlist/PLquirkPrivate/transcript", "").await),
        (batch, 404, app.post("/api/playlist/PLquirkUnknown/transcript", "").await),
        (
            batch,
            400,
            app.post(
                "/api/playlist/PLsize1/transcript",
                json!({"concurrency": 0, "from": 2, "to": 1}),
            )
            .await,
        ),
        (single, 400, app.get("/api/transcript/nope").await),
        (single, 502, app.get("/api/transcript/plBotWall__").await),
    ];
    for (responses, status, got) in got {
        let documented = document.pointer(&format!("{responses}/{status}")).unwrap();
        assert_eq!(documented["content"]["application/json"]["example"], got.json());
        let waits = documented["headers"].get("Retry-After").is_some();
        assert_eq!(waits, got.header("retry-after").is_some(), "{responses} {status}");
    }
    for status in ["403", "404", "429", "502", "504"] {
        let documented = document.pointer(&format!("{single}/{status}")).unwrap();
        let example = &documented["content"]["application/json"]["example"];
        let reason = example["error"]["reason"].as_str().unwrap();
        let description = documented["description"].as_str().unwrap();
        assert!(description.contains(&format!("`{reason}`")), "{status}: {description}");
    }
}

#[test]
fn stream_lines_have_a_schema() {
    let document = document();
    let success = document.pointer("/paths/~1api~1playlist~1{id}~1transcript/post/responses/200");
    for (form, shape) in
        [("application/x-ndjson", "BatchLine"), ("text/event-stream", "BatchEventText")]
    {
        let schema = &success.unwrap()["content"][form]["schema"]["$ref"];
        assert_eq!(schema, &format!("#/components/schemas/{shape}"), "{form}");
    }
    // Client generators split an event into its fields.
    let event = &document["components"]["schemas"]["BatchEventText"];
    assert_eq!(event["required"], json!(["event", "id", "data"]));
    assert_eq!(event["properties"]["data"]["contentMediaType"], "application/json");
    let line = &document["components"]["schemas"]["BatchLine"];
    assert_eq!(line["oneOf"].as_array().map(Vec::len), Some(4), "{line}");
    for name in ["ETag", "X-Quota-Cost"] {
        let description = success.unwrap()["headers"][name]["description"].as_str().unwrap();
        assert!(description.contains("not sent with streams"), "{name}: {description}");
    }
}
