use futures_util::{FutureExt, StreamExt};
use rmcp::model::{EmptyResult, JsonRpcMessage, JsonRpcResponse, RequestId, ServerResult};
use tokio::time::advance;

use super::*;

const EXPIRY: Duration = Duration::from_secs(300);

fn store(bytes_of_all: usize, bytes_of_session: usize) -> StreamStore {
    StreamStore::new(EventLimits { bytes_of_all, bytes_of_session, expiry: EXPIRY })
}

fn session(name: &str) -> SessionId {
    name.into()
}

fn event() -> ServerSseMessage {
    let (id, result) = (RequestId::Number(1), ServerResult::EmptyResult(EmptyResult {}));
    ServerSseMessage::from_message(JsonRpcMessage::Response(JsonRpcResponse {
        jsonrpc: Default::default(),
        id,
        result,
    }))
}

/// A stream of two events that has ended.
fn ended(store: &StreamStore, session: &SessionId, number: u64) {
    let log = store.begin(session, number);
    log.push(ServerSseMessage::retry(Duration::from_secs(3)));
    log.push(event());
    store.end(session, &log);
}

/// The ids of the events that can be read without waiting, and whether the stream ends with them.
fn ids_after(log: Arc<StreamLog>, index: u64) -> (Vec<String>, bool) {
    let mut events = Box::pin(log.read(index));
    let mut ids = vec![];
    loop {
        match events.next().now_or_never() {
            Some(Some(event)) => ids.push(event.event_id.unwrap()),
            Some(None) => return (ids, true),
            None => return (ids, false),
        }
    }
}

#[tokio::test]
async fn a_reader_gets_stored_and_later_events_until_the_end() {
    let (store, alice) = (store(1 << 20, 1 << 20), session("alice"));
    let log = store.begin(&alice, 7);
    log.push(event());
    let mut reader = Box::pin(Arc::clone(&log).read(0));
    assert_eq!(reader.next().await.unwrap().event_id.as_deref(), Some("0/7"));
    assert!(reader.next().now_or_never().is_none(), "the stream runs");
    log.push(event());
    assert_eq!(reader.next().await.unwrap().event_id.as_deref(), Some("1/7"));
    store.end(&alice, &log);
    assert!(reader.next().await.is_none());
    assert_eq!(ids_after(log, 1), (vec!["1/7".to_owned()], true));
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_an_event_and_by_the_end() {
    let (store, alice) = (store(1 << 20, 1 << 20), session("alice"));
    let log = store.begin(&alice, 0);
    let reader = tokio::spawn(Arc::clone(&log).read(0).count());
    tokio::task::yield_now().await;
    log.push(event());
    tokio::task::yield_now().await;
    store.end(&alice, &log);
    assert_eq!(reader.await.unwrap(), 1);
}

#[test]
fn a_stream_stores_its_last_events() {
    let log = StreamLog::new(0);
    for _ in 0..EVENTS_OF_STREAM + 2 {
        log.push(event());
    }
    let (ids, _) = ids_after(log, 0);
    assert_eq!((ids.len(), &*ids[0]), (EVENTS_OF_STREAM, "2/0"));
}

#[tokio::test(start_paused = true)]
async fn ended_streams_expire() {
    let (store, alice) = (store(1 << 20, 1 << 20), session("alice"));
    ended(&store, &alice, 0);
    let running = store.begin(&alice, 1);
    advance(EXPIRY - Duration::from_secs(1)).await;
    assert!(store.find(&alice, 0).is_some());
    advance(Duration::from_secs(1)).await;
    assert!(store.find(&alice, 0).is_none());
    assert!(store.find(&alice, 1).is_some(), "a running stream does not expire");
    store.end(&alice, &running);
    assert!(store.state().streams.is_empty() && store.state().bytes == 0, "memory is free again");
}

#[tokio::test]
async fn the_oldest_streams_are_dropped_at_the_limits() {
    // Three streams fit.
    let three = 3 * (2 * EVENT_BYTES + 40);
    for (of_all, of_session, left) in [(three, 1 << 20, 3), (1 << 20, three, 5)] {
        let (store, alice, bob) = (store(of_all, of_session), session("alice"), session("bob"));
        let running = store.begin(&alice, 9);
        ended(&store, &bob, 0);
        ended(&store, &bob, 1);
        for number in 0..5 {
            ended(&store, &alice, number);
        }
        let stored: Vec<u64> = (0..5).filter(|it| store.find(&alice, *it).is_some()).collect();
        assert_eq!(stored, [2, 3, 4]);
        assert_eq!(store.state().ended.len(), left);
        assert!(store.find(&alice, 9).is_some(), "a running stream is not dropped");
        drop(running);
    }
}

#[tokio::test]
async fn a_closed_session_has_no_streams() {
    let (store, alice, bob) = (store(1 << 20, 1 << 20), session("alice"), session("bob"));
    ended(&store, &alice, 0);
    let running = store.begin(&alice, 1);
    ended(&store, &bob, 0);
    store.remove_session(&alice);
    assert!(store.find(&alice, 0).is_none() && store.find(&alice, 1).is_none());
    assert!(store.find(&bob, 0).is_some());
    store.end(&alice, &running);
    assert_eq!(store.state().streams.len(), 1);
    assert_eq!(ids_after(running, 0), (vec![], true), "its readers end");
}

/// Nobody can request the answer if it was the first event with an id.
#[tokio::test]
async fn an_answer_without_an_earlier_event_is_not_stored() {
    let (store, alice) = (store(1 << 20, 1 << 20), session("alice"));
    let log = store.begin(&alice, 0);
    log.push(event());
    store.end(&alice, &log);
    assert!(store.find(&alice, 0).is_none());
    assert_eq!(ids_after(log, 0).0, ["0/0"], "the connected client gets it");
}
