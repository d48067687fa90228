//! Signatures, expiry, and failures of timed text.

use crate::keyless_client::{ANDROID, get, player, text, tracks};
use serde_json::Value;
use std::time::Duration;
use vidra_sim::Simulator;

async fn url(platform: &Simulator, id: &str) -> String {
    let tracks = tracks(&player(platform, id, ANDROID).await);
    tracks[0]["baseUrl"].as_str().expect("a URL").to_owned()
}

async fn fetch(platform: &Simulator, url: &str) -> String {
    get(platform, url, "").await.expect("an answer").body
}

#[tokio::test]
async fn altered_signed_parameters_are_rejected() {
    let platform = Simulator::new();
    let good = url(&platform, "txManualAsr").await;
    assert!(!fetch(&platform, &good).await.is_empty());
    let altered = [
        good.replace("v=txManualAsr", "v=txAsrOnly__"),
        good.replace("&expire=1", "&expire=2"),
        good.replace("caps=asr", "caps=all"),
        good.replace("&signature=", "&signature=0"),
        good.replace("&sparams=", "&sparms="),
        good.replace(",xoaf&", "&"),
        format!("{good}&exp=xpe"),
        "/api/timedtext?v=txManualAsr&lang=en&fmt=srv1".to_owned(),
    ];
    for url in altered {
        assert_ne!(url, good);
        assert_eq!(fetch(&platform, &url).await, "", "{url}");
    }
    // Parameters that the caller may choose are not signed.
    let chosen = good.replace("fmt=srv3", "fmt=json3") + "&tlang=de";
    assert!(fetch(&platform, &chosen).await.contains("[de]"));
    let other = Simulator::builder().seed(2).build();
    assert_eq!(fetch(&other, &good).await, "");
}

#[tokio::test(start_paused = true)]
async fn urls_expire_after_seven_hours() {
    let platform = Simulator::new();
    let url = url(&platform, "txManualAsr").await;
    tokio::time::advance(Duration::from_secs(6 * 3600)).await;
    assert!(!fetch(&platform, &url).await.is_empty());
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(fetch(&platform, &url).await, "");
}

#[tokio::test]
async fn some_urls_are_issued_expired() {
    let platform = Simulator::new();
    for _ in 0..2 {
        assert_eq!(text(&platform, "ttExpired__", 0, "").await.body, "");
    }
    assert_eq!(text(&platform, "ttExpired1_", 0, "").await.body, "");
    assert!(!text(&platform, "ttExpired1_", 0, "").await.body.is_empty());
}

#[tokio::test(start_paused = true)]
async fn timed_text_failures_match_their_rows() {
    let platform = Simulator::new();
    let statuses =
        [("tt404______", 404), ("tt403______", 403), ("tt429______", 429), ("tt500______", 500)];
    for (id, status) in statuses {
        assert_eq!(text(&platform, id, 0, "").await.status, status, "{id}");
    }
    assert_eq!(text(&platform, "tt503x1____", 0, "").await.status, 503);
    assert_eq!(text(&platform, "tt503x1____", 0, "").await.status, 200);
    let empty = text(&platform, "ttEmpty____", 0, "").await;
    assert_eq!((empty.status, empty.body.as_str()), (200, ""));
    assert!(empty.header("content-type").starts_with("text/html"));
    assert!(text(&platform, "ttHtml_____", 0, "").await.body.starts_with("<!DOCTYPE html"));
    for more in ["", "&fmt=json3"] {
        assert!(
            text(&platform, "ttDoctype__", 0, more).await.body.contains("<!DOCTYPE transcript")
        );
    }
    assert_eq!(text(&platform, "ttBomb_____", 0, "").await.body.matches("<!ENTITY").count(), 10);
    let cut = text(&platform, "ttTruncated", 0, "&fmt=json3").await.body;
    assert!(serde_json::from_str::<Value>(&cut).is_err() && cut.contains("wireMagic"));
    assert!(!text(&platform, "ttTruncated", 0, "").await.body.ends_with("</transcript>"));
    assert!(text(&platform, "ttNotUtf8__", 0, "").await.body.contains('\u{fffd}'));
    assert!(text(&platform, "ttOddShape_", 0, "").await.body.contains("<captions>"));
    assert!(text(&platform, "ttOddShape_", 0, "&fmt=json3").await.json()["events"].is_object());
    assert!(text(&platform, "ttSrv3only_", 0, "&fmt=json3").await.body.contains("format=\"3\""));
    for id in ["ttCut______", "ttReset____"] {
        assert!(get(&platform, &url(&platform, id).await, "").await.is_none(), "{id}");
    }
    let start = tokio::time::Instant::now();
    text(&platform, "ttSlow_____", 0, "").await;
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test]
async fn huge_bodies_exceed_ten_megabytes() {
    let platform = Simulator::new();
    for (id, player) in [("ttHuge_____", false), ("plHuge_____", true)] {
        let request = match player {
            true => crate::keyless_client::player_request(id, ANDROID),
            false => {
                let url = url(&platform, id).await;
                let path = url.trim_start_matches("https://www.youtube.com").to_owned();
                http::Request::get(path).body(bytes::Bytes::new()).expect("valid")
            }
        };
        let body = platform.call(request).await.expect("an answer").into_body();
        let read = axum::body::to_bytes(body, 10_000_000).await;
        assert!(read.is_err(), "{id} is longer than ten megabytes");
    }
}
