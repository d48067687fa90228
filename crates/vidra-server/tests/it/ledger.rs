//! The quota ledger behind the service: wrong clocks, damaged and unusable files.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::Value;
use tokio::task::yield_now;
use vidra::clock::Clock;
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::TestApp;

#[derive(Clone)]
struct SetClock(Arc<Mutex<Timestamp>>);

impl SetClock {
    fn set(&self, time: &str) {
        *self.0.lock().unwrap() = time.parse().unwrap();
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}

fn started(folder: &Path) -> TestApp {
    TestApp::uncached_with(|builder| builder.state_dir(folder))
}

/// Used and remaining units of both buckets.
async fn quota(app: &TestApp) -> Value {
    app.get("/api/quota").await.json()["buckets"].take()
}

/// What `/readyz` reports, and whether the metric `what` agrees.
async fn degraded(app: &TestApp, what: &str) -> (Vec<String>, bool) {
    let ready = app.get("/readyz").await;
    assert_eq!(ready.status, 200);
    let metrics = app.get("/metrics").await.text;
    let is_set = metrics.contains(&format!("vidra_degraded{{what=\"{what}\"}} 1\n"));
    (serde_json::from_value(ready.json()["degraded"].take()).unwrap_or_default(), is_set)
}

#[tokio::test]
async fn review_s9_a_wrong_clock_during_a_report_changes_no_quota() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock(Arc::new(Mutex::new(Timestamp::UNIX_EPOCH)));
    let app =
        TestApp::uncached_with(|builder| builder.state_dir(folder.path()).clock(clock.clone()));
    let right = "2026-11-15T12:00:00Z";
    clock.set(right);
    for _ in 0..5 {
        app.get("/api/video/quirkNoLike").await;
    }
    // Two more units, then a search.
    app.sim.inject(Fault::on(Endpoint::Search, Action::quota_exceeded()));
    app.get("/api/channel/https://www.youtube.com/c/LanternBayTapes").await.problem(429);
    let before = quota(&app).await;
    assert_eq!((&before[0]["used"], &before[1]["remaining"]), (&7.into(), &0.into()), "{before}");
    for wrong in ["1970-01-01T00:00:00Z", "2026-11-16T12:00:00Z", "2036-01-01T00:00:00Z"] {
        clock.set(wrong);
        assert_eq!(quota(&app).await[0]["used"], 0, "{wrong}");
        clock.set(right);
        assert_eq!(quota(&app).await, before, "{wrong}");
    }
}

#[tokio::test]
async fn review_s10_o6_a_ledger_without_a_readable_copy_is_reported_and_the_service_runs_on() {
    let folder = tempfile::tempdir().unwrap();
    let app = started(folder.path());
    for _ in 0..3 {
        app.get("/api/video/quirkNoLike").await;
    }
    assert_eq!(degraded(&app, "ledger_incomplete").await, (vec![], false));
    // The end of the service completes the last sync.
    drop(app);
    let files: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let copies: Vec<_> = files.iter().filter(|it| it.extension().unwrap() != "lock").collect();
    assert!((2..=3).contains(&copies.len()), "{files:?}");
    let working = copies.iter().find(|it| it.extension().unwrap() == "json").unwrap();
    // On a busy disk the last sync takes longer than the service waits for it.
    let last = fs::read(working).unwrap();
    let others = || copies.iter().filter(|copy| *copy != working);
    let begun = Instant::now();
    while !others().any(|copy| fs::read(copy).unwrap() == last) {
        assert!(begun.elapsed() < Duration::from_secs(30), "no copy was synced");
        yield_now().await;
    }
    fs::write(working, "junk").unwrap();
    let app = started(folder.path());
    assert_eq!(quota(&app).await[0]["used"], 3, "from a synced copy");
    assert_eq!(degraded(&app, "ledger_incomplete").await, (vec![], false));
    drop(app);
    for copy in copies {
        fs::write(copy, "junk").unwrap();
    }
    let app = started(folder.path());
    let (messages, is_set) = degraded(&app, "ledger_incomplete").await;
    assert!(is_set && messages.len() == 1, "{messages:?}");
    assert!(messages[0].starts_with("ledger: its file was unreadable"), "{messages:?}");
    assert_eq!(app.get("/api/video/quirkNoLike").await.status, 200);
    assert_eq!(quota(&app).await[0]["used"], 1, "from zero");
    // The platform's refusal closes the bucket.
    app.sim.inject(Fault::on(Endpoint::Videos, Action::quota_exceeded()));
    app.get("/api/video/quirkNoLike").await.problem(429);
    let calls = app.sim.record().calls;
    app.get("/api/video/quirkNoComm").await.problem(429);
    assert_eq!(app.sim.record().calls, calls);
}

#[tokio::test]
async fn review_o6_a_ledger_that_cannot_be_written_is_reported_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    fs::write(&state, "a file in place of the folder").unwrap();
    let app = started(&state);
    for _ in 0..2 {
        assert_eq!(app.get("/api/video/quirkNoLike").await.status, 200);
        let (messages, is_set) = degraded(&app, "ledger_failing").await;
        assert!(is_set && messages.len() == 1, "{messages:?}");
        assert!(messages[0].starts_with("ledger: its file cannot be written"), "{messages:?}");
    }
    fs::remove_file(&state).unwrap();
    assert_eq!(quota(&app).await[0]["used"], 2);
    assert_eq!(degraded(&app, "ledger_failing").await, (vec![], false));
    assert_eq!(quota(&started(&state)).await[0]["used"], 2, "nothing was lost");
}
