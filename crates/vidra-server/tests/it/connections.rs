//! Connections: timeouts, connection limits, HTTP/2 and TLS.

use std::fs;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
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
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use vidra_server::{Limits, Serving, Tls};
use vidra_sim::{Action, Endpoint, Fault};

use crate::app::TestApp;

/// A timeout that tests reach, in real time because sockets are real. A round trip on this machine takes a
/// thousandth of it.
const SHORT: Duration = Duration::from_millis(500);

/// Far longer than any step takes.
const LONG: Duration = Duration::from_secs(60);

/// Limits that no test reaches.
fn generous() -> Limits {
    Limits { head_timeout: LONG, idle_timeout: LONG, stall_timeout: LONG, ..Limits::default() }
}

async fn served(app: &TestApp, limits: Limits) -> SocketAddr {
    app.served(Serving { limits, ..Serving::default() }, pending()).await.0
}

async fn connect_and_send(address: SocketAddr, input: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(input.as_bytes()).await.unwrap();
    stream
}

/// Everything that arrives until the service closes the connection. A reset counts as a close.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = vec![];
    let _ = timeout(LONG, stream.read_to_end(&mut bytes))
        .await
        .expect("the service closes the connection");
    String::from_utf8(bytes).unwrap()
}

const GET_HEALTH: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[tokio::test]
async fn review_s11_a_refused_large_body_closes_its_connection() {
    let address = served(&TestApp::new(), generous()).await;
    let large = "x".repeat(140_000);
    for (method, path) in [("POST", "/api/url/parse"), ("PUT", "/api/url/parse"), ("POST", "/none")]
    {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        let json = "content-type: application/json\r\n";
        let length = format!("{head}{json}content-length: {}\r\n\r\n", large.len());
        let chunked = format!("{head}{json}transfer-encoding: chunked\r\n\r\n222e0\r\n");
        for request in [length, chunked] {
            let mut stream = connect_and_send(address, &request).await;
            // The service may close before it has read the body.
            let _ = stream.write_all(large.as_bytes()).await;
            let response = until_closed(&mut stream).await;
            assert!(response.starts_with("HTTP/1.1 4"), "{request}: {response}");
            assert!(response.contains("\r\nconnection: close\r\n"), "{request}: {response}");
        }
        // A small body is read, and the connection stays open.
        let small = format!("{head}content-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}");
        let closing = GET_HEALTH.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
        let mut stream = connect_and_send(address, &(small + &closing)).await;
        let responses = until_closed(&mut stream).await;
        assert!(responses.contains("\"status\":\"ok\""), "{responses}");
    }
}

#[tokio::test]
async fn review_s11_no_response_may_be_sniffed() {
    let app = TestApp::new();
    for path in
        ["/api/video/quirkNoLike", "/api/video/quirkNoLike", "/api/nothing", "/", "/healthz"]
    {
        assert_eq!(app.get(path).await.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[tokio::test]
async fn slow_and_idle_connections_are_closed() {
    let app = TestApp::new();
    let slow_head = Limits { head_timeout: SHORT, ..generous() };
    let idle = Limits { idle_timeout: SHORT, ..generous() };
    let table = [
        ("sends nothing", slow_head.clone(), vec![]),
        ("begins a head", slow_head.clone(), vec!["GET /healthz HT"]),
        ("sends no second request", idle, vec![GET_HEALTH]),
        ("begins a second head", slow_head, vec![GET_HEALTH, "GET"]),
    ];
    // Concurrently, because each case waits for a timeout.
    let cases = table.map(async |(case, limits, parts)| {
        let mut stream = connect_and_send(served(&app, limits).await, "").await;
        for part in parts {
            stream.write_all(part.as_bytes()).await.unwrap();
            if part == GET_HEALTH {
                assert!(read_response(&mut stream).await.starts_with("HTTP/1.1 200 OK"), "{case}");
            }
        }
        assert_eq!(until_closed(&mut stream).await, "", "{case}");
    });
    join_all(cases).await;
}

/// The limits that docs/guide/operate.md lists.
#[test]
fn default_limits_match_the_guide() {
    let Limits { head_timeout, idle_timeout, stall_timeout, head_bytes, connections, .. } =
        Limits::default();
    let seconds = [head_timeout, idle_timeout, stall_timeout].map(|limit| limit.as_millis());
    assert_eq!(seconds, [10_000, 60_000, 30_000]);
    assert_eq!((head_bytes, connections), (80 * 1024, 10_000));
    let defaults = Limits::default();
    assert_eq!(defaults.connections_per_address, None);
    assert_eq!((defaults.http2, defaults.drain_delay), (false, Duration::from_secs(1)));
}

/// Large answers keep the threads of other requests busy.
#[tokio::test]
async fn cached_responses_do_not_wait_for_other_requests() {
    let app = TestApp::new();
    let runtime = one_thread();
    let serving = Serving { handlers: Some(runtime.handle().clone()), ..Serving::default() };
    let (address, _) = app.served(serving, pending()).await;
    let get = |id: &str| format!("GET /api/video/{id} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut connection = connect_and_send(address, &get("quirkNoLike")).await;
    assert!(read_response(&mut connection).await.contains("\r\nx-cache: miss\r\n"));

    let (release, released) = mpsc::channel::<()>();
    let (started, is_busy) = oneshot::channel();
    runtime.spawn(async move {
        started.send(()).unwrap();
        let _ = released.recv();
    });
    is_busy.await.unwrap();
    let before = runtime.metrics().num_alive_tasks();
    let mut other = connect_and_send(address, &get("txManualAsr")).await;
    let queued = async {
        while runtime.metrics().num_alive_tasks() == before {
            yield_now().await;
        }
    };
    timeout(LONG, queued).await.expect("the other request waits for the thread");
    connection.write_all(get("quirkNoLike").as_bytes()).await.unwrap();
    assert!(read_response(&mut connection).await.contains("\r\nx-cache: hit\r\n"));
    let waiting = timeout(Duration::ZERO, other.readable()).await;
    assert!(waiting.is_err(), "no thread was free for the other request");
    drop(release);
    assert!(read_response(&mut other).await.starts_with("HTTP/1.1 200 OK\r\n"));
    runtime.shutdown_background();
}

#[tokio::test]
async fn streams_of_another_runtime_arrive_whole() {
    let app = TestApp::new();
    let runtime = one_thread();
    let serving = Serving { handlers: Some(runtime.handle().clone()), ..Serving::default() };
    let (address, _) = app.served(serving, pending()).await;
    let request = "GET /api/playlist/PLsize120/videos HTTP/1.1\r\nhost: localhost\r\n\
                   accept: application/x-ndjson\r\nconnection: close\r\n\r\n";
    let streamed = until_closed(&mut connect_and_send(address, request).await).await;
    assert!(streamed.starts_with("HTTP/1.1 200 OK\r\n"), "{streamed}");
    let lines = |kind| streamed.matches(&format!("\n{{\"type\":\"{kind}\"")).count();
    assert_eq!((lines("result"), lines("summary")), (120, 1), "{streamed}");
    runtime.shutdown_background();
}

#[tokio::test]
async fn a_request_on_another_runtime_ends_with_its_connection() {
    // The request would not end by itself.
    let app = TestApp::with(|it| it.attempt_timeout(2 * LONG).deadline(2 * LONG));
    app.sim.inject(Fault::on(Endpoint::Videos, Action::Hang));
    let runtime = one_thread();
    let serving = Serving { handlers: Some(runtime.handle().clone()), ..Serving::default() };
    let (address, _) = app.served(serving, pending()).await;
    let request = "GET /api/video/quirkNoLike HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let connection = connect_and_send(address, request).await;
    let until = async |is_reached: &dyn Fn() -> bool| {
        while !is_reached() {
            yield_now().await;
        }
    };
    let is_called = || app.sim.record().calls == 1;
    timeout(LONG, until(&is_called)).await.expect("the request calls YouTube");
    assert_eq!(app.app.held().0, 1);
    drop(connection);
    timeout(LONG, until(&|| app.app.held().0 == 0)).await.expect("the request ends");
    runtime.shutdown_background();
}

fn one_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[tokio::test]
async fn a_connection_waiting_for_an_answer_stays_open() {
    let app = TestApp::new();
    app.sim.set_latency(4 * SHORT);
    let limits = Limits { head_timeout: SHORT, idle_timeout: SHORT, ..generous() };
    let request = "GET /api/video/quirkNoLike HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut stream = connect_and_send(served(&app, limits).await, request).await;
    assert!(until_closed(&mut stream).await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn a_stalled_reader_is_disconnected() {
    let app = TestApp::new();
    let limits = Limits { head_timeout: SHORT, stall_timeout: 2 * SHORT, ..generous() };
    let address = served(&app, limits).await;
    // Many times what the buffers of a connection hold.
    let request = "GET /api/playlist/PLsize500 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    app.get("/api/playlist/PLsize500").await;
    let mut stream = connect_and_send(address, &request.repeat(150)).await;
    stream.readable().await.unwrap();
    let whole = app.get("/api/playlist/PLsize500").await.text.len() * 150;
    // The client reads nothing until the service has closed the connection. It notices that only by writing,
    // because data that arrived before is still in its buffer.
    let closed = async {
        while TcpStream::connect(address).await.is_ok() {
            if stream.try_write(b" ").is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, closed).await.expect("the service closes the connection");
    assert!(until_closed(&mut stream).await.len() < whole);
}

#[tokio::test]
async fn connections_over_the_limit_get_an_error_with_the_reason() {
    let table = [
        (Limits { connections: 2, ..generous() }, 503, "The service is at its limit"),
        (
            Limits { connections_per_address: Some(2), ..generous() },
            429,
            "Too many connections from your address",
        ),
    ];
    for (limits, status, message) in table {
        let app = TestApp::new();
        let address = served(&app, limits).await;
        let mut first = connect_and_send(address, GET_HEALTH).await;
        let mut second = connect_and_send(address, GET_HEALTH).await;
        for stream in [&mut first, &mut second] {
            assert!(read_response(stream).await.starts_with("HTTP/1.1 200"), "{status}");
        }
        let response = until_closed(&mut connect_and_send(address, GET_HEALTH).await).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        assert!(response.contains("\r\nretry-after: 1\r\n"), "{response}");
        let body: serde_json::Value =
            serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["error"]["message"], message);
        assert_eq!(body["error"]["code"], status);
        // A closed connection frees its slot.
        first.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await.unwrap();
        until_closed(&mut first).await;
        let again = async {
            while !read_response(&mut connect_and_send(address, GET_HEALTH).await)
                .await
                .starts_with("HTTP/1.1 200")
            {}
        };
        timeout(LONG, again).await.unwrap();
    }
}

/// Reads exactly one response; empty if the service closes the connection instead.
async fn read_response(stream: &mut TcpStream) -> String {
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
async fn malformed_http_is_rejected_with_its_status() {
    let app = TestApp::new();
    let address = served(&app, generous()).await;
    let long = "x".repeat(70_000);
    let longer = "x".repeat(100_000);
    let table = [
        (format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {longer}\r\n\r\n"), 431),
        ("GET\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), 400),
        (format!("{GET_HEALTH}\0\0\0\r\n\r\n"), 400),
    ];
    for (input, status) in table {
        let response = until_closed(&mut connect_and_send(address, &input).await).await;
        let (_, response) = response.split_at(response.rfind("HTTP/1.1 ").unwrap());
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        // hyper rejects it before the service sees a request.
        assert!(head.contains("content-length: 0") && body.is_empty(), "{response}");
    }
}

#[tokio::test]
async fn http2_is_available_only_if_enabled() {
    let app = TestApp::new();
    for enabled in [true, false] {
        let address = served(&app, Limits { http2: enabled, ..generous() }).await;
        let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        let request = |path: &str| {
            let uri = format!("http://{address}{path}");
            Request::get(uri).version(Version::HTTP_2).body(Body::empty()).unwrap()
        };
        let response = sender.send_request(request("/api/video/quirkNoLike")).await;
        assert_eq!(response.is_ok(), enabled);
        if let Ok(response) = response {
            assert_eq!((response.status().as_u16(), response.version()), (200, Version::HTTP_2));
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, app.get("/api/video/quirkNoLike").await.text);
            // A cached response must not have a `Connection` header, which HTTP/2 forbids.
            let known = sender.send_request(request("/api/video/quirkNoLike")).await.unwrap();
            assert_eq!(known.headers()["x-cache"], "hit");
        }
        let mut http1 = connect_and_send(address, GET_HEALTH).await;
        assert!(read_response(&mut http1).await.starts_with("HTTP/1.1 200 OK"));
    }
}

/// An HTTP/2 connection, and a task that ends with it.
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
async fn http2_frames_between_requests_are_not_a_slow_head() {
    let app = TestApp::new();
    let limits = Limits { http2: true, head_timeout: SHORT, ..generous() };
    let address = served(&app, limits).await;
    let (mut sender, _connection) =
        http2_to(address, &http2::Builder::new(TokioExecutor::new())).await;
    for _ in 0..2 {
        let response = sender.send_request(http2_get(address, "/healthz")).await.unwrap();
        // Reading the body makes the client send WINDOW_UPDATE frames.
        response.into_body().collect().await.unwrap();
        // Twice as long as the head timeout.
        for _ in 0..2 {
            until_closed(&mut connect_and_send(address, "GET").await).await;
        }
    }
}

#[tokio::test]
async fn a_stalled_http2_reader_is_disconnected() {
    let app = TestApp::new();
    let limits = Limits { http2: true, stall_timeout: 2 * SHORT, ..generous() };
    let address = served(&app, limits).await;
    let mut narrow = http2::Builder::new(TokioExecutor::new());
    narrow.initial_stream_window_size(0);
    let (mut sender, connection) = http2_to(address, &narrow).await;
    let response = sender.send_request(http2_get(address, "/openapi.json")).await.unwrap();
    assert_eq!(response.status(), 200);
    timeout(LONG, connection).await.expect("the service closes the connection").unwrap();
    drop(response);
}

#[tokio::test]
async fn tls_certificates_are_reloaded_without_a_restart() {
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
    let serving = Serving { limits: generous(), tls: Some(tls.clone()), handlers: None };
    let address = app.served(serving, pending()).await.0;
    let get_over_tls = async |trusted: &rustls::pki_types::CertificateDer<'static>| {
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
        stream.write_all(GET_HEALTH.as_bytes()).await.unwrap();
        let mut start = [0; 15];
        stream.read_exact(&mut start).await.unwrap();
        Some(start)
    };
    assert_eq!(get_over_tls(&old).await.as_ref(), Some(b"HTTP/1.1 200 OK"));
    let new = issue();
    assert_eq!(get_over_tls(&new).await, None, "the new certificate is not loaded yet");
    tls.renew(&certificate, &key, false).unwrap();
    assert_eq!(get_over_tls(&new).await.as_ref(), Some(b"HTTP/1.1 200 OK"));
    fs::write(&key, "nonsense").unwrap();
    let error = tls.renew(&certificate, &key, false).unwrap_err();
    assert!(error.contains("key.pem"), "{error}");
    assert_eq!(
        get_over_tls(&new).await.as_ref(),
        Some(b"HTTP/1.1 200 OK"),
        "the last valid certificate stays in use"
    );
    // A request without TLS gets no answer, and the connection is closed.
    let response = until_closed(&mut connect_and_send(address, GET_HEALTH).await).await;
    assert!(!response.contains("HTTP/1.1 200"), "{response}");
}
