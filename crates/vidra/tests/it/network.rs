//! The real transport over loopback: behaviour that needs a socket.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use vidra::{ApiKey, ErrorKind, Network, Reason, RetryPolicy, TranscriptQuery, VideoId, Vidra};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn client(url: &str) -> Vidra {
    let retry = RetryPolicy { retries: 1, delay: std::time::Duration::ZERO };
    let key = ApiKey::new("demo-key");
    Vidra::builder()
        .cache_bytes(0)
        .key(key)
        .data_api_url(url)
        .transport(Network::new())
        .retry(retry)
        .build()
        .unwrap()
}

fn video() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

#[tokio::test]
async fn a_video_over_http() {
    let sim = Simulator::new();
    let listening = sim.listen(LOOPBACK).await.unwrap();
    let found = client(&listening.data_api_url()).video(video()).await.unwrap();
    assert_eq!(found.id, video());
    let record = sim.record();
    let sent = &record.requests[0];
    assert_eq!(sent.header("x-goog-api-key"), Some("demo-key"));
    assert_eq!(record.key_in_url, 0);
    assert!(sent.header("user-agent").unwrap().starts_with("vidra/"));
    assert!(sent.header("accept-encoding").unwrap().contains("gzip"));
}

#[tokio::test]
async fn a_broken_connection_is_retried_and_a_redirect_is_not_followed() {
    let sim = Simulator::new();
    let listening = sim.listen(LOOPBACK).await.unwrap();
    let vidra = client(&listening.data_api_url());
    for action in [Action::Reset, Action::Cut] {
        sim.inject(Fault::any(action).once());
        vidra.video(video()).await.unwrap();
    }
    let elsewhere = Simulator::new();
    let trap = elsewhere.listen(LOOPBACK).await.unwrap();
    sim.inject(Fault::any(Action::Redirect { location: trap.url() }));
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert_eq!(elsewhere.record().calls, 0, "the key must not travel to another host");
}

#[tokio::test]
async fn cookie_visitor_and_token_follow_no_redirect() {
    let table = [
        (Endpoint::Watch, "/watch", Reason::PlatformChanged),
        (Endpoint::Player, "/youtubei/v1/player", Reason::PlatformChanged),
        (Endpoint::TimedText, "/api/timedtext", Reason::PlatformChanged),
        (Endpoint::PotProvider, "/get_pot", Reason::NoPoToken),
    ];
    for (endpoint, path, reason) in table {
        let (sim, elsewhere) = (Simulator::new(), Simulator::new());
        let listening = sim.listen(LOOPBACK).await.unwrap();
        let trap = elsewhere.listen(LOOPBACK).await.unwrap();
        let vidra = Vidra::builder()
            .cache_bytes(0)
            .web_url(&listening.web_url())
            .pot_provider(&listening.url())
            .transport(Network::new())
            .build()
            .unwrap();
        let transcript = async |id| {
            vidra.transcript(VideoId::parse(id).unwrap(), &TranscriptQuery::default()).await
        };
        if endpoint != Endpoint::Watch {
            // From now on requests have a visitor id.
            transcript("plNeedsPage").await.unwrap();
        }
        let location = format!("{}{path}", trap.url());
        sim.inject(Fault::on(endpoint, Action::Redirect { location }));
        let id = if endpoint == Endpoint::Watch { "plNeedsPage" } else { "txNeedsPot_" };
        assert_eq!(transcript(id).await.unwrap_err().reason(), reason, "{endpoint:?}");
        let record = sim.record();
        let sent = record.requests_to(endpoint).last().unwrap();
        let secret = match endpoint {
            Endpoint::TimedText => sent.parameter("pot"),
            Endpoint::PotProvider => Some(&*sent.body),
            Endpoint::Player => sent.header("x-goog-visitor-id").and(sent.header("cookie")),
            _ => sent.header("cookie"),
        };
        assert!(secret.is_some(), "{endpoint:?}: the request has a secret");
        assert_eq!(elsewhere.record().calls, 0, "{endpoint:?}: nothing goes to another host");
    }
}

/// Every kind of redirect, to every kind of target: the key is sent to no other host.
#[tokio::test]
async fn s3_no_redirect_of_any_kind_is_followed() {
    let trap = Simulator::new();
    let listening = trap.listen(LOOPBACK).await.unwrap();
    let port = listening.addr().port();
    let targets = [
        listening.data_api_url(),
        format!("http://localhost:{port}/youtube/v3/videos"),
        format!("http://user:pass@127.0.0.1:{port}/"),
        format!("//127.0.0.1:{port}/"),
        "/youtube/v3/videos".to_owned(),
        "file:///etc/passwd".to_owned(),
        "https://www.googleapis.com/youtube/v3/videos".to_owned(),
    ];
    for status in [300, 301, 302, 303, 307, 308] {
        for target in &targets {
            let head =
                format!("HTTP/1.1 {status} x\r\nlocation: {target}\r\nrefresh: 0; url={target}");
            let (url, requests) = serve(head, vec![]).await;
            let error = client(&url).video(video()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Upstream, "{status} {target}");
            assert_eq!(trap.record().calls, 0, "{status} {target}");
            // The original address is not requested again either.
            assert_eq!(*requests.borrow(), 1, "{status} {target}");
        }
    }
}

/// Decompression bombs, and bodies that do not match their encoding.
#[tokio::test]
async fn s10_no_encoding_exceeds_the_size_limit() {
    let mut bomb = br#"{"items":[{"id":""#.to_vec();
    bomb.resize(40 << 20, b'x');
    let (packed, item) = (gzip(&bomb), br#"{"items":[{"id":"quirkNoLike"}]}"#);
    let table = [
        // A ratio of a thousand to one, in several members, and nested.
        ("gzip", packed.clone(), "too large"),
        ("gzip", [&gzip(&bomb[..20 << 20])[..]; 2].concat(), ""),
        ("x-gzip", packed.clone(), "could not be read"),
        ("gzip, gzip", gzip(&packed), "could not be read"),
        // An encoding that was not accepted is not unpacked.
        ("br", packed.clone(), "could not be read"),
        ("zstd", packed.clone(), "could not be read"),
        ("deflate", packed.clone(), "could not be read"),
        ("identity", packed.clone(), "could not be read"),
        // Bodies that are not gzip, truncated, or empty.
        ("gzip", item.to_vec(), ""),
        ("gzip", gzip(item)[..20].to_vec(), ""),
        ("gzip", b"\x1f\x8b".to_vec(), ""),
        ("gzip", vec![], ""),
    ];
    for (encoding, body, message) in table {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}");
        let (url, _) = serve(head, body).await;
        let error = client(&url).video(video()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "{encoding}");
        assert!(error.message().contains(message), "{encoding}: {error}");
    }
}

#[tokio::test]
async fn an_unreachable_host_is_an_error_without_an_address() {
    let free = TcpListener::bind(LOOPBACK).await.unwrap().local_addr().unwrap();
    let vidra = client(&format!("http://{free}/youtube/v3"));
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert_eq!(vidra.cost().units(), 0, "a request that was not sent is not charged");
    assert_eq!(vidra.quota().await.unwrap().buckets[0].used, 0);
    assert!(!format!("{error:?}").contains(&free.port().to_string()), "{error:?}");
}

#[tokio::test]
async fn compressed_answers_are_read_and_bombs_are_rejected() {
    let item = r#"{"items":[{"id":"quirkNoLike","snippet":{"title":"packed"}}]}"#;
    let url = serve_once(gzip(item.as_bytes())).await;
    assert_eq!(client(&url).video(video()).await.unwrap().title, "packed");

    // 40 KB on the wire, 40 MB in memory.
    let mut bomb = br#"{"items":[{"id":""#.to_vec();
    bomb.resize(40 * 1024 * 1024, b'x');
    let url = serve_once(gzip(&bomb)).await;
    let error = client(&url).video(video()).await.unwrap_err();
    assert_eq!(error.message(), "YouTube's answer is too large");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Answers one request with a gzip body.
async fn serve_once(body: Vec<u8>) -> String {
    serve("HTTP/1.1 200 OK\r\ncontent-encoding: gzip".to_owned(), body).await.0
}

/// Answers every request with this head and body, and counts the requests.
async fn serve(head: String, body: Vec<u8>) -> (String, watch::Receiver<u32>) {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (count, requests) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await.unwrap();
            count.send_modify(|count| *count += 1);
            let length = body.len();
            let head = format!("{head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            socket.write_all(head.as_bytes()).await.unwrap();
            // The reader of a bomb closes the connection early.
            let _ = socket.write_all(&body).await;
        }
    });
    (url, requests)
}
