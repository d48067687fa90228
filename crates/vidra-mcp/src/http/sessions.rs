//! The open sessions and their owners.
//!
//! At a limit the oldest idle session is closed in favour of a new one. A session is busy while it opens and
//! while a call runs. An open standalone stream does not make it busy, because a client could keep one open for
//! ever, but sessions without one are closed first: their client may be gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::WorkerTransport;
use rmcp::transport::common::server_side_http::session_id;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionWorker, SessionConfig, create_local_session,
};

use super::events::{EventLimits, StreamStore};
use super::{Caller, SessionLimits, TooManySessions};

/// All sessions and their owners.
pub(super) struct Sessions<C> {
    open: Mutex<OpenSessions<C>>,
    limits: SessionLimits,
    /// The streams of the sessions.
    pub(super) streams: StreamStore,
}

struct OpenSessions<C> {
    sessions: HashMap<SessionId, Session<C>>,
    /// Increases with each use of a session.
    uses: u64,
}

/// A session is used as long as a guard exists.
pub(super) type UseGuard = Arc<()>;

struct Session<C> {
    opener: Option<C>,
    handle: LocalSessionHandle,
    /// Whether the client understands events without a message.
    takes_priming: bool,
    /// The value of [`OpenSessions::uses`] at the last use.
    last_use: u64,
    /// Cloned by the handshake and by each call while it runs.
    calls: UseGuard,
    /// Cloned by each open standalone stream.
    standalone_streams: UseGuard,
}

impl<C> Session<C> {
    fn is_busy(&self) -> bool {
        Arc::strong_count(&self.calls) > 1
    }

    fn has_standalone_stream(&self) -> bool {
        Arc::strong_count(&self.standalone_streams) > 1
    }
}

/// A session that has just been opened.
pub(super) struct OpenedSession {
    pub(super) id: SessionId,
    pub(super) transport: WorkerTransport<LocalSessionWorker>,
    /// Makes the session busy.
    pub(super) opening: UseGuard,
}

/// The requirements of a request on its session.
pub(super) struct SessionAccess {
    pub(super) handle: LocalSessionHandle,
    pub(super) takes_priming: bool,
    pub(super) calls: UseGuard,
    pub(super) standalone_streams: UseGuard,
}

impl<C: Caller> Sessions<C> {
    pub(super) fn new(limits: SessionLimits) -> Self {
        let open = OpenSessions { sessions: HashMap::new(), uses: 0 };
        let streams = StreamStore::new(EventLimits::default());
        Self { open: Mutex::new(open), limits, streams }
    }

    fn open_sessions(&self) -> MutexGuard<'_, OpenSessions<C>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session could be opened.
    pub(super) fn check_room(&self, caller: Option<&C>) -> Result<(), TooManySessions> {
        self.open_sessions().to_close(&self.limits, caller).map(drop)
    }

    /// Opens a session. At a limit closes the oldest idle one.
    pub(super) fn open(&self, opener: Option<C>) -> Result<OpenedSession, TooManySessions> {
        let mut open = self.open_sessions();
        if let Some(id) = open.to_close(&self.limits, opener.as_ref())? {
            tracing::debug!(session_id = %id, "closed the oldest idle MCP session");
            let closed = open.sessions.remove(&id);
            self.streams.remove_session(&id);
            // Not awaited here: the session of a request that is cancelled meanwhile would stay open.
            tokio::spawn(async move {
                if let Some(Session { handle, .. }) = closed {
                    let _ = handle.close().await;
                }
            });
        }
        let id = session_id();
        let (handle, worker) = create_local_session(Arc::clone(&id), config());
        let (calls, standalone_streams) = (UseGuard::default(), UseGuard::default());
        let opening = Arc::clone(&calls);
        let last_use = open.next_use();
        let takes_priming = false;
        let session =
            Session { opener, handle, takes_priming, last_use, calls, standalone_streams };
        open.sessions.insert(Arc::clone(&id), session);
        Ok(OpenedSession { id, transport: WorkerTransport::spawn(worker), opening })
    }

    /// Stores the result of the handshake.
    pub(super) fn set_takes_priming(&self, id: &SessionId, takes_priming: bool) {
        if let Some(session) = self.open_sessions().sessions.get_mut(id) {
            session.takes_priming = takes_priming;
        }
    }

    /// Makes a session the last one to be closed. Returns whether it exists.
    pub(super) fn note_use(&self, id: &str) -> bool {
        let mut open = self.open_sessions();
        let last_use = open.next_use();
        open.sessions.get_mut(id).map(|session| session.last_use = last_use).is_some()
    }

    /// The session, if it exists.
    pub(super) fn get(&self, id: &str) -> Option<SessionAccess> {
        let open = self.open_sessions();
        let session = open.sessions.get(id)?;
        Some(SessionAccess {
            handle: session.handle.clone(),
            takes_priming: session.takes_priming,
            calls: Arc::clone(&session.calls),
            standalone_streams: Arc::clone(&session.standalone_streams),
        })
    }

    /// Forgets a session that has ended.
    pub(super) fn remove(&self, id: &SessionId) {
        self.open_sessions().sessions.remove(id);
        self.streams.remove_session(id);
    }

    /// Whether another caller opened the session and is authenticated.
    pub(super) fn is_closed_to(&self, id: &str, caller: Option<&C>) -> bool {
        let open = self.open_sessions();
        let opener = open.sessions.get(id).and_then(|session| session.opener.as_ref());
        opener.is_some_and(|opener| opener.is_known() && Some(opener) != caller)
    }
}

impl<C: Caller> OpenSessions<C> {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// The session that has to be closed before `caller` opens one.
    fn to_close(
        &self,
        limits: &SessionLimits,
        caller: Option<&C>,
    ) -> Result<Option<SessionId>, TooManySessions> {
        let is_own = |session: &Session<C>| session.opener.as_ref() == caller;
        if self.sessions.values().filter(|it| is_own(it)).count() >= limits.of_one {
            self.oldest_idle(is_own).map(Some).ok_or(TooManySessions::OfOne)
        } else if self.sessions.len() >= limits.of_all {
            self.oldest_idle(|_| true).map(Some).ok_or(TooManySessions::OfAll)
        } else {
            Ok(None)
        }
    }

    fn oldest_idle(&self, is_candidate: impl Fn(&Session<C>) -> bool) -> Option<SessionId> {
        let idle = self.sessions.iter().filter(|(_, it)| is_candidate(it) && !it.is_busy());
        let oldest = idle.min_by_key(|(_, it)| (it.has_standalone_stream(), it.last_use));
        oldest.map(|(id, _)| Arc::clone(id))
    }
}

/// [`StreamStore`] stores the events and sends priming events, so the session does neither.
fn config() -> SessionConfig {
    let mut config = SessionConfig::default();
    config.sse_retry = None;
    config.completed_cache_ttl = Duration::ZERO;
    config
}
