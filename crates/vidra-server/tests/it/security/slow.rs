//! Callers who take up connections and do nothing with them.

use std::future::pending;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vidra_server::{Limits, Serving};

use crate::app::TestApp;

/// As many as fit into a process that may have 1,024 files open and has both ends of each.
const SLOW: usize = 400;

const HEAD: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ";

/// Sends a byte of a head now and then, until it is closed; gives what it was told.
async fn dribble(mut stream: TcpStream) -> Vec<u8> {
    let mut told = vec![];
    for byte in HEAD.bytes().chain(std::iter::repeat(b'x')) {
        if stream.write_all(&[byte]).await.is_err() {
            break;
        }
        // Waits for an end as long as it takes to become impatient.
        let read = timeout(Duration::from_millis(20), stream.read_buf(&mut told)).await;
        if matches!(read, Ok(Ok(0) | Err(_))) {
            break;
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn s17_hundreds_who_dribble_are_left_and_keep_nobody_from_an_answer() {
    let app = TestApp::new();
    let limits = Limits { head_timeout: Duration::from_millis(800), ..Limits::default() };
    let address = app.served(Serving { limits, tls: None }, pending()).await.0;
    let slow = join_all((0..SLOW).map(|_| TcpStream::connect(address))).await;
    let slow = slow.into_iter().map(|stream| tokio::spawn(dribble(stream.unwrap())));
    let slow: Vec<_> = slow.collect();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let ask = b"GET /api/video/quirkNoLike HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        stream.write_all(ask).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let ended = timeout(Duration::from_secs(20), join_all(slow)).await.expect("all are left");
    assert!(ended.into_iter().all(|told| told.unwrap().is_empty()), "they asked for nothing");
    let given_back = async {
        while !app.get("/metrics").await.text.contains("\nvidra_connections_open 0\n") {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), given_back).await.expect("what they held is there again");
}
