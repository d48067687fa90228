//! Durable jobs over REST, on a library in memory and a paused clock.

pub(crate) mod access;
mod follow;
mod results;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use vidra::clock::Clock;
use vidra_library::{Library, Limits, Memory, WorkerConfig};
use vidra_server::gate::Rules;
use vidra_server::{
    Config, FetchedTranscripts, LibraryAccess, LibraryConfig, LibraryFile, Webhook, Webhooks,
};
use vidra_sim::Endpoint;

use crate::app::{PEER, TestApp, TestResponse};

/// A wall clock that follows the runtime's clock, which tests pause.
#[derive(Clone)]
struct TestClock {
    start: tokio::time::Instant,
    at: Timestamp,
}

impl TestClock {
    fn new() -> Self {
        // Ten in the morning in Los Angeles.
        let at = "2026-11-17T18:00:00Z".parse().unwrap();
        Self { start: tokio::time::Instant::now(), at }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.at + self.start.elapsed()
    }

    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}

/// A service with a library in memory.
pub(crate) struct JobApp {
    pub(crate) app: TestApp,
}

/// Names and values.
type Headers<'a> = &'a [(&'a str, &'a str)];

impl JobApp {
    /// On loopback, without keys.
    pub(crate) fn new() -> Self {
        Self::with(Rules { on_loopback: true, ..Rules::default() }, Limits::default())
    }

    pub(crate) fn with(gate: Rules, limits: Limits) -> Self {
        Self::with_access(gate, limits, false)
    }

    /// With keys that search only their own videos if `is_own`.
    pub(crate) fn with_access(gate: Rules, limits: Limits, is_own: bool) -> Self {
        let clock = TestClock::new();
        let memory = Memory::new().unwrap();
        let library = Library::in_memory(&memory, limits, Arc::new(clock.clone())).unwrap();
        let file = LibraryFile::new(library);
        let access = if is_own { LibraryAccess::Own } else { LibraryAccess::All };
        let library = LibraryConfig { access, ..LibraryConfig::new(file, WorkerConfig::default()) };
        let config = Config { gate, library: Some(library), ..Config::default() };
        Self { app: TestApp::configured(|builder| builder.clock(clock), config) }
    }

    /// On loopback, with webhooks.
    pub(crate) fn with_webhooks(webhooks: Vec<Webhook>) -> Self {
        let clock = TestClock::new();
        let library =
            Library::in_memory(&Memory::new().unwrap(), Limits::default(), Arc::new(clock.clone()))
                .unwrap();
        let library = LibraryConfig::new(LibraryFile::new(library), WorkerConfig::default());
        let gate = Rules { on_loopback: true, ..Rules::default() };
        let webhooks = Webhooks::new(webhooks);
        let config = Config { gate, library: Some(library), webhooks, ..Config::default() };
        Self { app: TestApp::configured(|builder| builder.clock(clock), config) }
    }

    /// On loopback, with a library that stores all transcripts.
    fn keeping_all() -> Self {
        let clock = Arc::new(TestClock::new());
        let library =
            Library::in_memory(&Memory::new().unwrap(), Limits::default(), clock).unwrap();
        let fetched = FetchedTranscripts::default();
        let observer = fetched.observer();
        let library = LibraryConfig {
            fetched: Some(fetched),
            ..LibraryConfig::new(LibraryFile::new(library), WorkerConfig::default())
        };
        let gate = Rules { on_loopback: true, ..Rules::default() };
        let config = Config { gate, library: Some(library), ..Config::default() };
        Self { app: TestApp::configured(|builder| builder.on_transcript(observer), config) }
    }

    /// Runs the jobs until the test ends.
    pub(crate) fn work(&self) {
        let app = self.app.app.clone();
        tokio::spawn(async move { app.run_jobs().await });
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: Headers<'_>,
        body: impl Into<Body>,
    ) -> TestResponse {
        self.app.send(request(method, path, headers, body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> TestResponse {
        let json = [("content-type", "application/json")];
        self.send("POST", path, &json, body.to_string()).await
    }

    /// Starts a job, and returns its path.
    pub(crate) async fn start(&self, body: Value) -> String {
        let got = self.post("/api/jobs", body).await;
        assert_eq!(got.status, 202, "{}", got.text);
        let path = got.header("location").unwrap().to_owned();
        assert_eq!(path, format!("/api/jobs/{}", got.json()["id"].as_str().unwrap()));
        path
    }

    /// Waits until a job has ended.
    pub(crate) async fn ended(&self, path: &str) -> Value {
        let mut seen = 0;
        loop {
            let job = self.get(&format!("{path}?wait=60&seen={seen}")).await.json();
            if matches!(job["state"].as_str(), Some("completed" | "failed" | "cancelled")) {
                return job;
            }
            seen = job["version"].as_u64().unwrap();
        }
    }

    pub(crate) async fn bytes(&self, path: &str) -> Vec<u8> {
        let response = self.app.app.answer(request("GET", path, &[], ""), PEER).await;
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }
}

pub(crate) fn request(
    method: &str,
    path: &str,
    headers: Headers<'_>,
    body: impl Into<Body>,
) -> Request<Body> {
    let uri = format!("http://localhost{path}");
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_runs_from_its_start_to_its_results() {
    let app = JobApp::new();
    app.work();
    let path = app.start(json!({"sources": ["PLsize120", "txManualAsr"], "name": "Night"})).await;
    let job = app.ended(&path).await;
    assert_eq!(
        (&job["state"], &job["total"], &job["units"]),
        (&"completed".into(), &121.into(), &3.into())
    );
    assert_eq!((&job["name"], &job["pending"]), (&"Night".into(), &0.into()));
    assert!(job.get("owner").is_none(), "{job}");
    assert_eq!(app.app.sim.record().units.default, 3);

    let listed = app.get("/api/jobs?state=completed").await.json();
    assert_eq!(listed, json!({"items": [job]}));
    assert_eq!(app.get("/api/jobs?state=queued").await.json(), json!({"items": []}));

    // Pages of items, and all of them as a stream and as a table.
    let (mut cursor, mut positions) = (String::new(), vec![]);
    loop {
        let page = app.get(&format!("{path}/items?limit=50{cursor}")).await.json();
        let items = page["items"].as_array().unwrap().clone();
        positions.extend(items.iter().map(|item| item["position"].as_u64().unwrap()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(positions.into_iter().eq(1..=121));
    let ndjson = [("accept", "application/x-ndjson")];
    let lines = app.send("GET", &format!("{path}/items"), &ndjson, "").await;
    assert_eq!(lines.text.lines().count(), 122);
    assert!(lines.text.ends_with("{\"type\":\"summary\",\"count\":121}\n"), "{}", lines.text);
    let table = app.get(&format!("{path}/items?format=csv&limit=2&fields=position,state")).await;
    assert_eq!(table.text.lines().count(), 3, "{}", table.text);
    assert!(table.text.starts_with("position,state\r\n1,"), "{}", table.text);
    assert!(table.header("x-next-cursor").unwrap().starts_with("2-"));
    let jobs = app.get("/api/jobs?format=csv").await;
    assert!(
        jobs.text.lines().next().unwrap().contains(",id,name,owner,collection,state,"),
        "{}",
        jobs.text
    );

    let failed =
        app.get(&format!("{path}/items?state=failed&reason=captions_disabled")).await.json();
    let count = job["failed"]["captions_disabled"].as_u64().unwrap_or(0);
    assert_eq!(failed["items"].as_array().unwrap().len() as u64, count);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_estimates_and_starts_nothing() {
    let app = JobApp::new();
    let body = json!({"sources": ["PLsize120", "txManualAsr", "@fermata"], "limit": 130});
    let got = app.post("/api/jobs?dryRun=true", body.clone()).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let estimate = got.json();
    assert_eq!(estimate["videos"], 130, "{estimate}");
    assert_eq!(estimate["units"], 5, "3 pages, and the channel with its only page: {estimate}");
    assert_eq!(estimate["quotaDays"], 1);
    assert_eq!(u64::from(got.cost()), app.app.sim.record().units.default);
    assert_eq!(got.cost(), 2, "the sizes of the playlist and the channel");
    assert_eq!(app.post("/api/jobs?dryRun=true", body).await.cost(), 0, "cached");
    assert_eq!(app.get("/api/jobs").await.json()["items"], json!([]));
    let got = app.post("/api/jobs?dryRun=maybe", json!({"sources": ["txManualAsr"]})).await;
    assert_eq!(got.problem(400).1, ["dryRun: must be one of false, true"]);
    let got = app.post("/api/jobs?dryRun=true", json!({"sources": ["PLquirkUnknown"]})).await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (404, "playlist_not_found"));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_with_a_key_starts_one_job() {
    let app = JobApp::new();
    let headers = [("content-type", "application/json"), ("idempotency-key", "night-1")];
    let post = async |body: Value| app.send("POST", "/api/jobs", &headers, body.to_string()).await;
    let first = post(json!({"sources": ["txManualAsr"]})).await;
    let second = post(json!({"sources": ["https://youtu.be/txManualAsr"]})).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (202, 202));
    assert_eq!(first.json()["id"], second.json()["id"]);
    let other = post(json!({"sources": ["txManualAsr"], "limit": 1})).await;
    assert_eq!((other.status.as_u16(), other.reason().as_str()), (422, "idempotency_key_reused"));
    for wrong in ["", "a b", "é", &"x".repeat(256)] {
        let headers = [("content-type", "application/json"), ("idempotency-key", wrong)];
        let got = app.send("POST", "/api/jobs", &headers, r#"{"sources": ["txManualAsr"]}"#).await;
        assert_eq!(got.problem(400).1.len(), 1, "{wrong}");
    }
    assert_eq!(app.get("/api/jobs").await.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn large_lists_are_text_or_ndjson() {
    let app = JobApp::new();
    let ids: Vec<String> = (0..50_000).map(|number| format!("id{number:09}")).collect();
    let text = [("content-type", "text/plain; charset=utf-8")];
    let path =
        "/api/jobs?lang=de,en&concurrency=7&name=All&unitBudget=0&refresh=true&since=2026-01-31";
    let got = app.send("POST", path, &text, ids.join("\n")).await;
    assert_eq!(got.status, 202, "{}", got.text);
    let job = got.json();
    assert_eq!((&job["total"], &job["sourceCount"]), (&50_000.into(), &50_000.into()));
    let options = json!({
        "type": "transcripts", "name": "All", "since": "2026-01-31T00:00:00Z", "lang": "de,en",
        "concurrency": 7, "unitBudget": 0, "refresh": true,
    });
    assert_eq!(job["options"], options);
    let ndjson = [("content-type", "application/x-ndjson")];
    let lines = "\"txManualAsr\"\n{\"id\": \"txNoCaption\"}\nPLsize1\n";
    let got = app.send("POST", "/api/jobs", &ndjson, lines).await;
    assert_eq!((got.status.as_u16(), &got.json()["sourceCount"]), (202, &3.into()));

    let more = ids.join("\n") + "\ntxManualAsr";
    let got = app.send("POST", "/api/jobs", &text, more).await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (400, "too_many_sources"));
    let got = app.send("POST", "/api/jobs", &text, "no id\n").await;
    assert!(got.problem(400).1[0].starts_with("line 1: "), "{}", got.text);
    let got = app.send("POST", "/api/jobs?lang=%21&limit=x", &text, "txManualAsr").await;
    assert_eq!(got.problem(400).1.len(), 2, "{}", got.text);
    let got = app.send("POST", "/api/jobs", &text, "x".repeat((4 << 20) + 1)).await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (413, "body_too_large"));
    let got = app.send("POST", "/api/jobs", &text, &b"\xff"[..]).await;
    assert_eq!(got.problem(400).1, ["body: must be UTF-8"]);
    let xml = [("content-type", "application/xml")];
    let got = app.send("POST", "/api/jobs", &xml, "txManualAsr").await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (415, "unsupported_media_type"));
    let packed = [("content-type", "text/plain"), ("content-encoding", "gzip")];
    assert_eq!(app.send("POST", "/api/jobs", &packed, "txManualAsr").await.status, 415);
}

#[tokio::test(start_paused = true)]
async fn bad_requests_name_every_fault() {
    let app = JobApp::new();
    let sources: Vec<String> = (0..501).map(|number| format!("id{number:09}")).collect();
    let got = app.post("/api/jobs", json!({"sources": sources})).await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (400, "too_many_sources"));
    let body = json!({"sources": ["!"], "concurrency": 21, "webhook": "http://x/"});
    assert_eq!(app.post("/api/jobs", body).await.problem(400).1.len(), 3);
    for body in ["", "null", "{}", "[]", "7", "{\"sources\": []}"] {
        let json = [("content-type", "application/json")];
        let got = app.send("POST", "/api/jobs", &json, body.to_owned()).await;
        assert_eq!(got.problem(400).1.len(), 1, "{body}");
    }
    // A member of the body wins over the query.
    let got = app
        .post("/api/jobs?limit=9&lang=de", json!({"sources": ["txManualAsr"], "limit": 3}))
        .await;
    assert_eq!(
        (&got.json()["options"]["limit"], &got.json()["options"]["lang"]),
        (&3.into(), &"de".into())
    );
    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    let wrong = [
        "/api/jobs?limit=0".to_owned(),
        "/api/jobs?limit=501".to_owned(),
        "/api/jobs?state=odd".to_owned(),
        "/api/jobs?sort=odd".to_owned(),
        "/api/jobs?fields=odd".to_owned(),
        format!("{path}?wait=61"),
        format!("{path}?wait=-1"),
        format!("{path}?seen=x"),
        format!("{path}/items?state=completed"),
        format!("{path}/items?reason=odd"),
        format!("{path}/results?format=xml"),
        format!("{path}/results?format=zip&files=txt,exe"),
        format!("{path}/events?after=x"),
    ];
    for path in wrong {
        assert_eq!(app.get(&path).await.problem(400).1.len(), 1, "{path}");
    }
    for path in ["/api/jobs?cursor=x", "/api/jobs?cursor=i1", &format!("{path}/items?cursor=j1")] {
        let got = app.get(path).await;
        assert_eq!((got.status.as_u16(), got.reason().as_str()), (400, "invalid_cursor"), "{path}");
    }
    let got = app.send("GET", &format!("{path}/events"), &[("last-event-id", "x")], "").await;
    assert_eq!(got.problem(400).1, ["last-event-id: must be a whole number"]);
    let unknown = "0".repeat(32);
    for id in ["!", "1", &unknown, "https%3A%2F%2Fyoutu.be%2FtxManualAsr"] {
        for (method, rest) in [
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/items"),
            ("GET", "/results"),
            ("GET", "/events"),
            ("POST", "/pause"),
            ("POST", "/resume"),
            ("POST", "/cancel"),
            ("POST", "/retry"),
        ] {
            let got = app.send(method, &format!("/api/jobs/{id}{rest}"), &[], "").await;
            assert_eq!(
                (got.status.as_u16(), got.reason().as_str()),
                (404, "job_not_found"),
                "{method} {id}{rest}"
            );
        }
    }
    let got = app.send("PUT", &path, &[], "").await;
    assert_eq!(got.status, 405);
    assert_eq!(app.send("GET", &path, &[("accept", "image/png")], "").await.status, 406);
}

/// Every word of an enum in the document works.
#[tokio::test(start_paused = true)]
async fn choices_are_enums() {
    let app = JobApp::new();
    app.work();
    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    app.ended(&path).await;
    let document = serde_json::to_value(vidra_server::routes::openapi()).unwrap();
    let mut words = 0;
    for (route, methods) in document["paths"].as_object().unwrap() {
        let Some(rest) = route.strip_prefix("/api/jobs") else { continue };
        let target = match rest.strip_prefix("/{id}") {
            Some(rest) => format!("{path}{rest}"),
            None => "/api/jobs".to_owned(),
        };
        for parameter in methods["get"]["parameters"].as_array().into_iter().flatten() {
            let shared = parameter["$ref"].as_str().and_then(|it| document.pointer(&it[1..]));
            let parameter = shared.unwrap_or(parameter);
            let name = parameter["name"].as_str().unwrap();
            for word in parameter["schema"]["enum"].as_array().into_iter().flatten() {
                let target = format!("{target}?{name}={}", word.as_str().unwrap());
                app.bytes(&target).await;
                words += 1;
            }
        }
    }
    assert!(words > 60, "{words}");
}

#[tokio::test(start_paused = true)]
async fn owners_change_the_state_of_a_job() {
    let app = JobApp::new();
    let path = app.start(json!({"sources": ["txManualAsr", "txNoCaption"]})).await;
    let change = async |what: &str| app.send("POST", &format!("{path}/{what}"), &[], "").await;
    for (what, state) in
        [("pause", "paused"), ("pause", "paused"), ("resume", "running"), ("resume", "running")]
    {
        let got = change(what).await;
        assert_eq!((got.status.as_u16(), &got.json()["state"]), (200, &state.into()), "{what}");
    }
    app.work();
    let job = app.ended(&path).await;
    assert_eq!(job["failed"], json!({"captions_disabled": 1}));
    for what in ["pause", "resume", "cancel"] {
        let got = change(what).await;
        assert_eq!(
            (got.status.as_u16(), got.reason().as_str()),
            (409, "job_state_conflict"),
            "{what}"
        );
    }
    let retry = async |body: Value| app.post(&format!("{path}/retry"), body).await;
    for (body, faults) in [
        (json!({"reasons": ["odd", "blocked", 7]}), 2),
        (json!({"reasons": "blocked"}), 1),
        (json!({"reason": []}), 1),
        (json!([]), 1),
    ] {
        assert_eq!(retry(body.clone()).await.problem(400).1.len(), faults, "{body}");
    }
    let none = retry(json!({"reasons": ["blocked"]})).await.json();
    assert_eq!((&none["retried"], &none["state"]), (&0.into(), &"completed".into()));
    let one = retry(json!({"reasons": ["captions_disabled"]})).await.json();
    assert_eq!(
        (&one["retried"], &one["state"], &one["pending"]),
        (&1.into(), &"running".into(), &1.into())
    );
    app.ended(&path).await;
    assert_eq!(change("retry").await.json()["retried"], 1, "an empty body is for all reasons");
    app.ended(&path).await;

    let other = app.start(json!({"sources": ["PLsize500"]})).await;
    let cancel = async || app.send("POST", &format!("{other}/cancel"), &[], "").await;
    assert_eq!(cancel().await.json()["state"], "cancelled");
    assert_eq!(cancel().await.json()["state"], "cancelled", "again");
    let got = app.send("POST", &format!("{other}/retry"), &[], "").await;
    assert_eq!((got.status.as_u16(), got.reason().as_str()), (409, "job_state_conflict"));
    let got = app.send("DELETE", &other, &[], "").await;
    assert_eq!((got.status.as_u16(), got.text.as_str()), (204, ""));
    assert_eq!(app.send("DELETE", &other, &[], "").await.status, 404);
    assert_eq!(app.get("/api/jobs").await.json()["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_fetched_transcripts_are_stored_if_the_operator_wants_it() {
    let app = JobApp::keeping_all();
    app.work();
    for path in ["/api/transcript/txManualAsr", "/api/transcript/txNoCaption"] {
        // The second request is a cache hit.
        app.get(path).await;
        app.get(path).await;
    }
    let metrics = app.get("/metrics").await.text;
    assert!(metrics.contains("vidra_library_kept_total{outcome=\"stored\"} 1\n"), "{metrics}");
    let players = || app.app.sim.record().calls_to(Endpoint::Player);
    let before = players();
    let path = app.start(json!({"sources": ["txManualAsr"]})).await;
    assert_eq!(app.ended(&path).await["succeeded"], 1);
    assert_eq!(players(), before);
}
