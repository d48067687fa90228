//! `X-Request-Timeout`: how long a caller will wait.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use tokio::time::Instant;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::{Got, TestApp};

const VIDEO: &str = "/api/video/quirkNoLike";

async fn get(app: &TestApp, timeout: &str) -> Got {
    let request = Request::get(VIDEO).header("host", "localhost");
    let request = request.header("x-request-timeout", timeout);
    app.send(request.body(Body::empty()).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn who_has_no_more_time_is_told_so_and_what_was_sent_is_kept() {
    for (timeout, millis) in [("2", 2_000), ("2.5", 2_500), ("1s", 1_000), ("300ms", 300)] {
        let app = TestApp::new();
        app.sim.inject(Fault::on(Endpoint::Videos, Action::Delay { millis: 4_000 }).once());
        let asked = Instant::now();
        get(&app, timeout).await.problem(504);
        assert_eq!(asked.elapsed(), Duration::from_millis(millis), "{timeout}");
        // It was paid for, so it is waited for: the next one has it.
        let got = get(&app, "9").await;
        assert_eq!((got.status.as_u16(), got.cost()), (200, 0), "{timeout}");
        assert_eq!(app.sim.record().units.default, 1, "{timeout}");
    }
}

#[tokio::test(start_paused = true)]
async fn more_time_than_the_service_gives_is_not_given() {
    let app = TestApp::with(|builder| builder.deadline(Duration::from_secs(3)));
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let asked = Instant::now();
    get(&app, "60").await.problem(504);
    assert_eq!(asked.elapsed(), Duration::from_secs(3));
}

#[tokio::test]
async fn a_time_that_is_none_is_refused_and_costs_nothing() {
    let app = TestApp::new();
    for timeout in ["", "0", "-1", "soon", "1h", "NaN", "inf", "1e3", "86401", "1 s"] {
        let (_, details) = get(&app, timeout).await.problem(400);
        assert!(details[0].starts_with("x-request-timeout: "), "{timeout}: {details:?}");
    }
    assert_eq!(app.sim.record().calls, 0);
}

#[tokio::test]
async fn an_answer_that_is_ready_needs_no_time() {
    let app = TestApp::new();
    app.get(VIDEO).await;
    assert_eq!(get(&app, "1ms").await.header("x-cache"), Some("hit"));
}
