//! Errors have one shape, the right status, and a message that says what to do.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;
use vidra_sim::{Action, Fault};

use crate::app::TestApp;

#[tokio::test]
async fn invalid_identifiers_are_400_without_an_upstream_call() {
    let app = TestApp::new();
    let paths = [
        "/api/video/short",
        "/api/video/twelve_chars",
        "/api/video/dQw4w9WgXc%00",
        "/api/video/dQw4w9WgXc!",
        "/api/video/%ff%fe",
        "/api/video/https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ",
        "/api/video/https://youtube.com@evil.example/watch?v=dQw4w9WgXcQ",
        "/api/video/https://notyoutube.com/watch?v=dQw4w9WgXcQ",
        "/api/video/http://169.254.169.254/watch?v=dQw4w9WgXcQ",
        "/api/video/https%3A%2F%2Fyoutube.com%5C.evil.example%2Fwatch%3Fv%3DdQw4w9WgXcQ",
        "/api/video/https://www.youtube.com/@handle",
        "/api/video/ftp://youtu.be/dQw4w9WgXcQ",
        "/api/video/https://youtu.be/dQw4w9WgXcQ/title",
        "/api/comments/https://youtu.be/dQw4w9WgXcQ/top",
        "/api/playlist/x",
        "/api/playlist/has%20space",
        "/api/playlist/https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "/api/channel/@",
        "/api/channel/has%20space",
        "/api/channel/https://evil.example/channel/UC_x5XG1OV2P6uZZ5FSM9Ttw",
        "/api/channel/https://www.youtube.com/channel/UCshort",
        "/api/channel/@%E2%80%AEevil",
        "/api/comments/short",
        "/api/comments/short/top",
        "/api/comment-replies/a%2Fb",
        "/api/comment-replies/%0d%0a",
    ];
    for path in paths {
        let got = app.get(path).await;
        let (message, details) = got.problem(400);
        assert!(!message.is_empty() && details.len() <= 1, "{path}: {message}");
        assert_eq!(got.cost(), 0, "{path}");
    }
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn the_error_of_an_invalid_identifier_states_the_expected_form() {
    let (message, details) = TestApp::new().get("/api/video/short").await.problem(400);
    assert_eq!(message, "Not a valid video identifier: short");
    let expected = "video: expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet";
    assert_eq!(details, [expected]);
}

#[tokio::test]
async fn l8_an_identifier_of_another_kind_is_named_without_a_request() {
    let app = TestApp::new();
    let table = [
        ("/api/playlist/nonsense", "it has the wrong length or alphabet"),
        ("/api/playlist/dQw4w9WgXcQ/info", "that is a video id"),
        ("/api/playlist/@fermata", "that is a handle"),
        (
            "/api/playlist/UC_x5XG1OV2P6uZZ5FSM9Ttw",
            "that is a channel id; the playlist of its uploads is UU_x5XG1OV2P6uZZ5FSM9Ttw",
        ),
        ("/api/video/PLsize500", "that is a playlist id"),
        ("/api/comment-replies/dQw4w9WgXcQ", "that is a video id"),
    ];
    for (path, hint) in table {
        let (_, details) = app.get(path).await.problem(400);
        assert!(details[0].ends_with(&format!("; {hint}")), "{path}: {details:?}");
    }
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn the_error_of_an_invalid_query_lists_every_fault() {
    let app = TestApp::new();
    let table: [(&str, &[&str]); 17] = [
        ("/api/channel/@a/videos?limit=", &["limit: must be a whole number from 1 to 50"]),
        ("/api/comments/dQw4w9WgXcQ?order=", &["order: must be one of time, relevance"]),
        ("/api/channel/@a/videos?limit=0", &["limit: must be a whole number from 1 to 50"]),
        ("/api/channel/@a/videos?limit=51", &["limit: must be a whole number from 1 to 50"]),
        ("/api/channel/@a/videos?limit=2.5", &["limit: must be a whole number from 1 to 50"]),
        ("/api/channel/@a/videos?limit=%2B5", &["limit: must be a whole number from 1 to 50"]),
        (
            "/api/comments/dQw4w9WgXcQ/top?limit=1001",
            &["limit: must be a whole number from 1 to 1000"],
        ),
        (
            "/api/comments/dQw4w9WgXcQ?order=best&maxResults=many&replies=some",
            &[
                "order: must be one of time, relevance",
                "maxResults: must be a whole number from 1 to 2000",
                "replies: must be one of preview, all",
            ],
        ),
        ("/api/i18n/regions?hl=e!", &["hl: must be a language code such as en, pt-BR or zh-Hans"]),
        ("/api/video-categories?region=USA", &["region: must be a two-letter code such as US"]),
        ("/api/video-categories?region=US&ids=1", &["ids: cannot be combined with region"]),
        ("/api/video-categories?ids=music", &["ids: category ids are numbers"]),
        ("/api/videos", &["ids: expected 1 to 500 entries, got 0"]),
        ("/api/videos?ids=,%20,", &["ids: expected 1 to 500 entries, got 0"]),
        (
            "/api/videos?ids=short,dQw4w9WgXcQ,https://evil.example/watch?v=x",
            &[
                "ids: Not a valid video identifier: short (expected an 11-character video id or a YouTube video URL; it has the wrong length or alphabet)",
                "ids: Not a valid video identifier: https://evil.example/watch?v=x (expected an 11-character video id or a YouTube video URL; the host is not YouTube's)",
            ],
        ),
        ("/api/videos?ids=%ff", &["query: must be UTF-8"]),
        (
            "/api/comments/dQw4w9WgXcQ?search=%00",
            &["search: must be plain text of up to 200 characters"],
        ),
    ];
    for (path, faults) in table {
        assert_eq!(app.get(path).await.problem(400).1, faults, "{path}");
    }
    let many = vec!["dQw4w9WgXcQ"; 501].join(",");
    let (_, details) = app.get(&format!("/api/videos?ids={many}")).await.problem(400);
    assert_eq!(details, ["ids: expected 1 to 500 entries, got 501"]);
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn invalid_bodies_are_rejected() {
    let app = TestApp::new();
    for path in ["/api/playlist/PLsize1/query", "/api/url/parse"] {
        let (message, details) = app.post(path, "{\"a\":").await.problem(400);
        assert_eq!((message.as_str(), details.len()), ("The body is not valid JSON", 1));
        app.post(path, "\"x\"").await.problem(400);
        app.post(path, format!("{{\"url\": \"{}\"}}", "x".repeat(140_000))).await.problem(413);
        let text = Request::post(path).header("content-type", "text/plain").body(Body::from("{}"));
        app.send(text.unwrap()).await.problem(415);
        let untyped = Request::post(path).body(Body::from("{}"));
        app.send(untyped.unwrap()).await.problem(415);
        let deep = "[".repeat(60_000);
        app.post(path, deep).await.problem(400);
    }
    let (_, details) = app.post("/api/url/parse", json!({"link": "x"})).await.problem(400);
    assert_eq!(details, ["link: unknown field", "url: must be a string"]);
    let (_, details) = app.post("/api/url/parse", json!(["https://youtu.be/x"])).await.problem(400);
    assert_eq!(details, ["url: must be a string"]);
    let (_, details) = app
        .post("/api/playlist/PLsize1/query", json!({"range": {"start": 2, "end": 1}}))
        .await
        .problem(400);
    assert_eq!(details, ["range: start is greater than end"]);
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn unknown_routes_are_404_and_wrong_methods_are_405() {
    let app = TestApp::new();
    for path in ["/web", "/api/video", "/api/video/", "/nope", "/api/video/dQw4w9WgXcQ/nope"] {
        let got = app.get(path).await;
        assert_eq!(got.problem(404).0, format!("No such route: {path}"));
    }
    let table = [
        (Method::POST, "/api/video/dQw4w9WgXcQ", "GET,HEAD"),
        (Method::DELETE, "/api/quota", "GET,HEAD"),
        (Method::GET, "/api/url/parse", "POST"),
        (Method::GET, "/api/playlist/PLsize1/query", "POST"),
        (Method::OPTIONS, "/healthz", "GET,HEAD"),
    ];
    for (method, path, allow) in table {
        let got = app.method(method, path).await;
        got.problem(405);
        assert_eq!(got.header("allow"), Some(allow), "{path}");
    }
}

#[tokio::test]
async fn upstream_refusals_map_to_403_and_404() {
    let table = [
        ("/api/video/quirkAbsent", 404, "Video not found: quirkAbsent"),
        ("/api/video/quirkAbsent/title", 404, "Video not found: quirkAbsent"),
        (
            "/api/channel/UCquirkItemsAbsent000000",
            404,
            "Channel not found: UCquirkItemsAbsent000000",
        ),
        ("/api/channel/@nobody.here/videos", 404, "Channel not found: @nobody.here"),
        ("/api/playlist/PLquirkUnknown", 404, "Playlist not found: PLquirkUnknown"),
        ("/api/playlist/PLquirkUnknown/info", 404, "Playlist not found: PLquirkUnknown"),
        ("/api/playlist/PLquirkUnknown/ids", 404, "Playlist not found: PLquirkUnknown"),
        ("/api/playlist/PLquirkPrivate", 403, "Playlist is not accessible: PLquirkPrivate"),
        ("/api/comments/quirkNoComm", 403, "Comments are disabled: quirkNoComm"),
        ("/api/comments/quirkAbsent/top", 404, "Video not found: quirkAbsent"),
        (
            "/api/comment-replies/UgquirkUnknown000004AaABAg",
            404,
            "Comment not found: UgquirkUnknown000004AaABAg",
        ),
        ("/api/video-categories?ids=999", 404, "Video category not found: 999"),
    ];
    let app = TestApp::uncached();
    for (path, status, message) in table {
        let got = app.get(path).await;
        assert_eq!(got.problem(status).0, message, "{path}");
        assert!(got.cost() >= 1);
    }
}

#[tokio::test]
async fn upstream_failures_map_to_429_502_and_503() {
    let table = [
        (Action::error("quotaExceeded"), 429),
        (Action::error("rateLimitExceeded"), 429),
        (Action::error("API_KEY_INVALID"), 503),
        (Action::error("accessNotConfigured"), 503),
        (Action::error("authError"), 503),
        (Action::status(500), 502),
        (Action::status(302), 502),
        (Action::Reset, 502),
        (Action::Junk { kind: vidra_sim::Junk::Html }, 502),
    ];
    for (fault, status) in table {
        let app = TestApp::new();
        inject_fault(&app, fault);
        let got = app.get("/api/video/quirkNoLike").await;
        got.problem(status);
        assert_eq!(got.header("retry-after").is_some(), status == 429);
        assert_eq!(got.header("cache-control"), Some("no-store"));
    }
}

fn inject_fault(app: &TestApp, fault: Action) {
    app.sim.inject(Fault::any(fault));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_times_out() {
    let body = Body::from_stream(futures_util::stream::pending::<Result<String, std::io::Error>>());
    let request = Request::post("/api/url/parse").header("content-type", "application/json");
    let got = TestApp::new().send(request.body(body).unwrap()).await;
    assert_eq!(got.problem(408).0, "The body did not arrive in time");
}

#[tokio::test]
async fn readiness_lists_degraded_parts_by_name() {
    let app = TestApp::uncached();
    inject_fault(&app, Action::error("API_KEY_INVALID"));
    app.get("/api/video/quirkNoLike").await.problem(503);
    let rejected = app.get("/readyz").await.json();
    assert_eq!(rejected["degraded"], json!(["data-api: the key was rejected"]));
    app.sim.clear_faults();
    app.get("/api/video/quirkNoLike").await;
    assert_eq!(app.get("/readyz").await.json(), json!({"status": "ready"}));
    inject_fault(&app, Action::quota_exceeded());
    app.get("/api/video/quirkNoLike").await.problem(429);
    let spent = app.get("/readyz").await.json();
    assert_eq!(spent["degraded"], json!(["data-api: the day's quota is used up"]));
}

#[tokio::test(start_paused = true)]
async fn readiness_reports_a_blocked_address_until_the_pause_ends() {
    let app = TestApp::new();
    app.get("/api/transcript/plBotWall__").await.problem(502);
    let blocked = app.get("/readyz").await.json();
    assert_eq!(blocked["degraded"], json!(["transcripts: the address is blocked by YouTube"]));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(app.get("/readyz").await.json(), json!({"status": "ready"}));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_timeout_is_504() {
    let app = TestApp::new();
    inject_fault(&app, Action::Hang);
    app.get("/api/video/quirkNoLike").await.problem(504);
}

#[tokio::test]
async fn an_exhausted_quota_reports_when_it_resets() {
    let app = TestApp::new();
    inject_fault(&app, Action::quota_exceeded());
    let got = app.get("/api/playlist/PLsize1").await;
    let (message, _) = got.problem(429);
    assert!(message.contains("midnight Pacific time"), "{message}");
    let wait: u64 = got.header("retry-after").unwrap().parse().unwrap();
    let resets_at = app.get("/api/quota").await.json()["resetsAt"].as_str().unwrap().to_owned();
    assert!((1..=25 * 3600).contains(&wait), "{wait} seconds to {resets_at}");
    assert_eq!(app.get("/api/quota").await.json()["buckets"][0]["remaining"], 0);
}

#[tokio::test]
async fn endpoints_that_need_the_data_api_are_503_without_a_key() {
    let app = TestApp::with(|builder| builder.key(None));
    let got = app.get("/api/video/quirkNoLike").await;
    let (message, details) = got.problem(503);
    assert_eq!(message, "The service has no key for the YouTube Data API");
    // Advice with flags is for the operator, not for callers.
    assert_eq!((&*got.reason(), details.len()), ("upstream_key_missing", 0));
    assert_eq!(app.get("/api/quota").await.status, 200);
    assert_eq!(app.post("/api/url/parse", json!({"url": "@a"})).await.status, 200);
}
