//! `Accept`: the types of each route, and 406 if the request allows none of them.

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

use crate::app::{TestApp, TestResponse};

async fn get(app: &TestApp, path: &str, accept: &str) -> TestResponse {
    app.send(Request::get(path).header("accept", accept).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn users_8_an_accept_that_nothing_satisfies_is_406() {
    let app = TestApp::new();
    let json = "/api/video/fda4eREcaTQ";
    let (transcript, text) = ("/api/transcript/txManualAsr", "/api/transcript/txManualAsr/text");
    // The second request of each finds the response in the cache.
    let table = [
        (json, "*/*", 200),
        (json, "", 200),
        (json, "application/json", 200),
        (json, "Application/*;q=0.1", 200),
        (json, "text/html, */*;q=0.1", 200),
        (json, "application/xml", 406),
        (json, "text/*", 406),
        (json, "application/json;q=0", 406),
        (json, "application/json;q=0, */*", 406),
        ("/api/video/https://youtu.be/fda4eREcaTQ", "application/xml", 406),
        ("/api/quota", "text/csv", 406),
        ("/openapi.json", "application/yaml", 406),
        ("/llms.txt", "text/*", 200),
        ("/llms.txt", "application/json", 406),
        (transcript, "text/vtt", 200),
        (transcript, "text/srt", 200),
        (transcript, "text/*", 200),
        (transcript, "application/xml, text/plain;q=0.1", 200),
        (transcript, "text/html", 406),
        (text, "application/json", 406),
        (text, "text/vtt", 200),
        // A target that names its format gets it, if the route has anything for the caller.
        ("/api/transcript/txManualAsr?format=srt", "application/json", 200),
        ("/api/transcript/txManualAsr?format=srt", "text/html", 406),
        // Monitors always get an answer.
        ("/healthz", "text/html", 200),
        ("/readyz", "text/html", 200),
        ("/metrics", "application/openmetrics-text", 200),
        ("/nope", "application/xml", 404),
    ];
    for (path, accept, status) in table.into_iter().chain(table) {
        let got = get(&app, path, accept).await;
        assert_eq!(got.status, status, "{path} {accept}: {}", got.text);
        if status == 406 {
            got.problem(406);
            assert_eq!((&*got.reason(), got.cost()), ("not_acceptable", 0), "{path} {accept}");
        }
    }
    let (message, details) = get(&app, transcript, "text/html").await.problem(406);
    assert_eq!(message, "The service has no answer of a media type that Accept allows");
    assert_eq!(
        details,
        [
            "accept: possible are application/json, application/x-subrip, text/vtt, text/plain, text/csv"
        ]
    );
}

#[tokio::test]
async fn errors_are_json_whatever_the_caller_accepts() {
    let app = TestApp::new();
    get(&app, "/api/transcript/nope", "text/vtt").await.problem(400);
    get(&app, "/api/video/quirkAbsent", "application/*").await.problem(404);
    get(&app, "/nope", "text/html").await.problem(404);
}

#[tokio::test]
async fn a_rejected_request_makes_no_upstream_call() {
    let app = TestApp::new();
    for path in ["/api/video/fda4eREcaTQ", "/api/playlist/PLsize1", "/api/transcript/txManualAsr"] {
        get(&app, path, "image/png").await.problem(406);
    }
    let post =
        Request::post("/api/playlist/PLsize1/query").header("accept", "application/x-ndjson");
    app.send(post.body(Body::empty()).unwrap()).await.problem(406);
    assert_eq!(app.sim.record().calls, 0);
}

/// Each documented type of an operation can be had by its name.
#[tokio::test]
async fn every_documented_type_is_acceptable() {
    let app = TestApp::new();
    let document = serde_json::to_value(vidra_server::routes::openapi()).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            // The deletion of a job has no content.
            let types = operation["responses"]["200"]["content"].as_object();
            let target = path.replace("{id}", "!").replace("{videoId}", "!").replace("{name}", "!");
            for kind in types.into_iter().flatten().map(|(kind, _)| kind) {
                let request = Request::builder().method(method.to_uppercase().as_str());
                let request = request.uri(&target).header("accept", kind);
                let got = app.send(request.body(Body::empty()).unwrap()).await;
                assert_ne!(got.status, 406, "{method} {path} {kind}");
            }
        }
    }
}

#[tokio::test]
async fn the_text_path_answers_with_text() {
    let app = TestApp::new();
    let path = "/api/transcript/txManualAsr/text";
    for (query, kind) in [
        ("", "text/plain; charset=utf-8"),
        ("?format=txt", "text/plain; charset=utf-8"),
        ("?format=srt", "application/x-subrip; charset=utf-8"),
        ("?format=vtt", "text/vtt; charset=utf-8"),
    ] {
        let got = app.get(&format!("{path}{query}")).await;
        assert_eq!(got.header("content-type"), Some(kind), "{query}");
        assert!(serde_json::from_str::<Value>(&got.text).is_err(), "{query}");
    }
    let same = app.get("/api/transcript/txManualAsr?format=srt").await;
    assert_eq!(app.get(&format!("{path}?format=srt")).await.text, same.text);
    let (_, details) = app.get(&format!("{path}?format=json")).await.problem(400);
    assert_eq!(details, ["format: must be one of txt, srt, vtt"]);
}
