//! Budgets: the daily quota of each caller.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;
use vidra::Allowances;
use vidra_server::gate::{KeyLimits, Keys, Rules};

use super::{VIDEO, app, file, get_as, keys};
use crate::app::TestApp;

fn units(units: u32) -> KeyLimits {
    KeyLimits { units: Some(units), ..KeyLimits::default() }
}

#[tokio::test]
async fn a_caller_over_its_budget_does_not_affect_others() {
    let callers = keys(&[("greedy", units(2)), ("alice", units(2))]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    // 1 unit, and 2 for each fifty videos.
    let over = get_as(&app, "greedy", "/api/playlist/PLsize51").await;
    let (message, _) = over.problem(429);
    assert!(
        message.starts_with("The daily budget of YouTube quota of this caller is used up"),
        "{message}"
    );
    let wait: u64 = over.header("retry-after").unwrap().parse().unwrap();
    assert!(wait <= 25 * 3600);
    assert!(over.cost() <= 2 && app.sim.record().units.default <= 2);
    // Invalid requests and cache hits cost nothing.
    get_as(&app, "alice", "/api/video/nope").await.problem(400);
    let alices = get_as(&app, "alice", VIDEO).await;
    assert_eq!((alices.status.as_u16(), alices.cost()), (200, 1));
    assert_eq!(get_as(&app, "greedy", VIDEO).await.status, 200, "it is cached by now");
    get_as(&app, "greedy", "/api/video/quirkDurDay").await.problem(429);
    assert_eq!(get_as(&app, "alice", "/api/video/quirkDurDay").await.status, 200);
    get_as(&app, "alice", "/api/video/quirkNoComm").await.problem(429);
}

#[tokio::test]
async fn a_caller_sees_its_own_budget() {
    let both = KeyLimits { searches: Some(3), ..units(5) };
    let callers = keys(&[("alice", both), ("bob", units(7)), ("carol", KeyLimits::default())]);
    let app = app(Rules { keys: Some(callers), ..Rules::default() });
    get_as(&app, "alice", VIDEO).await;
    get_as(&app, "alice", "/api/channel/https://www.youtube.com/c/LanternBayTapes").await;
    let quota = async |name| get_as(&app, name, "/api/quota").await;
    let alices = quota("alice").await;
    assert_eq!(alices.fields(""), ["resetsAt", "buckets", "yours"]);
    assert_eq!(alices.fields("/yours"), ["name", "buckets"]);
    let (spent, searched) = (4, 1);
    assert_eq!(
        alices.json()["yours"],
        json!({"name": "alice", "buckets": [
            {"name": "default", "limit": 5, "used": spent, "remaining": 5 - spent},
            {"name": "search", "limit": 3, "used": searched, "remaining": 3 - searched},
        ]})
    );
    assert_eq!(alices.json()["buckets"][0]["used"], spent);
    assert_eq!(
        quota("bob").await.json()["yours"]["buckets"],
        json!([{"name": "default", "limit": 7, "used": 0, "remaining": 7}])
    );
    assert_eq!(quota("carol").await.fields(""), ["resetsAt", "buckets"]);
}

#[tokio::test]
async fn changing_a_budget_does_not_reset_its_usage() {
    let callers = keys(&[("alice", KeyLimits::default())]);
    let app = app(Rules { keys: Some(callers.clone()), ..Rules::default() });
    assert_eq!(get_as(&app, "alice", VIDEO).await.cost(), 1);
    for (limit, status) in [(1, 429), (2, 200), (2, 429), (0, 429)] {
        callers.replace(&file(&[("alice", units(limit))]));
        let path = ["/api/video/quirkDurDay", "/api/video/quirkNoComm"];
        let path = if status == 200 { path[0] } else { path[1] };
        assert_eq!(get_as(&app, "alice", path).await.status, status, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_budget_applies_to_requests_in_flight() {
    for (limit, status) in [(6, 429), (9_000, 200)] {
        let callers = keys(&[("alice", KeyLimits::default())]);
        let app = app(Rules { keys: Some(callers.clone()), ..Rules::default() });
        app.sim.set_latency(Duration::from_millis(100));
        let reload = async {
            while app.sim.record().units.default < 2 {
                sleep(Duration::from_millis(10)).await;
            }
            callers.replace(&file(&[("alice", units(limit))]));
        };
        // 21 units without a limit: the playlist, ten pages and their videos.
        let (got, ()) = tokio::join!(get_as(&app, "alice", "/api/playlist/PLsize500"), reload);
        assert_eq!(got.status, status, "{limit}");
        let spent = app.sim.record().units.default;
        assert!(spent <= u64::from(limit), "{limit}: {spent}");
        let quota = get_as(&app, "alice", "/api/quota").await.json();
        let used = &quota["yours"]["buckets"][0]["used"];
        assert_eq!(used.as_u64(), Some(spent), "{limit}");
    }
}

/// A service with two callers and a file of their spending.
fn started(path: &Path) -> (TestApp, Arc<Allowances>) {
    let file = file(&[("alice", units(9)), ("bob", units(9))]);
    let allowances = Arc::new(Allowances::open(path.to_owned(), Timestamp::now()));
    let keys = Arc::new(Keys::with_allowances(&file, Arc::clone(&allowances)));
    (app(Rules { keys: Some(keys), ..Rules::default() }), allowances)
}

async fn used(app: &TestApp, name: &str) -> u64 {
    let quota = get_as(app, name, "/api/quota").await.json();
    quota["yours"]["buckets"][0]["used"].as_u64().unwrap()
}

#[tokio::test]
async fn a_restart_does_not_reset_budget_usage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/callers.json");
    for before in [0, 1, 2, 3] {
        let (app, allowances) = started(&path);
        assert_eq!(used(&app, "alice").await, before);
        get_as(&app, "alice", VIDEO).await;
        allowances.save(Timestamp::now());
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    // The file of an earlier version, of another day.
    let text = r#"{"alice": {"date": "2020-01-01", "default": 2, "search": 0}}"#;
    std::fs::write(&path, text).unwrap();
    assert_eq!(used(&started(&path).0, "alice").await, 0);
}

#[tokio::test]
async fn review_o2_two_services_with_one_state_folder_share_the_budgets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("callers.json");
    let ((one, ones), (other, others)) = (started(&path), started(&path));
    for video in ["quirkNoLike", "quirkDurDay", "quirkNoComm"] {
        assert_eq!(get_as(&one, "bob", &format!("/api/video/{video}")).await.cost(), 1);
    }
    ones.save(Timestamp::now());
    get_as(&other, "alice", VIDEO).await;
    others.save(Timestamp::now());
    assert_eq!(used(&other, "bob").await, 3, "spent at the other service");
    let (restarted, _) = started(&path);
    assert_eq!((used(&restarted, "bob").await, used(&restarted, "alice").await), (3, 1));
}

#[tokio::test]
async fn review_o6_an_unusable_file_of_spending_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("blocked");
    std::fs::write(&blocked, "a file in place of the folder").unwrap();
    let damaged = folder.path().join("callers.json");
    std::fs::write(&damaged, "{").unwrap();
    let table = [
        (
            blocked.join("callers.json"),
            "spending_failing",
            "callers: the file of their spending cannot",
        ),
        (damaged, "spending_incomplete", "callers: the file of their spending was unreadable"),
    ];
    for (path, what, message) in table {
        let (app, _) = started(&path);
        let ready = app.get("/readyz").await;
        assert_eq!(ready.status, 200);
        let degraded = &ready.json()["degraded"];
        assert!(degraded[0].as_str().unwrap().starts_with(message), "{degraded}");
        assert_eq!(degraded.as_array().unwrap().len(), 1);
        let metrics = get_as(&app, "alice", "/metrics").await.text;
        assert!(metrics.contains(&format!("vidra_degraded{{what=\"{what}\"}} 1")), "{metrics}");
        assert_eq!(get_as(&app, "alice", VIDEO).await.status, 200);
        assert_eq!(used(&app, "alice").await, 1);
    }
}
