//! Graceful shutdown: readiness fails at once, and no request ends without a response.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, advance, timeout};
use vidra_server::{Limits, Serving};
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::TestApp;

const LONG: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn draining_fails_readiness_at_once_and_still_answers_requests() {
    let app = TestApp::new();
    assert_eq!(app.get("/readyz").await.status, 200);
    app.sim.set_latency(Duration::from_secs(8));
    app.app.drain();
    let got = app.get("/readyz").await;
    assert_eq!(got.problem(503).0, "The service is shutting down");
    assert_eq!(got.header("retry-after"), Some("1"));
    assert_eq!(app.get("/healthz").await.status, 200);
    assert_eq!(app.get("/api/video/quirkNoLike").await.status, 200, "it takes 8 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_outlasts_the_drain_gets_an_error() {
    let app = TestApp::new();
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let begun = Instant::now();
    app.app.drain();
    let got = app.get("/api/video/quirkNoLike").await;
    // The attempt timeout of 10 seconds ends first; with retries the request would outlast the drain.
    assert!(matches!(got.status.as_u16(), 503 | 504), "{}", got.text);
    assert!(begun.elapsed() <= Duration::from_secs(21), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn draining_ends_a_stream_with_an_error_event() {
    for (accept, last) in [
        ("application/x-ndjson", "{\"type\":\"error\",\"error\":{\"code\":503,"),
        ("text/event-stream", "event: error\nid: "),
    ] {
        let app = TestApp::new();
        app.sim.inject(Fault::on(Endpoint::Player, Action::Delay { millis: 4_000 }));
        let request = axum::http::Request::post("/api/playlist/PLsize50/transcript")
            .header("accept", accept)
            .header("content-type", "application/json")
            .body(axum::body::Body::from(json!({"concurrency": 1}).to_string()))
            .unwrap();
        let ending = app.app.clone();
        tokio::spawn(async move {
            advance(Duration::from_secs(9)).await;
            ending.drain();
        });
        let begun = Instant::now();
        let got = app.send(request).await;
        assert_eq!(got.status, 200);
        let lasted = begun.elapsed();
        assert!(lasted < Duration::from_secs(20), "{lasted:?}");
        let tail = &got.text[got.text.rfind(last).expect(&got.text)..];
        assert!(tail.contains("The service is shutting down"), "{tail}");
        assert!(!got.text.contains("\"totalVideos\""), "there is no summary: {}", got.text);
    }
}

#[tokio::test]
async fn review_o3_the_drain_delay_applies_without_a_connection_too() {
    let app = TestApp::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let limits = Limits { drain_delay: LONG, ..Limits::default() };
    let stopped = async { drop(stopped.await) };
    let (address, ended) = app.served(Serving { limits, ..Serving::default() }, stopped).await;
    stop.send(()).unwrap();
    // The balancer has not seen the change of /readyz yet.
    let is_draining = async {
        while !app.get("/readyz").await.text.contains("shutting_down") {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, is_draining).await.unwrap();
    for _ in 0..3 {
        let mut late = TcpStream::connect(address).await.unwrap();
        late.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut response = String::new();
        late.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    assert!(!ended.is_finished());
}

#[tokio::test]
async fn draining_closes_connections_after_their_response() {
    let app = TestApp::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let limits = Limits { drain_delay: Duration::ZERO, ..Limits::default() };
    let stopped = async { drop(stopped.await) };
    let (address, ended) = app.served(Serving { limits, ..Serving::default() }, stopped).await;

    app.sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 700 }));
    let mut slow = TcpStream::connect(address).await.unwrap();
    let request = "GET /api/video/quirkNoLike HTTP/1.1\r\nhost: localhost\r\n\r\n";
    slow.write_all(request.as_bytes()).await.unwrap();
    timeout(LONG, app.sim.until(|record| record.in_flight == 1)).await.unwrap();

    stop.send(()).unwrap();
    // Other requests are still answered, and their connections are closed afterwards.
    let readiness = async {
        loop {
            let mut other = TcpStream::connect(address).await.unwrap();
            other.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
            let mut response = String::new();
            other.read_to_string(&mut response).await.unwrap();
            if response.starts_with("HTTP/1.1 503") {
                return response;
            }
        }
    };
    let response = timeout(LONG, readiness).await.unwrap();
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");

    let mut response = String::new();
    timeout(LONG, slow.read_to_string(&mut response)).await.unwrap().unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    timeout(LONG, ended).await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
}
