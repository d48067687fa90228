//! MCP over HTTP: rmcp's service, with a bound on its sessions.
//!
//! A client of the protocol before 2026-07-28 has a session, by which it can end a call; later ones have
//! none, and end a call by hanging up. A session holds little, but nobody is kept from opening them, so
//! there is room for a thousand, and one that is silent for five minutes is closed.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use http::header::HeaderMap;
use http::{Method, Request, Response};
use http_body_util::combinators::BoxBody;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::{
    SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use tokio::sync::Mutex;
use vidra::Vidra;

use crate::server::Server;
#[cfg(doc)]
use crate::tools::BatchPlaces;

/// The most sessions together.
const MOST_SESSIONS: usize = 1_000;

/// The first version of the protocol that has no sessions.
const WITHOUT_SESSIONS: &str = "2026-07-28";

/// The tools behind HTTP. Cheap to clone; clones share sessions.
#[derive(Clone)]
pub struct HttpService {
    service: StreamableHttpService<Server, Sessions>,
    sessions: Arc<Sessions>,
}

/// There is no room for another session now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManySessions;

impl HttpService {
    /// A service over a client. A request that carries a [`Vidra`] among its extensions is answered by that
    /// handle, so that its caller pays; any other by `vidra`. [`BatchPlaces`] are found there too.
    ///
    /// Whoever mounts it checks `Host` and `Origin` first, knowing under which names it is asked for.
    /// Bodies of more than `most_body` bytes are refused.
    pub fn new(vidra: Vidra, most_body: usize) -> Self {
        Self::with_sessions(vidra, most_body, MOST_SESSIONS)
    }

    /// The same with room for another number of sessions.
    pub fn with_sessions(vidra: Vidra, most_body: usize, most: usize) -> Self {
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(most_body);
        let sessions = Arc::new(Sessions { most, ..Sessions::default() });
        let server = move || Ok(Server::new(vidra.clone()));
        let service = StreamableHttpService::new(server, Arc::clone(&sessions), config);
        Self { service, sessions }
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
        // Looked at here too, because rmcp would call it a fault of ours.
        if opens_session(request.method(), request.headers()) && self.sessions.is_full().await {
            return Err(TooManySessions);
        }
        Ok(self.service.handle(request).await)
    }
}

/// Whether a request is one that a session is opened for, or a mistake.
fn opens_session(method: &Method, headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|it| it.to_str().ok());
    method == Method::POST
        && !headers.contains_key("mcp-session-id")
        && version.is_none_or(|version| version < WITHOUT_SESSIONS)
}

/// Sessions in memory, up to a number.
#[derive(Default)]
struct Sessions {
    kept: LocalSessionManager,
    most: usize,
    /// Held while one is opened, so that two do not take the last place.
    opening: Mutex<()>,
}

impl Sessions {
    async fn is_full(&self) -> bool {
        self.kept.sessions.read().await.len() >= self.most
    }
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

impl SessionManager for Sessions {
    type Error = Trouble;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Trouble> {
        let _opening = self.opening.lock().await;
        if self.is_full().await {
            return Err(Trouble::TooMany);
        }
        Ok(self.kept.create_session().await?)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Trouble> {
        Ok(self.kept.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Trouble> {
        Ok(self.kept.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Trouble> {
        Ok(self.kept.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.kept.create_stream(id, message).await?)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Trouble> {
        Ok(self.kept.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.kept.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Trouble> {
        Ok(self.kept.resume(id, last_event_id).await?)
    }
}
