//! Violations of keyless calls, faults per video and client, blocks, and origins.

use crate::keyless_client::{
    ANDROID, IOS, WEB, get, player, player_request, send, text, tracks, watch,
};
use http::Request;
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

/// The violations of one call.
async fn violations_of(change: impl FnOnce(&mut Request<bytes::Bytes>)) -> Vec<String> {
    let platform = Simulator::new();
    let mut request = player_request("txManualAsr", ANDROID);
    change(&mut request);
    send(&platform, request).await;
    platform.record().violations
}

fn assert_one_violation(found: &[String], part: &str) {
    assert!(found.len() == 1 && found[0].contains(part), "{found:?}");
}

#[tokio::test]
async fn inconsistent_player_requests_are_violations() {
    let header = |name: &'static str, value: &'static str| {
        move |request: &mut Request<bytes::Bytes>| {
            request.headers_mut().insert(name, value.parse().expect("a value"));
        }
    };
    assert_eq!(violations_of(|_| {}).await, Vec::<String>::new());
    assert_one_violation(
        &violations_of(header("x-youtube-client-name", "5")).await,
        "X-YouTube-Client-Name",
    );
    assert_one_violation(
        &violations_of(header("x-youtube-client-version", "1.0")).await,
        "X-YouTube-Client-Version",
    );
    assert_one_violation(&violations_of(header("user-agent", "curl/8")).await, "User-Agent");
    assert_one_violation(
        &violations_of(header("user-agent", "com.google.android.youtube/1.0")).await,
        "User-Agent",
    );
    assert_one_violation(
        &violations_of(header("accept-language", "de-DE")).await,
        "Accept-Language",
    );
    assert_one_violation(
        &violations_of(header("content-type", "text/plain")).await,
        "Content-Type",
    );
    assert_one_violation(
        &violations_of(header("x-goog-api-key", "demo-key")).await,
        "X-Goog-Api-Key",
    );
    let found = violations_of(|request| {
        *request.uri_mut() = "/youtubei/v1/player?key=demo-key".parse().expect("a URL");
    });
    assert!(found.await.iter().any(|v| v.contains("key of the Data API")));
    let body = |from: &'static str, to: &'static str| {
        move |request: &mut Request<bytes::Bytes>| {
            let text = String::from_utf8_lossy(request.body()).replace(from, to);
            *request.body_mut() = text.into();
        }
    };
    assert_one_violation(&violations_of(body("\"hl\":\"en\"", "\"hl\":\"fr\"")).await, "hl is");
    assert_one_violation(&violations_of(body("ANDROID", "NOBODY")).await, "no such clientName");
}

#[tokio::test]
async fn watch_page_and_timed_text_violations_are_recorded() {
    let platform = Simulator::new();
    watch(&platform, "txManualAsr").await;
    for client in [ANDROID, IOS, WEB] {
        player(&platform, "txManualAsr", client).await;
    }
    text(&platform, "txManualAsr", 0, "&fmt=json3").await;
    assert_eq!(platform.record().violations, Vec::<String>::new());
    get(&platform, "/watch?v=txManualAsr", "").await;
    assert_one_violation(&platform.record().violations, "SOCS=CAI");
    platform.reset_record();
    text(&platform, "txManualAsr", 0, "&fmt=json3&fmt=srv1").await;
    assert_one_violation(&platform.record().violations, "fmt 2 times");
    platform.reset_record();
    text(&platform, "txManualAsr", 0, "&tlang=en").await;
    assert_one_violation(&platform.record().violations, "the language it is in");
    platform.reset_record();
    text(&platform, "txManualAsr", 0, "&pot=x").await;
    assert_one_violation(&platform.record().violations, "potc=1");
}

#[tokio::test]
async fn faults_match_by_video_and_client() {
    let platform = Simulator::new();
    platform.inject(
        Fault::on(Endpoint::Player, Action::status(503)).when("clientName", "ANDROID").once(),
    );
    platform.inject(Fault::on(Endpoint::Player, Action::Reset).when("videoId", "txAsrOnly__"));
    platform.inject(
        Fault::on(Endpoint::TimedText, Action::status(500)).when("videoId", "txManualAsr").once(),
    );
    let fetch = |id, client| send(&platform, player_request(id, client));
    assert_eq!(fetch("txManualAsr", ANDROID).await.map(|reply| reply.status), Some(503));
    assert_eq!(fetch("txManualAsr", WEB).await.map(|reply| reply.status), Some(200));
    assert!(fetch("txAsrOnly__", WEB).await.is_none());
    assert_eq!(text(&platform, "txManualAsr", 0, "").await.status, 500);
    assert_eq!(text(&platform, "txManualAsr", 0, "").await.status, 200);
    platform.inject(Fault::on(Endpoint::Player, Action::WrongId { id: "txRtlArabic".to_owned() }));
    let wrong = player(&platform, "txManualAsr", WEB).await;
    assert_eq!(wrong["videoDetails"]["videoId"], "txRtlArabic");
}

#[tokio::test(start_paused = true)]
async fn keyless_calls_in_flight_are_counted_across_endpoints() {
    let latency = std::time::Duration::from_secs(1);
    let platform = Simulator::builder().latency(latency).keep_requests(1).build();
    let (first, second) = (platform.clone(), platform.clone());
    tokio::join!(watch(&first, "txManualAsr"), player(&second, "txManualAsr", ANDROID));
    let record = platform.record();
    assert_eq!((record.peak_keyless, record.calls, record.requests.len()), (2, 2, 1));
}

#[tokio::test]
async fn block_starts_after_its_limit_and_stays() {
    let platform = Simulator::new();
    platform.block_after(2);
    let status = |body: &Value| body["playabilityStatus"]["status"].clone();
    let mut good = Value::Null;
    for _ in 0..2 {
        good = player(&platform, "txManualAsr", ANDROID).await;
        assert_eq!(status(&good), "OK");
    }
    let url = tracks(&good)[0]["baseUrl"].as_str().expect("a URL").to_owned();
    assert_eq!(get(&platform, &url, "").await.map(|reply| reply.status), Some(200));
    let wall = player(&platform, "txManualAsr", ANDROID).await;
    assert_eq!(status(&wall), "LOGIN_REQUIRED");
    assert_eq!(get(&platform, &url, "").await.map(|reply| reply.status), Some(429));
    assert_eq!(watch(&platform, "txManualAsr").await.status, 429);
    let mut elsewhere = player_request("txManualAsr", ANDROID);
    elsewhere.headers_mut().insert("x-sim-egress", "a".parse().expect("a value"));
    let reply = send(&platform, elsewhere).await.expect("an answer");
    assert_eq!(status(&reply.json()), "OK");
    let record = platform.record();
    assert_eq!((record.blocked, record.by_egress["direct"], record.by_egress["a"]), (3, 6, 1));
    platform.unblock();
    assert_eq!(status(&player(&platform, "txManualAsr", ANDROID).await), "OK");
}

#[tokio::test]
async fn caption_urls_use_the_listening_origin() {
    let platform = Simulator::new();
    let listening =
        platform.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port");
    let mut request = player_request("txManualAsr", ANDROID);
    let host = listening.addr().to_string();
    request.headers_mut().insert("host", host.parse().expect("a value"));
    let body = send(&platform, request).await.expect("an answer").json();
    let url = tracks(&body)[0]["baseUrl"].as_str().expect("a URL").to_owned();
    assert!(url.starts_with(&format!("{}/api/timedtext?", listening.web_url())), "{url}");
    let fixed = Simulator::builder().web_origin("http://sim.example").build();
    let body = player(&fixed, "txManualAsr", ANDROID).await;
    assert!(
        tracks(&body)[0]["baseUrl"]
            .as_str()
            .is_some_and(|url| url.starts_with("http://sim.example/api/"))
    );
}
