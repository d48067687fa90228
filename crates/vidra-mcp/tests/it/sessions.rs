//! Sessions are limited in total and per caller. Sessions of a known caller are private.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Method, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use serde_json::{Value, json};
use tokio::time::timeout;
use vidra_mcp::TooManySessions;
use vidra_sim::{Action, Endpoint, Fault};

use crate::World;
use crate::mcp_client::{
    Service, TestCaller, VERSION, call, initialize, next, open, read_all, request, send, service,
    service_of,
};

const ALICE: Option<TestCaller> = Some(TestCaller::Key("alice"));
const BOB: Option<TestCaller> = Some(TestCaller::Key("bob"));

/// The status of a request in a session.
async fn request_status(
    service: &Service,
    method: Method,
    caller: Option<TestCaller>,
    id: &str,
) -> StatusCode {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let body = if method == Method::POST { list } else { Value::Null };
    let headers = [("mcp-session-id", id), ("last-event-id", "0/0")];
    let headers = if method == Method::GET { &headers[..] } else { &headers[..1] };
    send(service, method, caller, headers, &body).await.status()
}

/// The sessions of the caller that exist. This uses them.
async fn existing<'a>(
    service: &Service,
    caller: Option<TestCaller>,
    ids: &[&'a str],
) -> Vec<&'a str> {
    let mut found = vec![];
    for id in ids {
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let headers = [("mcp-session-id", *id)];
        let response = send(service, Method::POST, caller, &headers, &list).await;
        assert!(matches!(response.status().as_u16(), 200 | 404), "{}", response.status());
        if response.status() == StatusCode::OK {
            read_all(response).await;
            found.push(*id);
        }
    }
    found
}

#[tokio::test]
async fn users_21_the_oldest_idle_session_is_closed_at_the_limit_of_a_caller() {
    let service = service(9, 2);
    let other = open(&service, BOB).await.unwrap();
    for caller in [ALICE, Some(TestCaller::Address(1)), None] {
        let first = open(&service, caller).await.unwrap();
        let second = open(&service, caller).await.unwrap();
        // The use makes the second one the oldest.
        assert_eq!(existing(&service, caller, &[&first]).await, [&first]);
        let third = open(&service, caller).await.unwrap();
        assert_eq!(existing(&service, caller, &[&first, &second, &third]).await, [&first, &third]);
    }
    assert_eq!(existing(&service, BOB, &[&other]).await, [&other], "others keep theirs");
}

#[tokio::test]
async fn users_21_the_oldest_idle_session_of_all_is_closed_at_the_limit_of_all() {
    let service = service(2, 2);
    let alice = open(&service, ALICE).await.unwrap();
    let bob = open(&service, BOB).await.unwrap();
    let nobody = open(&service, None).await.unwrap();
    assert!(existing(&service, ALICE, &[&alice]).await.is_empty());
    assert_eq!(existing(&service, BOB, &[&bob]).await, [&bob]);
    assert_eq!(existing(&service, None, &[&nobody]).await, [&nobody]);
}

#[tokio::test]
async fn closing_a_session_frees_a_slot() {
    let service = service(9, 2);
    let first = open(&service, None).await.unwrap();
    let second = open(&service, None).await.unwrap();
    assert!(request_status(&service, Method::DELETE, None, &second).await.is_success());
    open(&service, None).await.unwrap();
    assert_eq!(existing(&service, None, &[&first, &second]).await, [&first]);
}

/// A session whose call runs is not closed, whether or not its client is still connected.
#[tokio::test]
async fn a_session_is_refused_only_while_all_others_are_busy() {
    let world = World::new();
    let service = service_of(&world, 2, 1);
    world.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let video = call("get_video", &json!({"video": "fda4eREcaTQ"}));
    let mut sessions = vec![];
    for caller in [ALICE, BOB] {
        let id = open(&service, caller).await.unwrap();
        let headers = [("mcp-session-id", &*id)];
        drop(send(&service, Method::POST, caller, &headers, &video).await);
        assert_eq!(open(&service, caller).await, Err(TooManySessions::OfOne));
        sessions.push(id);
    }
    assert_eq!(open(&service, None).await, Err(TooManySessions::OfAll));
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    let headers = [("mcp-session-id", &*sessions[0])];
    let got = send(&service, Method::POST, ALICE, &headers, &cancelled).await;
    assert_eq!(got.status(), StatusCode::ACCEPTED);
    // The session becomes idle when the call has ended.
    while open(&service, None).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(existing(&service, ALICE, &[&sessions[0]]).await.is_empty());
    assert_eq!(existing(&service, BOB, &[&sessions[1]]).await, [&sessions[1]]);
}

/// A client may keep a standalone stream open for ever. Sessions without one are closed first.
#[tokio::test(start_paused = true)]
async fn a_standalone_stream_does_not_keep_a_session() {
    let service = service(9, 2);
    let listening = open(&service, None).await.unwrap();
    let headers = [("mcp-session-id", &*listening)];
    let mut stream = send(&service, Method::GET, None, &headers, &Value::Null).await;
    let priming = next(&mut stream).await.unwrap();
    assert_eq!((priming.id.as_deref(), &*priming.data), (Some("0"), ""));
    let silent = open(&service, None).await.unwrap();
    let also_listening = open(&service, None).await.unwrap();
    assert_eq!(existing(&service, None, &[&silent]).await, [""; 0]);
    assert_eq!(existing(&service, None, &[&listening]).await, [&listening]);
    let headers = [("mcp-session-id", &*also_listening)];
    let _other_stream = send(&service, Method::GET, None, &headers, &Value::Null).await;
    open(&service, None).await.unwrap();
    assert_eq!(existing(&service, None, &[&also_listening]).await, [&also_listening]);
    let rest = timeout(Duration::from_secs(1), read_all(stream)).await;
    assert!(rest.is_ok(), "the stream of the closed session ends");
}

/// Both requests pass the first check while a slot is free, and their bodies arrive later.
#[tokio::test]
async fn last_session_slot_is_granted_only_once() {
    let service = service(1, 1);
    let late = || async {
        let body = stream::once(async {
            tokio::task::yield_now().await;
            Ok::<_, Infallible>(Frame::data(Bytes::from(initialize(VERSION).to_string())))
        });
        service.answer(request(Method::POST, None, &[], StreamBody::new(body))).await
    };
    let (one, other) = tokio::join!(late(), late());
    let opened = [one, other].map(|it| it.map(|response| response.status()));
    assert!(opened.contains(&Ok(StatusCode::OK)), "{opened:?}");
    assert!(opened.contains(&Err(TooManySessions::OfOne)), "a handshake is not ended: {opened:?}");
    // After the handshake the session is idle.
    assert!(open(&service, None).await.is_ok());
}

/// Resuming a session replays its answers, so only its caller may resume it.
#[tokio::test]
async fn sessions_of_known_callers_are_private() {
    let service = service(9, 9);
    let session = open(&service, ALICE).await.unwrap();
    for other in [BOB, Some(TestCaller::Address(1)), None] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let status = request_status(&service, method.clone(), other, &session).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method} {other:?}");
        }
    }
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let status = request_status(&service, method.clone(), ALICE, &session).await;
        assert!(status.is_success(), "{method}: {status}");
    }
    assert_eq!(
        request_status(&service, Method::POST, ALICE, &session).await,
        StatusCode::NOT_FOUND
    );
    let roaming = open(&service, Some(TestCaller::Address(1))).await.unwrap();
    assert!(
        request_status(&service, Method::POST, Some(TestCaller::Address(2)), &roaming)
            .await
            .is_success()
    );
}
