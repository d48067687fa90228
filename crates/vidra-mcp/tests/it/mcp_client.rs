//! A client of `HttpService`, without a socket.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use vidra_mcp::{Caller, HttpService, SessionLimits, TooManySessions};

use crate::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestCaller {
    Key(&'static str),
    Address(u8),
}

impl Caller for TestCaller {
    fn is_known(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

pub(crate) type Service = HttpService<TestCaller>;

/// The protocol version of most tests.
pub(crate) const VERSION: &str = "2025-11-25";

pub(crate) fn service(of_all: usize, of_one: usize) -> Service {
    service_of(&World::new(), of_all, of_one)
}

pub(crate) fn service_of(world: &World, of_all: usize, of_one: usize) -> Service {
    HttpService::new(world.vidra.clone(), 64 * 1024, SessionLimits { of_all, of_one })
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

/// A call of a tool, with progress.
pub(crate) fn call(name: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}})
}

pub(crate) fn request<B>(
    method: Method,
    caller: Option<TestCaller>,
    headers: &[(&str, &str)],
    body: B,
) -> Request<B> {
    let mut request = Request::builder()
        .method(method)
        .uri("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(body).unwrap();
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    request
}

pub(crate) type TestResponse = Response<BoxBody<Bytes, Infallible>>;

/// Sends a request that no limit on sessions rejects.
pub(crate) async fn send(
    service: &Service,
    method: Method,
    caller: Option<TestCaller>,
    headers: &[(&str, &str)],
    body: &Value,
) -> TestResponse {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = request(method, caller, headers, Full::<Bytes>::from(body));
    service.answer(request).await.unwrap()
}

/// Opens a session and returns its id.
pub(crate) async fn open(
    service: &Service,
    caller: Option<TestCaller>,
) -> Result<String, TooManySessions> {
    let body = Full::<Bytes>::from(initialize(VERSION).to_string());
    let response = service.answer(request(Method::POST, caller, &[], body)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    // The handshake has ended.
    read_all(response).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let headers = [("mcp-session-id", &*id)];
    let response = send(service, Method::POST, caller, &headers, &initialized).await;
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    Ok(id)
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    /// The message; empty in a priming event.
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The next event of a stream; `None` at its end.
pub(crate) async fn next(response: &mut TestResponse) -> Option<Event> {
    loop {
        let frame = response.body_mut().frame().await?.unwrap();
        let Ok(data) = frame.into_data() else { continue };
        let text = String::from_utf8(data.to_vec()).unwrap();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        if let Some(data) = field("data:") {
            let id = field("id:").map(|id| id.trim().to_owned());
            return Some(Event { id, data: data.trim().to_owned() });
        }
    }
}

/// All events of a stream.
pub(crate) async fn read_all(mut response: TestResponse) -> Vec<Event> {
    let mut events = vec![];
    while let Some(event) = next(&mut response).await {
        events.push(event);
    }
    events
}
