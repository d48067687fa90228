//! Sessions are bounded.

use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;
use vidra_mcp::{HttpService, TooManySessions};

use crate::World;

fn initialize() -> Request<Full<bytes::Bytes>> {
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}});
    Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(Full::from(body.to_string()))
        .unwrap()
}

#[tokio::test]
async fn there_is_room_for_so_many_and_again_when_one_is_closed() {
    let service = HttpService::with_sessions(World::new().vidra, 64 * 1024, 2);
    let mut opened = vec![];
    for _ in 0..2 {
        let response = service.answer(initialize()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        opened.push(response.headers()["mcp-session-id"].clone());
    }
    assert_ne!(opened[0], opened[1]);
    assert_eq!(service.answer(initialize()).await.err(), Some(TooManySessions));
    let close = Request::delete("http://localhost/mcp").header("mcp-session-id", &opened[0]);
    let close = close.body(Full::<bytes::Bytes>::default()).unwrap();
    assert!(service.answer(close).await.unwrap().status().is_success());
    assert_eq!(service.answer(initialize()).await.unwrap().status(), StatusCode::OK);
}
