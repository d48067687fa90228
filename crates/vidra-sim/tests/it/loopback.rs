//! The simulator on a socket, with a client that reads raw bytes.

use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vidra_sim::{Action, Endpoint, Fault, Junk, Listening, Simulator};

const CALL: &str = "/youtube/v3/videos?part=snippet&id=quirkNoLike";

async fn listening() -> (Simulator, Listening) {
    let platform = Simulator::new();
    let listening =
        platform.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a free port");
    (platform, listening)
}

/// Everything the server sends until it closes.
async fn exchange(listening: &Listening, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(listening.addr()).await.expect("it listens");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: sim\r\nX-Goog-Api-Key: demo-key\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("it reads");
    stream.write_all(body.as_bytes()).await.expect("it reads");
    let mut received = Vec::new();
    // A broken connection also ends the loop; the bytes before it are returned.
    while let Ok(1..) = stream.read_buf(&mut received).await {}
    String::from_utf8_lossy(&received).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn content_length(answer: &str) -> Option<usize> {
    let (head, _) = answer.split_once("\r\n\r\n")?;
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    line.parse().ok()
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test]
async fn simulator_answers_on_its_reported_address() {
    let (platform, listening) = listening().await;
    assert_eq!(listening.data_api_url(), format!("{}/youtube/v3", listening.url()));
    let answer = exchange(&listening, "GET", CALL, "").await;
    assert_eq!((status(&answer), content_length(&answer)), ("200", Some(body(&answer).len())));
    assert_eq!(platform.record().calls_to(Endpoint::Videos), 1);
    assert_eq!(status(&exchange(&listening, "POST", CALL, "").await), "404");
}

#[tokio::test]
async fn reset_fault_sends_no_bytes() {
    let (platform, listening) = listening().await;
    platform.inject(Fault::any(Action::Reset).once());
    assert_eq!(exchange(&listening, "GET", CALL, "").await, "");
    assert_eq!(status(&exchange(&listening, "GET", CALL, "").await), "200");
}

#[tokio::test]
async fn cut_body_is_shorter_than_its_content_length() {
    let (platform, listening) = listening().await;
    platform.inject(Fault::any(Action::Cut).once());
    let answer = exchange(&listening, "GET", CALL, "").await;
    let length = content_length(&answer).expect("a length");
    assert_eq!((status(&answer), body(&answer).len()), ("200", length / 2));
}

#[tokio::test]
async fn other_faults_work_over_http() {
    let (platform, listening) = listening().await;
    platform.inject(Fault::any(Action::error("backendError").retry_after("7")).once());
    let answer = exchange(&listening, "GET", CALL, "").await;
    assert!(status(&answer) == "503" && answer.contains("retry-after: 7"), "{answer}");
    platform.inject(Fault::any(Action::Junk { kind: Junk::Html }).once());
    assert!(exchange(&listening, "GET", CALL, "").await.contains("<!DOCTYPE html>"));
    platform.inject(
        Fault::any(Action::Redirect { location: "http://elsewhere.example/".to_owned() }).once(),
    );
    assert!(
        exchange(&listening, "GET", CALL, "").await.contains("location: http://elsewhere.example/")
    );
    platform.inject(Fault::any(Action::Huge { bytes: 300_000 }).once());
    assert!(exchange(&listening, "GET", CALL, "").await.len() > 300_000);
    platform.inject(Fault::any(Action::Drip { chunk: 200, every_millis: 0 }).once());
    let answer = exchange(&listening, "GET", CALL, "").await;
    assert_eq!(content_length(&answer), Some(body(&answer).len()));
}

#[tokio::test]
async fn control_interface_works_over_http() {
    let (platform, listening) = listening().await;
    let fault = r#"{"endpoint":"videos","times":1,"action":{"error":{"reason":"backendError"}}}"#;
    assert_eq!(status(&exchange(&listening, "POST", "/_sim/faults", fault).await), "204");
    assert_eq!(status(&exchange(&listening, "GET", CALL, "").await), "503");
    let record = exchange(&listening, "GET", "/_sim/record", "").await;
    let record: serde_json::Value = serde_json::from_str(body(&record)).expect("JSON");
    assert_eq!(
        (&record["calls"], &record["units"]["default"], &record["byEndpoint"]["videos"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!(status(&exchange(&listening, "DELETE", "/_sim/record", "").await), "204");
    assert_eq!(platform.record().calls, 0);
    assert_eq!(
        status(&exchange(&listening, "POST", "/_sim/faults", r#"{"action":"explode"}"#).await),
        "400"
    );
    exchange(&listening, "POST", "/_sim/faults", r#"{"action":"reset"}"#).await;
    assert_eq!(status(&exchange(&listening, "DELETE", "/_sim/faults", "").await), "204");
    assert_eq!(status(&exchange(&listening, "GET", CALL, "").await), "200");
}

#[tokio::test]
async fn dropping_the_listener_closes_connections() {
    let (_platform, listening) = listening().await;
    let addr = listening.addr();
    let mut open = TcpStream::connect(addr).await.expect("it listens");
    // A first answer shows that the connection was accepted.
    open.write_all(b"GET /_sim/record HTTP/1.1\r\nHost: sim\r\n\r\n").await.expect("it reads");
    assert!(matches!(open.read_buf(&mut Vec::with_capacity(4096)).await, Ok(1..)));
    drop(listening);
    let mut rest = Vec::new();
    while let Ok(1..) = open.read_buf(&mut rest).await {}
    assert!(TcpStream::connect(addr).await.is_err());
}
