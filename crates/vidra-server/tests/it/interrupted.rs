//! Partial lists: the caller requested a part, or the quota was exhausted before the end.

use std::time::Duration;

use serde_json::{Value, json};
use vidra::QuotaLimits;
use vidra_sim::Endpoint;

use crate::app::TestApp;
use crate::transcripts::{batch, event};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const SSE: &str = "text/event-stream";

/// A service whose quota is enough for five pages.
fn with_five_units() -> TestApp {
    let limits = QuotaLimits::default().with_default(5);
    let app = TestApp::with(|builder| builder.quota(limits));
    app.sim.set_latency(Duration::from_millis(100));
    app
}

#[tokio::test(start_paused = true)]
async fn users_6_a_stream_ends_with_an_error_after_the_results_that_came() {
    let body = json!({"concurrency": 20});
    let whole = batch(&with_five_units(), "PLsize500", JSON, &body).await;
    assert_eq!(
        (whole.status.as_u16(), whole.json()["error"]["reason"].as_str()),
        (429, Some("quota_exhausted"))
    );
    assert!(whole.json()["error"]["retryAfter"].is_null(), "the header has it");
    let wait: u64 = whole.headers["retry-after"].to_str().unwrap().parse().unwrap();

    let got = batch(&with_five_units(), "PLsize500", NDJSON, &body).await;
    assert_eq!(
        (got.status.as_u16(), &got.headers["x-total-videos"]),
        (200, &"500".parse().unwrap())
    );
    let lines: Vec<Value> =
        got.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    check(&lines, wait);

    let got = batch(&with_five_units(), "PLsize500", SSE, &body).await;
    let events = got.text.trim_end().split("\n\n").filter(|text| !text.starts_with(':')).map(event);
    let lines: Vec<Value> = events
        .map(|(name, _, data)| {
            assert_eq!(data["type"], name);
            data
        })
        .collect();
    check(&lines, wait);
}

/// Checks the lines of a stream: the results of five pages, then the error.
#[track_caller]
fn check(lines: &[Value], wait: u64) {
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!(results.len(), 250);
    assert!(results.iter().all(|result| result["status"] == "success"));
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["error"]["code"]), (&json!("error"), &json!(429)));
    assert_eq!(last["error"]["reason"], "quota_exhausted");
    let seconds = last["error"]["retryAfter"].as_u64().unwrap();
    assert!(seconds.abs_diff(wait) <= 900, "{seconds} s, and {wait} s in the header");
    assert!(lines.iter().all(|line| line["type"] != "summary"));
}

#[tokio::test(start_paused = true)]
async fn users_7_a_blocked_entry_says_when_to_try_again() {
    let app = TestApp::with(|builder| builder.block_pause(Duration::from_secs(900)));
    app.sim.block_after(0);
    let got = batch(&app, "PLsize50", JSON, &json!({"to": 3})).await;
    for result in got.json()["results"].as_array().unwrap() {
        assert_eq!((&result["reason"], &result["retryAfter"]), (&json!("blocked"), &json!(900)));
    }
    app.sim.unblock();
    let mixed = batch(&TestApp::new(), "PLquirkMixed", JSON, &json!({"to": 2})).await;
    for result in mixed.json()["results"].as_array().unwrap() {
        assert!(result.get("retryAfter").is_none(), "nothing to wait for: {result}");
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_a_batch_with_an_end_costs_the_pages_up_to_it() {
    for (body, cost) in [(json!({"from": 1, "to": 2}), 1), (json!({"from": 51, "to": 52}), 2)] {
        let app = TestApp::uncached();
        let got = batch(&app, "PLsize20000", JSON, &body).await;
        assert_eq!((got.cost(), &got.json()["totalVideos"]), (cost, &json!(20_000)), "{body}");
        assert_eq!(got.json()["requestedRange"], json!([body["from"], body["to"]]));
        assert_eq!(app.sim.record().calls_to(Endpoint::PlaylistItems), u64::from(cost));
    }
}

#[tokio::test(start_paused = true)]
async fn users_1_a_query_for_a_range_costs_the_pages_up_to_it() {
    let app = TestApp::uncached();
    let query =
        async |id: &str, body: Value| app.post(&format!("/api/playlist/{id}/query"), body).await;
    let part = query("PLsize5000", json!({"range": {"start": 2, "end": 3}})).await;
    assert_eq!((part.cost(), &part.json()["originalCount"]), (3, &json!(5_000)));
    assert_eq!(part.json()["videoCount"], 2);
    let gaps = query("PLquirkUnavailable", json!({"range": {"end": 20}})).await.json();
    assert_eq!((&gaps["videoCount"], &gaps["originalCount"]), (&json!(20), &json!(30)));
    assert!(gaps.get("unavailableCount").is_none(), "{gaps}");
    let sorted = json!({"range": {"end": 20}, "sort": {"field": "views"}});
    let whole = query("PLquirkUnavailable", sorted).await.json();
    assert_eq!((&whole["originalCount"], &whole["unavailableCount"]), (&json!(20), &json!(10)));
}

#[tokio::test(start_paused = true)]
async fn users_1_the_size_and_the_owner_of_a_playlist_cost_one_unit() {
    let app = TestApp::uncached();
    let got = app.get("/api/playlist/PLsize5000/info").await;
    let info = got.json();
    assert_eq!((got.cost(), &info["itemCount"]), (1, &json!(5_000)));
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    assert!(text("channelId").starts_with("UC") && !text("channel").is_empty(), "{info}");
    assert!(text("publishedAt").ends_with(".000Z"), "{info}");
}
