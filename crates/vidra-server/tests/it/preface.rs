//! Which version of HTTP a connection without TLS uses, when its first bytes arrive in pieces.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::timeout;
use vidra_server::{Limits, Serving};

use crate::app::TestApp;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// An empty SETTINGS frame, which has to follow the preface.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

async fn listening(app: &TestApp, limits: Limits) -> SocketAddr {
    let limits = Limits { http2: true, ..limits };
    app.served(Serving { limits, ..Serving::default() }, pending()).await.0
}

/// Sends `first` and, once the service has had every chance to read it, `rest`.
async fn send_in_pieces(address: SocketAddr, first: &[u8], rest: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream.write_all(first).await.unwrap();
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    stream.write_all(rest).await.unwrap();
    stream
}

#[tokio::test]
async fn http2_is_recognised_wherever_its_preface_is_cut() {
    let app = TestApp::new();
    let address = listening(&app, Limits::default()).await;
    let whole = [PREFACE, SETTINGS].concat();
    for cut in 0..=PREFACE.len() {
        let (first, rest) = whole.split_at(cut);
        let mut stream = send_in_pieces(address, first, rest).await;
        let mut frame = [0; 9];
        stream.read_exact(&mut frame).await.unwrap();
        // The type of a frame is its fourth byte; a server begins with SETTINGS.
        assert_eq!((frame[0], frame[3]), (0, 4), "cut at {cut}: {frame:?}");
    }
}

#[tokio::test]
async fn other_requests_are_http1_wherever_they_are_cut() {
    let app = TestApp::new();
    let address = listening(&app, Limits::default()).await;
    for method in ["GET", "POST", "PRINT", "PRI"] {
        let request = format!("{method} /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
        for cut in [0, 1, 2, 3, 4, 5, request.len() - 1] {
            let (first, rest) = request.as_bytes().split_at(cut);
            let mut stream = send_in_pieces(address, first, rest).await;
            let mut start = [0; 12];
            stream.read_exact(&mut start).await.unwrap();
            let status = if method == "GET" { "200" } else { "405" };
            let expected = format!("HTTP/1.1 {status}");
            assert_eq!(String::from_utf8_lossy(&start), expected, "{method} cut at {cut}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_preface_that_never_ends_has_a_time_limit() {
    let app = TestApp::new();
    let limit = Duration::from_secs(3);
    let limits = Limits { head_timeout: limit, ..Limits::default() };
    let address = listening(&app, limits).await;
    for first in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n"] {
        let mut stream = send_in_pieces(address, first, b"").await;
        let mut received = vec![];
        let closed = timeout(limit + limit / 2, stream.read_to_end(&mut received)).await;
        let _ = closed.unwrap_or_else(|_| panic!("{first:?} is still open"));
        assert_eq!(received, b"", "{first:?}");
    }
    let metrics = app.get("/metrics").await.text;
    let refused = "\nvidra_connections_refused_total{reason=\"too_slow\"} 3\n";
    assert!(metrics.contains(refused), "{metrics}");
}

#[tokio::test]
async fn a_silent_connection_does_not_delay_the_shutdown() {
    let app = TestApp::new();
    let (stop, stopped) = oneshot::channel::<()>();
    let head_timeout = Duration::from_secs(600);
    let limits =
        Limits { http2: true, head_timeout, drain_delay: Duration::ZERO, ..Limits::default() };
    let stopped = async { drop(stopped.await) };
    let (address, ended) = app.served(Serving { limits, ..Serving::default() }, stopped).await;
    let _silent = send_in_pieces(address, b"P", b"R").await;
    stop.send(()).unwrap();
    timeout(Duration::from_secs(60), ended).await.unwrap().unwrap();
}
