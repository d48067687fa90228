//! Request smuggling: two parsers read a request differently. One takes for a body what the other takes for a
//! second request, whose response then goes to another caller.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use vidra_server::{Limits, Serving};

use crate::app::TestApp;

/// The request that must never be answered. Its route does not exist, and the error would name it.
const HIDDEN: &str = "GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// How a connection ends.
#[derive(Debug, Clone, Copy)]
enum End {
    /// One response, 400, and the connection is closed.
    Refused,
    /// One response with this status and no other.
    Once(u16),
}
use End::{Once, Refused};

/// A POST request with these headers, followed by `rest`.
fn post(headers: &str, rest: &str) -> String {
    format!(
        "POST /api/url/parse HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}\r\n\r\n{rest}"
    )
}

/// A GET request with these headers, followed by `rest`, which some parsers take for a body.
fn get(path: &str, headers: &str, rest: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n{rest}")
}

fn corpus() -> Vec<(&'static str, String, End)> {
    let hidden = HIDDEN.len();
    let ended = format!("0\r\n\r\n{HIDDEN}");
    let (whole, size) = (format!("content-length: {}", ended.len()), HIDDEN.len());
    let packed = format!("{size:x}\r\n{HIDDEN}\r\n0\r\n\r\n");
    let chunked = "transfer-encoding: chunked";
    let after = |line: &str| format!("{line}\r\n{HIDDEN}");
    vec![
        // Two lengths.
        ("CL and TE", post(&format!("{whole}\r\n{chunked}"), &ended), Once(400)),
        ("TE and CL", post(&format!("{chunked}\r\n{whole}"), &ended), Once(400)),
        ("TE and a short CL", post(&format!("content-length: 4\r\n{chunked}"), &packed), Once(400)),
        ("two CL", post("content-length: 0\r\ncontent-length: 50", HIDDEN), Refused),
        ("two CL, the other way", post("content-length: 50\r\ncontent-length: 0", HIDDEN), Refused),
        (
            "one CL twice",
            post(&format!("content-length: {hidden}\r\ncontent-length: {hidden}"), HIDDEN),
            Once(400),
        ),
        ("a list of CL", post("content-length: 0, 50", HIDDEN), Refused),
        ("a list of one CL", post("content-length: 50, 50", HIDDEN), Refused),
        // Invalid lengths.
        ("CL with a sign", post("content-length: +5", HIDDEN), Refused),
        ("CL below zero", post("content-length: -1", HIDDEN), Refused),
        ("CL in hexadecimal", post("content-length: 0x5", HIDDEN), Refused),
        ("CL with an exponent", post("content-length: 1e1", HIDDEN), Refused),
        ("CL of nothing", post("content-length: ", HIDDEN), Refused),
        ("CL with a word", post("content-length: 5 5", HIDDEN), Refused),
        ("CL beyond 64 bits", post("content-length: 99999999999999999999", HIDDEN), Refused),
        ("CL that wraps around", post("content-length: 18446744073709551616", HIDDEN), Refused),
        ("CL with a bell", post("content-length: 5\u{7}", HIDDEN), Refused),
        // Transfer codings that are not plain `chunked`.
        ("chunked, identity", post("transfer-encoding: chunked, identity", &ended), Refused),
        ("identity", post("transfer-encoding: identity", &ended), Refused),
        ("nothing", post("transfer-encoding:", &ended), Refused),
        ("xchunked", post("transfer-encoding: xchunked", &ended), Refused),
        ("chunked with a parameter", post("transfer-encoding: chunked;q=1", &ended), Refused),
        ("a quoted one", post("transfer-encoding: \"chunked\"", &ended), Refused),
        ("with a vertical tab", post("transfer-encoding: \u{b}chunked", &ended), Refused),
        (
            "two lines, identity last",
            post(&format!("{chunked}\r\ntransfer-encoding: identity"), &ended),
            Refused,
        ),
        ("a space before the colon", post("transfer-encoding : chunked", &ended), Refused),
        ("a tab before the colon", post("transfer-encoding\t: chunked", &ended), Refused),
        ("a space before the name", post(" transfer-encoding: chunked", &ended), Refused),
        ("a NUL in the name", post("transfer\0-encoding: chunked", &ended), Refused),
        ("folded", post("transfer-encoding:\r\n chunked", &ended), Refused),
        ("another one, folded", post("x: a\r\n b\r\ncontent-length: 0", HIDDEN), Refused),
        ("folded by a tab", post("x: a\r\n\tb\r\ncontent-length: 0", HIDDEN), Refused),
        // Line ends.
        ("a bare CR in a value", post("x: a\rcontent-length: 50", HIDDEN), Refused),
        ("a bare CR as a line end", get("/healthz", "x: a\r\r", HIDDEN), Refused),
        ("a NUL in a value", post("x: a\0b\r\ncontent-length: 0", HIDDEN), Refused),
        // Chunks.
        ("a size with a sign", post(chunked, &after("+5")), Once(400)),
        ("a size below zero", post(chunked, &after("-5")), Once(400)),
        ("a size with 0x", post(chunked, &after("0x5")), Once(400)),
        ("a size beyond 64 bits", post(chunked, &after("fffffffffffffffff")), Once(400)),
        ("a size that wraps", post(chunked, &after("10000000000000000")), Once(400)),
        ("no size", post(chunked, &after("")), Once(400)),
        ("a size and a bare LF", post(chunked, &format!("0\n\n{HIDDEN}")), Once(400)),
        ("an LF in an extension", post(chunked, &format!("5;a\nb\r\n{HIDDEN}")), Once(400)),
        ("more than the size", post(chunked, &format!("2\r\n{{}}XX\r\n{ended}")), Once(400)),
        ("a chunk without its end", post(chunked, &format!("2\r\n{{}}{ended}")), Once(400)),
        // Versions.
        (
            "HTTP/1.0 and TE",
            post(chunked, &ended).replace("HTTP/1.1\r\nhost", "HTTP/1.0\r\nhost"),
            Refused,
        ),
        ("HTTP/1.10", get("/healthz", "a: b", HIDDEN).replacen("1.1", "1.10", 1), Refused),
        ("HTTP/0.9", format!("GET /healthz\r\n\r\n{HIDDEN}"), Refused),
        // The body of a GET is skipped.
        (
            "GET with a body",
            get("/healthz", &format!("content-length: {hidden}"), HIDDEN),
            Once(200),
        ),
        ("GET in chunks", get("/healthz", chunked, &packed), Once(200)),
        (
            "GET of a cached answer",
            get("/api/video/quirkNoLike", &format!("content-length: {hidden}"), HIDDEN),
            Once(200),
        ),
        (
            "GET of an unknown route",
            get("/nothing", &format!("content-length: {hidden}"), HIDDEN),
            Once(404),
        ),
        (
            "a method that is not allowed",
            post(&format!("content-length: {hidden}"), HIDDEN).replacen(
                "/api/url/parse",
                "/healthz",
                1,
            ),
            Once(405),
        ),
        (
            "a body with Expect for an unknown route",
            post(&format!("expect: 100-continue\r\ncontent-length: {hidden}"), HIDDEN).replacen(
                "/api/url/parse",
                "/nothing",
                1,
            ),
            Once(404),
        ),
    ]
}

/// The statuses and bodies of all responses until the connection ends.
async fn answers(address: SocketAddr, input: &str) -> Vec<(u16, String)> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(input.as_bytes()).await.unwrap();
    let mut bytes = vec![];
    // A reset counts as a close.
    let read = stream.read_to_end(&mut bytes);
    let _ =
        timeout(Duration::from_secs(20), read).await.expect("the service closes the connection");
    let mut rest = std::str::from_utf8(&bytes).unwrap();
    let mut answers = vec![];
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let status = head.strip_prefix("HTTP/1.1 ").expect(head)[..3].parse().unwrap();
        if status == 100 {
            rest = after;
            continue;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let (body, after) = after.split_at(length.expect(head).parse().unwrap());
        answers.push((status, body.to_owned()));
        rest = after;
    }
    assert_eq!(rest, "", "trailing bytes: {input:?}");
    answers
}

/// A service with a short idle timeout, so that a connection that stays open ends as well.
async fn served(app: &TestApp, http2: bool) -> SocketAddr {
    let idle_timeout = Duration::from_millis(500);
    let limits = Limits { head_timeout: idle_timeout, idle_timeout, http2, ..Limits::default() };
    app.served(Serving { limits, ..Serving::default() }, pending()).await.0
}

#[tokio::test]
async fn s18_smuggled_requests_are_never_answered() {
    let app = TestApp::new();
    app.get("/api/video/quirkNoLike").await;
    for http2 in [false, true] {
        let address = served(&app, http2).await;
        let each = corpus()
            .into_iter()
            .map(async |(what, input, end)| (what, answers(address, &input).await, end));
        for (what, got, end) in join_all(each).await {
            let [(status, body)] = &got[..] else { panic!("{what}: {got:?}") };
            assert!(!body.contains("smuggled"), "{what}: {body}");
            let expected = match end {
                Refused => 400,
                Once(status) => status,
            };
            assert_eq!(*status, expected, "{what}: {body}");
            // hyper rejects invalid HTTP without a body; every response of the service has one.
            assert_eq!(body.is_empty(), matches!(end, Refused), "{what}: {body}");
        }
    }
}

/// Two valid requests on one connection get two responses. This shows that the corpus would detect a second one.
#[tokio::test]
async fn s18_pipelined_requests_are_each_answered_once() {
    let app = TestApp::new();
    let address = served(&app, false).await;
    let body = r#"{"url":"https://youtu.be/dQw4w9WgXcQ"}"#;
    let length = format!("content-length: {}", body.len());
    let chunks = format!("{:x};a=\"b\"\r\n{body}\r\n0\r\nhost: evil\r\n\r\n", body.len());
    let table = [
        ("by length", post(&length, &format!("{body}{HIDDEN}"))),
        ("in chunks", post("transfer-encoding: chunked", &format!("{chunks}{HIDDEN}"))),
        ("in capitals", post("TRANSFER-ENCODING: CHUNKED", &format!("{chunks}{HIDDEN}"))),
        // RFC 9112 allows parsers to accept a bare LF as a line end; they read the same two requests.
        ("bare LF", post(&length, &format!("{body}{HIDDEN}")).replace("\r\n", "\n")),
        // The service never grants an upgrade.
        ("upgrade", get("/healthz", "connection: upgrade\r\nupgrade: websocket", HIDDEN)),
    ];
    for (what, input) in table {
        let got = answers(address, &input).await;
        let [(200, _), (404, next)] = &got[..] else { panic!("{what}: {got:?}") };
        assert!(next.contains("No such route: /smuggled"), "{what}: {next}");
    }
}
