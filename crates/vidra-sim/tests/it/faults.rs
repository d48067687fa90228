//! Faults in this process, with a paused clock.

use crate::fetch::{bytes, fetch, request};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use vidra_sim::{Action, Dropped, Endpoint, Fault, Junk, Simulator};

const CALL: &str = "videos?part=snippet&id=quirkNoLike";

#[tokio::test(start_paused = true)]
async fn latency_and_delays_use_the_tokio_clock() {
    let platform = Simulator::builder().latency(Duration::from_secs(2)).build();
    let start = Instant::now();
    fetch(&platform, CALL).await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    platform.set_latency(Duration::ZERO);
    platform.inject(Fault::any(Action::delay(Duration::from_secs(5))).once());
    fetch(&platform, CALL).await;
    fetch(&platform, CALL).await;
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_never_answers() {
    let platform = Simulator::new();
    platform.inject(Fault::on(Endpoint::Videos, Action::Hang));
    assert!(timeout(Duration::from_secs(3600), platform.call(request(CALL))).await.is_err());
    platform.clear_faults();
    assert_eq!(fetch(&platform, CALL).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn dripped_body_is_complete_and_delayed() {
    let platform = Simulator::new();
    let (_, right) = bytes(&platform, CALL).await;
    platform.inject(Fault::any(Action::Drip { chunk: 100, every_millis: 1000 }));
    let start = Instant::now();
    assert_eq!(bytes(&platform, CALL).await.1, right);
    assert_eq!(start.elapsed().as_secs(), right.len().div_ceil(100) as u64);
}

#[tokio::test]
async fn dropped_connections_are_errors() {
    let platform = Simulator::new();
    platform.inject(Fault::any(Action::Reset).once());
    assert_eq!(platform.call(request(CALL)).await.err(), Some(Dropped));
    platform.inject(Fault::any(Action::Cut).once());
    let response = platform.call(request(CALL)).await.expect("a head");
    assert!(axum::body::to_bytes(response.into_body(), usize::MAX).await.is_err());
    assert_eq!(platform.record().units.default, 2);
}

#[tokio::test]
async fn errors_carry_reason_status_and_retry_after() {
    let platform = Simulator::new();
    platform.inject(Fault::any(Action::error("backendError").retry_after("3")).once());
    let response = platform.call(request(CALL)).await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["retry-after"].to_str().ok()),
        (503, Some("3"))
    );
    platform.inject(Fault::any(Action::quota_exceeded()).once());
    let answer = fetch(&platform, CALL).await;
    assert_eq!((answer.status, answer.reason()), (403, "quotaExceeded"));
    platform.inject(
        Fault::any(Action::Error {
            reason: "rateLimitExceeded".to_owned(),
            status: Some(403),
            retry_after: None,
        })
        .once(),
    );
    let answer = fetch(&platform, CALL).await;
    assert_eq!(
        (answer.status, answer.reason(), &answer.body["error"]["code"]),
        (403, "rateLimitExceeded", &403.into())
    );
    platform.inject(Fault::any(Action::status(418)).once());
    assert_eq!(bytes(&platform, CALL).await.0, 418);
    assert_eq!(fetch(&platform, CALL).await.status, 200);
}

#[tokio::test]
async fn junk_bodies_are_not_the_correct_answer() {
    let platform = Simulator::new();
    for kind in [Junk::Html, Junk::Text, Junk::Empty, Junk::Truncated, Junk::NotUtf8] {
        platform.inject(Fault::any(Action::Junk { kind }).once());
        let (status, body) = bytes(&platform, CALL).await;
        assert_eq!(status, 200);
        assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err(), "{kind:?}");
    }
    platform.inject(Fault::any(Action::Junk { kind: Junk::OtherShape }).once());
    assert!(fetch(&platform, CALL).await.body.is_array());
}

#[tokio::test]
async fn huge_body_has_the_requested_size() {
    let platform = Simulator::new();
    for size in [10, 60, 5_000_000] {
        platform.inject(Fault::any(Action::Huge { bytes: size }).once());
        let (_, body) = bytes(&platform, CALL).await;
        assert_eq!(body.len() as u64, size);
        assert!(body.starts_with(b"{\"kind\":"));
    }
}

#[tokio::test]
async fn gzip_bomb_declares_its_content_encoding() {
    let platform = Simulator::new();
    platform.inject(Fault::any(Action::GzipBomb { mebibytes: 64 }));
    let response = platform.call(request(CALL)).await.expect("an answer");
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let packed =
        axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
    assert!(packed.len() < 1 << 20, "{} bytes", packed.len());
}

#[tokio::test]
async fn wrong_id_and_redirect_faults_are_applied() {
    let platform = Simulator::new();
    platform.inject(
        Fault::on(Endpoint::Videos, Action::WrongId { id: "quirkNoView".to_owned() })
            .when("id", "quirkNoLike"),
    );
    assert_eq!(fetch(&platform, CALL).await.each("/id"), ["quirkNoView"]);
    assert_eq!(
        fetch(&platform, "videos?part=id&id=quirkThumb3").await.each("/id"),
        ["quirkThumb3"]
    );
    platform.clear_faults();
    platform
        .inject(Fault::any(Action::Redirect { location: "http://elsewhere.example/".to_owned() }));
    let response = platform.call(request(CALL)).await.expect("an answer");
    assert_eq!(
        (response.status().as_u16(), response.headers()["location"].to_str().ok()),
        (302, Some("http://elsewhere.example/"))
    );
}
