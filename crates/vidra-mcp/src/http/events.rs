//! The events of streams, for clients that lose the connection before they have read the answer.
//!
//! The response to a request of a session is a stream of events. Each event has an id: its number in the
//! stream, and the number of the stream in the session. A client that requests the events after an id gets the
//! rest of that stream, also after the call has ended.
//!
//! This is no `EventStore` of rmcp, which learns neither the session of a stream nor the end of a cancelled
//! call. Without the session it could not keep the answers of callers apart.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, stream};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The limits of the events that are stored after the end of their stream. They count the JSON of an event and
/// [`EVENT_BYTES`].
#[derive(Debug, Clone, Copy)]
pub(super) struct EventLimits {
    pub(super) bytes_of_all: usize,
    pub(super) bytes_of_session: usize,
    pub(super) expiry: Duration,
}

/// The largest answer of a tool has about 1.5 MB of JSON. In memory an event takes two to four times its JSON.
impl Default for EventLimits {
    fn default() -> Self {
        Self {
            bytes_of_all: 8 << 20,
            bytes_of_session: 2 << 20,
            expiry: Duration::from_secs(5 * 60),
        }
    }
}

/// What an event costs besides its text.
const EVENT_BYTES: usize = 512;

/// The number of events of one stream. Progress comes before the answer, so the answer is always among the
/// last ones.
const EVENTS_OF_STREAM: usize = 64;

/// The events of one stream. Clones of the `Arc` read it, also when the store has dropped it.
pub(super) struct StreamLog {
    /// The number of the stream in its session.
    number: u64,
    state: Mutex<LogState>,
    changed: Notify,
}

#[derive(Default)]
struct LogState {
    events: VecDeque<ServerSseMessage>,
    /// The number of events that were dropped.
    dropped: u64,
    has_ended: bool,
}

/// The result of a look at a stream.
enum Look {
    /// An event, and the number of the next one.
    Event(ServerSseMessage, u64),
    NotYet,
    End,
}

impl StreamLog {
    fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, state: Mutex::default(), changed: Notify::new() })
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event, which gets its id here.
    pub(super) fn push(&self, mut event: ServerSseMessage) {
        let mut state = self.state();
        let index = state.dropped + state.events.len() as u64;
        event.event_id = Some(format!("{index}/{}", self.number));
        state.events.push_back(event);
        if state.events.len() > EVENTS_OF_STREAM {
            state.events.pop_front();
            state.dropped += 1;
        }
        drop(state);
        self.changed.notify_waiters();
    }

    fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_waiters();
    }

    /// The stored bytes; `None` if nobody can request them, because no event came before the last one.
    fn bytes(&self) -> Option<usize> {
        let state = self.state();
        let is_resumable = state.dropped > 0 || state.events.len() > 1;
        is_resumable.then(|| state.events.iter().map(event_bytes).sum())
    }

    fn look(&self, index: u64) -> Look {
        let state = self.state();
        let index = index.max(state.dropped);
        let at = usize::try_from(index - state.dropped).unwrap_or(usize::MAX);
        match state.events.get(at) {
            Some(event) => Look::Event(event.clone(), index + 1),
            None if state.has_ended => Look::End,
            None => Look::NotYet,
        }
    }

    /// The events from this one on, and those that are still to come.
    pub(super) fn read(
        self: Arc<Self>,
        index: u64,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        stream::unfold((self, index), |(log, index)| async move {
            loop {
                // Created before the look, so that no event is missed between the two.
                let changed = log.changed.notified();
                match log.look(index) {
                    Look::Event(event, next) => return Some((event, (Arc::clone(&log), next))),
                    Look::End => return None,
                    Look::NotYet => changed.await,
                }
            }
        })
    }
}

fn event_bytes(event: &ServerSseMessage) -> usize {
    struct Counter(usize);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(EVENT_BYTES);
    if let Some(message) = &event.message {
        // rmcp has serialized such a message before, and counting cannot fail.
        let _ = serde_json::to_writer(&mut counter, message.as_ref());
    }
    counter.0
}

/// The session of a stream, and the number of the stream.
type StreamKey = (SessionId, u64);

/// The streams of all sessions: the running ones, and the last that have ended.
pub(super) struct StreamStore {
    limits: EventLimits,
    state: Mutex<StoreState>,
}

#[derive(Default)]
struct StoreState {
    streams: BTreeMap<StreamKey, StoredStream>,
    /// The streams that have ended, by [`StoredStream::order`].
    ended: BTreeMap<u64, EndedStream>,
    /// The number of streams that have ended so far.
    ends: u64,
    /// The bytes of the streams that have ended.
    bytes: usize,
}

struct StoredStream {
    log: Arc<StreamLog>,
    /// How many streams ended before this one; `None` while it runs.
    order: Option<u64>,
}

struct EndedStream {
    key: StreamKey,
    at: Instant,
    bytes: usize,
}

impl StreamStore {
    pub(super) fn new(limits: EventLimits) -> Self {
        Self { limits, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a stream.
    pub(super) fn begin(&self, session: &SessionId, number: u64) -> Arc<StreamLog> {
        let log = StreamLog::new(number);
        let stream = StoredStream { log: Arc::clone(&log), order: None };
        self.state().streams.insert((Arc::clone(session), number), stream);
        log
    }

    /// Ends a stream: its readers end after the last event. Then drops the streams beyond the limits.
    pub(super) fn end(&self, session: &SessionId, log: &StreamLog) {
        log.end();
        let key = (Arc::clone(session), log.number);
        let (bytes, at) = (log.bytes(), Instant::now());
        let mut state = self.state();
        match bytes {
            Some(bytes) => state.end(EndedStream { key, at, bytes }),
            None => {
                state.streams.remove(&key);
            }
        }
        state.trim(&self.limits, session, at);
    }

    /// The stream, if it runs or is still stored.
    pub(super) fn find(&self, session: &SessionId, number: u64) -> Option<Arc<StreamLog>> {
        let state = self.state();
        let stream = state.streams.get(&(Arc::clone(session), number))?;
        let ended = stream.order.and_then(|order| state.ended.get(&order));
        let is_expired = ended.is_some_and(|end| end.at.elapsed() >= self.limits.expiry);
        (!is_expired).then(|| Arc::clone(&stream.log))
    }

    /// Drops the streams of a session that was closed.
    pub(super) fn remove_session(&self, session: &SessionId) {
        let mut state = self.state();
        let streams: Vec<_> =
            state.of_session(session).map(|(key, it)| (key.1, it.order)).collect();
        for (number, order) in streams {
            state.streams.remove(&(Arc::clone(session), number));
            order.map(|order| state.drop_ended(order));
        }
    }
}

impl StoreState {
    fn of_session(
        &self,
        session: &SessionId,
    ) -> impl Iterator<Item = (&StreamKey, &StoredStream)> + use<'_> {
        self.streams.range((Arc::clone(session), 0)..=(Arc::clone(session), u64::MAX))
    }

    fn end(&mut self, ended: EndedStream) {
        // A closed session has no streams any more.
        let Some(stream) = self.streams.get_mut(&ended.key) else { return };
        stream.order = Some(self.ends);
        self.bytes += ended.bytes;
        self.ended.insert(self.ends, ended);
        self.ends += 1;
    }

    /// Drops a stream that has ended, and returns its bytes.
    fn drop_ended(&mut self, order: u64) -> usize {
        let Some(ended) = self.ended.remove(&order) else { return 0 };
        self.streams.remove(&ended.key);
        self.bytes -= ended.bytes;
        ended.bytes
    }

    /// Drops the oldest streams that have ended until the others are within the limits.
    fn trim(&mut self, limits: &EventLimits, session: &SessionId, now: Instant) {
        let orders = || self.of_session(session).filter_map(|(_, stream)| stream.order);
        let bytes_of = |order| self.ended.get(&order).map_or(0, |ended| ended.bytes);
        let mut bytes: usize = orders().map(bytes_of).sum();
        if bytes > limits.bytes_of_session {
            let mut oldest_first: Vec<u64> = orders().collect();
            oldest_first.sort_unstable();
            for order in oldest_first {
                if bytes <= limits.bytes_of_session {
                    break;
                }
                bytes -= self.drop_ended(order);
            }
        }
        while let Some((&order, oldest)) = self.ended.first_key_value() {
            let is_expired = now.duration_since(oldest.at) >= limits.expiry;
            if !is_expired && self.bytes <= limits.bytes_of_all {
                break;
            }
            self.drop_ended(order);
        }
    }
}

#[cfg(test)]
mod tests;
