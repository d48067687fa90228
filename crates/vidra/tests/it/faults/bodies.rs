//! F16, F17, F26: bodies that are truncated, drip or are something else, and addresses without a listener.

use std::convert::Infallible;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{Stream, StreamExt, stream};
use http::{Request, Response};
use http_body_util::StreamBody;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use vidra::{
    ApiKey, Builder, CacheOutcome, ErrorKind, InProcess, Life, Lifetimes, Lookup, Network,
    Resource, RetryPolicy, VideoId, Vidra,
};
use vidra_sim::Simulator;

use crate::sim;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn video() -> VideoId {
    VideoId::parse("quirkNoLike").unwrap()
}

/// A client over the network without retries, whose records are stale at once and usable for an hour.
fn builder(url: &str) -> Builder {
    let life = Life {
        ttl: Duration::ZERO,
        grace: Duration::ZERO,
        stale_if_error: Duration::from_secs(3600),
    };
    Vidra::builder()
        .key(ApiKey::new("demo-key"))
        .data_api_url(url)
        .transport(Network::new())
        .lifetimes(Lifetimes::default().with_life(Resource::Video, life))
        .breaker_pause(Duration::ZERO)
        .retry(RetryPolicy { retries: 0, delay: Duration::ZERO })
}

/// Answers each connection with the next of `answers`, byte by byte as they are.
async fn serve(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind(LOOPBACK).await.unwrap();
    let url = format!("http://{}/youtube/v3", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all(&answer).await;
        }
    });
    url
}

fn answer(headers: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn f16_truncated_or_other_bodies_are_errors_and_never_cached() {
    let seed = 16;
    let mut random = fastrand::Rng::with_seed(seed);
    let text = r#"{"items":[{"id":"quirkNoLike","snippet":{"title":"Good"}}]}"#;
    let good = answer("content-type: application/json\r\n", text.len(), text.as_bytes());
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(text.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut bad = vec![];
    for _ in 0..30 {
        // Truncated in the body, or anywhere, including the head.
        bad.push(answer("", text.len(), &text.as_bytes()[..random.usize(..text.len())]));
        bad.push(good[..random.usize(..good.len())].to_vec());
        let part = &gzip[..random.usize(..gzip.len())];
        bad.push(answer("content-encoding: gzip\r\n", part.len(), part));
    }
    // A body that is longer than announced is cut to that length.
    bad.push(answer("", text.len() - 5, text.as_bytes()));
    let pages = [
        "<html><title>Sorry...</title><form action=\"CaptchaRedirect\"><div class=\"g-recaptcha\">",
        "<html><form action=\"https://consent.youtube.com/save\"><input name=\"v\" value=\"cb\">",
    ];
    bad.extend(
        pages.map(|page| answer("content-type: text/html\r\n", page.len(), page.as_bytes())),
    );

    // Without a cached record the lookup fails; with one, it gets the stale record.
    let url = serve(bad.clone()).await;
    let vidra = builder(&url).cache_bytes(0).build().unwrap();
    for number in 0..bad.len() {
        let error = vidra.video(video()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Upstream, "seed {seed}, {number}: {error:?}");
        assert!(!error.message().contains('<'), "{error}");
    }
    let newer = text.replace("Good", "Newer");
    let newer = answer("content-type: application/json\r\n", newer.len(), newer.as_bytes());
    for (number, bad) in bad.into_iter().enumerate().step_by(7) {
        let url = serve(vec![good.clone(), bad, newer.clone()]).await;
        let vidra = builder(&url).build().unwrap();
        let lookup = async || vidra.lookup(&Lookup::Video(video())).await.unwrap();
        let known = lookup().await;
        assert_eq!(known.outcome, CacheOutcome::Miss, "seed {seed}, {number}");
        let stale = lookup().await;
        assert_eq!(stale.outcome, CacheOutcome::Stale, "seed {seed}, {number}");
        assert_eq!(stale.body, known.body, "seed {seed}, {number}");
        // A failure lasts a second, and then the next answer is read and cached.
        skip(Duration::from_millis(1_001)).await;
        let next = lookup().await;
        assert_eq!(next.outcome, CacheOutcome::Miss, "seed {seed}, {number}");
        let title = |body: &Bytes| {
            let video: serde_json::Value = serde_json::from_slice(body).unwrap();
            video["title"].as_str().unwrap().to_owned()
        };
        let titles = [&known, &next].map(|answer| title(&answer.body));
        assert_eq!(titles, ["Good", "Newer"], "seed {seed}, {number}");
    }
}

/// Moves the clock without waiting, and pauses it only for that: a clock that is paused for the whole test would
/// run ahead of sockets.
async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// A platform whose answers come a byte a second.
#[derive(Clone)]
struct Dripping;

type Drops = Pin<Box<dyn Stream<Item = Result<http_body::Frame<Bytes>, Infallible>> + Send>>;

impl tower_service::Service<Request<Bytes>> for Dripping {
    type Response = Response<StreamBody<Drops>>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Bytes>) -> Self::Future {
        let drops: Drops = Box::pin(stream::repeat(()).then(|()| async {
            sleep(Duration::from_secs(1)).await;
            Ok(http_body::Frame::data(Bytes::from_static(b" ")))
        }));
        std::future::ready(Ok(Response::new(StreamBody::new(drops))))
    }
}

#[tokio::test(start_paused = true)]
async fn f17_a_dripping_body_ends_at_the_timeout() {
    let sim = Simulator::new();
    let retry = RetryPolicy { retries: 2, delay: Duration::ZERO };
    let vidra = sim::builder(&sim).transport(InProcess(Dripping)).retry(retry).build().unwrap();
    let started = Instant::now();
    let error = vidra.video(video()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(started.elapsed().as_secs(), 30, "ten seconds for each of three attempts");
    let started = Instant::now();
    let error = vidra.transcript(video(), &vidra::TranscriptQuery::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(started.elapsed().as_secs() <= 30);
}

#[tokio::test]
async fn f26_an_address_recovers_when_something_listens_again() {
    let sim = Simulator::new();
    // Below the ephemeral ports, so that no other program gets it while nothing listens.
    let mut tries = 0..20;
    let (address, first) = loop {
        tries.next().expect("one of 20 ports is free");
        let address = SocketAddr::new(LOOPBACK.ip(), fastrand::u16(20_000..30_000));
        if let Ok(listening) = sim.listen(address).await {
            break (address, listening);
        }
    };
    let url = first.data_api_url();
    let vidra = builder(&url).build().unwrap();
    let lookup = async || vidra.lookup(&Lookup::Video(video())).await.unwrap();
    lookup().await;
    drop(first);
    let units = vidra.cost().units();
    assert_eq!(lookup().await.outcome, CacheOutcome::Stale);
    let unknown = vidra.regions(None).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unreachable);
    assert!(!unknown.message().contains("127.0.0.1"), "{unknown}");
    assert!(vidra.cost().units() <= units + 1, "a request that was not sent is not charged");
    let _again = sim.listen(address).await.unwrap();
    // A failure lasts a second.
    skip(Duration::from_millis(1_001)).await;
    assert_eq!(lookup().await.outcome, CacheOutcome::Miss);
    vidra.regions(None).await.unwrap();
}
