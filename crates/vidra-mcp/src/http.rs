//! MCP over HTTP: rmcp's service, with a bound on its sessions.
//!
//! A client of the protocol before 2026-07-28 has a session, by which it can end a call; later ones have
//! none, and end a call by hanging up. A session holds little, but nobody is kept from opening them, so
//! there is room for a thousand, a hundred of each caller, and one that is silent for five minutes is
//! closed. What was answered in one is told again to whoever resumes it; where callers show who they are,
//! that is its opener alone.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
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
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::{
    SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use vidra::Vidra;

use crate::server::Server;
#[cfg(doc)]
use crate::tools::BatchPlaces;

/// How many sessions there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Of all callers together.
    pub of_all: usize,
    /// Of one.
    pub of_one: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self { of_all: 1_000, of_one: 100 }
    }
}

/// The first version of the protocol that has no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

const SESSION_ID: &str = "mcp-session-id";

/// One whose sessions are counted. Those of equal callers are counted together, and so are those of
/// requests that carry none.
pub trait Caller: Clone + Eq + Send + Sync + 'static {
    /// Whether it has shown who it is, so that its sessions are closed to everybody else. An address, say,
    /// tells requests apart and proves nothing: one client may have several.
    fn is_known(&self) -> bool;
}

/// The tools behind HTTP. Cheap to clone; clones share sessions.
#[derive(Clone)]
pub struct HttpService<C> {
    vidra: Vidra,
    config: StreamableHttpServerConfig,
    sessions: Arc<Sessions<C>>,
}

/// There is no room for another session now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooManySessions {
    /// All callers together have as many as there may be.
    OfAll,
    /// The caller has its share.
    OfOne,
}

impl<C: Caller> HttpService<C> {
    /// A service over a client. A request that carries a [`Vidra`] among its extensions is answered by that
    /// handle, so that its caller pays; any other by `vidra`. [`BatchPlaces`] are found there too, and the
    /// [`Caller`].
    ///
    /// Whoever mounts it checks `Host` and `Origin` first, knowing under which names it is asked for.
    /// Bodies of more than `most_body` bytes are refused.
    pub fn new(vidra: Vidra, most_body: usize, limits: SessionLimits) -> Self {
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(most_body);
        Self { vidra, config, sessions: Arc::new(Sessions::new(limits)) }
    }

    /// Answers a request.
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
        // Looked at here too, because rmcp would log it as a fault of ours.
        if opens_session(request.method(), request.headers()) {
            self.sessions.check_room(caller.as_ref())?;
        }
        // One for each request, which is cheap, because rmcp does not say whom a session is opened for.
        let sessions = Arc::clone(&self.sessions);
        let desk = Arc::new(Desk { sessions, caller, refused: OnceLock::new() });
        let vidra = self.vidra.clone();
        let server = move || Ok(Server::new(vidra.clone()));
        let service = StreamableHttpService::new(server, Arc::clone(&desk), self.config.clone());
        let response = service.handle(request).await;
        desk.refused.get().map_or(Ok(response), |why| Err(*why))
    }
}

/// As rmcp says it of a session that it does not know.
fn no_session() -> Response<BoxBody<Bytes, Infallible>> {
    let said = Full::new(Bytes::from_static(b"Not Found: Session not found")).boxed();
    let mut response = Response::new(said);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Whether a request is one that a session is opened for, or a mistake.
fn opens_session(method: &Method, headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|it| it.to_str().ok());
    method == Method::POST
        && !headers.contains_key(SESSION_ID)
        && version.is_none_or(|version| version < WITHOUT_SESSIONS)
}

/// Sessions in memory, and whose they are.
struct Sessions<C> {
    kept: LocalSessionManager,
    openers: Mutex<HashMap<SessionId, Option<C>>>,
    limits: SessionLimits,
    /// Held while one is opened, so that two do not take the last place.
    opening: tokio::sync::Mutex<()>,
}

impl<C: Caller> Sessions<C> {
    fn new(limits: SessionLimits) -> Self {
        let (kept, openers, opening) = Default::default();
        Self { kept, openers, limits, opening }
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

    /// Whether it was opened by a known caller, and this is another.
    fn is_closed_to(&self, id: &str, caller: Option<&C>) -> bool {
        let openers = self.openers();
        let opener = openers.get(id).and_then(Option::as_ref);
        opener.is_some_and(|opener| opener.is_known() && Some(opener) != caller)
    }
}

/// The sessions as one request sees them.
struct Desk<C> {
    sessions: Arc<Sessions<C>>,
    caller: Option<C>,
    /// Why it may not open one; to rmcp that would be a fault of ours.
    refused: OnceLock<TooManySessions>,
}

/// Why a session is of no use.
#[derive(Debug)]
enum Trouble {
    TooMany,
    Kept(LocalSessionManagerError),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => f.write_str("there are too many sessions"),
            Self::Kept(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<LocalSessionManagerError> for Trouble {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Kept(error)
    }
}

impl<C: Caller> SessionManager for Desk<C> {
    type Error = Trouble;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Trouble> {
        let sessions = &self.sessions;
        let _opening = sessions.opening.lock().await;
        if let Err(why) = sessions.check_room(self.caller.as_ref()) {
            let _ = self.refused.set(why);
            return Err(Trouble::TooMany);
        }
        let (id, transport) = sessions.kept.create_session().await?;
        sessions.openers().insert(id.clone(), self.caller.clone());
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Trouble> {
        Ok(self.sessions.kept.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Trouble> {
        Ok(self.sessions.kept.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Trouble> {
        let closed = self.sessions.kept.close_session(id).await;
        // Last, so that one that is left in the middle is still counted until it ends by itself.
        self.sessions.openers().remove(id);
        Ok(closed?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.sessions.kept.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Trouble> {
        Ok(self.sessions.kept.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.sessions.kept.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.sessions.kept.resume(id, last_event_id).await?)
    }
}
