//! A client that loses a stream gets the rest of it, also when the call has ended.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;
use vidra_sim::Endpoint;

use crate::World;
use crate::mcp_client::{
    Event, Service, TestCaller, call, initialize, next, open, read_all, send, service, service_of,
};

const ALICE: Option<TestCaller> = Some(TestCaller::Key("alice"));
const BOB: Option<TestCaller> = Some(TestCaller::Key("bob"));

/// The events after the last one that the client received.
async fn resume(
    service: &Service,
    caller: Option<TestCaller>,
    session: &str,
    last_event: &str,
) -> Vec<Event> {
    let headers = [("mcp-session-id", session), ("last-event-id", last_event)];
    let response = send(service, Method::GET, caller, &headers, &Value::Null).await;
    assert_eq!(response.status(), StatusCode::OK);
    let read = timeout(Duration::from_secs(300), read_all(response)).await;
    read.expect("a resumed stream ends with the answer")
}

fn transcripts() -> Value {
    call("batch_transcribe", &json!({"videos": ["txManualAsr", "txOneHour__"]}))
}

/// Whether the last event is the answer of a call that did not fail.
fn is_answered(events: &[Event]) -> bool {
    events.last().is_some_and(|last| last.message()["result"]["isError"] == false)
}

#[tokio::test(start_paused = true)]
async fn users_22_a_finished_answer_is_sent_again_after_any_event() {
    let service = service(9, 9);
    let session = open(&service, ALICE).await.unwrap();
    let headers = [("mcp-session-id", &*session)];
    let response = send(&service, Method::POST, ALICE, &headers, &transcripts()).await;
    let events = read_all(response).await;
    assert_eq!(events[0].data, "", "the priming event");
    assert_eq!(events[1].message()["method"], "notifications/progress");
    assert!(is_answered(&events) && events.len() >= 4, "{events:?}");
    for (at, event) in events.iter().enumerate() {
        let id = event.id.as_deref().unwrap();
        assert_eq!(resume(&service, ALICE, &session, id).await, events[at + 1..], "{id}");
    }
    // A second call has ids of its own.
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let others = read_all(send(&service, Method::POST, ALICE, &headers, &ping).await).await;
    assert!(others.iter().all(|other| events.iter().all(|event| event.id != other.id)));
}

#[tokio::test(start_paused = true)]
async fn a_running_call_is_resumed_with_its_progress_and_its_answer() {
    let world = World::new();
    let service = service_of(&world, 9, 9);
    let session = open(&service, None).await.unwrap();
    world.sim.set_latency(Duration::from_secs(1));
    let headers = [("mcp-session-id", &*session)];
    let mut response = send(&service, Method::POST, None, &headers, &transcripts()).await;
    let priming = next(&mut response).await.unwrap();
    drop(response);
    let calls = world.sim.record().calls_to(Endpoint::Player);
    assert_eq!(calls, 0, "the call has hardly begun");
    let rest = resume(&service, None, &session, &priming.id.unwrap()).await;
    assert_eq!(rest[0].message()["method"], "notifications/progress");
    assert!(is_answered(&rest), "{rest:?}");
}

/// A client that has cancelled a call does not wait for its answer.
#[tokio::test(start_paused = true)]
async fn the_stream_of_a_cancelled_call_ends() {
    let world = World::new();
    let service = service_of(&world, 9, 9);
    let session = open(&service, None).await.unwrap();
    world.sim.set_latency(Duration::from_secs(600));
    let headers = [("mcp-session-id", &*session)];
    let mut response = send(&service, Method::POST, None, &headers, &transcripts()).await;
    let priming = next(&mut response).await.unwrap();
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    send(&service, Method::POST, None, &headers, &cancelled).await;
    assert_eq!(read_all(response).await, []);
    assert_eq!(resume(&service, None, &session, &priming.id.unwrap()).await, []);
}

#[tokio::test(start_paused = true)]
async fn events_of_another_session_and_unknown_ids_are_not_replayed() {
    let service = service(9, 9);
    let alice = open(&service, ALICE).await.unwrap();
    let headers = [("mcp-session-id", &*alice)];
    let events =
        read_all(send(&service, Method::POST, ALICE, &headers, &transcripts()).await).await;
    let id = events[0].id.as_deref().unwrap();
    assert!(is_answered(&resume(&service, ALICE, &alice, id).await));
    let bob = open(&service, BOB).await.unwrap();
    assert_eq!(resume(&service, BOB, &bob, id).await, []);
    for id in ["0/999", "x/0", "0/x", "", "/", "-1/0", "18446744073709551615/0"] {
        assert_eq!(resume(&service, ALICE, &alice, id).await, [], "{id}");
    }
    // The session is gone, and its events with it.
    send(&service, Method::DELETE, ALICE, &headers, &Value::Null).await;
    let headers = [("mcp-session-id", &*alice), ("last-event-id", id)];
    let gone = send(&service, Method::GET, ALICE, &headers, &Value::Null).await;
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

/// Clients of older versions report an event without a message as malformed.
#[tokio::test(start_paused = true)]
async fn users_22_only_versions_that_know_priming_events_get_them() {
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (version, is_primed) in
        [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", false), ("2025-11-25", true)]
    {
        let service = service(9, 9);
        let opened = send(&service, Method::POST, None, &[], &initialize(version)).await;
        let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let events = read_all(opened).await;
        assert_eq!(events.len(), 1, "{version}");
        assert_eq!(events[0].message()["result"]["protocolVersion"], version);
        let headers = [("mcp-session-id", &*session)];
        let events = read_all(send(&service, Method::POST, None, &headers, &list).await).await;
        let is_empty: Vec<bool> = events.iter().map(|event| event.data.is_empty()).collect();
        let expected = if is_primed { &[true, false][..] } else { &[false] };
        assert_eq!(is_empty, expected, "{version}");
        let mut stream = send(&service, Method::GET, None, &headers, &Value::Null).await;
        let first = timeout(Duration::from_secs(2), next(&mut stream)).await;
        let first = first.ok().flatten().map(|event| (event.id, event.data));
        let priming = (Some("0".to_owned()), String::new());
        assert_eq!(first, is_primed.then_some(priming), "{version}");
    }
}

/// A client of an older version can resume a stream from its first progress event.
#[tokio::test(start_paused = true)]
async fn an_older_client_resumes_from_an_event_with_progress() {
    let service = service(9, 9);
    let opened = send(&service, Method::POST, None, &[], &initialize("2025-06-18")).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let headers = [("mcp-session-id", &*session)];
    let events = read_all(send(&service, Method::POST, None, &headers, &transcripts()).await).await;
    assert_eq!(events[0].message()["method"], "notifications/progress");
    let id = events[0].id.as_deref().unwrap();
    assert_eq!(resume(&service, None, &session, id).await, events[1..]);
}

/// Protocol 2026-07-28 has no event ids: closing the connection cancels the call.
#[tokio::test(start_paused = true)]
async fn without_a_session_a_closed_connection_cancels_the_call() {
    let world = World::new();
    let service = service_of(&world, 9, 9);
    world.sim.set_latency(Duration::from_secs(1));
    let version = "2026-07-28";
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "transcribe_playlist", "arguments": {"playlist": "PLsize200"},
        "_meta": {"progressToken": "p",
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers = [
        ("mcp-protocol-version", version),
        ("mcp-method", "tools/call"),
        ("mcp-name", "transcribe_playlist"),
    ];
    let mut response = send(&service, Method::POST, None, &headers, &body).await;
    let event = next(&mut response).await.unwrap();
    assert_eq!(
        (event.id.as_deref(), &event.message()["method"]),
        (None, &json!("notifications/progress"))
    );
    let players = || world.sim.record().calls_to(Endpoint::Player);
    while players() < 3 {
        next(&mut response).await.unwrap();
    }
    drop(response);
    let before = players();
    // The paused clock jumps to the next request.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(players() <= before + 3, "{before} and then {}", players());
    let headers = [("mcp-protocol-version", version), ("last-event-id", "0/0")];
    let refused = send(&service, Method::GET, None, &headers, &Value::Null).await;
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
}
