//! What an operator sees: refusals by reason, slots, the certificate and reloads.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::json;
use vidra::clock::Clock;
use vidra::{Pace, Pacing};
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};
use vidra_server::{Config, Reloads, Tls};
use vidra_sim::{Action, Fault};

use super::VIDEO;
use super::scrape::scrape;
use crate::app::{PEER, TestApp};

const DAY: u64 = 86_400;

/// The number of refused requests by reason.
async fn refused(app: &TestApp, reason: &str) -> f64 {
    scrape(app).await.value("vidra_limited_total", &[("reason", reason)])
}

/// The keys of one caller with limits.
fn keys(limits: KeyLimits) -> Rules {
    let mut file = KeyFile::default();
    file.add("alice".parse().unwrap(), "secret", limits, SystemTime::now()).unwrap();
    Rules { keys: Some(Arc::new(Keys::new(&file))), ..Rules::default() }
}

fn get(path: &str, key: Option<&str>) -> Request<Body> {
    let request = Request::get(path);
    let request = match key {
        Some(key) => request.header("x-api-key", key),
        None => request,
    };
    request.body(Body::empty()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn review_o5_refusals_of_callers_are_counted_by_reason() {
    let limits = KeyLimits { rate: "4/h".parse().ok(), units: Some(1), ..KeyLimits::default() };
    let config = Config { gate: keys(limits), metrics_apart: true, ..Config::default() };
    let app = TestApp::configured(|builder| builder, config);
    let admin = TestApp { sim: app.sim.clone(), app: app.app.admin(false) };
    let table = [
        (VIDEO, None, 401, Some("caller_key_missing")),
        (VIDEO, Some("wrong"), 401, Some("caller_key_invalid")),
        (VIDEO, Some("secret"), 200, None),
        ("/api/video/fda4eREcaTQ", Some("secret"), 429, Some("caller_budget_exhausted")),
        ("/api/video/________404", Some("secret"), 429, Some("caller_budget_exhausted")),
        ("/api/video/nope", Some("secret"), 400, None),
        (VIDEO, Some("secret"), 429, Some("caller_rate_limited")),
    ];
    let mut all = 0.0;
    for (path, key, status, reason) in table {
        let before = match reason {
            Some(reason) => refused(&admin, reason).await,
            None => 0.0,
        };
        assert_eq!(app.send(get(path, key)).await.status, status, "{path} {key:?}");
        if let Some(reason) = reason {
            assert_eq!(refused(&admin, reason).await, before + 1.0, "{reason}");
            all += 1.0;
        }
    }
    assert_eq!(scrape(&admin).await.sum("vidra_limited_total"), all, "and nothing else");
}

#[tokio::test(start_paused = true)]
async fn review_o5_busy_and_failing_are_told_apart() {
    // All slots are taken.
    let app = TestApp::uncached_with(|builder| builder.max_misses(1).max_batches(0));
    app.sim.set_latency(Duration::from_secs(1));
    let (first, second) = tokio::join!(app.get(VIDEO), app.get("/api/video/fda4eREcaTQ"));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 503));
    let batch = app.post("/api/playlist/PLquirkMixed/transcript", "{}").await;
    assert_eq!(batch.status, 503);
    assert_eq!(
        (refused(&app, "overloaded").await, refused(&app, "upstream_failing").await),
        (2.0, 0.0)
    );
    let metrics = scrape(&app).await;
    assert_eq!(metrics.value("vidra_slots_limit", &[("kind", "fetch")]), 1.0);
    assert_eq!(metrics.value("vidra_slots_taken", &[("kind", "fetch")]), 0.0);

    // The circuit breaker is open.
    let app = TestApp::uncached();
    app.sim.inject(Fault::any(Action::status(503)));
    for at in 0..6 {
        app.get(&format!("/api/video/{at}uirkNoLike")).await;
    }
    assert_eq!(
        (refused(&app, "overloaded").await, refused(&app, "upstream_failing").await),
        (0.0, 1.0)
    );

    // The pace of the only address is used up.
    let pace = Pacing::At(Pace { burst: 1, per_hour: 1 });
    let app = TestApp::uncached_with(|builder| builder.pacing(pace));
    app.get("/api/transcript/txManualAsr").await;
    assert_eq!(app.get("/api/transcript/txManualAsr").await.status, 429);
    assert_eq!(refused(&app, "paced").await, 1.0);
}

#[tokio::test(start_paused = true)]
async fn streams_have_a_histogram_of_their_own_up_to_an_hour() {
    let app = TestApp::new();
    app.sim.set_latency(Duration::from_secs(5));
    let path = "/api/playlist/PLsize50/transcript";
    let request = Request::post(path).header("accept", "application/x-ndjson");
    let stream = app.app.answer(request.body(Body::empty()).unwrap(), PEER).await;
    stream.into_body().collect().await.unwrap();
    let metrics = scrape(&app).await;
    let batch = ("route", "/api/playlist/{id}/transcript");
    let below =
        |bound| metrics.value("vidra_stream_duration_seconds_bucket", &[batch, ("le", bound)]);
    assert_eq!((below("60"), below("3600")), (0.0, 1.0));
    assert_eq!(metrics.value("vidra_request_duration_seconds_count", &[batch]), 0.0);
}

/// A wall clock that stands still.
struct Fixed(jiff::Timestamp);

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        self.0
    }

    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}

/// Certificate files that expire after this time from the beginning of 2030.
fn certificate(folder: &tempfile::TempDir, seconds: i64) -> [PathBuf; 2] {
    let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_after =
        rcgen::date_time_ymd(2030, 1, 1) + Duration::from_secs(seconds.unsigned_abs());
    let key = rcgen::KeyPair::generate().unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    fs::write(&files[0], params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(&files[1], key.serialize_pem()).unwrap();
    files
}

#[tokio::test]
async fn review_o7_an_expiring_certificate_is_a_metric_and_degrades_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let start: jiff::Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
    let days = |count: u64| (count * DAY) as i64;
    let table = [
        (days(8), None),
        (days(7) + 1, None),
        (days(7), Some(("certificate_expiring", "tls: the certificate expires in 7 days"))),
        (days(2) - 1, Some(("certificate_expiring", "tls: the certificate expires in 1 day"))),
        (0, Some(("certificate_expired", "tls: the certificate has expired"))),
    ];
    let [cert, key] = certificate(&folder, days(30));
    let tls = Tls::from_files(&cert, &key, false).unwrap();
    let config = Config { tls: Some(tls.clone()), ..Config::default() };
    let app = TestApp::configured(|builder| builder.clock(Fixed(start)), config);
    for (left, expected) in table {
        let [cert, key] = certificate(&folder, left);
        tls.renew(&cert, &key, false).unwrap();
        let metrics = scrape(&app).await;
        let expires = metrics.value("vidra_tls_certificate_expiry_seconds", &[]);
        assert_eq!(expires, (start.as_second() + left) as f64);
        let ready = app.get("/readyz").await;
        assert_eq!(ready.status, 200, "it still answers");
        let degraded = ready.json()["degraded"].as_array().cloned().unwrap_or_default();
        assert_eq!(degraded, expected.map(|(_, text)| json!(text)).into_iter().collect::<Vec<_>>());
        for what in ["certificate_expiring", "certificate_expired"] {
            let is_so = expected.is_some_and(|(part, _)| part == what);
            let shown = metrics.value("vidra_degraded", &[("what", what)]);
            assert_eq!(shown, f64::from(u8::from(is_so)), "{left} {what}");
        }
    }
}

#[tokio::test]
async fn a_failed_reload_is_a_metric_until_the_next_success() {
    let reloads = Reloads::default();
    let config = Config { reloads: reloads.clone(), ..Config::default() };
    let app = TestApp::configured(|builder| builder, config);
    let degraded =
        async || scrape(&app).await.value("vidra_degraded", &[("what", "reload_failed")]);
    assert_eq!(degraded().await, 0.0);
    reloads.note("caller_keys", true);
    reloads.note("caller_keys", false);
    assert_eq!(degraded().await, 1.0);
    let ready = app.get("/readyz").await.json();
    assert_eq!(ready["degraded"], json!(["reload: the caller keys could not be read again"]));
    reloads.note("caller_keys", true);
    let metrics = scrape(&app).await;
    let count = |outcome| {
        metrics.value("vidra_reloads_total", &[("file", "caller_keys"), ("outcome", outcome)])
    };
    assert_eq!((count("success"), count("failure"), degraded().await), (2.0, 1.0, 0.0));
}

#[tokio::test(start_paused = true)]
async fn review_o1_a_spent_quota_and_a_rejected_key_are_visible() {
    let app = TestApp::uncached();
    let shown = async |name, labels: &[(&str, &str)]| scrape(&app).await.value(name, labels);
    let videos = |outcome| [("endpoint", "videos"), ("outcome", outcome)];
    app.get("/api/video/________404").await;
    app.sim.inject(Fault::any(Action::error("keyInvalid")).once());
    app.get("/api/video/quirkNoLike").await;
    assert_eq!(shown("vidra_upstream_calls_total", &videos("key_rejected")).await, 1.0);
    assert_eq!(shown("vidra_degraded", &[("what", "key_rejected")]).await, 1.0);
    // Of ten thousand units three are used, and YouTube says that none is left.
    app.sim.inject(Fault::any(Action::quota_exceeded()));
    app.get("/api/video/fda4eREcaTQ").await;
    assert_eq!(shown("vidra_upstream_calls_total", &videos("quota_exhausted")).await, 1.0);
    assert_eq!(shown("vidra_upstream_calls_total", &videos("refused")).await, 0.0);
    assert_eq!(shown("vidra_quota_used", &[("bucket", "default")]).await, 3.0);
    assert_eq!(shown("vidra_quota_exhausted", &[("bucket", "default")]).await, 1.0);
    assert_eq!(shown("vidra_quota_exhausted", &[("bucket", "search")]).await, 0.0);
    assert_eq!(shown("vidra_degraded", &[("what", "quota_exhausted")]).await, 1.0);
}
