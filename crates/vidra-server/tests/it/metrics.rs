//! Metrics: their values, labels and format.

mod operations;
pub(crate) mod scrape;

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use vidra_server::Config;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{PEER, TestApp};
use scrape::{Labels, Scrape, scrape};

const VIDEO: &str = "/api/video/quirkNoLike";

/// Requests: how often, method, path, and the route and status that the metrics must show.
const SENT: [(u32, Method, &str, &str, &str); 11] = [
    (3, Method::GET, VIDEO, "/api/video/{id}", "200"),
    (1, Method::HEAD, VIDEO, "/api/video/{id}", "200"),
    (1, Method::DELETE, VIDEO, "/api/video/{id}", "405"),
    (2, Method::GET, "/api/video/https://youtu.be/fda4eREcaTQ?si=x", "/api/video/{id}", "200"),
    (1, Method::GET, "/api/video/nope", "/api/video/{id}", "400"),
    (1, Method::GET, "/api/video/________404", "/api/video/{id}", "404"),
    (1, Method::GET, "/api/transcript/plBotWall__", "/api/transcript/{id}", "502"),
    (1, Method::POST, "/api/url/parse", "/api/url/parse", "400"),
    (2, Method::GET, "/healthz", "/healthz", "200"),
    (1, Method::GET, "/nothing/here", "other", "404"),
    (1, Method::PATCH, "/nothing/here", "other", "404"),
];

#[tokio::test]
async fn requests_are_counted_by_route_method_and_status() {
    let app = TestApp::new();
    let mut all = 0;
    for (times, method, path, ..) in &SENT {
        for _ in 0..*times {
            app.method(method.clone(), path).await;
            all += times.min(&1);
        }
    }
    let metrics = scrape(&app).await;
    let label = |method: &Method| match method.as_str() {
        known @ ("GET" | "HEAD" | "POST" | "DELETE") => known.to_owned(),
        _ => "other".to_owned(),
    };
    for (_, method, _, route, status) in &SENT {
        let same = |row: &&(u32, Method, &str, &str, &str)| {
            (label(&row.1), row.3, row.4) == (label(method), *route, *status)
        };
        let expected: u32 = SENT.iter().filter(same).map(|row| row.0).sum();
        let labels = [("route", *route), ("method", &label(method)), ("status", *status)];
        assert_eq!(
            metrics.value("vidra_requests_total", &labels),
            f64::from(expected),
            "{labels:?}"
        );
    }
    assert_eq!(metrics.sum("vidra_requests_total"), f64::from(all), "and nothing else");
    assert_eq!(metrics.sum("vidra_request_duration_seconds_count"), f64::from(all));
    let video = |outcome| {
        metrics.value("vidra_cache_answers_total", &[("resource", "video"), ("outcome", outcome)])
    };
    // Two repetitions, one repetition by URL, and the HEAD request.
    assert_eq!((video("hit"), video("miss"), video("stale")), (4.0, 3.0, 0.0));
    let called = |endpoint, outcome| {
        let labels = [("endpoint", endpoint), ("outcome", outcome)];
        metrics.value("vidra_upstream_calls_total", &labels)
    };
    assert_eq!((called("videos", "ok"), called("player", "ok")), (3.0, 1.0));
    assert_eq!(metrics.sum("vidra_upstream_calls_total"), 4.0);
    assert_eq!(metrics.sum("vidra_upstream_call_duration_seconds_count"), 4.0);
    assert_eq!(metrics.value("vidra_egress_blocked", &[("egress", "1")]), 1.0, "the bot wall");
    assert_eq!(metrics.value("vidra_quota_used", &[("bucket", "default")]), 3.0);
    assert_eq!(metrics.value("vidra_quota_limit", &[("bucket", "search")]), 100.0);
    assert_eq!(metrics.value("vidra_cache_entries", &[("tier", "memory")]), 3.0);
    assert_eq!(
        metrics.value("vidra_cache_entries", &[("tier", "ready")]),
        1.0,
        "not the typed URL with a query"
    );
    assert!(metrics.value("vidra_cache_bytes", &[("tier", "ready")]) > 1_000.0);
    assert_eq!(metrics.value("vidra_requests_in_flight", &[]), 1.0, "the scrape itself");
    assert_eq!(metrics.value("vidra_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    assert!(metrics.value("process_resident_memory_bytes", &[]) > 1e6);
    let (open, max) = ("process_open_fds", "process_max_fds");
    assert!((3.0..metrics.value(max, &[])).contains(&metrics.value(open, &[])));
    assert!(metrics.value("process_start_time_seconds", &[]) > 1.7e9);
    assert!(metrics.value("process_cpu_seconds_total", &[]) >= 0.0);
}

#[tokio::test(start_paused = true)]
async fn durations_of_streams_count_until_the_stream_ends() {
    let app = TestApp::new();
    app.sim.set_latency(Duration::from_millis(300));
    app.get(VIDEO).await;
    app.get(VIDEO).await;
    let request = || {
        let path = "/api/playlist/PLsize50/transcript";
        Request::post(path).header("accept", "application/x-ndjson").body(Body::empty()).unwrap()
    };
    let whole = app.app.answer(request(), PEER).await;
    let mut left = app.app.answer(request(), PEER).await.into_body();
    left.frame().await.unwrap().unwrap();
    let metrics = scrape(&app).await;
    assert_eq!(metrics.value("vidra_requests_in_flight", &[]), 3.0, "two streams and the scrape");
    drop(left);
    whole.into_body().collect().await.unwrap();
    let metrics = scrape(&app).await;
    assert_eq!(metrics.value("vidra_requests_in_flight", &[]), 1.0);
    let route = ("route", "/api/video/{id}");
    let bucket = "vidra_request_duration_seconds_bucket";
    assert_eq!(metrics.value(bucket, &[route, ("le", "0.0001")]), 1.0, "the cache hit");
    assert_eq!(metrics.value(bucket, &[route, ("le", "0.25")]), 1.0);
    assert_eq!(metrics.value(bucket, &[route, ("le", "0.5")]), 2.0);
    assert!(metrics.value("vidra_request_duration_seconds_sum", &[route]) >= 0.3);
    let batch = ("route", "/api/playlist/{id}/transcript");
    let labels = [batch, ("method", "POST"), ("status", "200")];
    assert_eq!(metrics.value("vidra_requests_total", &labels), 2.0, "also the abandoned one");
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_caller_disconnects_is_counted_as_499() {
    let app = TestApp::new();
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let waiting = tokio::time::timeout(Duration::from_secs(1), app.get(VIDEO));
    waiting.await.unwrap_err();
    let metrics = scrape(&app).await;
    let labels = [("route", "/api/video/{id}"), ("method", "GET"), ("status", "499")];
    assert_eq!(metrics.value("vidra_requests_total", &labels), 1.0);
    assert_eq!(metrics.value("vidra_requests_in_flight", &[]), 1.0, "only the scrape");
}

#[tokio::test(start_paused = true)]
async fn an_outage_shows_in_breaker_state_and_stale_age() {
    let app = TestApp::new();
    app.get(VIDEO).await;
    let healthy = scrape(&app).await;
    for domain in ["data-api", "search", "feed", "egress-1-player", "egress-1-timedtext"] {
        let is_reported = |(name, labels, _): &(String, Labels, f64)| {
            name == "vidra_breaker_state" && labels["domain"] == domain
        };
        assert!(healthy.samples.iter().any(is_reported), "{domain}");
    }
    assert_eq!(healthy.sum("vidra_breaker_state"), 0.0);
    app.sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    for number in 0..5 {
        app.get(&format!("/api/video/________{number:03}")).await.problem(502);
    }
    tokio::time::advance(Duration::from_secs(20 * 60)).await;
    assert_eq!(app.get(VIDEO).await.header("x-cache"), Some("stale"));
    let metrics = scrape(&app).await;
    assert!(metrics.value("vidra_breaker_state", &[("domain", "data-api")]) > 0.0);
    assert_eq!(metrics.value("vidra_breaker_state", &[("domain", "search")]), 0.0);
    let calls = [("endpoint", "videos"), ("outcome", "failed")];
    assert!(metrics.value("vidra_upstream_calls_total", &calls) >= 5.0);
    assert!(metrics.value("vidra_stale_age_seconds", &[]) >= 1_200.0);
    let ready = app.get("/readyz").await;
    let degraded = ready.json()["degraded"].as_array().unwrap().clone();
    let is_reported = degraded[0].as_str().is_some_and(|what| what.starts_with("data-api: fail"));
    assert!(ready.status == 200 && is_reported && degraded.len() == 1, "once: {degraded:?}");
}

#[tokio::test]
async fn batch_entries_are_counted_by_status() {
    let app = TestApp::new();
    let got = app.post("/api/playlist/PLquirkMixed/transcript", "{}").await.json();
    let metrics = scrape(&app).await;
    for (status, field) in [("success", "succeeded"), ("failed", "failed")] {
        let entries = metrics.value("vidra_batch_entries_total", &[("status", status)]);
        assert_eq!(Some(entries), got[field].as_f64(), "{got}");
    }
    let listed = metrics.value("vidra_batch_entries_total", &[("status", "listed")]);
    assert_eq!(Some(listed), got["totalVideos"].as_f64(), "{got}");
    assert_eq!(metrics.value("vidra_batches_under_way", &[]), 0.0);
}

#[tokio::test]
async fn callers_cannot_create_new_series() {
    let app = TestApp::new();
    let document = serde_json::to_value(vidra_server::routes::openapi()).unwrap();
    let templates: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"];
    for template in &templates {
        for method in methods.into_iter().chain(["X1", "X2", "X3"]) {
            for id in
                ["quirkNoLike", "nope", "________404", "PLsize1", "PLquirkPrivate", "@fermata"]
            {
                let path = template.replace("{id}", id).replace("{videoId}", id);
                for accept in ["*/*", "application/json"] {
                    let request = Request::builder().method(method).uri(&path);
                    let request = request.header("accept", accept).header("if-none-match", "*");
                    app.send(request.body(Body::empty()).unwrap()).await;
                }
            }
        }
    }
    for number in 0..2_000 {
        app.get(&format!("/path-{number}/{number}?query={number}")).await;
        app.get(&format!("/api/video/{number:011}x?{number}")).await;
        app.method(format!("M{number}").parse().unwrap(), "/api/quota").await;
    }
    let text = app.get("/metrics").await.text;
    let metrics = Scrape::parse(&text);
    println!("{} series", metrics.samples.len());
    let most = 36 * templates.len();
    assert!(metrics.samples.len() < most, "{} of {most}", metrics.samples.len());
    for trace in ["path-", "query=", "quirk", "fermata", "00000000", "M1", "BREW"] {
        assert!(!text.contains(trace), "{trace}");
    }
}

#[tokio::test]
async fn separate_metrics_are_served_only_at_the_admin_address() {
    let config = Config { metrics_apart: true, ..Config::default() };
    let public = TestApp::configured(|builder| builder, config);
    public.get(VIDEO).await;
    public.get("/metrics").await.problem(404);
    public.method(Method::POST, "/metrics").await.problem(404);
    let document = public.get("/openapi.json").await.json();
    assert!(document["paths"].get("/metrics").is_none(), "an absent route is not documented");
    let admin = TestApp { sim: public.sim.clone(), app: public.app.admin(false) };
    let metrics = scrape(&admin).await;
    let labels = [("route", "/api/video/{id}"), ("method", "GET"), ("status", "200")];
    assert_eq!(
        metrics.value("vidra_requests_total", &labels),
        1.0,
        "requests to the public address"
    );
    assert_eq!(metrics.value("vidra_cache_entries", &[("tier", "ready")]), 1.0);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(admin.get(path).await.status, 200, "{path}");
        assert_eq!(public.get(path).await.status, 200, "{path}");
    }
    for path in [VIDEO, "/api/quota", "/openapi.json"] {
        admin.get(path).await.problem(404);
    }
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let app = TestApp::new();
    let paths = [
        (VIDEO, 200),
        (VIDEO, 200),
        ("/api/video/nope", 400),
        ("/nothing", 404),
        ("/api/transcript/plBotWall__", 502),
        ("/healthz", 200),
        ("/metrics", 200),
    ];
    for (path, status) in paths {
        for (sent, is_accepted) in [("mine-1", true), ("not mine", false), ("", false)] {
            let request = Request::get(path).header("x-request-id", sent);
            let got = app.send(request.body(Body::empty()).unwrap()).await;
            let id = got.header("x-request-id").unwrap();
            assert_eq!(got.status, status, "{path}");
            assert_eq!(id == sent, is_accepted, "{path}: {id}");
            assert!(is_accepted || id.len() == 16, "{path}: {id}");
            assert_eq!(got.headers.get_all("x-request-id").iter().count(), 1);
        }
        let known = Request::get(path).header("if-none-match", "*").header("x-request-id", "a");
        let known = app.send(known.body(Body::empty()).unwrap()).await;
        assert_eq!(known.header("x-request-id"), Some("a"), "{path}: {}", known.status);
    }
    let wrong = app.method(Method::DELETE, VIDEO).await;
    assert_eq!((wrong.status.as_u16(), wrong.header("x-request-id").unwrap().len()), (405, 16));
}
