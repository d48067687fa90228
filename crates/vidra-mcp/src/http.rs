//! MCP over HTTP: rmcp's service, with a bound on its sessions.
//!
//! Clients of protocol versions before 2026-07-28 have a session, through which they can cancel a call.
//! Later clients have none, and cancel a call by closing the connection. A session needs little memory, but
//! anybody can open one. The limits are 1,000 sessions, 100 of each caller, and rmcp closes a session after
//! five minutes of silence. Resuming a session repeats its answers, so only the authenticated caller that
//! opened it may do so.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use futures_util::Stream;
use http::header::HeaderMap;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::{
    SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use vidra::{Error, Reason, Vidra};

#[cfg(doc)]
use crate::call::BatchLimit;
use crate::server::Server;
use crate::tools::ToolList;

/// The limits of concurrent sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Sessions of all callers together.
    pub of_all: usize,
    /// Sessions of one caller.
    pub of_one: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { of_all: 1_000, of_one: 100 }
    }
}

/// The first protocol version without sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

const SESSION_ID: &str = "mcp-session-id";

/// The owner of sessions. Sessions of equal callers count together, and so do sessions of requests without
/// a caller.
pub trait Caller: Clone + Eq + Send + Sync + 'static {
    /// Whether the caller is authenticated, so that nobody else may use its sessions. An address, for
    /// example, separates callers and proves nothing: one client may have several.
    fn is_known(&self) -> bool;
}

/// The tools over HTTP. Cheap to clone; clones share sessions.
#[derive(Clone)]
pub struct HttpService<C> {
    vidra: Vidra,
    config: StreamableHttpServerConfig,
    sessions: Arc<Sessions<C>>,
    list: ToolList,
}

/// A session was rejected because of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooManySessions {
    /// All callers together have reached the limit.
    OfAll,
    /// The caller has reached its limit.
    OfOne,
}

impl<C: Caller> HttpService<C> {
    /// A service over a client. A request may carry a [`Vidra`] in its extensions, which answers it and to
    /// which it is billed; `vidra` answers all others. It may also carry [`BatchLimit`],
    /// [`OnFailure`](crate::OnFailure), a `Result` of [`CallerLibrary`](crate::CallerLibrary) and the [`Caller`].
    ///
    /// The service does not check `Host` and `Origin`: the server that mounts it has to, because only that
    /// one knows its names. Bodies of more than `most_body` bytes are rejected.
    pub fn new(vidra: Vidra, most_body: usize, limits: SessionLimits) -> Self {
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(most_body);
        Self { vidra, config, sessions: Arc::new(Sessions::new(limits)), list: ToolList::Short }
    }

    /// Sets the list of tools.
    #[must_use]
    pub fn with_list(self, list: ToolList) -> Self {
        Self { list, ..self }
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// [`TooManySessions`] if the request would open a session beyond the limits.
    pub async fn answer<B>(
        &self,
        request: Request<B>,
    ) -> Result<Response<BoxBody<Bytes, Infallible>>, TooManySessions>
    where
        B: http_body::Body + Send + 'static,
        B::Error: fmt::Display,
    {
        let caller = request.extensions().get::<C>().cloned();
        let named = request.headers().get(SESSION_ID).and_then(|it| it.to_str().ok());
        if named.is_some_and(|id| self.sessions.is_closed_to(id, caller.as_ref())) {
            return Ok(no_session());
        }
        // Checked here too, because rmcp would log the rejection as an internal error.
        if opens_session(request.method(), request.headers()) {
            self.sessions.check_room(caller.as_ref())?;
        }
        // One session manager per request, because rmcp does not tell it who opens a session.
        let sessions = Arc::clone(&self.sessions);
        let manager = Arc::new(RequestSessions { sessions, caller, rejected: OnceLock::new() });
        let vidra = self.vidra.clone();
        let (list, off) = (self.list, Error::new(Reason::LibraryOff, "There is no library"));
        let server = move || Ok(Server::new(vidra.clone(), Err(off.clone()), list));
        let service = StreamableHttpService::new(server, Arc::clone(&manager), self.config.clone());
        let response = service.handle(request).await;
        manager.rejected.get().map_or(Ok(response), |why| Err(*why))
    }
}

/// The response of rmcp to an unknown session.
fn no_session() -> Response<BoxBody<Bytes, Infallible>> {
    let body = Full::new(Bytes::from_static(b"Not Found: Session not found")).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Whether a request opens a session, if it is valid.
fn opens_session(method: &Method, headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|it| it.to_str().ok());
    method == Method::POST
        && !headers.contains_key(SESSION_ID)
        && version.is_none_or(|version| version < WITHOUT_SESSIONS)
}

/// All sessions and their owners.
struct Sessions<C> {
    local: LocalSessionManager,
    openers: Mutex<HashMap<SessionId, Option<C>>>,
    limits: SessionLimits,
    /// Held while a session opens, so that two requests cannot both take the last slot.
    opening: tokio::sync::Mutex<()>,
}

impl<C: Caller> Sessions<C> {
    fn new(limits: SessionLimits) -> Self {
        let (local, openers, opening) = Default::default();
        Self { local, openers, limits, opening }
    }

    fn openers(&self) -> MutexGuard<'_, HashMap<SessionId, Option<C>>> {
        self.openers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_room(&self, caller: Option<&C>) -> Result<(), TooManySessions> {
        let openers = self.openers();
        let of_one = || openers.values().filter(|opener| opener.as_ref() == caller).count();
        if openers.len() >= self.limits.of_all {
            Err(TooManySessions::OfAll)
        } else if of_one() >= self.limits.of_one {
            Err(TooManySessions::OfOne)
        } else {
            Ok(())
        }
    }

    /// Whether another caller opened the session and is authenticated.
    fn is_closed_to(&self, id: &str, caller: Option<&C>) -> bool {
        let openers = self.openers();
        let opener = openers.get(id).and_then(Option::as_ref);
        opener.is_some_and(|opener| opener.is_known() && Some(opener) != caller)
    }
}

/// The session manager of one request.
struct RequestSessions<C> {
    sessions: Arc<Sessions<C>>,
    caller: Option<C>,
    /// The limit that rejected a session. rmcp would report it as an internal error.
    rejected: OnceLock<TooManySessions>,
}

impl<C: Caller> SessionManager for RequestSessions<C> {
    type Error = LocalSessionManagerError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let sessions = &self.sessions;
        let _opening = sessions.opening.lock().await;
        if let Err(why) = sessions.check_room(self.caller.as_ref()) {
            let _ = self.rejected.set(why);
            let error = io::Error::other("there are too many sessions");
            return Err(SessionError::from(error).into());
        }
        let (id, transport) = sessions.local.create_session().await?;
        sessions.openers().insert(id.clone(), self.caller.clone());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.sessions.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.sessions.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let closed = self.sessions.local.close_session(id).await;
        // After closing, so that a session whose closing is cancelled still counts until it ends.
        self.sessions.openers().remove(id);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.local.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.sessions.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.sessions.local.resume(id, last_event_id).await
    }
}
