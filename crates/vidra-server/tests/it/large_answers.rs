//! Large answers: spooled to files beyond a budget of memory, and compressed once.

use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use serde_json::json;
use vidra::Builder;

use crate::app::{PEER, TestApp, TestResponse};
use crate::metrics::scrape::scrape;

const PLAYLIST: &str = "/api/playlist/PLsize500";

/// More than 1 MB. A smaller answer is not counted while it is sent.
const LARGE: &str = "/api/playlist/PLsize5000";

/// A service without memory for answers.
fn spooling() -> TestApp {
    TestApp::with(|builder| builder.max_answer_memory(0))
}

async fn batch(app: &TestApp) -> TestResponse {
    app.post("/api/playlist/PLsize50/transcript", json!({"to": 30, "concurrency": 7})).await
}

/// A part, everything in another order, and both other forms.
async fn queries(app: &TestApp) -> [TestResponse; 4] {
    let query = async |form: &str, body| {
        app.post(&format!("/api/playlist/PLsize500/query{form}"), body).await
    };
    [
        query("", json!({"range": {"start": 3, "end": 400}})).await,
        query("", json!({"sort": {"field": "views", "order": "desc"}})).await,
        query("?format=csv", json!({})).await,
        query("?fields=id,title,description", json!({})).await,
    ]
}

#[tokio::test(start_paused = true)]
async fn review_s4_a_spooled_answer_equals_one_from_memory() {
    let (in_memory, spooled) = (TestApp::new(), spooling());
    for (expected, got) in [
        (in_memory.get(PLAYLIST).await, spooled.get(PLAYLIST).await),
        (batch(&in_memory).await, batch(&spooled).await),
    ]
    .into_iter()
    .chain(queries(&in_memory).await.into_iter().zip(queries(&spooled).await))
    {
        assert_eq!((got.status, &got.text), (expected.status, &expected.text));
        for name in ["etag", "cache-control", "content-type", "x-quota-cost", "x-cache", "vary"] {
            assert_eq!(got.header(name), expected.header(name), "{name}");
        }
        assert_eq!(got.header("content-length"), Some(&*got.text.len().to_string()));
    }
    assert_eq!(scrape(&spooled).await.sum("vidra_large_answer_bytes"), 0.0, "nothing is left");
}

/// A connection takes the bytes of an answer long before a slow caller has read them.
#[tokio::test(start_paused = true)]
async fn review_s4_an_answer_in_memory_counts_until_its_bytes_are_sent() {
    let app = TestApp::new();
    let read = Request::get(LARGE).body(Body::empty()).unwrap();
    let query = Request::post(format!("{LARGE}/query")).header("content-type", "application/json");
    for request in [read, query.body(Body::from("{}")).unwrap()] {
        let mut body = app.app.answer(request, PEER).await.into_body();
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        let counted = scrape(&app).await.sum("vidra_large_answer_bytes");
        assert_eq!(counted, bytes.len() as f64);
        drop(bytes);
        assert_eq!(scrape(&app).await.sum("vidra_large_answer_bytes"), 0.0);
    }
}

#[tokio::test(start_paused = true)]
async fn review_s4_a_spooled_answer_is_conditional() {
    let app = spooling();
    let etag = app.get(PLAYLIST).await.header("etag").unwrap().to_owned();
    let request = Request::get(PLAYLIST).header("if-none-match", &etag);
    let got = app.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((got.status.as_u16(), &*got.text), (304, ""));
    let head = app.method(axum::http::Method::HEAD, PLAYLIST).await;
    assert_eq!((head.header("etag"), &*head.text), (Some(&*etag), ""));
}

#[tokio::test(start_paused = true)]
async fn review_s4_an_answer_beyond_both_budgets_is_503() {
    let full = |builder: Builder| builder.max_answer_memory(0).max_spool(1_000);
    let app = TestApp::with(full);
    let large = [app.get(PLAYLIST).await, batch(&app).await];
    for got in large.into_iter().chain(queries(&app).await) {
        assert_eq!(got.problem(503).0, "The answer is too large to be built now");
        assert!(got.header("retry-after").is_some());
    }
    assert_eq!(app.get("/api/playlist/PLsize0").await.status, 200, "a small one fits");
    assert_eq!(scrape(&app).await.sum("vidra_large_answer_bytes"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn review_s5_a_head_request_does_not_compress() {
    let app = TestApp::new();
    let etag_of = async |method: &str| {
        let request =
            Request::builder().method(method).uri(PLAYLIST).header("accept-encoding", "gzip");
        let response = app.app.answer(request.body(Body::empty()).unwrap(), PEER).await;
        response.headers()["etag"].to_str().unwrap().to_owned()
    };
    let plain = etag_of("HEAD").await;
    assert!(!plain.contains("gzip"));
    let packed = etag_of("GET").await;
    assert_eq!(packed, plain.trim_end_matches('"').to_owned() + "-gzip\"");
    assert_eq!(etag_of("HEAD").await, packed, "compressed by then");
}
