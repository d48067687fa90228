//! `X-Request-Timeout`: the deadline that a caller sets.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::time::Instant;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{TestApp, TestResponse};

const VIDEO: &str = "/api/video/quirkNoLike";

async fn get(app: &TestApp, timeout: &str) -> TestResponse {
    let request = Request::get(VIDEO).header("host", "localhost");
    let request = request.header("x-request-timeout", timeout);
    app.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_request_gets_504_and_its_fetch_is_cached() {
    for (timeout, millis) in [("2", 2_000), ("2.5", 2_500), ("1s", 1_000), ("300ms", 300)] {
        let app = TestApp::new();
        app.sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 4_000 }).once());
        let started = Instant::now();
        get(&app, timeout).await.problem(504);
        assert_eq!(started.elapsed(), Duration::from_millis(millis), "{timeout}");
        // The fetch was charged, so it continues, and the next request gets its result.
        let got = get(&app, "9").await;
        assert_eq!((got.status.as_u16(), got.cost()), (200, 0), "{timeout}");
        assert_eq!(app.sim.record().units.default, 1, "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_the_service_caps_the_timeout_of_the_caller() {
    let app = TestApp::with(|builder| builder.deadline(Duration::from_secs(3)));
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let started = Instant::now();
    get(&app, "60").await.problem(504);
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}

#[tokio::test]
async fn an_invalid_timeout_is_400_and_costs_nothing() {
    let app = TestApp::new();
    for timeout in ["", "0", "-1", "soon", "1h", "NaN", "inf", "1e3", "86401", "1 s"] {
        let (_, details) = get(&app, timeout).await.problem(400);
        assert!(details[0].starts_with("x-request-timeout: "), "{timeout}: {details:?}");
    }
    assert_eq!(app.sim.record().calls, 0);
    // A cached response does not hide the mistake.
    app.get(VIDEO).await;
    get(&app, "soon").await.problem(400);
}

#[tokio::test]
async fn a_cache_hit_meets_any_timeout() {
    let app = TestApp::new();
    app.get(VIDEO).await;
    assert_eq!(get(&app, "1ms").await.header("x-cache"), Some("hit"));
}
