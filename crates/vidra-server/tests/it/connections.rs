//! Connections: what a caller may take up of time and places, and which ways of speaking there are.

use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Version};
use futures_util::future::join_all;
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use vidra_server::{Limits, Serving, Tls};

use crate::app::TestApp;

/// A limit that is reached, in real time because sockets are real. The action within it is a round trip on
/// this machine, which takes a thousandth of it.
const SHORT: Duration = Duration::from_millis(500);

/// Far more than anything takes.
const LONG: Duration = Duration::from_secs(60);

/// Limits that nothing reaches.
fn patient() -> Limits {
    Limits { head_timeout: LONG, idle_timeout: LONG, stall_timeout: LONG, ..Limits::default() }
}

async fn served(app: &TestApp, limits: Limits) -> SocketAddr {
    app.served(Serving { limits, tls: None }, pending()).await.0
}

async fn say(address: SocketAddr, words: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(words.as_bytes()).await.unwrap();
    stream
}

/// All that comes until the other side closes. A reset is an end too.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = vec![];
    let _ = timeout(LONG, stream.read_to_end(&mut bytes)).await.expect("it is closed");
    String::from_utf8(bytes).unwrap()
}

const ASK: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[tokio::test]
async fn who_takes_too_long_is_left() {
    let app = TestApp::new();
    let slow_head = Limits { head_timeout: SHORT, ..patient() };
    let idle = Limits { idle_timeout: SHORT, ..patient() };
    let table = [
        ("says nothing", slow_head.clone(), vec![]),
        ("begins a head", slow_head.clone(), vec!["GET /healthz HT"]),
        ("does not ask again", idle, vec![ASK]),
        ("begins a second head", slow_head, vec![ASK, "GET"]),
    ];
    // Side by side, because each of them takes its time.
    let cases = table.map(async |(who, limits, words)| {
        let mut stream = say(served(&app, limits).await, "").await;
        for words in words {
            stream.write_all(words.as_bytes()).await.unwrap();
            if words == ASK {
                assert!(answer(&mut stream).await.starts_with("HTTP/1.1 200 OK"), "{who}");
            }
        }
        assert_eq!(until_closed(&mut stream).await, "", "{who}");
    });
    join_all(cases).await;
}

/// The limits of docs/guide/operate.md, which most callers are never told of.
#[test]
fn limits_are_what_the_documents_say() {
    let Limits { head_timeout, idle_timeout, stall_timeout, head_bytes, connections, .. } =
        Limits::default();
    let seconds = [head_timeout, idle_timeout, stall_timeout].map(|limit| limit.as_millis());
    assert_eq!(seconds, [10_000, 60_000, 30_000]);
    assert_eq!((head_bytes, connections), (80 * 1024, 10_000));
    let defaults = Limits::default();
    assert_eq!(defaults.connections_per_address, None);
    assert_eq!((defaults.http2, defaults.drain_delay), (false, Duration::from_secs(1)));
}

#[tokio::test]
async fn who_waits_for_an_answer_is_not_left() {
    let app = TestApp::new();
    app.sim.set_latency(4 * SHORT);
    let impatient = Limits { head_timeout: SHORT, idle_timeout: SHORT, ..patient() };
    let request = "GET /api/video/quirkNoLike HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut stream = say(served(&app, impatient).await, request).await;
    assert!(until_closed(&mut stream).await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn who_takes_nothing_of_a_large_answer_is_left() {
    let app = TestApp::new();
    let limits = Limits { head_timeout: SHORT, stall_timeout: 2 * SHORT, ..patient() };
    let address = served(&app, limits).await;
    // Many times what the buffers of a connection hold.
    let request = "GET /api/playlist/PLsize500 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    app.get("/api/playlist/PLsize500").await;
    let mut stream = say(address, &request.repeat(150)).await;
    stream.readable().await.unwrap();
    let whole = app.get("/api/playlist/PLsize500").await.text.len() * 150;
    // It takes nothing until the other side has given up, of which it learns nothing by itself: what
    // was sent before lies there to be read.
    let closed = async {
        while TcpStream::connect(address).await.is_ok() {
            if stream.try_write(b" ").is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, closed).await.expect("it is closed");
    assert!(until_closed(&mut stream).await.len() < whole);
}

#[tokio::test]
async fn places_are_limited_and_who_is_turned_away_is_told_why() {
    let table = [
        (Limits { connections: 2, ..patient() }, 503, "The service is at its limit"),
        (
            Limits { connections_per_address: Some(2), ..patient() },
            429,
            "Too many connections from your address",
        ),
    ];
    for (limits, status, message) in table {
        let app = TestApp::new();
        let address = served(&app, limits).await;
        let mut first = say(address, ASK).await;
        let mut second = say(address, ASK).await;
        for stream in [&mut first, &mut second] {
            assert!(answer(stream).await.starts_with("HTTP/1.1 200"), "{status}");
        }
        let said = until_closed(&mut say(address, ASK).await).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
        assert!(said.contains("\r\nretry-after: 1\r\n"), "{said}");
        let body: serde_json::Value =
            serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["error"]["message"], message);
        assert_eq!(body["error"]["code"], status);
        // A place that is given back is there again.
        first.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await.unwrap();
        until_closed(&mut first).await;
        let again = async {
            while !answer(&mut say(address, ASK).await).await.starts_with("HTTP/1.1 200") {}
        };
        timeout(LONG, again).await.unwrap();
    }
}

/// The next response, read to its end and not beyond; empty where the other side closes instead.
async fn answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let read = async {
        let mut end = None;
        while end.is_none_or(|end| text.len() < end) {
            let Ok(byte) = stream.read_u8().await else { return };
            text.push(byte.into());
            if end.is_none() && text.ends_with("\r\n\r\n") {
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
                end = Some(text.len() + length.map_or(0, |text| text.parse().unwrap()));
            }
        }
    };
    timeout(LONG, read).await.expect("a response or the end");
    text
}

#[tokio::test]
async fn what_is_not_http_is_refused_with_its_status() {
    let app = TestApp::new();
    let address = served(&app, patient()).await;
    let long = "x".repeat(70_000);
    let longer = "x".repeat(100_000);
    let table = [
        (format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {longer}\r\n\r\n"), 431),
        ("GET\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        (format!("{ASK}\0\0\0\r\n\r\n"), 400),
    ];
    for (words, status) in table {
        let said = until_closed(&mut say(address, &words).await).await;
        let (_, said) = said.split_at(said.rfind("HTTP/1.1 ").unwrap());
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        // hyper refuses it before the service sees a request.
        assert!(head.contains("content-length: 0") && body.is_empty(), "{said}");
    }
}

#[tokio::test]
async fn http2_is_spoken_where_it_is_wanted() {
    let app = TestApp::new();
    for wanted in [true, false] {
        let address = served(&app, Limits { http2: wanted, ..patient() }).await;
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        let request = |path: &str| {
            let uri = format!("http://{address}{path}");
            Request::get(uri).version(Version::HTTP_2).body(Body::empty()).unwrap()
        };
        let response = sender.send_request(request("/api/video/quirkNoLike")).await;
        assert_eq!(response.is_ok(), wanted);
        if let Ok(response) = response {
            assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, app.get("/api/video/quirkNoLike").await.text);
            // Nothing in the head says that the connection ends: that has other words here.
            let known = sender.send_request(request("/api/video/quirkNoLike")).await.unwrap();
            assert_eq!(known.headers()["x-cache"], "hit");
        }
        let mut first_version = say(address, ASK).await;
        assert!(answer(&mut first_version).await.starts_with("HTTP/1.1 200 OK"));
    }
}

/// A connection of HTTP/2, and what it ends with.
async fn http2_to(
    address: SocketAddr,
    builder: &http2::Builder<TokioExecutor>,
) -> (http2::SendRequest<Body>, tokio::task::JoinHandle<()>) {
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (sender, connection) = builder.handshake(stream).await.unwrap();
    (sender, tokio::spawn(async { drop(connection.await) }))
}

fn http2_get(address: SocketAddr, path: &str) -> Request<Body> {
    let request = Request::get(format!("http://{address}{path}")).version(Version::HTTP_2);
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn what_is_said_between_requests_of_http2_is_no_slow_head() {
    let app = TestApp::new();
    let limits = Limits { http2: true, head_timeout: SHORT, ..patient() };
    let address = served(&app, limits).await;
    let (mut sender, _connection) =
        http2_to(address, &http2::Builder::new(TokioExecutor::new())).await;
    for _ in 0..2 {
        let response = sender.send_request(http2_get(address, "/healthz")).await.unwrap();
        // Taking it has the client say that there is room again.
        response.into_body().collect().await.unwrap();
        // As long as a slow head may take, and as long once more.
        for _ in 0..2 {
            until_closed(&mut say(address, "GET").await).await;
        }
    }
}

#[tokio::test]
async fn who_leaves_an_answer_of_http2_lying_is_left() {
    let app = TestApp::new();
    let limits = Limits { http2: true, stall_timeout: 2 * SHORT, ..patient() };
    let address = served(&app, limits).await;
    let mut narrow = http2::Builder::new(TokioExecutor::new());
    narrow.initial_stream_window_size(0);
    let (mut sender, connection) = http2_to(address, &narrow).await;
    let response = sender.send_request(http2_get(address, "/openapi.json")).await.unwrap();
    assert_eq!(response.status(), 200);
    timeout(LONG, connection).await.expect("it is closed").unwrap();
    drop(response);
}

#[tokio::test]
async fn connections_are_encrypted_with_a_certificate_that_can_be_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let issue = || {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&certificate, issued.cert.pem()).unwrap();
        fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
        issued.cert.der().clone()
    };
    let old = issue();
    let tls = Tls::from_files(&certificate, &key, false).unwrap();
    let app = TestApp::new();
    let serving = Serving { limits: patient(), tls: Some(tls.clone()) };
    let address = app.served(serving, pending()).await.0;
    let ask = async |trusted: &rustls::pki_types::CertificateDer<'static>| {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
        stream.write_all(ASK.as_bytes()).await.unwrap();
        let mut start = [0; 15];
        stream.read_exact(&mut start).await.unwrap();
        Some(start)
    };
    assert_eq!(ask(&old).await.as_ref(), Some(b"HTTP/1.1 200 OK"));
    let new = issue();
    assert_eq!(ask(&new).await, None, "it is not known yet");
    tls.renew(&certificate, &key, false).unwrap();
    assert_eq!(ask(&new).await.as_ref(), Some(b"HTTP/1.1 200 OK"));
    fs::write(&key, "nonsense").unwrap();
    let error = tls.renew(&certificate, &key, false).unwrap_err();
    assert!(error.contains("key.pem"), "{error}");
    assert_eq!(ask(&new).await.as_ref(), Some(b"HTTP/1.1 200 OK"), "the last good one stays");
    // Without encryption nobody is answered, and nobody is left waiting.
    let said = until_closed(&mut say(address, ASK).await).await;
    assert!(!said.contains("HTTP/1.1 200"), "{said}");
}
