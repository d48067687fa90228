//! The examples of the document: they are real answers, and work in the demo.

use serde_json::{Value, json};

use super::document;
use crate::app::{TestApp, TestResponse};
use crate::jobs::JobApp;

/// The requests whose answers are the document's examples: small, and the same every time.
const REQUESTS: [(&str, &str, &str); 59] = [
    ("GET /api/video/{id}", "/api/video/fda4eREcaTQ", ""),
    ("GET /api/video/{id}/title", "/api/video/fda4eREcaTQ/title", ""),
    ("GET /api/videos", "/api/videos?ids=quirkNoLike", ""),
    ("GET /api/channel/{id}", "/api/channel/@fermata", ""),
    ("GET /api/channel/{id}/videos", "/api/channel/@fermata/videos?limit=1", ""),
    ("GET /api/channel/{id}/uploads", "/api/channel/@fermata/uploads?limit=1", ""),
    ("GET /api/channel/{id}/playlists", "/api/channel/@fermata/playlists?limit=1", ""),
    ("GET /api/channel/{id}/feed", "/api/channel/@fermata/feed", ""),
    ("GET /api/playlist/{id}", "/api/playlist/PLsize1", ""),
    ("GET /api/playlist/{id}/info", "/api/playlist/PLsize1/info", ""),
    ("GET /api/playlist/{id}/ids", "/api/playlist/PLsize1/ids", ""),
    ("GET /api/playlist/{id}/videos", "/api/playlist/PLsize49/videos?limit=1", ""),
    ("GET /api/playlist/{id}/feed", "/api/playlist/PLsize1/feed", ""),
    ("POST /api/playlist/{id}/query", "/api/playlist/PLsize1/query", "{}"),
    ("GET /api/comments/{videoId}", "/api/comments/fda4eREcaTQ?maxResults=1", ""),
    ("GET /api/comments/{videoId}/threads", "/api/comments/fda4eREcaTQ/threads?limit=1", ""),
    ("GET /api/comments/{videoId}/top", "/api/comments/fda4eREcaTQ/top?limit=1", ""),
    ("GET /api/comment-replies/{id}", "/api/comment-replies/UgquirkManyReplies04AaABAg", ""),
    ("GET /api/search", "/api/search?q=session&limit=1", ""),
    ("GET /api/charts/popular", "/api/charts/popular?limit=1", ""),
    ("GET /api/transcript/{id}", "/api/transcript/txManualAsr", ""),
    ("GET /api/transcript/{id}/text", "/api/transcript/txManualAsr/text", ""),
    (
        "GET /api/transcript/{id}/document",
        "/api/transcript/txManualAsr/document?captions=auto&end=5&words=true",
        "",
    ),
    ("GET /api/transcript/{id}/chunks", "/api/transcript/txManualAsr/chunks", ""),
    ("GET /api/transcript/{id}/tracks", "/api/transcript/txManualAsr/tracks", ""),
    ("POST /api/transcripts", "/api/transcripts", r#"{"videos": ["txManualAsr"]}"#),
    (
        "POST /api/playlist/{id}/transcript",
        "/api/playlist/PLquirkMixed/transcript",
        r#"{"from": 2, "to": 2}"#,
    ),
    ("POST /api/jobs", "/api/jobs?dryRun=true", r#"{"sources": ["txManualAsr", "PLsize1"]}"#),
    ("POST /api/jobs 202", "/api/jobs", r#"{"sources": ["txManualAsr", "PLsize1"]}"#),
    ("GET /api/jobs", "/api/jobs", ""),
    ("GET /api/jobs/{id}", "/api/jobs/{id}", ""),
    ("GET /api/jobs/{id}/items", "/api/jobs/{id}/items", ""),
    ("GET /api/jobs/{id}/results", "/api/jobs/{id}/results", ""),
    ("POST /api/jobs/{id}/pause", "/api/jobs/{id}/pause", "{}"),
    ("POST /api/jobs/{id}/resume", "/api/jobs/{id}/resume", "{}"),
    ("POST /api/jobs/{id}/cancel", "/api/jobs/{id}/cancel", "{}"),
    ("POST /api/jobs/{id}/retry", "/api/jobs/{id}/retry", r#"{"reasons": ["blocked"]}"#),
    ("GET /api/collections", "/api/collections", ""),
    ("GET /api/collections/{name}", "/api/collections/news", ""),
    (
        "PUT /api/collections/{name}",
        "/api/collections/news",
        r#"{"sources": ["@fermata"], "limit": 3}"#,
    ),
    (
        "PUT /api/collections/{name} 201",
        "/api/collections/more",
        r#"{"sources": ["@fermata"], "limit": 3}"#,
    ),
    ("GET /api/collections/{name}/videos", "/api/collections/news/videos", ""),
    ("POST /api/collections/{name}/sync 202", "/api/collections/news/sync", "{}"),
    ("POST /api/collections/{name}/pause", "/api/collections/news/pause", "{}"),
    ("POST /api/collections/{name}/resume", "/api/collections/news/resume", "{}"),
    ("GET /api/library/search", "/api/library/search?q=the&context=0", ""),
    ("GET /api/library/trends", "/api/library/trends?q=the", ""),
    ("GET /api/library/videos", "/api/library/videos", ""),
    ("GET /api/i18n/regions", "/api/i18n/regions", ""),
    ("GET /api/i18n/languages", "/api/i18n/languages", ""),
    ("GET /api/video-categories", "/api/video-categories?ids=10", ""),
    ("POST /api/url/parse", "/api/url/parse", r#"{"url": "https://youtu.be/fda4eREcaTQ?t=43"}"#),
    (
        "POST /api/tools/{name}",
        "/api/tools/get_top_comments",
        r#"{"video": "fda4eREcaTQ", "limit": 1}"#,
    ),
    ("GET /api/quota", "/api/quota", ""),
    ("GET /api/cache", "/api/cache", ""),
    ("GET /api/usage", "/api/usage", ""),
    ("GET /healthz", "/healthz", ""),
    ("GET /readyz", "/readyz", ""),
    ("GET /openapi.json", "", ""),
];

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/routes/examples.json");

/// Run with `VIDRA_UPDATE_DOCS=1` to regenerate the file, and once more for the document.
#[tokio::test(start_paused = true)]
async fn the_examples_are_real_answers() {
    let mut examples = serde_json::Map::new();
    for (operation, path, body) in REQUESTS {
        let got = match (path, body) {
            ("", _) => json!({"openapi": "3.1.0"}),
            (path, body) if is_of_collection(path) => {
                let method = operation.split(' ').next().unwrap();
                collection_answer(method, path, body).await.json()
            }
            (path, body) if path.starts_with("/api/jobs") => {
                let method = operation.split(' ').next().unwrap();
                job_answer(method, path, body).await.json()
            }
            (path, "") if path.ends_with("/text") => TestApp::new().get(path).await.text.into(),
            (path, "") => TestApp::new().get(path).await.json(),
            (path, body) => TestApp::new().post(path, body).await.json(),
        };
        assert!(got.get("error").is_none(), "{operation}: {got}");
        examples.insert(operation.to_owned(), first_of_lists(got));
    }
    if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
        let text = serde_json::to_string_pretty(&examples).unwrap() + "\n";
        std::fs::write(EXAMPLES, text).unwrap();
    }
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(EXAMPLES).unwrap()).unwrap();
    assert_eq!(
        timeless(stored),
        timeless(examples.into()),
        "regenerate them with VIDRA_UPDATE_DOCS=1"
    );
}

/// The id of the job in all examples. Ids are random.
const JOB: &str = "0f8fad5bd9cb469fa16570867728950e";

/// The answer of a service with a job, which has ended if it is only read.
async fn job_answer(method: &str, path: &str, body: &str) -> TestResponse {
    let app = JobApp::new();
    let job = app.start(json!({"sources": ["txManualAsr"], "name": "Night"})).await;
    if method == "GET" {
        app.work();
        app.ended(&job).await;
    }
    let id = job.rsplit('/').next().unwrap();
    let json = [("content-type", "application/json")];
    let path = path.replace("{id}", id).replace(JOB, id);
    let mut got = app.send(method, &path, &json, body.to_owned()).await;
    let own = got.header("location").and_then(|it| it.rsplit('/').next()).unwrap_or(id).to_owned();
    got.text = got.text.replace(&own, JOB);
    got
}

fn is_of_collection(path: &str) -> bool {
    path.starts_with("/api/collections") || path.starts_with("/api/library")
}

/// The answer of a service with a collection, which was synced if it is only read.
async fn collection_answer(method: &str, path: &str, body: &str) -> TestResponse {
    let app = JobApp::new();
    let new = json!({"sources": ["@fermata"], "limit": 3, "every": "6h"});
    crate::collections::put(&app, "news", &new).await;
    if method == "GET" {
        app.work();
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
    }
    let json = [("content-type", "application/json")];
    let mut got = app.send(method, path, &json, body.to_owned()).await;
    let body: Value = serde_json::from_str(&got.text).unwrap_or_default();
    let ids = [&body["id"], &body["lastSync"]["jobId"], &body["items"][0]["lastSync"]["jobId"]];
    for id in ids.into_iter().filter_map(Value::as_str) {
        got.text = got.text.replace(id, JOB);
    }
    got
}

/// One element shows what a list holds.
fn first_of_lists(mut value: Value) -> Value {
    let items = match &mut value {
        Value::Object(members) => members.get_mut("items").and_then(Value::as_array_mut),
        other => other.as_array_mut(),
    };
    if let Some(items) = items.filter(|items| items.first().is_some_and(Value::is_object)) {
        items.truncate(1);
    }
    value
}

/// The examples without values that change from day to day.
fn timeless(mut examples: Value) -> Value {
    examples["GET /api/quota"]["resetsAt"] = Value::Null;
    examples["GET /api/usage"]["days"][0]["day"] = Value::Null;
    examples["GET /api/channel/{id}/videos"][0]["uploadAge"] = Value::Null;
    examples
}

#[tokio::test(start_paused = true)]
async fn every_example_works_in_the_demo() {
    let app = TestApp::new();
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (path, method, operation))
    });
    for (path, method, operation) in operations {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let mut url = path.clone();
        let mut query = vec![];
        for parameter in &parameters {
            let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str() {
                Some("header") => {}
                Some("path") => url = url.replace(&format!("{{{name}}}"), &example),
                _ if parameter["example"].is_null() => {}
                _ => query.push(format!("{name}={}", example.replace(' ', "%20"))),
            }
        }
        let target = format!("{url}?{}", query.join("&"));
        let got = match method.as_str() {
            _ if is_of_collection(path) => {
                let body = &operation["requestBody"]["content"]["application/json"]["example"];
                let body = if body.is_object() { body.to_string() } else { String::new() };
                collection_answer(&method.to_uppercase(), &target, &body).await
            }
            _ if path.starts_with("/api/jobs") => {
                let body = &operation["requestBody"]["content"]["application/json"]["example"];
                let body = if body.is_object() { body.to_string() } else { String::new() };
                job_answer(&method.to_uppercase(), &target, &body).await
            }
            "get" => app.get(&target).await,
            _ => {
                let body = &operation["requestBody"]["content"]["application/json"]["example"];
                assert!(body.is_object(), "{path} has no example of a body");
                app.post(&target, body).await
            }
        };
        assert!(got.status.is_success(), "{method} {target}: {}", got.text);
    }
}
