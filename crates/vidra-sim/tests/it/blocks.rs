//! Blocks that end by themselves.

use crate::keyless_client::{ANDROID, player_request, send};
use bytes::Bytes;
use http::{HeaderValue, Request};
use std::time::Duration;
use vidra_sim::{Block, Simulator};

const MINUTE: Duration = Duration::from_secs(60);

/// Sends a player call from an egress. Returns whether it was refused.
async fn is_refused(platform: &Simulator, egress: &'static str) -> bool {
    let mut request = player_request("txManualAsr", ANDROID);
    request.headers_mut().insert("x-sim-egress", HeaderValue::from_static(egress));
    let body = send(platform, request).await.expect("an answer").json();
    body["playabilityStatus"]["status"] == "LOGIN_REQUIRED"
}

async fn status_of(platform: &Simulator, path: &str, egress: &'static str) -> u16 {
    let request = Request::get(path).header("x-sim-egress", egress).header("cookie", "SOCS=CAI");
    let request = request.body(Bytes::new()).expect("a valid request");
    send(platform, request).await.expect("an answer").status
}

#[tokio::test(start_paused = true)]
async fn a_block_ends_after_its_time_for_each_egress() {
    let platform = Simulator::new();
    platform.block(Block::after(1).lasting(MINUTE * 10));
    assert!(!is_refused(&platform, "a").await && !is_refused(&platform, "b").await);
    assert!(is_refused(&platform, "a").await);
    platform.advance(MINUTE * 4);
    assert!(is_refused(&platform, "a").await && is_refused(&platform, "b").await);
    assert_eq!(status_of(&platform, "/watch?v=txManualAsr", "a").await, 429);
    assert_eq!(status_of(&platform, "/feeds/videos.xml?playlist_id=PLsize50", "a").await, 200);
    // Ten minutes after the first refused call of each.
    platform.advance(MINUTE * 6);
    assert!(!is_refused(&platform, "a").await);
    assert!(is_refused(&platform, "b").await);
    platform.advance(MINUTE * 4);
    assert!(!is_refused(&platform, "b").await);
    assert_eq!(status_of(&platform, "/watch?v=txManualAsr", "b").await, 200);
    let record = platform.record();
    let blocked: Vec<_> = record.blocked_by_egress.into_iter().collect();
    assert_eq!(blocked, [("a".to_owned(), 3), ("b".to_owned(), 2)]);
    assert_eq!(record.blocked, 5);
}

#[tokio::test(start_paused = true)]
async fn refused_calls_extend_a_block_on_request() {
    let platform = Simulator::new();
    platform.block(Block::after(0).egress("a").lasting(MINUTE * 10).extending());
    for _ in 0..4 {
        assert!(is_refused(&platform, "a").await);
        platform.advance(MINUTE * 9);
    }
    assert_eq!(status_of(&platform, "/api/timedtext?v=txManualAsr", "a").await, 429);
    platform.advance(MINUTE * 9);
    assert!(is_refused(&platform, "a").await, "timed text extends it, too");
    assert!(!is_refused(&platform, "b").await);
    platform.advance(MINUTE * 10);
    assert!(!is_refused(&platform, "a").await);
    assert_eq!(platform.record().blocked_by_egress["a"], 6);
}

#[tokio::test(start_paused = true)]
async fn a_block_comes_back_on_request() {
    let platform = Simulator::new();
    platform.block(Block::after(1).lasting(MINUTE).repeating());
    for _ in 0..3 {
        assert!(!is_refused(&platform, "a").await);
        assert!(is_refused(&platform, "a").await);
        platform.advance(MINUTE);
    }
    platform.unblock();
    for _ in 0..3 {
        assert!(!is_refused(&platform, "a").await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_without_a_time_lasts_until_it_is_lifted() {
    let platform = Simulator::new();
    platform.block_egress_after("a", 0);
    for _ in 0..3 {
        assert!(is_refused(&platform, "a").await);
        platform.advance(MINUTE * 100_000);
    }
    platform.unblock_egress("a");
    assert!(!is_refused(&platform, "a").await);
}
