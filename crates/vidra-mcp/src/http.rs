//! MCP over HTTP: rmcp's service, with a bound on its sessions.
//!
//! Clients of protocol versions before 2026-07-28 have a session, through which they can cancel a call, and get
//! an answer again whose connection broke. Later clients have none, and cancel a call by closing the connection.
//! A session needs little memory, but anybody can open one. The limits are 1,000 sessions, 100 of each caller;
//! beyond them the oldest idle one is closed. rmcp closes a session after five minutes of silence. Resuming a
//! session repeats its answers, so only the authenticated caller that opened it may do so.

mod events;
mod manager;
mod sessions;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderMap;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::local::SessionConfig;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use vidra::{Error, Reason, Vidra};

#[cfg(doc)]
use crate::call::BatchLimit;
use crate::server::Server;
use crate::tools::ToolList;

use manager::RequestSessions;
use sessions::Sessions;

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

/// A session was rejected because of a limit, and because no session could be closed in its favour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooManySessions {
    /// All callers together have reached the limit, and all sessions are busy.
    OfAll,
    /// The caller has reached its limit, and all its sessions are busy.
    OfOne,
}

impl<C: Caller> HttpService<C> {
    /// A service over a client. A request may carry a [`Vidra`] in its extensions, which answers it and to
    /// which it is billed; `vidra` answers all others. It may also carry [`BatchLimit`],
    /// [`CallRefusal`](crate::CallRefusal), [`OnFailure`](crate::OnFailure), a `Result` of
    /// [`ToolLibrary`](crate::ToolLibrary) and the [`Caller`].
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
    /// [`TooManySessions`] if the request would open a session beyond the limits, and all others are busy.
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
        let config = self.config_for(request.method(), named);
        let manager = Arc::new(RequestSessions::new(Arc::clone(&self.sessions), caller));
        let vidra = self.vidra.clone();
        let (list, off) = (self.list, Error::new(Reason::LibraryOff, "There is no library"));
        let server = move || Ok(Server::new(vidra.clone(), Err(off.clone()), list));
        let service = StreamableHttpService::new(server, Arc::clone(&manager), config);
        let response = service.handle(request).await;
        manager.rejected().map_or(Ok(response), Err)
    }

    /// rmcp sends priming events with the answer to the handshake and with standalone streams, to clients of every
    /// version. The answer to the handshake is complete at once, so that nobody needs to resume it.
    fn config_for(&self, method: &Method, session: Option<&str>) -> StreamableHttpServerConfig {
        let session = session.filter(|_| method == Method::GET);
        let session = session.and_then(|id| self.sessions.get(id));
        let takes_priming = session.is_some_and(|session| session.takes_priming);
        let retry = takes_priming.then_some(SessionConfig::DEFAULT_SSE_RETRY);
        self.config.clone().with_sse_retry(retry)
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
