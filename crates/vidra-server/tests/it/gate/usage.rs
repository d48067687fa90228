//! Usage: what each caller used, for operators.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;
use vidra::Allowances;
use vidra_server::gate::{KeyLimits, Keys, Rules};

use super::{VIDEO, app, file, get, get_as, keys, request, with_rate};
use crate::app::{PEER, TestApp, TestResponse};

const TRANSCRIPT: &str = "/api/transcript/txManualAsr";
const BATCH: &str = "/api/playlist/PLquirkMixed/transcript";

fn operator() -> KeyLimits {
    KeyLimits { operator: true, ..KeyLimits::default() }
}

/// The rows of today, without the operator's own: name, requests, units, searches, transcripts.
async fn rows(app: &TestApp) -> Vec<(String, [u64; 4])> {
    let got = get_as(app, "operator", "/api/usage").await;
    assert_eq!((got.status.as_u16(), got.cost()), (200, 0), "{}", got.text);
    rows_of(&got.json())
}

fn rows_of(report: &Value) -> Vec<(String, [u64; 4])> {
    let days = report["days"].as_array().unwrap();
    assert!(days.len() <= 1, "{report}");
    let callers = days.iter().flat_map(|day| day["callers"].as_array().unwrap());
    let rows = callers.map(|caller| {
        let name = caller["name"].as_str().unwrap_or("-").to_owned();
        let count = |field: &str| caller[field].as_u64().unwrap();
        (name, ["requests", "units", "searches", "transcripts"].map(count))
    });
    rows.filter(|(name, _)| name != "operator").collect()
}

fn row(name: &str, counts: [u64; 4]) -> (String, [u64; 4]) {
    (name.to_owned(), counts)
}

async fn post_as(
    app: &TestApp,
    name: &str,
    path: &str,
    headers: super::Headers<'_>,
) -> TestResponse {
    let key = format!("vk_{name}");
    let headers = [headers, &[("x-api-key", &*key)]].concat();
    app.send(request("POST", path, &headers)).await
}

#[tokio::test]
async fn users_12_an_operator_sees_what_each_key_used() {
    let nobody = KeyLimits::default();
    let callers = keys(&[("operator", operator()), ("alice", nobody), ("bob", nobody)]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    assert_eq!(rows(&app).await, []);
    // A miss and a hit.
    let mut cost = 0;
    for _ in 0..2 {
        cost += get_as(&app, "alice", VIDEO).await.cost();
    }
    let searched = "/api/channel/https://www.youtube.com/c/LanternBayTapes";
    cost += get_as(&app, "alice", searched).await.cost();
    let [(_, [requests, units, searches, 0])] = rows(&app).await[..] else { panic!("one row") };
    assert_eq!((requests, searches), (3, 1));
    assert_eq!(units + searches, u64::from(cost), "the bill of the caller");
    // Cached or not, and refused: what counts is the answer.
    for (path, transcripts) in [(TRANSCRIPT, 1), (TRANSCRIPT, 2), ("/api/transcript/nope", 2)] {
        get_as(&app, "bob", path).await;
        assert_eq!(rows(&app).await[1].1[3], transcripts, "{path}");
    }
    get_as(&app, "mallory", VIDEO).await.problem(401);
    get(&app, "/openapi.json", &[("x-api-key", "vk_bob")]).await;
    assert_eq!(rows(&app).await[1], row("bob", [3, 0, 0, 2]), "neither was a request of a key");
}

#[tokio::test]
async fn users_12_only_operators_see_the_usage() {
    let callers = keys(&[("operator", operator()), ("alice", KeyLimits::default())]);
    let app = app(Rules { keys: Some(callers.clone()), ..Rules::default() });
    let refused = get_as(&app, "alice", "/api/usage").await;
    let (message, _) = refused.problem(403);
    assert_eq!(message, "Only operators may see the usage of callers");
    assert_eq!((refused.reason().as_str(), refused.cost()), ("operator_key_required", 0));
    let missing = app.get("/api/usage").await;
    missing.problem(401);
    assert_eq!(missing.reason(), "caller_key_missing");
    let report = get_as(&app, "operator", "/api/usage").await;
    assert_eq!(report.fields(""), ["days"]);
    assert_eq!(report.fields("/days/0"), ["day", "callers"]);
    let fields = ["name", "requests", "units", "searches", "transcripts"];
    assert_eq!(report.fields("/days/0/callers/0"), fields);
    // A reload gives and takes the right.
    callers.replace(&file(&[("operator", KeyLimits::default()), ("alice", operator())]));
    get_as(&app, "operator", "/api/usage").await.problem(403);
    assert_eq!(get_as(&app, "alice", "/api/usage").await.status, 200);
    // Metrics never name a caller.
    let metrics = get_as(&app, "alice", "/metrics").await.text;
    assert!(!metrics.contains("alice"), "{metrics}");
    assert!(
        metrics.contains("vidra_limited_total{reason=\"operator_key_required\"} 2"),
        "{metrics}"
    );
}

#[tokio::test]
async fn users_12_batches_and_tools_count_their_transcripts() {
    let callers = keys(&[("operator", operator()), ("alice", KeyLimits::default())]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    let whole = post_as(&app, "alice", BATCH, &[]).await;
    let succeeded = whole.json()["succeeded"].as_u64().unwrap();
    assert!(succeeded > 0, "{}", whole.text);
    assert_eq!(rows(&app).await, [row("alice", [1, u64::from(whole.cost()), 0, succeeded])]);
    // A stream has no cost in its head, and here its transcripts are cached.
    let stream = post_as(&app, "alice", BATCH, &[("accept", "application/x-ndjson")]).await;
    assert_eq!(stream.status, 200);
    assert_eq!(rows(&app).await[0].1[3], 2 * succeeded);
    let call = Request::post("/api/tools/transcribe_video")
        .header("content-type", "application/json")
        .header("x-api-key", "vk_alice")
        .body(Body::from(json!({"video": "txManualAsr"}).to_string()));
    assert_eq!(app.send(call.unwrap()).await.status, 200);
    assert_eq!(rows(&app).await[0].1[3], 2 * succeeded + 1);
}

/// Its units are spent and its results were sent.
#[tokio::test(start_paused = true)]
async fn users_12_a_batch_counts_also_if_its_caller_leaves() {
    let callers = keys(&[("operator", operator()), ("alice", KeyLimits::default())]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    app.sim.set_latency(Duration::from_secs(1));
    let headers = [("accept", "application/x-ndjson"), ("x-api-key", "vk_alice")];
    let request = request("POST", "/api/playlist/PLsize200/transcript", &headers);
    let mut stream = app.app.answer(request, PEER).await.into_body();
    let mut results = 0;
    while results < 4 {
        let line = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        results += u64::from(line.starts_with(b"{\"type\":\"result\""));
    }
    drop(stream);
    sleep(Duration::from_secs(60)).await;
    let [(_, [1, units, 0, transcripts])] = rows(&app).await[..] else { panic!("one row") };
    assert_eq!(units, app.sim.record().units.default);
    assert!(units > 0 && (1..12).contains(&transcripts), "{units} {transcripts}");
}

#[tokio::test(start_paused = true)]
async fn users_12_refused_requests_do_not_count() {
    let callers = keys(&[("operator", operator()), ("alice", with_rate("2/h"))]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    for _ in 0..5 {
        get_as(&app, "alice", VIDEO).await;
    }
    assert_eq!(rows(&app).await, [row("alice", [2, 1, 0, 0])]);
}

fn started(path: &Path, callers: &[(&str, KeyLimits)]) -> (TestApp, Arc<Keys>, Arc<Allowances>) {
    let allowances = Arc::new(Allowances::open(path.to_owned(), Timestamp::now()));
    let keys = Arc::new(Keys::with_allowances(&file(callers), Arc::clone(&allowances)));
    (app(Rules { keys: Some(Arc::clone(&keys)), ..Rules::default() }), keys, allowances)
}

#[tokio::test]
async fn users_12_usage_survives_restarts_and_is_shared_by_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("callers.json");
    let callers = [("operator", operator()), ("alice", KeyLimits::default())];
    let (one, keys_of_one, _) = started(&path, &callers);
    let (other, _, saves) = started(&path, &callers);
    for app in [&one, &other] {
        get_as(app, "alice", VIDEO).await;
        get_as(app, "alice", TRANSCRIPT).await;
    }
    saves.save(Timestamp::now());
    let both = [row("alice", [4, 2, 0, 2])];
    assert_eq!(rows(&one).await, both);
    // A revoked key keeps its rows, and a new key of the same name continues them.
    keys_of_one.replace(&file(&callers[..1]));
    assert_eq!(rows(&one).await, both);
    let (restarted, ..) = started(&path, &callers);
    assert_eq!(rows(&restarted).await, both);
    get_as(&restarted, "alice", VIDEO).await;
    assert_eq!(rows(&restarted).await[0].1[0], 5);
}

/// Without keys everybody is the same caller, and may see as much as `/api/quota` and `/metrics` show.
#[tokio::test]
async fn users_12_without_keys_all_callers_are_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("callers.json");
    let (keyed, ..) = started(&path, &[("operator", operator()), ("alice", KeyLimits::default())]);
    get_as(&keyed, "alice", VIDEO).await;
    rows(&keyed).await;
    let open_usage = Arc::new(Allowances::open(path.clone(), Timestamp::now()));
    let open = app(Rules { open_usage, ..Rules::default() });
    for path in [VIDEO, VIDEO, TRANSCRIPT, "/healthz", "/docs"] {
        assert_eq!(open.get(path).await.status, 200, "{path}");
    }
    let report = open.get("/api/usage").await;
    assert_eq!(rows_of(&report.json()), [row("-", [4, 1, 0, 1])], "no name of a key");
    assert_eq!(report.fields("/days/0/callers/0")[0], "requests", "there is no name");
    let (keyed, ..) = started(&path, &[("operator", operator())]);
    let all = rows(&keyed).await;
    assert_eq!(all, [row("-", [4, 1, 0, 1]), row("alice", [1, 1, 0, 0])]);
}
