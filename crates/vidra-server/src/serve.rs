//! The service on a socket: takes connections in within limits, and sees them off in the end.

mod limits;
mod patient;
mod refusal;
mod slots;
mod tls;
mod watch;

use std::convert::Infallible;
use std::future::Future;
use std::io::{self, Cursor};
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
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
use tokio::time::{Instant, sleep, timeout};

use crate::{App, AtOnce, Sent};
use patient::{Activity, Busy, Patient};
use slots::{Slot, Slots};
use watch::{Connections, Watcher};

pub use limits::Limits;
pub use tls::Tls;

/// How long to wait after the machine refused a connection: it is out of something that others have
/// to give back.
const BACK_OFF: Duration = Duration::from_millis(50);

/// How often the log says that.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// How long those who came last have to say what they want.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How the service is put on a socket.
#[derive(Debug, Clone, Default)]
pub struct Serving {
    /// What callers may take up.
    pub limits: Limits,
    /// How connections are encrypted, where they are.
    pub tls: Option<Tls>,
}

/// Serves `app` until `stop` resolves, then lets what is under way finish, until `give_up` resolves: a
/// client that never ends its request must not keep the process alive.
///
/// After `stop`, whoever watches has to see that the service is not ready any more, and callers with a
/// connection have to learn that they should open another one elsewhere. So connections are still
/// taken in, for [`Limits::drain_delay`] and for as long as older ones have something under way.
pub async fn serve(
    listener: TcpListener,
    app: App,
    serving: Serving,
    stop: impl Future<Output = ()>,
    give_up: impl Future<Output = ()>,
) {
    let delay = serving.limits.drain_delay;
    let slots = Arc::new(Slots::new(&serving.limits));
    let entrance = Entrance { app: app.clone(), serving: Arc::new(serving), slots };
    let older = Connections::new(app.drain_state());
    entrance.take_in_until(stop, &listener, &older).await;

    app.drain();
    let newer = Connections::new(app.drain_state());
    let ending = async {
        let older_are_gone = async {
            if older.count() > 0 {
                sleep(delay).await;
            }
            older.shutdown().await;
        };
        entrance.take_in_until(older_are_gone, &listener, &newer).await;
        entrance.close(listener, &newer);
        // Who has just come has not been heard yet, and is gone after one answer.
        let _ = timeout(LAST_WORD, all_gone(&newer)).await;
        newer.shutdown().await;
    };
    tokio::select! {
        biased;
        () = ending => {}
        () = give_up => {}
    }
}

async fn all_gone(connections: &Connections) {
    while connections.count() > 0 {
        sleep(Duration::from_millis(5)).await;
    }
}

/// Where connections come in.
struct Entrance {
    app: App,
    serving: Arc<Serving>,
    slots: Arc<Slots>,
}

impl Entrance {
    async fn take_in_until(
        &self,
        end: impl Future<Output = ()>,
        listener: &TcpListener,
        connections: &Connections,
    ) {
        let mut end = pin!(end);
        let mut complained: Option<Instant> = None;
        loop {
            let accepted = tokio::select! {
                // The end first: `accept` may always be ready while clients keep connecting.
                biased;
                () = &mut end => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.take_in(stream, peer, connections.watcher()),
                // Theirs: they left while they waited.
                Err(error) if is_theirs(&error) => {}
                Err(error) => {
                    self.app.metrics().connections.refused("no_resources");
                    if complained.is_none_or(|since| since.elapsed() >= COMPLAIN_EVERY) {
                        tracing::warn!(%error, "no connection can be taken in");
                        complained = Some(Instant::now());
                    }
                    tokio::select! {
                        biased;
                        () = &mut end => return,
                        () = sleep(BACK_OFF) => {}
                    }
                }
            }
        }
    }

    /// Closes the door. Whoever stands before it then would be cut off, so they are taken in first:
    /// the system is asked for them, because what the runtime knows of them is a moment old.
    fn close(&self, listener: TcpListener, connections: &Connections) {
        let Ok(listener) = listener.into_std() else { return };
        while let Ok((stream, peer)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.take_in(stream, peer, connections.watcher());
            }
        }
    }

    fn take_in(&self, stream: TcpStream, peer: SocketAddr, watcher: Watcher) {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let peer = peer.ip().to_canonical();
        let slot = match Slots::take(&self.slots, peer) {
            Ok(slot) => slot,
            Err(full) => {
                self.app.metrics().connections.refused(full.reason());
                tracing::debug!(%peer, ?full, "a connection is turned away");
                // Within an encrypted one nothing can be said before the handshake.
                if self.serving.tls.is_none() {
                    self.slots.turn_away(stream, full);
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
        self.app.metrics().connections.opened();
        tokio::spawn(connection.run(stream, watcher));
    }
}

/// Whether a connection failed before it was taken in, which says nothing about the next.
fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | HostUnreachable | NetworkUnreachable
    )
}

/// A caller's connection, for as long as it lasts.
struct Connection {
    app: App,
    serving: Arc<Serving>,
    peer: IpAddr,
    _slot: Slot,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.app.metrics().connections.closed();
    }
}

impl Connection {
    async fn run(self, stream: TcpStream, watcher: Watcher) {
        let Serving { limits, tls } = &*self.serving;
        let Some(tls) = tls else {
            if !limits.http2 {
                return self.serve(stream, false, watcher).await;
            }
            let (mut reader, writer) = stream.into_split();
            let Ok(start) = timeout(limits.head_timeout, read_start(&mut reader)).await else {
                self.app.metrics().connections.refused("too_slow");
                tracing::debug!("the start of a connection took too long");
                return;
            };
            let is_http2 = start == PREFACE;
            let reader = Cursor::new(start).chain(reader);
            return self.serve(tokio::io::join(reader, writer), is_http2, watcher).await;
        };
        match timeout(limits.head_timeout, tls.accept(stream)).await {
            Ok(Ok(stream)) => {
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2);
                self.serve(stream, is_http2, watcher).await;
            }
            Ok(Err(error)) => {
                self.app.metrics().connections.refused("handshake");
                tracing::debug!(%error, "a handshake failed");
            }
            Err(_) => {
                self.app.metrics().connections.refused("too_slow");
                tracing::debug!("a handshake took too long");
            }
        }
    }

    async fn serve<S>(&self, stream: S, is_http2: bool, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let limits = &self.serving.limits;
        let activity = Arc::new(Activity::new(self.app.drain_state(), is_http2));
        let stream = TokioIo::new(Patient::new(stream, limits, Arc::clone(&activity)));
        let (app, peer) = (self.app.clone(), self.peer);
        let service = service_fn(move |request: Request<Incoming>| {
            let mut busy = activity.begin();
            // One that is there at once is not carried through the states of a future.
            match app.answer_at_once(&request, peer) {
                Either::Left(AtOnce { response, at }) => {
                    busy.ends(at);
                    let sent = sent(response, is_http2, busy);
                    Either::Left(future::ready(Ok::<_, Infallible>(sent)))
                }
                Either::Right(admitted) => {
                    let answer = app.answer_by_route(request, admitted);
                    Either::Right(async move { Ok(sent(answer.await, is_http2, busy)) })
                }
            }
        });
        let ended = if is_http2 {
            watcher.watch(limits.http2().serve_connection(stream, service)).await
        } else {
            watcher.watch(limits.http1().serve_connection(stream, service)).await
        };
        if let Err(error) = ended {
            if is_timeout(&error) {
                self.app.metrics().connections.refused("too_slow");
            }
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Whether a connection was ended because its caller took too long.
fn is_timeout(error: &hyper::Error) -> bool {
    let cause =
        std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

/// The first bytes of a client with prior knowledge of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads until the bytes are the whole preface of HTTP/2 or differ from it, and returns them: it may arrive
/// in pieces. Where the connection ends or fails before that, the next read reports it.
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

/// An answer on its way out. In the end it is the last on its connection.
fn sent(mut response: Response<Sent>, is_http2: bool, busy: Busy) -> Response<Sending> {
    // HTTP/2 has other words for it.
    if busy.is_draining() && !is_http2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    // Where there is no room for it in HTTP/2 it is not even looked at.
    busy.lies_there(true);
    response.map(|body| Sending { body, busy })
}

/// A body, and that its connection is busy with it.
struct Sending {
    body: Sent,
    busy: Busy,
}

impl Body for Sending {
    type Data = Bytes;
    type Error = <Sent as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.busy.lies_there(matches!(polled, Poll::Ready(Some(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
