//! Sessions are bounded, each caller's too, and those of a known caller are closed to others.

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
enum Who {
    Key(&'static str),
    Address(u8),
}

impl Caller for Who {
    fn is_known(&self) -> bool {
        matches!(self, Self::Key(_))
    }
}

fn service(of_all: usize, of_one: usize) -> HttpService<Who> {
    HttpService::new(World::new().vidra, 64 * 1024, SessionLimits { of_all, of_one })
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

fn request<B>(method: Method, who: Option<Who>, headers: &[(&str, &str)], body: B) -> Request<B> {
    let mut request = Request::builder()
        .method(method)
        .uri("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(body).unwrap();
    if let Some(who) = who {
        request.extensions_mut().insert(who);
    }
    request
}

/// The id of a session that is opened.
async fn open(service: &HttpService<Who>, who: Option<Who>) -> Result<String, TooManySessions> {
    let body = Full::<Bytes>::from(initialize().to_string());
    let response = service.answer(request(Method::POST, who, &[], body)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    Ok(response.headers()["mcp-session-id"].to_str().unwrap().to_owned())
}

/// The status of a request in a session.
async fn ask(service: &HttpService<Who>, method: Method, who: Option<Who>, id: &str) -> StatusCode {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let body = if method == Method::POST { list.to_string() } else { String::new() };
    let headers = [("mcp-session-id", id), ("last-event-id", "0/0")];
    let headers = if method == Method::GET { &headers[..] } else { &headers[..1] };
    let body = Full::<Bytes>::from(body);
    service.answer(request(method, who, headers, body)).await.unwrap().status()
}

#[tokio::test]
async fn there_is_room_for_so_many_and_again_when_one_is_closed() {
    let service = service(2, 2);
    let opened = [open(&service, None).await.unwrap(), open(&service, None).await.unwrap()];
    assert_ne!(opened[0], opened[1]);
    assert_eq!(open(&service, None).await, Err(TooManySessions::OfAll));
    assert!(ask(&service, Method::DELETE, None, &opened[0]).await.is_success());
    assert!(open(&service, None).await.is_ok());
}

#[tokio::test]
async fn one_caller_has_its_share_and_leaves_others_theirs() {
    let service = service(5, 2);
    for who in [Who::Key("alice"), Who::Address(1)].map(Some) {
        let first = open(&service, who).await.unwrap();
        assert!(open(&service, who).await.is_ok());
        assert_eq!(open(&service, who).await, Err(TooManySessions::OfOne), "{who:?}");
        assert!(ask(&service, Method::DELETE, who, &first).await.is_success());
        assert!(open(&service, who).await.is_ok());
    }
    assert!(open(&service, Some(Who::Key("bob"))).await.is_ok());
    assert_eq!(open(&service, Some(Who::Key("bob"))).await, Err(TooManySessions::OfAll));
}

/// Both were let through while there was room, and their bodies come later.
#[tokio::test]
async fn who_comes_second_to_the_last_place_is_told_so() {
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

/// What was answered in a session is told again to whoever resumes it.
#[tokio::test]
async fn a_session_is_its_openers_alone_where_openers_are_known() {
    let service = service(9, 9);
    let alice = Some(Who::Key("alice"));
    let session = open(&service, alice).await.unwrap();
    for other in [Some(Who::Key("bob")), Some(Who::Address(1)), None] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let status = ask(&service, method.clone(), other, &session).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method} {other:?}");
        }
    }
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let status = ask(&service, method.clone(), alice, &session).await;
        assert!(status.is_success(), "{method}: {status}");
    }
    assert_eq!(ask(&service, Method::POST, alice, &session).await, StatusCode::NOT_FOUND);
    let roaming = open(&service, Some(Who::Address(1))).await.unwrap();
    assert!(ask(&service, Method::POST, Some(Who::Address(2)), &roaming).await.is_success());
}
