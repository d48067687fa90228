//! Callers that hold connections and send almost nothing.

use std::future::pending;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vidra_server::{Limits, Serving};

use crate::app::TestApp;

/// Fits into a process with at most 1,024 open files, which holds both ends of each connection.
const SLOW: usize = 400;

const HEAD: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ";

/// Sends a request head byte by byte until the connection is closed, and returns the response.
async fn dribble(mut stream: TcpStream) -> Vec<u8> {
    let mut received = vec![];
    for byte in HEAD.bytes().chain(std::iter::repeat(b'x')) {
        if stream.write_all(&[byte]).await.is_err() {
            break;
        }
        // Waits between bytes; ends when the service closes the connection.
        let read = timeout(Duration::from_millis(20), stream.read_buf(&mut received)).await;
        if matches!(read, Ok(Ok(0) | Err(_))) {
            break;
        }
    }
    received
}

#[tokio::test(flavor = "multi_thread")]
async fn s17_slow_clients_are_closed_and_do_not_block_others() {
    let app = TestApp::new();
    let limits = Limits { head_timeout: Duration::from_millis(800), ..Limits::default() };
    let address = app.served(Serving { limits, ..Serving::default() }, pending()).await.0;
    let slow = join_all((0..SLOW).map(|_| TcpStream::connect(address))).await;
    let slow = slow.into_iter().map(|stream| tokio::spawn(dribble(stream.unwrap())));
    let slow: Vec<_> = slow.collect();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            b"GET /api/video/quirkNoLike HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let ended = timeout(Duration::from_secs(20), join_all(slow)).await.expect("all are closed");
    assert!(
        ended.into_iter().all(|received| received.unwrap().is_empty()),
        "an incomplete request gets no response"
    );
    let released = async {
        while !app.get("/metrics").await.text.contains("\nvidra_connections_open 0\n") {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), released).await.expect("their connections are released");
}
