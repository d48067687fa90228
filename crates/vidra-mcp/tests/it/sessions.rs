//! Sessions are limited in total and per caller. Sessions of a known caller are private.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, StatusCode};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use serde_json::{Value, json};
use vidra_mcp::{Caller, HttpService, SessionLimits, TooManySessions};

use crate::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestCaller {
    Key(&'static str),
    Address(u8),
}

impl Caller for TestCaller {
    fn is_known(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

fn service(of_all: usize, of_one: usize) -> HttpService<TestCaller> {
    HttpService::new(World::new().vidra, 64 * 1024, SessionLimits { of_all, of_one })
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn request<B>(
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

/// Opens a session and returns its id.
async fn open(
    service: &HttpService<TestCaller>,
    caller: Option<TestCaller>,
) -> Result<String, TooManySessions> {
    let body = Full::<Bytes>::from(initialize().to_string());
    let response = service.answer(request(Method::POST, caller, &[], body)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    Ok(response.headers()["mcp-session-id"].to_str().unwrap().to_owned())
}

/// The status of a request in a session.
async fn request_status(
    service: &HttpService<TestCaller>,
    method: Method,
    caller: Option<TestCaller>,
    id: &str,
) -> StatusCode {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let body = if method == Method::POST { list.to_string() } else { String::new() };
    let headers = [("mcp-session-id", id), ("last-event-id", "0/0")];
    let headers = if method == Method::GET { &headers[..] } else { &headers[..1] };
    let body = Full::<Bytes>::from(body);
    service.answer(request(method, caller, headers, body)).await.unwrap().status()
}

#[tokio::test]
async fn sessions_are_limited_and_closing_one_frees_a_slot() {
    let service = service(2, 2);
    let opened = [open(&service, None).await.unwrap(), open(&service, None).await.unwrap()];
    assert_ne!(opened[0], opened[1]);
    assert_eq!(open(&service, None).await, Err(TooManySessions::OfAll));
    assert!(request_status(&service, Method::DELETE, None, &opened[0]).await.is_success());
    assert!(open(&service, None).await.is_ok());
}

#[tokio::test]
async fn sessions_are_limited_per_caller() {
    let service = service(5, 2);
    for caller in [TestCaller::Key("alice"), TestCaller::Address(1)].map(Some) {
        let first = open(&service, caller).await.unwrap();
        assert!(open(&service, caller).await.is_ok());
        assert_eq!(open(&service, caller).await, Err(TooManySessions::OfOne), "{caller:?}");
        assert!(request_status(&service, Method::DELETE, caller, &first).await.is_success());
        assert!(open(&service, caller).await.is_ok());
    }
    assert!(open(&service, Some(TestCaller::Key("bob"))).await.is_ok());
    assert_eq!(open(&service, Some(TestCaller::Key("bob"))).await, Err(TooManySessions::OfAll));
}

/// Both requests pass the first check while a slot is free, and their bodies arrive later.
#[tokio::test]
async fn last_session_slot_is_granted_only_once() {
    let service = service(1, 1);
    let late = || {
        let body = stream::once(async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(initialize().to_string())))
        });
        service.answer(request(Method::POST, None, &[], StreamBody::new(body)))
    };
    let (one, other) = tokio::join!(late(), late());
    let opened = [one, other].map(|it| it.map(|response| response.status()));
    assert!(opened.contains(&Ok(StatusCode::OK)), "{opened:?}");
    assert!(opened.contains(&Err(TooManySessions::OfAll)), "{opened:?}");
}

/// Resuming a session replays its answers, so only its caller may resume it.
#[tokio::test]
async fn sessions_of_known_callers_are_private() {
    let service = service(9, 9);
    let alice = Some(TestCaller::Key("alice"));
    let session = open(&service, alice).await.unwrap();
    for other in [Some(TestCaller::Key("bob")), Some(TestCaller::Address(1)), None] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let status = request_status(&service, method.clone(), other, &session).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method} {other:?}");
        }
    }
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let status = request_status(&service, method.clone(), alice, &session).await;
        assert!(status.is_success(), "{method}: {status}");
    }
    assert_eq!(
        request_status(&service, Method::POST, alice, &session).await,
        StatusCode::NOT_FOUND
    );
    let roaming = open(&service, Some(TestCaller::Address(1))).await.unwrap();
    assert!(
        request_status(&service, Method::POST, Some(TestCaller::Address(2)), &roaming)
            .await
            .is_success()
    );
}
