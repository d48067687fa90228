//! Who sees which jobs, and services without a library.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use futures_util::{FutureExt, stream};
use serde_json::{Value, json};
use vidra::Reason;
use vidra_library::{Limits, WorkerConfig};
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_server::{Config, LibraryConfig, LibraryFile};

use super::{JobApp, request};
use crate::app::{PEER, TestApp, TestResponse};

const JSON: (&str, &str) = ("content-type", "application/json");

pub(crate) fn file(names: &[&str]) -> KeyFile {
    let mut file = KeyFile::default();
    for name in names {
        let operator = *name == "operator";
        let limits = KeyLimits { operator, ..KeyLimits::default() };
        let key = format!("vk_{name}");
        file.add(name.parse().unwrap(), &key, limits, SystemTime::UNIX_EPOCH).unwrap();
    }
    file
}

/// Sends a request with the key of this name.
pub(crate) async fn send(
    app: &JobApp,
    name: &str,
    method: &str,
    path: &str,
    body: Value,
) -> TestResponse {
    let key = format!("vk_{name}");
    app.send(method, path, &[JSON, ("x-api-key", &key)], body.to_string()).await
}

#[tokio::test(start_paused = true)]
async fn callers_see_their_own_jobs_and_operators_all() {
    let keys = Arc::new(Keys::new(&file(&["alice", "bob", "operator"])));
    let app = JobApp::with(
        Rules { keys: Some(Arc::clone(&keys)), ..Rules::default() },
        Limits::default(),
    );
    app.work();
    let body = json!({"sources": ["PLsize50"]});
    let got = send(&app, "alice", "POST", "/api/jobs", body.clone()).await;
    assert_eq!((got.status.as_u16(), &got.json()["owner"]), (202, &"alice".into()));
    let path = got.header("location").unwrap().to_owned();
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/items"),
        ("GET", "/results"),
        ("GET", "/events"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("POST", "/retry"),
        ("DELETE", ""),
    ] {
        let got = send(&app, "bob", method, &format!("{path}{rest}"), json!({})).await;
        assert_eq!((got.status.as_u16(), got.reason().as_str()), (404, "job_not_found"), "{rest}");
        let got = app.send(method, &format!("{path}{rest}"), &[], "").await;
        assert_eq!(got.status, 401, "{rest}");
    }
    let count = async |name: &str| {
        let got = send(&app, name, "GET", "/api/jobs", Value::Null).await;
        got.json()["items"].as_array().unwrap().len()
    };
    assert_eq!((count("alice").await, count("bob").await, count("operator").await), (1, 0, 1));
    // The job is billed to its owner.
    loop {
        let got = send(&app, "operator", "GET", &format!("{path}?wait=60"), Value::Null).await;
        if got.json()["state"] == "completed" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    let usage = send(&app, "operator", "GET", "/api/usage", Value::Null).await.json();
    let callers = usage["days"][0]["callers"].as_array().unwrap();
    let units = |name: &str| callers.iter().find(|it| it["name"] == name).unwrap()["units"].clone();
    assert_eq!((units("alice"), units("bob")), (1.into(), 0.into()), "{usage}");
    // The jobs of a revoked key pause.
    let path = send(&app, "alice", "POST", "/api/jobs", json!({"sources": ["PLsize500"]})).await;
    let path = path.header("location").unwrap().to_owned();
    keys.replace(&file(&["bob", "operator"]));
    tokio::time::sleep(std::time::Duration::from_secs(1200)).await;
    let job = send(&app, "operator", "GET", &path, Value::Null).await.json();
    assert_eq!(job["state"], "paused", "{job}");
    assert_eq!(send(&app, "operator", "DELETE", &path, Value::Null).await.status, 204);
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_a_limit_of_unfinished_jobs() {
    let limits = Limits::default().with_unfinished_jobs(Some(2));
    let app = JobApp::with(Rules { on_loopback: true, ..Rules::default() }, limits);
    let body = json!({"sources": ["txManualAsr"]});
    let path = app.start(body.clone()).await;
    app.start(body.clone()).await;
    let got = app.post("/api/jobs", body.clone()).await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (429, "too_many_jobs"));
    assert_eq!(got.header("retry-after"), Some("60"));
    app.send("POST", &format!("{path}/cancel"), &[], "").await;
    app.start(body).await;
}

/// A job that has ended runs again after a retry, and counts as unfinished then.
#[tokio::test(start_paused = true)]
async fn a_retry_counts_as_an_unfinished_job() {
    let limits = Limits::default().with_unfinished_jobs(Some(1));
    let app = JobApp::with(Rules { on_loopback: true, ..Rules::default() }, limits);
    app.work();
    let ended = app.start(json!({"sources": ["txNoCaption"]})).await;
    app.ended(&ended).await;
    let paused = app.start(json!({"sources": ["txManualAsr"]})).await;
    app.send("POST", &format!("{paused}/pause"), &[], "").await;
    let got = app.send("POST", &format!("{ended}/retry"), &[], "").await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (429, "too_many_jobs"));
}

#[tokio::test(start_paused = true)]
async fn a_caller_follows_a_limited_number_of_jobs() {
    let keys = Some(Arc::new(Keys::new(&file(&["anna", "ben"]))));
    let app = JobApp::with(Rules { keys, ..Rules::default() }, Limits::default());
    let started =
        send(&app, "anna", "POST", "/api/jobs", json!({"sources": ["txManualAsr"]})).await;
    let path = started.header("location").unwrap().to_owned();
    let (events, wait) = (format!("{path}/events"), format!("{path}?wait=1&seen=9"));
    let mut open = vec![];
    for _ in 0..50 {
        let request = request("GET", &events, &[("x-api-key", "vk_anna")], "");
        let response = app.app.app.answer(request, PEER).await;
        assert_eq!(response.status(), 200);
        open.push(response);
    }
    for path in [&events, &wait] {
        let got = send(&app, "anna", "GET", path, Value::Null).await;
        assert_eq!((got.status.as_u16(), got.reason().as_str()), (429, "too_many_followers"));
        assert_eq!(got.header("retry-after"), Some("10"));
    }
    let at_once = send(&app, "anna", "GET", &path, Value::Null).await;
    assert_eq!(at_once.status, 200, "without a wait it follows nothing");
    open.pop();
    assert_eq!(send(&app, "anna", "GET", &wait, Value::Null).await.status, 200);
}

/// A slow reader holds a page of results, so the number of readers is limited.
#[tokio::test(start_paused = true)]
async fn downloads_of_results_are_limited() {
    let names = ["anna", "ben", "carl", "dora", "emil"];
    let keys = Some(Arc::new(Keys::new(&file(&names))));
    let app = JobApp::with(Rules { keys, ..Rules::default() }, Limits::default());
    let mut paths = vec![];
    for name in names {
        let started =
            send(&app, name, "POST", "/api/jobs", json!({"sources": ["txManualAsr"]})).await;
        paths.push(format!("{}/results", started.header("location").unwrap()));
    }
    let download = async |caller: usize| {
        let key = format!("vk_{}", names[caller]);
        let request = request("GET", &paths[caller], &[("x-api-key", &key)], "");
        app.app.app.answer(request, PEER).await
    };
    let mut open = vec![];
    for caller in 0..4 {
        for _ in 0..4 {
            let response = download(caller).await;
            assert_eq!(response.status(), 200);
            open.push(response);
        }
    }
    for (name, path, refused) in [(0, 0, (429, "too_many_downloads")), (4, 4, (503, "overloaded"))]
    {
        let got = send(&app, names[name], "GET", &paths[path], Value::Null).await;
        assert_eq!((got.status.as_u16(), got.reason().as_str()), refused);
        assert_eq!(got.header("retry-after"), Some("10"));
    }
    open.pop();
    for _ in 0..2 {
        let got = send(&app, "emil", "GET", &paths[4], Value::Null).await;
        assert_eq!(got.status, 200, "a download that has ended returns its slot");
    }
}

#[tokio::test(start_paused = true)]
async fn uploads_of_lists_are_limited() {
    let keys = Some(Arc::new(Keys::new(&file(&["anna", "ben", "carl"]))));
    let app = JobApp::with(Rules { keys, ..Rules::default() }, Limits::default());
    let list = |name: &str, body| {
        let builder = Request::post("/api/jobs").header("x-api-key", format!("vk_{name}"));
        builder.header("content-type", "text/plain").body(body).unwrap()
    };
    let mut open = vec![];
    for name in ["anna", "ben"] {
        for _ in 0..4 {
            let endless = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
            let mut answer = Box::pin(app.app.app.answer(list(name, endless), PEER));
            assert!((&mut answer).now_or_never().is_none(), "the body has not arrived");
            open.push(answer);
        }
        let got = app.app.send_from(list(name, Body::from("txManualAsr")), PEER).await;
        assert_eq!((got.status.as_u16(), got.reason().as_str()), (503, "overloaded"));
        assert_eq!(got.header("retry-after"), Some("1"));
    }
    let body = json!({"sources": ["txManualAsr"]});
    assert_eq!(send(&app, "carl", "POST", "/api/jobs", body).await.status, 202, "it is no list");
    let got = app.app.send_from(list("carl", Body::from("txManualAsr")), PEER).await;
    assert_eq!(got.status, 503, "all callers together have too many");
    open.pop();
    let got = app.app.send_from(list("carl", Body::from("txManualAsr")), PEER).await;
    assert_eq!(got.status, 202);
    let large = json!({"sources": ["x".repeat(200_000)]});
    assert_eq!(send(&app, "carl", "POST", "/api/jobs", large).await.status, 413);
}

#[tokio::test(start_paused = true)]
async fn without_a_library_there_are_no_jobs() {
    let off = TestApp::new();
    let got = off.get("/api/jobs").await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (404, "library_off"));
    // Without keys and beyond loopback anybody could read the jobs of others.
    let public = JobApp::with(Rules::default(), Limits::default());
    for got in [public.get("/api/jobs").await, public.post("/api/jobs", json!({})).await] {
        assert_eq!((got.status.as_u16(), got.reason().as_str()), (404, "library_off"));
        assert_eq!(got.problem(404).1, ["library: without keys it works on loopback only"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_library_that_cannot_be_opened_stops_no_other_request() {
    let file = LibraryFile::unavailable(|| Err(vidra::Error::new(Reason::LibraryUnavailable, "x")));
    let library = Some(LibraryConfig::new(file, WorkerConfig::default()));
    let gate = Rules { on_loopback: true, ..Rules::default() };
    let config = Config { gate, library, ..Config::default() };
    let app = JobApp { app: TestApp::configured(|builder| builder, config) };
    let jobs = app.app.app.clone();
    let jobs = tokio::spawn(async move { jobs.run_jobs().await });
    let got = app.get("/api/jobs").await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (503, "library_unavailable"));
    assert_eq!(got.header("retry-after"), Some("30"));
    assert_eq!(app.get("/api/video/fda4eREcaTQ").await.status, 200);
    let ready = app.get("/readyz").await;
    assert_eq!(ready.status, 200);
    let degraded = ready.json()["degraded"].to_string();
    assert!(degraded.contains("library: "), "{degraded}");
    let metrics = app.get("/metrics").await.text;
    assert!(metrics.contains("vidra_degraded{what=\"library_failing\"} 1"), "{metrics}");
    app.app.app.drain();
    jobs.await.unwrap();
}
