//! The service on a socket: the accept loop with its limits, and graceful shutdown.

mod activity;
mod connection_limit;
mod graceful;
mod handlers;
mod limits;
mod timeout_stream;

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Cursor};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use bytes::Bytes;
use futures_util::future::{self, Either};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use crate::app::{App, ImmediateResponse, ResponseBody};
use crate::extract::MAX_BODY_BYTES;
use crate::tls::{self, Tls};
use activity::{Activity, RequestGuard};
use connection_limit::{ConnectionLimit, ConnectionSlot};
use graceful::{Connections, Membership};
use handlers::{body_on, run_on};
use timeout_stream::TimeoutStream;

pub use limits::Limits;

/// The pause after `accept` failed for lack of resources, which other connections must free first.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// The minimum time between two log lines about a failed `accept`.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// How long the last connections before shutdown have to send their request.
const LAST_REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// How connections are served.
#[derive(Debug, Clone, Default)]
pub struct Serving {
    /// Limits on the time, the connections and the bytes of callers.
    pub limits: Limits,
    /// The certificate, if connections use TLS.
    pub tls: Option<Tls>,
    /// The runtime of requests that the response cache does not answer; `None` for the runtime of the connections. If it is
    /// another one, large answers do not delay cached responses. It must not end before [`serve`]: its requests would never
    /// be answered.
    pub handlers: Option<Handle>,
}

/// Serves `app` until `stop` resolves, and then shuts down gracefully. Requests in flight are finished, at
/// most until `give_up` resolves: a client that never ends its request must not keep the process alive.
///
/// After `stop`, monitors must see that the service is not ready, and callers must learn from
/// `Connection: close` to connect elsewhere. So the service still accepts connections, for
/// [`Limits::drain_delay`] and while older connections have requests in flight.
pub async fn serve(
    listener: TcpListener,
    app: App,
    serving: Serving,
    stop: impl Future<Output = ()>,
    give_up: impl Future<Output = ()>,
) {
    let delay = serving.limits.drain_delay;
    let limit = Arc::new(ConnectionLimit::new(&serving.limits));
    let acceptor = Acceptor { app: app.clone(), serving: Arc::new(serving), limit };
    let older = Connections::new(app.drain_state());
    acceptor.accept_until(stop, &listener, &older).await;

    app.drain();
    let newer = Connections::new(app.drain_state());
    let shutdown = async {
        let older_are_closed = async {
            // Also without connections: a load balancer may just be about to send some.
            sleep(delay).await;
            older.shutdown().await;
        };
        acceptor.accept_until(older_are_closed, &listener, &newer).await;
        acceptor.close(listener, &newer);
        // New connections may not have sent their request yet. Each closes after one response.
        let _ = timeout(LAST_REQUEST_TIMEOUT, newer.closed()).await;
        newer.shutdown().await;
    };
    tokio::select! {
        biased;
        () = shutdown => {}
        () = give_up => {}
    }
}

/// The accept loop.
struct Acceptor {
    app: App,
    serving: Arc<Serving>,
    limit: Arc<ConnectionLimit>,
}

impl Acceptor {
    async fn accept_until(
        &self,
        end: impl Future<Output = ()>,
        listener: &TcpListener,
        connections: &Connections,
    ) {
        let mut end = pin!(end);
        let mut logged: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                // `end` comes first: `accept` may always be ready while clients keep connecting.
                biased;
                () = &mut end => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.spawn(stream, peer, connections.join()),
                // The client left while it waited.
                Err(error) if is_client_error(&error) => {}
                Err(error) => {
                    self.app.connections().refused.add("no_resources");
                    if logged.is_none_or(|since| since.elapsed() >= LOG_INTERVAL) {
                        tracing::warn!(%error, "cannot accept connections");
                        logged = Some(Instant::now());
                    }
                    tokio::select! {
                        biased;
                        () = &mut end => return,
                        () = sleep(ACCEPT_BACKOFF) => {}
                    }
                }
            }
        }
    }

    /// Closes the listener. The system would reset connections in its backlog, so they are accepted first,
    /// directly from the system, because the readiness that the runtime knows is a moment old.
    fn close(&self, listener: TcpListener, connections: &Connections) {
        let Ok(listener) = listener.into_std() else { return };
        while let Ok((stream, peer)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.spawn(stream, peer, connections.join());
            }
        }
    }

    fn spawn(&self, stream: TcpStream, peer: SocketAddr, membership: Membership) {
        // Responses are written whole, so Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let peer = peer.ip().to_canonical();
        let slot = match self.limit.take(peer) {
            Ok(slot) => slot,
            Err(limit) => {
                self.app.connections().refused.add(limit.reason());
                tracing::debug!(%peer, ?limit, "connection refused");
                // Under TLS nothing can be sent before the handshake.
                if self.serving.tls.is_none() {
                    self.limit.refuse(stream, limit);
                }
                return;
            }
        };
        let connection = Connection {
            app: self.app.clone(),
            serving: Arc::clone(&self.serving),
            peer,
            _slot: slot,
        };
        self.app.connections().open.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(connection.run(stream, membership));
    }
}

/// Whether only the one connection failed, and the next may succeed.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | HostUnreachable | NetworkUnreachable
    )
}

/// An open connection.
struct Connection {
    app: App,
    serving: Arc<Serving>,
    peer: IpAddr,
    _slot: ConnectionSlot,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.app.connections().open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connection {
    async fn run(self, stream: TcpStream, membership: Membership) {
        let Serving { limits, tls, .. } = &*self.serving;
        let Some(tls) = tls else {
            if !limits.http2 {
                return self.serve(stream, false, membership).await;
            }
            let (mut reader, writer) = stream.into_split();
            let Some(start) = self.opening(read_start(&mut reader)).await else {
                self.app.connections().refused.add("too_slow");
                tracing::debug!("connection timed out before its first bytes");
                return;
            };
            let is_http2 = start == PREFACE;
            let reader = Cursor::new(start).chain(reader);
            return self.serve(tokio::io::join(reader, writer), is_http2, membership).await;
        };
        match self.opening(tls.accept(stream)).await {
            Some(Ok(stream)) => {
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2);
                self.serve(stream, is_http2, membership).await;
            }
            Some(Err(error)) => {
                self.app.connections().refused.add("handshake");
                tracing::debug!(%error, "TLS handshake failed");
            }
            None => {
                self.app.connections().refused.add("too_slow");
                tracing::debug!("TLS handshake timed out");
            }
        }
    }

    /// What has to happen before the first request; `None` if it takes too long. During shutdown it has less time,
    /// so that a client that sends nothing does not delay the end.
    async fn opening<T>(&self, opening: impl Future<Output = T>) -> Option<T> {
        let drain = self.app.drain_state();
        let drained = async {
            drain.has_lasted(Duration::ZERO).await;
            sleep(LAST_REQUEST_TIMEOUT).await;
        };
        tokio::select! {
            biased;
            opened = timeout(self.serving.limits.head_timeout, opening) => opened.ok(),
            () = drained => None,
        }
    }

    async fn serve<S>(&self, stream: S, is_http2: bool, membership: Membership)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let limits = &self.serving.limits;
        let activity = Arc::new(Activity::new(self.app.drain_state(), is_http2));
        let stream = TokioIo::new(TimeoutStream::new(stream, limits, Arc::clone(&activity)));
        let (app, peer, handlers) = (self.app.clone(), self.peer, self.serving.handlers.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let mut guard = activity.begin();
            let has_large_body = is_large(&request);
            // An immediate response needs no state machine of a future.
            match app.answer_immediately(&request, peer) {
                Either::Left(ImmediateResponse { response, at }) => {
                    guard.completed(at);
                    let response = prepare(response, is_http2, has_large_body, guard);
                    Either::Left(future::ready(Ok::<_, Infallible>(response)))
                }
                Either::Right(admitted) => {
                    let answer = app.answer_by_route(request, admitted);
                    let handlers = handlers.clone();
                    Either::Right(async move {
                        let response = match handlers {
                            Some(runtime) => {
                                run_on(&runtime, answer).await.map(|body| body_on(&runtime, body))
                            }
                            None => answer.await,
                        };
                        Ok(prepare(response, is_http2, has_large_body, guard))
                    })
                }
            }
        });
        let ended = if is_http2 {
            membership.drive(limits.http2().serve_connection(stream, service)).await
        } else {
            membership.drive(limits.http1().serve_connection(stream, service)).await
        };
        if let Err(error) = ended {
            if is_timeout(&error) {
                self.app.connections().refused.add("too_slow");
            }
            tracing::debug!(%error, "connection failed");
        }
    }
}

/// Whether a timeout ended the connection.
fn is_timeout(error: &hyper::Error) -> bool {
    let cause =
        std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

/// The first bytes of a client with prior knowledge of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads until the bytes are the whole preface of HTTP/2 or differ from it, and returns them. The preface may
/// arrive in pieces. If the connection fails before that, the next read reports it.
async fn read_start(reader: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut start = Vec::with_capacity(PREFACE.len());
    while start.len() < PREFACE.len() && PREFACE.starts_with(&start) {
        let left = (PREFACE.len() - start.len()) as u64;
        match reader.take(left).read_buf(&mut start).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
    }
    start
}

/// Whether the body may be larger than any that is read.
fn is_large(request: &Request<Incoming>) -> bool {
    request.body().size_hint().upper().is_none_or(|most| most > MAX_BODY_BYTES as u64)
}

/// Ties a response to its request guard. It is the last of its connection during shutdown, and if the request
/// was refused before its large body was read: the rest of the body would be taken for the next request.
fn prepare(
    mut response: Response<ResponseBody>,
    is_http2: bool,
    has_large_body: bool,
    guard: RequestGuard,
) -> Response<GuardedBody> {
    let status = response.status();
    let leaves_body = has_large_body && (status.is_client_error() || status.is_server_error());
    // HTTP/2 sends GOAWAY instead, and resets the stream of a body that it does not read.
    if (guard.is_draining() || leaves_body) && !is_http2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    // HTTP/2 does not poll the body while its window is full, so the wait begins here.
    guard.set_waiting(true);
    response.map(|body| GuardedBody { body, guard })
}

/// A body that holds the guard of its request.
struct GuardedBody {
    body: ResponseBody,
    guard: RequestGuard,
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = <ResponseBody as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.guard.set_waiting(matches!(polled, Poll::Ready(Some(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
