//! Collections over REST, on a library in memory and a paused clock.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vidra_library::Limits;
use vidra_server::gate::{Keys, Rules};

use crate::app::TestResponse;
use crate::jobs::JobApp;
use crate::jobs::access::{file, send};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

pub(crate) async fn put(app: &JobApp, name: &str, body: &Value) -> TestResponse {
    app.send("PUT", &format!("/api/collections/{name}"), &JSON, body.to_string()).await
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_created_synced_changed_and_deleted() {
    let app = JobApp::new();
    app.work();
    let body = json!({"sources": ["@crowd007", "txManualAsr"], "limit": 2});
    let got = put(&app, "news", &body).await;
    assert_eq!((got.status.as_u16(), got.header("location")), (201, Some("/api/collections/news")));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    assert_eq!(put(&app, "news", &body).await.status, 200, "the same again");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let shown = app.get("/api/collections/news").await.json();
    assert_eq!(shown["coverage"]["videos"], 3, "{shown}");
    assert_eq!(shown["lastSync"]["state"], "completed");
    assert_eq!(
        (&shown["sources"][0]["title"], &shown["sources"][0]["videos"]),
        (&json!("Crowd 7"), &json!(2))
    );
    assert_eq!(shown["options"], json!({"every": "6h", "limit": 2}));
    let listed = app.get("/api/collections").await.json();
    assert_eq!(
        (listed["items"].as_array().unwrap().len(), listed["items"][0]["name"].as_str()),
        (1, Some("news"))
    );
    let videos = app.get("/api/collections/news/videos?limit=2").await.json();
    assert_eq!(videos["items"].as_array().unwrap().len(), 2);
    let cursor = videos["nextCursor"].as_str().unwrap();
    let rest = app.get(&format!("/api/collections/news/videos?limit=2&cursor={cursor}")).await;
    assert_eq!(rest.json()["items"].as_array().unwrap().len(), 1);
    let csv = app.get("/api/collections/news/videos?format=csv&fields=videoId,state").await.text;
    assert!(csv.starts_with("videoId,state\r\ntxManualAsr,transcribed\r\n"), "{csv}");
    let lines = [("accept", "application/x-ndjson")];
    let lines = app.send("GET", "/api/collections/news/videos?state=gone", &lines, "").await;
    assert_eq!(lines.status, 200);

    let sync = app.send("POST", "/api/collections/news/sync", &[], "").await;
    let job = sync.header("location").unwrap().to_owned();
    assert_eq!((sync.status.as_u16(), &sync.json()["collection"]), (202, &json!("news")));
    assert_eq!(app.ended(&job).await["state"], "completed");
    let paused = app.post("/api/collections/news/pause", json!({})).await.json();
    assert_eq!((&paused["state"], paused.get("nextSync")), (&json!("paused"), None));
    let resumed = app.post("/api/collections/news/resume", json!({})).await.json();
    assert_eq!(resumed["state"], "active");
    assert_eq!(app.send("DELETE", "/api/collections/news", &[], "").await.status, 204);
    let gone = app.get("/api/collections/news").await;
    assert_eq!((gone.status.as_u16(), gone.reason()), (404, "collection_not_found".to_owned()));
    assert_eq!(app.get(&job).await.status, 404, "its jobs are deleted too");
    // The transcripts stay.
    let id = app.start(json!({"sources": ["txManualAsr"]})).await;
    assert_eq!(app.ended(&id).await["succeeded"], 1);
}

#[tokio::test(start_paused = true)]
async fn bad_requests_name_every_fault() {
    let app = JobApp::new();
    let body = json!({"sources": ["!"], "every": "5s", "webhook": "https://evil.example/", "x": 1});
    let got = put(&app, "news", &body).await;
    assert_eq!(got.status, 400);
    let details = got.json()["error"]["details"].as_array().unwrap().len();
    assert_eq!(details, 4, "{}", got.text);
    let unknown = put(&app, "news", &json!({"sources": ["@a"], "webhook": "ops"})).await;
    assert_eq!(unknown.status, 400);
    assert!(unknown.text.contains("it has: none"), "{}", unknown.text);
    let job = app.post("/api/jobs", json!({"sources": ["@a"], "webhook": "ops"})).await;
    assert_eq!(job.status, 400);
    for name in ["-a", "a%20b", "%2e%2e%2fx", &"x".repeat(101)] {
        assert_eq!(put(&app, name, &json!({"sources": ["@a"]})).await.status, 400, "{name}");
    }
    for path in ["videos?state=lost", "videos?reason=x", "videos?cursor=1-x", "videos?limit=0"] {
        let got = app.get(&format!("/api/collections/news/{path}")).await;
        assert_eq!(got.status, 400, "{path}: {}", got.text);
    }
    let many: Vec<String> = (0..501).map(|n| format!("video{n:06}")).collect();
    let got = put(&app, "news", &json!({"sources": many})).await;
    assert_eq!(got.reason(), "too_many_sources");
    let got = put(&app, "news", &Value::Null).await;
    assert!(got.text.contains("sources: is required"), "{}", got.text);
}

#[tokio::test(start_paused = true)]
async fn names_belong_to_their_owners() {
    let keys = Arc::new(Keys::new(&file(&["anna", "ben", "operator"])));
    let limits = Limits::default().with_collections(Some(1));
    let app = JobApp::with(Rules { keys: Some(keys), ..Rules::default() }, limits);
    let body = json!({"sources": ["@crowd007"], "limit": 1});
    let path = "/api/collections/news";
    for owner in ["anna", "ben"] {
        assert_eq!(send(&app, owner, "PUT", path, body.clone()).await.status, 201, "{owner}");
    }
    let second = send(&app, "anna", "PUT", "/api/collections/more", body).await;
    assert_eq!((second.status.as_u16(), &*second.reason()), (429, "too_many_collections"));
    let owners = async |name: &str| {
        let got = send(&app, name, "GET", "/api/collections", Value::Null).await.json();
        let items = got["items"].as_array().unwrap().clone();
        items.iter().map(|it| it["owner"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(owners("anna").await, ["anna"]);
    assert_eq!(owners("operator").await, ["anna", "ben"]);
    let of_ben = "/api/collections/news?owner=ben";
    assert_eq!(send(&app, "operator", "GET", of_ben, Value::Null).await.json()["owner"], "ben");
    for (method, rest) in
        [("GET", ""), ("GET", "/videos"), ("POST", "/sync"), ("POST", "/pause"), ("DELETE", "")]
    {
        let path = format!("/api/collections/news{rest}?owner=ben");
        let denied = send(&app, "anna", method, &path, Value::Null).await;
        let expected = (403, "operator_key_required");
        assert_eq!((denied.status.as_u16(), &*denied.reason()), expected, "{method} {rest}");
    }
    assert_eq!(send(&app, "operator", "DELETE", of_ben, Value::Null).await.status, 204);
    // An operator has own collections too.
    for owner in ["ben", "operator"] {
        assert_eq!(send(&app, owner, "GET", path, Value::Null).await.status, 404, "{owner}");
    }
    // Without keys and not on loopback there is no library.
    let open = JobApp::with(Rules::default(), Limits::default());
    assert_eq!(open.get("/api/collections").await.reason(), "library_off");
}

#[tokio::test(start_paused = true)]
async fn metrics_show_each_collection() {
    let app = JobApp::new();
    app.work();
    put(&app, "news", &json!({"sources": ["UCquirkManyUploads000000"], "limit": 2})).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let page = app.get("/metrics").await.text;
    for line in [
        r#"vidra_collection_units_today{owner="",collection="news"} 2"#,
        r#"vidra_collection_synced{owner="",collection="news"} 1"#,
        r#"vidra_collection_videos{owner="",collection="news",state="pending"} 0"#,
        r#"vidra_collection_last_sync_seconds{owner="",collection="news"} 1794938400"#,
        r#"vidra_collection_next_sync_seconds{owner="",collection="news"} "#,
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
}
