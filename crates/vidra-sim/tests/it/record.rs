//! The record and the billed quota.

use crate::fetch::{fetch, request};
use bytes::Bytes;
use http::Request;
use std::time::Duration;
use vidra_sim::{Endpoint, Simulator};

#[tokio::test]
async fn calls_with_a_valid_key_are_billed() {
    let platform = Simulator::new();
    fetch(&platform, "videos?part=id&id=quirkNoLike").await;
    fetch(&platform, "videos?part=nonsense&id=quirkNoLike").await;
    fetch(&platform, "playlistItems?part=id&playlistId=PLquirkUnknown").await;
    fetch(&platform, "search?part=snippet&q=tapes").await;
    let units = platform.record().units;
    assert_eq!((units.default, units.search), (3, 1));
    let without =
        Request::get("/youtube/v3/videos?part=id&id=x").body(Bytes::new()).expect("valid");
    let answer = platform.call(without).await.expect("an answer");
    assert_eq!(answer.status(), 403);
    assert_eq!(platform.record().units, units);
    assert_eq!(platform.record().calls, 5);
}

#[tokio::test]
async fn exhausted_quota_gets_the_platform_errors() {
    let platform = Simulator::builder().limits(2, 1).build();
    for _ in 0..2 {
        assert_eq!(fetch(&platform, "videos?part=id&id=quirkNoLike").await.status, 200);
    }
    let refused = fetch(&platform, "channels?part=id&forHandle=fermata").await;
    assert_eq!((refused.status, refused.reason()), (403, "quotaExceeded"));
    assert_eq!(fetch(&platform, "search?part=snippet&q=x").await.status, 200);
    let refused = fetch(&platform, "search?part=snippet&q=x").await;
    assert_eq!((refused.status, refused.reason()), (429, "rateLimitExceeded"));
    assert!(
        refused.body["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("'Search Queries per day'"))
    );
    let record = platform.record();
    assert_eq!((record.units.default, record.units.search, record.refused_for_quota), (2, 1, 2));
    platform.reset_record();
    assert_eq!(fetch(&platform, "videos?part=id&id=quirkNoLike").await.status, 200);
}

#[tokio::test]
async fn keys_in_the_url_are_counted() {
    let platform = Simulator::builder().key("secret").build();
    let get = |uri: &str, key: Option<&str>| {
        let request = Request::get(uri).header("user-agent", "test/1");
        key.map_or(Request::get(uri), |key| request.header("X-Goog-Api-Key", key))
            .body(Bytes::new())
            .expect("valid")
    };
    let videos = "/youtube/v3/videos?part=id&id=quirkNoLike";
    assert_eq!(platform.call(get(videos, Some("secret"))).await.expect("answer").status(), 200);
    assert_eq!(platform.call(get(videos, Some("wrong"))).await.expect("answer").status(), 400);
    assert_eq!(platform.record().key_in_url, 0);
    assert_eq!(
        platform.call(get(&format!("{videos}&key=secret"), None)).await.expect("answer").status(),
        200
    );
    let record = platform.record();
    assert_eq!(record.key_in_url, 1);
    let first = record.requests_to(Endpoint::Videos).next().expect("seen");
    assert_eq!(
        (first.order, first.parameter("id"), first.header("user-agent")),
        (0, Some("quirkNoLike"), Some("test/1"))
    );
}

#[tokio::test(start_paused = true)]
async fn peak_counts_calls_in_flight() {
    let platform = Simulator::builder().latency(Duration::from_secs(1)).build();
    let calls = ["videos?part=id&id=x", "videos?part=id&id=y", "channels?part=id&id=z"];
    let under_way: Vec<_> = calls
        .map(|call| {
            tokio::spawn({
                let platform = platform.clone();
                async move { platform.call(request(call)).await.map(|r| r.status()) }
            })
        })
        .into_iter()
        .collect();
    for call in under_way {
        assert!(call.await.expect("no panic").is_ok());
    }
    let record = platform.record();
    assert_eq!(
        (record.peak, record.peak_by_endpoint[&Endpoint::Videos], record.in_flight),
        (3, 2, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn dropped_call_is_no_longer_in_flight() {
    let platform = Simulator::builder().latency(Duration::from_secs(60)).build();
    let call = platform.call(request("videos?part=id&id=x"));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    assert_eq!((platform.record().in_flight, platform.record().peak), (0, 1));
}

#[tokio::test]
async fn matching_etag_gets_304() {
    let platform = Simulator::new();
    let etag = fetch(&platform, "videos?part=snippet&id=quirkNoLike").await.body["etag"]
        .as_str()
        .map(str::to_owned)
        .expect("an etag");
    let mut again = request("videos?part=snippet&id=quirkNoLike");
    again.headers_mut().insert("if-none-match", etag.parse().expect("a header value"));
    assert_eq!(platform.call(again).await.expect("answer").status(), 304);
    assert_eq!(platform.record().units.default, 2);
}

#[tokio::test(start_paused = true)]
async fn until_waits_for_calls_to_begin_and_end() {
    let platform = Simulator::builder().latency(Duration::from_secs(3)).build();
    let started = tokio::time::Instant::now();
    let watch = async {
        platform.until(|record| record.in_flight == 1).await;
        let came = started.elapsed().as_secs();
        platform.until(|record| record.in_flight == 0).await;
        (came, started.elapsed().as_secs())
    };
    let call = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        fetch(&platform, "videos?part=id&id=quirkNoLike").await;
    };
    assert_eq!(tokio::join!(watch, call).0, (2, 5));
}
