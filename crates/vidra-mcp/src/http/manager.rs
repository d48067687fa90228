//! The session manager of one request.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::{Stream, stream};
use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManagerError, LocalSessionWorker, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use tokio::sync::mpsc::Receiver;

use super::events::StreamLog;
use super::sessions::{SessionAccess, Sessions, UseGuard};
use super::{Caller, TooManySessions};

/// The session manager of one request, because rmcp does not tell it who sends the request.
///
/// It has no event store for the clients of protocol 2026-07-28. That version has removed event ids and
/// `Last-Event-ID`: a client cancels a call by closing the connection, and repeats a call whose connection broke.
/// With an event store rmcp would neither cancel such a call nor end it.
pub(super) struct RequestSessions<C> {
    sessions: Arc<Sessions<C>>,
    caller: Option<C>,
    /// Makes a session busy until the handshake ends. rmcp holds the manager longer than that.
    opening: Mutex<Option<UseGuard>>,
    /// The limit that rejected a session. rmcp would report it as an internal error.
    rejected: OnceLock<TooManySessions>,
}

impl<C: Caller> RequestSessions<C> {
    pub(super) fn new(sessions: Arc<Sessions<C>>, caller: Option<C>) -> Self {
        Self { sessions, caller, opening: Mutex::default(), rejected: OnceLock::new() }
    }

    pub(super) fn rejected(&self) -> Option<TooManySessions> {
        self.rejected.get().copied()
    }

    fn get(&self, id: &SessionId) -> Result<SessionAccess, LocalSessionManagerError> {
        let not_found = || LocalSessionManagerError::SessionNotFound(Arc::clone(id));
        self.sessions.get(id).ok_or_else(not_found)
    }

    fn opening(&self) -> std::sync::MutexGuard<'_, Option<UseGuard>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Caller> SessionManager for RequestSessions<C> {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let opened = self.sessions.open(self.caller.clone()).map_err(|why| {
            let _ = self.rejected.set(why);
            SessionError::from(io::Error::other("there are too many sessions"))
        })?;
        *self.opening() = Some(opened.opening);
        Ok((opened.id, opened.transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let _opening = self.opening().take();
        let response = self.get(id)?.handle.initialize(message).await?;
        self.sessions.set_takes_priming(id, takes_priming(&response));
        Ok(response)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        // rmcp calls this first, so that a session cannot be the oldest one while a request needs it.
        Ok(self.sessions.note_use(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let Some(session) = self.sessions.get(id) else { return Ok(()) };
        let closed = session.handle.close().await;
        // After closing, so that a session whose closing is cancelled still counts until it ends.
        self.sessions.remove(id);
        match closed {
            Err(SessionError::SessionServiceTerminated) => Ok(()),
            other => Ok(other?),
        }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let SessionAccess { handle, takes_priming, calls, .. } = self.get(id)?;
        let receiver = handle.establish_request_wise_channel().await?;
        let number = receiver.http_request_id;
        handle.push_message(message, number).await?;
        // From here on there is no await, so that a stream that has begun always ends.
        let log = self.sessions.streams.begin(id, number.unwrap_or_default());
        if takes_priming {
            log.push(ServerSseMessage::retry(SessionConfig::DEFAULT_SSE_RETRY));
        }
        let (sessions, id) = (Arc::clone(&self.sessions), Arc::clone(id));
        tokio::spawn(store(sessions, id, Arc::clone(&log), receiver.inner, calls));
        Ok(log.read(0))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.get(id)?.handle.push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let SessionAccess { handle, standalone_streams, .. } = self.get(id)?;
        let receiver = handle.establish_common_channel().await?;
        Ok(standalone(receiver.inner, standalone_streams))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let SessionAccess { handle, standalone_streams, .. } = self.get(id)?;
        let Some((index, stream)) = last_event_id.split_once('/') else {
            let receiver = handle.resume(last_event_id.parse()?).await?;
            let stream = standalone(receiver.inner, standalone_streams);
            return Ok(futures_util::future::Either::Left(stream));
        };
        let ids = index.parse::<u64>().ok().zip(stream.parse::<u64>().ok());
        let found = ids.and_then(|(index, stream)| {
            Some((index.checked_add(1)?, self.sessions.streams.find(id, stream)?))
        });
        let (next, log) = found.ok_or(SessionError::InvalidEventId)?;
        Ok(futures_util::future::Either::Right(log.read(next)))
    }
}

/// Stores the events of a call until it has ended, whether or not its client is still there.
async fn store<C: Caller>(
    sessions: Arc<Sessions<C>>,
    session: SessionId,
    log: Arc<StreamLog>,
    mut events: Receiver<ServerSseMessage>,
    calls: UseGuard,
) {
    while let Some(event) = events.recv().await {
        log.push(event);
    }
    // Before the end, so that the session is idle when its client has read the answer.
    sessions.note_use(&session);
    drop(calls);
    sessions.streams.end(&session, &log);
}

/// The events that belong to no request.
fn standalone(
    events: Receiver<ServerSseMessage>,
    guard: UseGuard,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream::unfold((events, guard), |(mut events, guard)| async move {
        let event = events.recv().await?;
        Some((event, (events, guard)))
    })
}

/// Whether the client takes events without a message, which prime it for reconnecting. Protocol 2025-11-25
/// introduced them, and clients of older versions report each as malformed.
fn takes_priming(response: &ServerJsonRpcMessage) -> bool {
    match response {
        ServerJsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => {
                result.protocol_version >= ProtocolVersion::V_2025_11_25
            }
            _ => false,
        },
        _ => false,
    }
}
