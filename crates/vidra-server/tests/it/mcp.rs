//! `/mcp` and `POST /api/tools/{name}`: access, charges, errors, cancellation and shutdown.

mod rates;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::sleep;
use vidra_server::Config;
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{PEER, TestApp, TestResponse};

type Headers<'a> = &'a [(&'a str, &'a str)];

fn app(rules: Rules) -> TestApp {
    TestApp::configured(|builder| builder, Config { gate: rules, ..Config::default() })
}

/// A request with a message of a client.
fn message(body: &Value, headers: Headers<'_>) -> Request<Body> {
    let mut request = Request::post("/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let host = ("host", "localhost");
    let is_named = headers.iter().any(|(name, _)| *name == "host");
    for (name, value) in headers.iter().chain((!is_named).then_some(&host)) {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_string())).unwrap()
}

async fn send(app: &TestApp, body: &Value, headers: Headers<'_>) -> TestResponse {
    app.send(message(body, headers)).await
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments}})
}

/// Opens a session and returns its id.
async fn session(app: &TestApp, headers: Headers<'_>) -> String {
    let got = send(app, &initialize(), headers).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let session = got.header("mcp-session-id").expect("a session").to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let headers = [headers, &[("mcp-session-id", &session)]].concat();
    assert_eq!(send(app, &initialized, &headers).await.status, 202);
    session
}

/// The last message of an event stream.
fn answer(got: &TestResponse) -> Value {
    let data = got.text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages: Vec<Value> = data.filter_map(|it| serde_json::from_str(it).ok()).collect();
    messages.last().cloned().unwrap_or_else(|| panic!("no answer in {}", got.text))
}

#[tokio::test]
async fn a_session_calls_tools_until_it_is_closed() {
    let app = TestApp::new();
    let session = session(&app, &[]).await;
    assert!(session.len() >= 32, "{session} must not be guessable");
    let headers: Headers<'_> = &[("mcp-session-id", &session)];
    let got = send(&app, &call("get_video", &json!({"video": "fda4eREcaTQ"})), headers).await;
    assert_eq!(answer(&got)["result"]["structuredContent"]["video"]["id"], "fda4eREcaTQ");
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let close = Request::delete("http://localhost/mcp")
        .header("mcp-session-id", &session)
        .body(Body::empty());
    assert_eq!(app.send(close.unwrap()).await.status, 204);
    send(&app, &call("get_video", &json!({})), headers).await.problem(404);
}

#[tokio::test]
async fn invalid_mcp_requests_get_the_usual_error_shape() {
    let app = TestApp::new();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    send(&app, &list, &[("mcp-session-id", "6f1c9d2e-0000-4000-8000-000000000000")])
        .await
        .problem(404);
    send(&app, &list, &[]).await.problem(400);
    let session = session(&app, &[]).await;
    let bad_version =
        [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1999-01-01")];
    send(&app, &list, &bad_version).await.problem(400);
    let plain = Request::post("http://localhost/mcp")
        .header("accept", "application/json, text/event-stream");
    app.send(plain.body(Body::from("{}")).unwrap()).await.problem(415);
    let other = Request::post("http://localhost/mcp").header("accept", "application/json");
    app.send(other.body(Body::from("{}")).unwrap()).await.problem(406);
    for body in
        ["", "{", "[]", "\u{feff}{}", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"]
    {
        let request = Request::post("http://localhost/mcp").header("mcp-session-id", &session);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("content-type", "application/json");
        app.send(request.body(Body::from(body)).unwrap()).await.problem(400);
    }
    send(&app, &json!("x".repeat(140_000)), &[]).await.problem(413);
    let got = app.method(axum::http::Method::PUT, "http://localhost/mcp").await;
    got.problem(405);
    assert_eq!(got.header("allow"), Some("GET, POST, DELETE"));
    app.get("/mcp/more").await.problem(404);
}

/// curl sends `Accept: */*`.
#[tokio::test]
async fn a_client_that_accepts_every_type_is_answered() {
    let app = TestApp::new();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    for accept in [Some("*/*"), Some("application/*, text/*;q=0.5"), None] {
        let mut request = Request::post("http://localhost/mcp");
        request = request.header("content-type", "application/json");
        if let Some(accept) = accept {
            request = request.header("accept", accept);
        }
        let got = app.send(request.body(Body::from(body.to_string())).unwrap()).await;
        assert_eq!(got.status.as_u16(), 200, "{accept:?}");
    }
}

#[tokio::test]
async fn mcp_can_be_disabled() {
    let config = Config { mcp: false, ..Config::default() };
    let app = TestApp::configured(|builder| builder, config);
    send(&app, &initialize(), &[]).await.problem(404);
    let got = app.post("/api/tools/get_video", json!({"video": "fda4eREcaTQ"})).await;
    assert_eq!(got.status, 200, "tools stay available over REST");
}

/// Matrix of host and origin. Beyond loopback and without listed hosts any host name is accepted, but the origin
/// is still checked.
#[tokio::test]
async fn foreign_hosts_and_origins_are_rejected() {
    let hosts = [
        ("127.0.0.1:3000", true),
        ("localhost:3000", true),
        ("[::1]:3000", true),
        ("evil.example", false),
        ("evil.example:3000", false),
        ("127.0.0.1.evil.example", false),
    ];
    let origins = [
        (None, true),
        (Some("http://localhost:3000"), true),
        (Some("https://app.example.org"), true),
        (Some("null"), false),
        (Some("http://evil.example"), false),
        (Some("https://localhost.evil.example"), false),
    ];
    for on_loopback in [true, false] {
        let origins_listed = vec!["https://app.example.org".parse().unwrap()];
        let app = app(Rules { on_loopback, origins: origins_listed, ..Rules::default() });
        for (host, is_own) in hosts {
            for (origin, is_known) in origins {
                let mut headers = vec![("host", host)];
                headers.extend(origin.map(|origin| ("origin", origin)));
                let got = send(&app, &initialize(), &headers).await;
                let expected = (is_own || !on_loopback) && is_known;
                let is_accepted = got.status == 200;
                assert_eq!(is_accepted, expected, "{on_loopback} {host} {origin:?}: {}", got.text);
                assert!(is_accepted || matches!(got.status.as_u16(), 403 | 421), "{}", got.status);
            }
        }
    }
}

fn keys(callers: &[(&str, KeyLimits)]) -> Rules {
    let mut file = KeyFile::default();
    for (name, limits) in callers {
        let key = format!("vk_{name}");
        file.add(name.parse().unwrap(), &key, *limits, SystemTime::UNIX_EPOCH).unwrap();
    }
    Rules { keys: Some(Arc::new(Keys::new(&file))), ..Rules::default() }
}

#[tokio::test]
async fn calls_are_charged_to_their_key_and_sessions_are_bound_to_it() {
    let poor = KeyLimits { units: Some(1), ..KeyLimits::default() };
    let app = app(keys(&[("poor", poor), ("rich", KeyLimits::default())]));
    send(&app, &initialize(), &[]).await.problem(401);
    let (as_poor, as_rich) = (("x-api-key", "vk_poor"), ("authorization", "Bearer vk_rich"));
    let session = session(&app, &[as_poor]).await;
    let in_session = ("mcp-session-id", session.as_str());
    let fails = async |key, video: &str| {
        let got =
            send(&app, &call("get_video", &json!({"video": video})), &[key, in_session]).await;
        answer(&got)["result"]["isError"] == json!(true)
    };
    assert!(!fails(as_poor, "fda4eREcaTQ").await, "the first is within the budget");
    assert!(fails(as_poor, "quirkNoLike").await, "the second is not");
    send(&app, &call("get_video", &json!({})), &[in_session]).await.problem(401);
    // A session can replay its messages, so that no other key may use it.
    let from_rich = [as_rich, in_session];
    send(&app, &call("get_video", &json!({"video": "quirkNoLike"})), &from_rich).await.problem(404);
    for method in ["GET", "DELETE"] {
        let request = Request::builder().method(method).uri("http://localhost/mcp");
        let mut request =
            request.header("accept", "text/event-stream").header("last-event-id", "0/0");
        for (name, value) in from_rich {
            request = request.header(name, value);
        }
        app.send(request.body(Body::empty()).unwrap()).await.problem(404);
    }
    let own = self::session(&app, &[as_rich]).await;
    let got = call("get_video", &json!({"video": "quirkNoLike"}));
    let got = send(&app, &got, &[as_rich, ("mcp-session-id", &own)]).await;
    assert_eq!(answer(&got)["result"]["isError"], json!(false), "each key has its own budget");
}

/// A caller that opens one session for each call loses its oldest ones.
#[tokio::test]
async fn users_21_one_caller_cannot_take_all_sessions() {
    let app = app(keys(&[("many", KeyLimits::default()), ("other", KeyLimits::default())]));
    let (many, other) = (("x-api-key", "vk_many"), ("x-api-key", "vk_other"));
    let status_of_ping = async |key, session: &str| {
        let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
        send(&app, &ping, &[key, ("mcp-session-id", session)]).await.status.as_u16()
    };
    let kept = session(&app, &[other]).await;
    let mut sessions = vec![];
    for _ in 0..102 {
        sessions.push(session(&app, &[many]).await);
    }
    let statuses =
        [status_of_ping(many, &sessions[1]).await, status_of_ping(many, &sessions[2]).await];
    assert_eq!(statuses, [404, 200]);
    assert_eq!(status_of_ping(other, &kept).await, 200);
}

/// Sessions with a call that runs are not closed, so that a caller can still have too many.
#[tokio::test]
async fn a_session_is_refused_while_all_others_of_the_caller_are_busy() {
    let app = app(keys(&[("busy", KeyLimits::default()), ("other", KeyLimits::default())]));
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let key = ("x-api-key", "vk_busy");
    let video = call("get_video", &json!({"video": "fda4eREcaTQ"}));
    let mut streams = vec![];
    for _ in 0..100 {
        let session = session(&app, &[key]).await;
        let request = message(&video, &[key, ("mcp-session-id", &session)]);
        streams.push(app.app.answer(request, PEER).await);
    }
    let refused = send(&app, &initialize(), &[key]).await;
    let (message, _) = refused.problem(429);
    assert!(message.starts_with("You have too many MCP sessions"), "{message}");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(send(&app, &initialize(), &[("x-api-key", "vk_other")]).await.status, 200);
}

/// Cancelling a call stops its work.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_sends_no_further_requests() {
    let app = Arc::new(TestApp::uncached());
    let session = session(&app, &[]).await;
    app.sim.set_latency(Duration::from_secs(1));
    let running = {
        let (app, session) = (Arc::clone(&app), session.clone());
        tokio::spawn(async move {
            let all = json!({"playlist": "PLsize200", "max_chars": 200_000});
            let headers: Headers<'_> = &[("mcp-session-id", &session)];
            send(&app, &call("transcribe_playlist", &all), headers).await
        })
    };
    let players = || app.sim.record().calls_to(Endpoint::Player);
    while players() < 3 {
        sleep(Duration::from_millis(100)).await;
    }
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    send(&app, &cancelled, &[("mcp-session-id", &session)]).await;
    let before = players();
    sleep(Duration::from_secs(60)).await;
    assert!(players() <= before + 3, "{before} and then {}", players());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn event_streams_end_when_the_service_drains() {
    let app = TestApp::new();
    let session = session(&app, &[]).await;
    let listen = Request::get("http://localhost/mcp").header("accept", "text/event-stream");
    let listen = listen.header("mcp-session-id", &session).body(Body::empty()).unwrap();
    let response = app.app.answer(listen, PEER).await;
    assert_eq!(response.status(), 200);
    app.app.drain();
    let rest = tokio::time::timeout(Duration::from_secs(1), response.into_body().collect()).await;
    assert!(rest.is_ok(), "the stream does not end");
}

#[tokio::test]
async fn tools_can_be_called_over_rest() {
    let app = TestApp::new();
    let got = app.post("/api/tools/get_video", json!({"video": "fda4eREcaTQ"})).await;
    assert_eq!(got.json()["structuredContent"]["video"]["id"], "fda4eREcaTQ");
    assert!(got.json()["text"].as_str().unwrap().contains("<youtube-data "));
    assert_eq!(got.cost(), 1);
    let (_, details) = app.post("/api/tools/get_video", json!({"video": "x"})).await.problem(400);
    let fault = "video: \"x\" is not valid: Not a valid video identifier: x";
    assert!(details[0].starts_with(fault), "{details:?}");
    app.post("/api/tools/get_video", "").await.problem(400);
    app.post("/api/tools/get_video", "[1]").await.problem(400);
    let (message, _) = app.post("/api/tools/download", json!({})).await.problem(404);
    assert_eq!(message, "Tool not found: download");
    let got = app.post("/api/tools/get_video", json!({"video": "quirkAbsent"})).await;
    let (message, details) = got.problem(404);
    assert_eq!(message, "Video not found: quirkAbsent");
    assert!(matches!(&*details, [advice] if advice.starts_with("what to do: check the id")));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let arguments = json!({"video": "plBotWall__"});
    let got = app.post("/api/tools/transcribe_video", arguments).await;
    let (_, details) = got.problem(502);
    assert_eq!(got.reason(), "blocked");
    assert!(details.last().unwrap().starts_with("what to do: YouTube takes this"), "{details:?}");
    assert!(got.header("retry-after").is_some());
    app.get("/api/tools/get_video").await.problem(405);
}

/// Transcribing a playlist is a batch, by a tool as by its own endpoint.
#[tokio::test]
async fn tools_count_towards_the_batch_limit() {
    let config = Config { batches_per_caller: 1, ..Config::default() };
    let app = TestApp::configured(|builder| builder, config);
    app.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
    let request = Request::post("/api/playlist/PLsize50/transcript");
    let request = request.header("accept", "application/x-ndjson").body(Body::empty()).unwrap();
    let first = app.app.answer(request, PEER).await;
    assert_eq!(first.status(), 200);
    let all = json!({"playlist": "PLsize1"});
    app.post("/api/tools/transcribe_playlist", &all).await.problem(429);
    let session = session(&app, &[]).await;
    let headers: Headers<'_> = &[("mcp-session-id", &session)];
    let got = answer(&send(&app, &call("transcribe_playlist", &all), headers).await);
    let text = got["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Too many playlists are being transcribed for you"), "{got}");
    drop(first);
    app.sim.clear_faults();
    assert_eq!(app.post("/api/tools/transcribe_playlist", &all).await.status, 200);
}

/// A failed tool call is a response with status 200, so only the tool itself knows of the refusal.
#[tokio::test]
async fn review_o5_refusals_of_tool_calls_are_counted() {
    let app = TestApp::uncached();
    let session = session(&app, &[]).await;
    app.sim.inject(Fault::on(Endpoint::Videos, Action::quota_exceeded()));
    let headers: Headers<'_> = &[("mcp-session-id", &session)];
    let got = send(&app, &call("get_video", &json!({"video": "fda4eREcaTQ"})), headers).await;
    assert_eq!(answer(&got)["result"]["isError"], true, "{}", got.text);
    let metrics = app.get("/metrics").await.text;
    assert!(metrics.contains("\nvidra_limited_total{reason=\"quota_exhausted\"} 1\n"), "{metrics}");
}

/// The client of a lost stream requests the rest of it with GET, also while the service shuts down.
#[tokio::test(start_paused = true)]
async fn users_22_a_lost_stream_is_resumed_with_its_answer() {
    let app = TestApp::uncached();
    let session = session(&app, &[]).await;
    app.sim.set_latency(Duration::from_secs(1));
    let video = call("get_video", &json!({"video": "fda4eREcaTQ"}));
    let request = message(&video, &[("mcp-session-id", &session)]);
    let mut lost = app.app.answer(request, PEER).await;
    let priming = lost.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    let priming = String::from_utf8(priming.to_vec()).unwrap();
    let id = priming.lines().find_map(|line| line.strip_prefix("id:")).unwrap().trim();
    drop(lost);
    let resume = || {
        let request = Request::get("http://localhost/mcp").header("accept", "text/event-stream");
        let request = request.header("mcp-session-id", &session).header("last-event-id", id);
        request.body(Body::empty()).unwrap()
    };
    let running = app.app.answer(resume(), PEER).await;
    app.app.drain();
    let rest = running.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&rest).contains("structuredContent"), "{rest:?}");
    let got = app.send(resume()).await;
    assert_eq!(answer(&got)["result"]["structuredContent"]["video"]["id"], "fda4eREcaTQ");
    assert_eq!(app.sim.record().calls_to(Endpoint::Videos), 1);
}
