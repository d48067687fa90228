//! The forward proxy, with a client that reads raw bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vidra_sim::proxy::{Proxy, ProxyMode};
use vidra_sim::{Endpoint, Listening, Simulator};

async fn start() -> (Simulator, Listening, Proxy) {
    let platform = Simulator::new();
    let listening =
        platform.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port");
    (platform, listening, Proxy::listen("home").await.expect("a port"))
}

async fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.url().trim_start_matches("http://")).await.expect("it listens")
}

/// Writes `text` and reads until the peer closes the connection.
async fn exchange(stream: &mut TcpStream, text: &str) -> String {
    let _ = stream.write_all(text.as_bytes()).await;
    let mut received = Vec::new();
    while let Ok(1..) = stream.read_buf(&mut received).await {}
    String::from_utf8_lossy(&received).into_owned()
}

fn post(target: &str, host: SocketAddr) -> String {
    let body = r#"{"content_binding":"txNeedsPot_"}"#;
    format!(
        "POST {target} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: Basic x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn requests_are_forwarded_with_the_egress_header() {
    let (platform, listening, proxy) = start().await;
    let target = format!("{}/get_pot", listening.url());
    let answer = exchange(&mut connect(&proxy).await, &post(&target, listening.addr())).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("poToken"), "{answer}");
    let record = platform.record();
    let received = record.requests_to(Endpoint::PotProvider).next().expect("recorded");
    assert_eq!(received.header("x-sim-egress"), Some("home"));
    assert_eq!(received.header("proxy-authorization"), None);
    assert_eq!((proxy.requests(), proxy.tunnels(), record.by_egress["home"]), (1, 0, 1));
}

#[tokio::test]
async fn socks5_works_with_and_without_a_password() {
    let (platform, listening, proxy) = start().await;
    for password in [false, true] {
        let mut stream = connect(&proxy).await;
        let greeting: &[u8] = if password { &[5, 1, 2] } else { &[5, 2, 0, 2] };
        stream.write_all(greeting).await.expect("it reads");
        let mut two = [0; 2];
        stream.read_exact(&mut two).await.expect("it answers");
        if password {
            assert_eq!(two, [5, 2]);
            stream.write_all(b"\x01\x01u\x02pw").await.expect("it reads");
            stream.read_exact(&mut two).await.expect("it answers");
            assert_eq!(two, [1, 0]);
        }
        let mut connect_request = vec![5, 1, 0, 1, 127, 0, 0, 1];
        connect_request.extend(listening.addr().port().to_be_bytes());
        stream.write_all(&connect_request).await.expect("it reads");
        let mut ten = [0; 10];
        stream.read_exact(&mut ten).await.expect("it answers");
        assert_eq!(ten[1], 0);
        let answer = exchange(&mut stream, &post("/get_pot", listening.addr())).await;
        assert!(answer.contains("poToken"), "{answer}");
    }
    assert_eq!((proxy.tunnels(), platform.record().by_egress["home"]), (2, 2));
}

#[tokio::test]
async fn tunnels_are_opened_or_rejected() {
    let (platform, listening, proxy) = start().await;
    let connect_request = format!("CONNECT {} HTTP/1.1\r\nHost: x\r\n\r\n", listening.addr());
    let mut stream = connect(&proxy).await;
    stream.write_all(connect_request.as_bytes()).await.expect("it reads");
    let mut head = [0; 39];
    stream.read_exact(&mut head).await.expect("it answers");
    assert_eq!(&head, b"HTTP/1.1 200 Connection established\r\n\r\n");
    let answer =
        exchange(&mut stream, "GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.contains("server_uptime"), "{answer}");
    assert_eq!(platform.record().by_egress["direct"], 1);
    proxy.set_mode(ProxyMode::NoTunnels);
    assert!(
        exchange(&mut connect(&proxy).await, &connect_request).await.starts_with("HTTP/1.1 403")
    );
    assert_eq!(proxy.tunnels(), 2);
}

#[tokio::test]
async fn proxy_rejects_closes_or_forwards_all_hosts() {
    let (platform, listening, proxy) = start().await;
    let get = "GET http://www.youtube.com/ping HTTP/1.1\r\nHost: www.youtube.com\r\n\r\n";
    proxy.set_mode(ProxyMode::Refusing(407));
    assert!(exchange(&mut connect(&proxy).await, get).await.starts_with("HTTP/1.1 407"));
    proxy.set_mode(ProxyMode::Dead);
    assert_eq!(exchange(&mut connect(&proxy).await, get).await, "");
    assert_eq!((proxy.connections(), platform.record().calls), (2, 0));
    let all = Proxy::listen_towards("all", listening.addr()).await.expect("a port");
    assert!(exchange(&mut connect(&all).await, get).await.contains("server_uptime"));
    assert_eq!((all.egress(), all.socks_url().starts_with("socks5://127.0.0.1:")), ("all", true));
}

#[tokio::test]
async fn client_disconnect_propagates_through_the_proxy() {
    let (platform, listening, proxy) = start().await;
    platform.set_latency(Duration::from_secs(60));
    let mut stream = connect(&proxy).await;
    let request = post(&format!("{}/get_pot", listening.url()), listening.addr());
    stream.write_all(request.as_bytes()).await.expect("it reads");
    until(|| platform.record().in_flight == 1).await;
    drop(stream);
    until(|| platform.record().in_flight == 0).await;
}

/// Waits up to a second for a condition.
async fn until(happened: impl Fn() -> bool) {
    for _ in 0..200 {
        if happened() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not within a second");
}
