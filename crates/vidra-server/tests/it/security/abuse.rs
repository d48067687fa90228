//! Callers that request as much as they can.

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use serde_json::json;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{PEER, TestApp};

#[tokio::test]
async fn s10_compressed_request_bodies_are_rejected() {
    let app = TestApp::new();
    for encoding in ["gzip", "br", "zstd", "deflate", "gzip, gzip", "identity", "x"] {
        for path in
            ["/api/url/parse", "/api/playlist/PLsize1/query", "/api/playlist/PLsize1/transcript"]
        {
            let request = Request::post(path)
                .header("content-type", "application/json")
                .header("content-encoding", encoding);
            let got = app.send(request.body(Body::from(r#"{"url":"x"}"#)).unwrap()).await;
            got.problem(415);
        }
    }
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn s15_oversized_batches_are_rejected_and_cost_nothing() {
    let app = TestApp::new();
    let path = "/api/playlist/PLsize50/transcript";
    for body in [
        json!({"concurrency": 1_000_000}),
        json!({"concurrency": 0}),
        json!({"concurrency": -1}),
        json!({"concurrency": 1e300}),
        json!({"from": 5, "to": 4}),
        json!({"ids": vec!["quirkNoLike"; 1_000]}),
        json!({"playlists": ["PLsize50", "PLsize51"]}),
        json!([{"to": 1}]),
    ] {
        app.post(path, &body).await.problem(400);
    }
    app.post(path, format!("{{\"lang\":\"{}\"}}", "a".repeat(1 << 20))).await.problem(413);
    // The limit is 500 ids; a million would not fit into a request.
    for (count, status) in [(501, 400), (5_000, 400)] {
        let ids = vec!["quirkNoLike"; count].join(",");
        app.get(&format!("/api/videos?ids={ids}")).await.problem(status);
    }
    assert_eq!(app.sim.record().calls, 0, "nothing was spent");
    let same = vec!["quirkNoLike"; 500].join(",");
    assert_eq!(
        app.get(&format!("/api/videos?ids={same}")).await.cost(),
        1,
        "a repeated id is fetched once"
    );
}

/// A thousand batches at once, from as many addresses: 32 run, the others get 503, and cache hits are still
/// answered.
#[tokio::test]
async fn s15_a_thousand_batches_do_not_block_cache_hits() {
    let app = TestApp::new();
    app.get("/api/video/quirkNoLike").await;
    app.sim.inject(Fault::on(Endpoint::Player, Action::Hang));
    let begin = async |number: u32| {
        let request = Request::post("/api/playlist/PLsize50/transcript")
            .header("accept", "application/x-ndjson")
            .body(Body::empty());
        let peer = Ipv4Addr::from_bits(Ipv4Addr::new(192, 0, 2, 0).to_bits() + number);
        app.app.answer(request.unwrap(), peer.into()).await
    };
    let batches = join_all((0..1_000).map(begin)).await;
    let taken = batches.iter().filter(|response| response.status() == 200).count();
    let refused = batches.iter().filter(|response| response.status() == 503);
    let (refused, has_retry_after): (Vec<_>, Vec<_>) =
        refused.map(|it| ((), it.headers().contains_key("retry-after"))).unzip();
    assert_eq!((taken, refused.len()), (32, 968));
    assert!(has_retry_after.into_iter().all(|is_present| is_present));
    let calls = app.sim.record().calls;
    assert!(calls < 1_000, "{calls}: batches share the listing");
    for _ in 0..100 {
        let got = app.get("/api/video/quirkNoLike").await;
        assert_eq!((got.status.as_u16(), got.header("x-cache")), (200, Some("hit")));
    }
    // All callers disconnect at once, several times: their slots become free each time.
    drop(batches);
    for _ in 0..20 {
        let storm = join_all((0..32).map(begin)).await;
        drop(storm);
    }
    let free = async {
        while begin(0).await.status() != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), free).await.expect("slots are returned");
}

#[tokio::test]
async fn s16_invalid_ids_cost_nothing_and_unknown_ids_are_fetched_once() {
    let app = TestApp::new();
    for number in 0..2_000 {
        for path in [format!("/api/video/{number}"), format!("/api/transcript/no-{number}")] {
            assert_eq!(app.get(&path).await.status, 400, "{path}");
        }
    }
    assert_eq!(app.sim.record().calls, 0);
    let unknown: Vec<String> = (0..500).map(|number| format!("none{number:07}")).collect();
    for _ in 0..3 {
        let got = app.get(&format!("/api/videos?ids={}", unknown.join(","))).await;
        assert_eq!(got.status, 200, "{}", got.text);
    }
    assert_eq!(app.sim.record().units.default, 10, "fifty ids for each call, and only once");
    let request = Request::get(format!("/api/video/{}", unknown[7])).body(Body::empty()).unwrap();
    let response = app.app.answer(request, PEER).await;
    assert_eq!(response.status(), 404);
    drop(response.into_body().collect().await);
    assert_eq!(app.sim.record().units.default, 10, "a single lookup uses the cached result");
}
