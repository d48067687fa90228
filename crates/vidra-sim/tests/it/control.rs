//! The control interface, as a person uses it with curl.

use crate::fetch::fetch;
use crate::keyless_client::{ANDROID, player, send};
use http::Request;
use serde_json::{Value, json};
use vidra_sim::Simulator;

async fn control(platform: &Simulator, method: &str, path: &str, body: &str) -> (u16, Value) {
    let request = Request::builder().method(method).uri(path).body(body.to_owned().into());
    let reply = send(platform, request.expect("a valid request")).await.expect("an answer");
    (reply.status, serde_json::from_str(&reply.body).unwrap_or_default())
}

async fn post(platform: &Simulator, path: &str, body: &str) -> u16 {
    control(platform, "POST", path, body).await.0
}

#[tokio::test(start_paused = true)]
async fn a_day_passes() {
    let platform = Simulator::builder().limits(1, 1).build();
    let clock = control(&platform, "GET", "/_sim/clock", "").await;
    let expected = json!({"time": "2026-06-01T00:00:00Z", "quotaDay": "2026-05-31", "nextQuotaDay": "2026-06-01T07:00:00Z"});
    assert_eq!(clock, (200, expected));
    let call = "videos?part=id&id=quirkNoLike";
    assert_eq!(fetch(&platform, call).await.status, 200);
    assert_eq!(fetch(&platform, call).await.status, 403);
    let (status, clock) = control(&platform, "POST", "/_sim/clock", r#""nextQuotaDay""#).await;
    assert_eq!((status, &clock["quotaDay"]), (200, &"2026-06-01".into()));
    assert_eq!(fetch(&platform, call).await.status, 200);
    let day = r#"{"advanceSeconds":86400}"#;
    assert_eq!(post(&platform, "/_sim/clock", day).await, 200);
    assert_eq!(fetch(&platform, call).await.status, 200);
    assert_eq!(post(&platform, "/_sim/clock", r#"{"time":"2026-11-01T07:00:00Z"}"#).await, 200);
    let (_, record) = control(&platform, "GET", "/_sim/record", "").await;
    assert_eq!((&record["units"]["default"], &record["refusedForQuota"]), (&3.into(), &1.into()));
    let one = json!({"default": 1, "search": 0});
    let days = json!({"2026-05-31": one, "2026-06-01": one, "2026-06-02": one});
    assert_eq!(record["unitsByDay"], days);
    for wrong in ["", "{}", r#"{"time":"tomorrow"}"#, r#"{"advanceSeconds":-1}"#] {
        assert_eq!(post(&platform, "/_sim/clock", wrong).await, 400, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_is_blocked_for_ten_minutes() {
    let platform = Simulator::new();
    let refused = async || {
        let body = player(&platform, "txManualAsr", ANDROID).await;
        body["playabilityStatus"]["status"] == "LOGIN_REQUIRED"
    };
    assert_eq!(post(&platform, "/_sim/block", r#"{"after":0,"seconds":600}"#).await, 204);
    assert!(refused().await);
    control(&platform, "POST", "/_sim/clock", r#"{"advanceSeconds":600}"#).await;
    assert!(!refused().await);
    let rule = r#"{"after":0,"egress":"direct","seconds":600,"extends":true,"repeats":true}"#;
    assert_eq!(post(&platform, "/_sim/block", rule).await, 204);
    for _ in 0..3 {
        assert!(refused().await);
        control(&platform, "POST", "/_sim/clock", r#"{"advanceSeconds":599}"#).await;
    }
    assert_eq!(control(&platform, "DELETE", "/_sim/block", "").await.0, 204);
    assert!(!refused().await);
    let (_, record) = control(&platform, "GET", "/_sim/record", "").await;
    assert_eq!(record["blockedByEgress"], json!({"direct": 4}));
    assert_eq!(post(&platform, "/_sim/block", r#"{"seconds":600}"#).await, 400);
}

#[tokio::test(start_paused = true)]
async fn videos_change() {
    let platform = Simulator::new();
    let status = async || {
        let body = player(&platform, "txManualAsr", ANDROID).await;
        body["playabilityStatus"]["status"].as_str().unwrap_or_default().to_owned()
    };
    let path = "/_sim/videos";
    let later = r#"{"id":"txManualAsr","change":"deleted","inSeconds":60}"#;
    assert_eq!(post(&platform, path, later).await, 204);
    assert_eq!(status().await, "OK");
    control(&platform, "POST", "/_sim/clock", r#"{"advanceSeconds":60}"#).await;
    assert_eq!(status().await, "ERROR");
    assert_eq!(control(&platform, "DELETE", path, "").await.0, 204);
    assert_eq!(status().await, "OK");
    let now = r#"{"id":"txManualAsr","change":"private"}"#;
    assert_eq!(post(&platform, path, now).await, 204);
    assert_eq!(status().await, "LOGIN_REQUIRED");
    for change in ["published", "captions", "ended"] {
        let body = json!({"id": "txAsrOnly__", "change": change, "at": "2027-01-01T00:00:00Z"});
        assert_eq!(post(&platform, path, &body.to_string()).await, 204, "{change}");
    }
    for (wrong, expected) in [
        (r#"{"id":"quirkAbsent","change":"deleted"}"#, 404),
        (r#"{"id":"txManualAsr","change":"burnt"}"#, 400),
        (
            r#"{"id":"txManualAsr","change":"deleted","at":"2027-01-01T00:00:00Z","inSeconds":1}"#,
            400,
        ),
    ] {
        assert_eq!(post(&platform, path, wrong).await, expected, "{wrong}");
    }
    let (status, body) = control(&platform, "GET", "/_sim/nothing", "").await;
    assert!(
        status == 404 && body["error"].as_str().is_some_and(|text| text.contains("/_sim/clock"))
    );
}
