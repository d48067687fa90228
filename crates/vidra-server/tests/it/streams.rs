//! Streamed batches: heartbeats, errors in the middle, disconnects.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use vidra_server::Config;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{PEER, TestApp};
use crate::transcripts::{batch, event};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const SSE: &str = "text/event-stream";

#[tokio::test(start_paused = true)]
async fn review_o4_a_stream_is_never_silent_for_more_than_15_seconds() {
    for accept in [NDJSON, SSE] {
        for slow_from in [1, 2] {
            check_heartbeat(accept, slow_from).await;
        }
    }
}

/// Streams two entries, which wait 100 seconds each for their player, beginning with entry `from`.
async fn check_heartbeat(accept: &str, from: u64) {
    let app = TestApp::with(|builder| builder.attempt_timeout(Duration::from_secs(300)));
    let slow = Action::delay(Duration::from_secs(100));
    app.sim.inject(Fault::on(Endpoint::Player, slow).from_call(from));
    let request = Request::post("/api/playlist/PLsize50/transcript")
        .header("accept", accept)
        .header("content-type", JSON);
    let body = json!({"concurrency": 1, "to": 2}).to_string();
    let started = Instant::now();
    let response = app.app.answer(request.body(Body::from(body)).unwrap(), PEER).await;
    assert_eq!(started.elapsed().as_secs(), 0, "the stream begins before the first result");
    assert_eq!(response.headers()["x-accel-buffering"], "no", "nginx passes each line on");
    let mut body = response.into_body();
    let (mut waiting, mut others) = (vec![], 0);
    while let Some(frame) = body.frame().await {
        let text = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
        if text.contains(r#"{"type":"waiting","waiting":0.0}"#) {
            waiting.push(started.elapsed().as_secs() % 100);
        } else {
            others += 1;
        }
    }
    let slow_ones = 3 - from;
    assert_eq!(waiting, [15, 30, 45, 60, 75, 90].repeat(slow_ones as usize));
    let whole = (others, started.elapsed().as_secs());
    assert_eq!(whole, (3, 100 * slow_ones), "two results and the summary");
}

#[tokio::test]
async fn the_response_head_is_sent_before_the_first_result() {
    for accept in [NDJSON, SSE] {
        let app = TestApp::new();
        app.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
        let mut caller = call(app.listening().await, accept, "PLsize50").await;
        read_until(&mut caller, &format!("content-type: {accept}\r\n")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_events_have_millisecond_precision() {
    let pace = vidra::Pace { burst: 1, per_hour: 1300 };
    let app = TestApp::with(|builder| builder.pacing(vidra::Pacing::At(pace)));
    let got = batch(&app, "PLsize50", NDJSON, &json!({"concurrency": 2, "to": 2})).await;
    assert!(got.text.contains("{\"type\":\"waiting\",\"waiting\":2.769}\n"), "{}", got.text);
}

#[tokio::test(start_paused = true)]
async fn a_stream_reports_that_entries_wait_for_the_pace() {
    let pace = vidra::Pace { burst: 1, per_hour: 1800 };
    let app = TestApp::uncached_with(|builder| builder.pacing(vidra::Pacing::At(pace)));
    let body = json!({"concurrency": 2, "to": 2});
    let got = batch(&app, "PLsize50", NDJSON, &body).await;
    assert_eq!(
        got.text.lines().filter(|line| *line == r#"{"type":"waiting","waiting":2.0}"#).count(),
        1
    );
    tokio::time::advance(Duration::from_secs(60)).await;
    let got = batch(&app, "PLsize50", SSE, &body).await;
    let events: Vec<_> = got.text.trim_end().split("\n\n").map(event).collect();
    let waiting: Vec<_> = events.iter().filter(|(name, ..)| *name == "waiting").collect();
    assert_eq!((waiting.len(), &waiting[0].2), (1, &json!({"type": "waiting", "waiting": 2.0})));
}

/// A service whose platform fails at the fifth page, after some results.
fn failing_at_page_five() -> TestApp {
    let app = TestApp::new();
    app.sim.set_latency(Duration::from_millis(100));
    app.sim.inject(Fault::on(Endpoint::PlaylistItems, Action::error("backendError")).from_call(5));
    app
}

#[tokio::test(start_paused = true)]
async fn a_listing_failure_is_an_error_at_the_end_of_the_stream() {
    let expected = batch(&failing_at_page_five(), "PLsize500", JSON, &json!({})).await;
    assert_eq!(expected.problem(502).1, Vec::<String>::new());
    let mut expected = expected.json();
    expected["type"] = "error".into();

    let got = batch(&failing_at_page_five(), "PLsize500", NDJSON, &json!({})).await;
    assert_eq!(got.status.as_u16(), 200);
    let mut lines: Vec<Value> =
        got.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.pop(), Some(expected.clone()), "the error of the whole response");
    assert_eq!(lines.iter().filter(|line| line["status"] == "success").count(), 200);
    assert_eq!(lines.len(), 200, "all listed entries");

    let got = batch(&failing_at_page_five(), "PLsize500", SSE, &json!({})).await;
    let mut events: Vec<_> = got.text.trim_end().split("\n\n").map(event).collect();
    let (name, id, data) = events.pop().unwrap();
    assert_eq!((name, id, data), ("error", &*(events.len() + 1).to_string(), expected));
    assert_eq!(events.iter().filter(|(name, ..)| *name == "result").count(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_with_an_error_has_a_complete_body() {
    for (accept, last) in [(NDJSON, "{\"type\":\"error\",\"error\":"), (SSE, "event: error\n")] {
        let app = failing_at_page_five();
        let mut caller = call(app.listening().await, accept, "PLsize500").await;
        let mut answer = String::new();
        caller.read_to_string(&mut answer).await.unwrap();
        let (_, rest) = answer.split_once(last).expect("an error");
        assert!(rest.ends_with("\r\n0\r\n\r\n"), "the last chunk of a complete body: {rest}");
        assert_eq!(app.sim.record().in_flight, 0);
    }
}

#[tokio::test]
async fn a_disconnect_cancels_the_batch() {
    for (accept, results) in [(JSON, 0), (JSON, 2), (NDJSON, 0), (NDJSON, 2), (SSE, 0), (SSE, 2)] {
        let app = with_short_timeout();
        // After that many results the player hangs. A fetch in flight may be shared, so it continues until its
        // timeout.
        app.sim.inject(Fault::on(Endpoint::Player, Action::Hang).from_call(results + 1));
        let mut caller = call(app.listening().await, accept, "PLsize50").await;
        let hanging = app.sim.until(|record| {
            record.calls_to(Endpoint::Player) == results + 3 && record.in_flight == 3
        });
        timeout(LONG, hanging).await.expect("three calls are in flight");
        if results > 0 && accept != JSON {
            read_until(&mut caller, "\"position\":2").await;
        }
        let calls = app.sim.record().calls;
        drop(caller);
        let over = app.sim.until(|record| record.in_flight == 0);
        timeout(LONG, over)
            .await
            .unwrap_or_else(|_| panic!("{accept}, {results}: calls are still in flight"));
        assert_eq!(app.sim.record().calls, calls, "{accept}, {results}: a new call began");
    }
}

#[tokio::test]
async fn a_disconnect_while_listing_cancels_the_listing() {
    for accept in [JSON, NDJSON, SSE] {
        let app = with_short_timeout();
        app.sim.inject(Fault::on(Endpoint::PlaylistItems, Action::Hang));
        let caller = call(app.listening().await, accept, "PLsize50").await;
        timeout(LONG, app.sim.until(|record| record.in_flight == 1)).await.unwrap();
        drop(caller);
        timeout(LONG, app.sim.until(|record| record.in_flight == 0)).await.expect(accept);
        assert_eq!(app.sim.record().calls, 1);
    }
}

/// Far longer than any step takes.
const LONG: Duration = Duration::from_secs(10);

/// A service with an attempt timeout of two seconds.
fn with_short_timeout() -> TestApp {
    TestApp::with(|builder| builder.attempt_timeout(Duration::from_secs(2)))
}

/// Requests the transcripts of a playlist.
async fn call(service: SocketAddr, accept: &str, playlist: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service).await.unwrap();
    let head = format!(
        "POST /api/playlist/{playlist}/transcript HTTP/1.1\r\nhost: {service}\r\n\
         accept: {accept}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn read_until(caller: &mut TcpStream, text: &str) {
    let mut read = vec![];
    while !String::from_utf8_lossy(&read).contains(text) {
        let more = timeout(LONG, caller.read_buf(&mut read)).await;
        assert!(more.expect("something to read").unwrap() > 0, "the stream ended");
    }
}

#[tokio::test]
async fn batches_are_limited_per_caller() {
    let config = Config { batches_per_caller: 1, ..Config::default() };
    let app = TestApp::configured(|builder| builder, config);
    app.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
    let begin = async |peer: &str| {
        let request = Request::post("/api/playlist/PLsize50/transcript");
        let request = request.header("accept", "application/x-ndjson").body(Body::empty());
        app.app.answer(request.unwrap(), peer.parse().unwrap()).await
    };
    let first = begin("192.0.2.1").await;
    assert_eq!(first.status(), 200);
    let second = begin("192.0.2.1").await;
    assert_eq!(
        (second.status().as_u16(), &second.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(begin("192.0.2.2").await.status(), 200, "another caller");
    drop(first);
    assert_eq!(begin("192.0.2.1").await.status(), 200, "a caller that disconnected holds no slot");
}
