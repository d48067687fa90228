//! Answers that are kept: what their headers say, and that nobody notices when the platform is gone.

use std::io::Read;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::{advance, sleep};
use vidra::upstream::transport::{Answer, BoxFuture, Failure};
use vidra::{InProcess, Transport};
use vidra_server::Config;
use vidra_sim::{Action, Fault, Simulator};

use crate::app::{Got, TestApp};

const VIDEO: &str = "/api/video/quirkNoLike";
const IN_GRACE: Duration = Duration::from_secs(20 * 60);
const STALE: Duration = Duration::from_secs(2 * 3600);

async fn get_with(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> Got {
    let request =
        headers.iter().fold(Request::get(path), |it, (name, value)| it.header(*name, *value));
    app.send(request.body(Body::empty()).unwrap()).await
}

/// The status, the body as it is on the wire, and a look at the headers.
async fn raw(
    app: &TestApp,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, Bytes, impl Fn(&str) -> String + use<>) {
    let request =
        headers.iter().fold(Request::get(path), |it, (name, value)| it.header(*name, *value));
    let (head, body) = app.app.answer(request.body(Body::empty()).unwrap()).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let header = move |name: &str| {
        head.headers.get(name).map_or(String::new(), |value| value.to_str().unwrap().to_owned())
    };
    (head.status.as_u16(), body, header)
}

fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut plain = vec![];
    flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap();
    plain
}

/// The directives of `Cache-Control` by name, in seconds.
fn directive(got: &Got, name: &str) -> Option<u64> {
    let all = got.header("cache-control").unwrap();
    let values = all.split(", ").filter_map(|directive| directive.split_once('='));
    values.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn every_answer_says_how_it_came_about_and_how_old_it_is() {
    let app = TestApp::new();
    let told = |got: &Got| {
        let [x_cache, age] = ["x-cache", "age"].map(|name| got.header(name).unwrap().to_owned());
        (x_cache, age.parse::<u64>().unwrap(), got.cost())
    };
    let miss = app.get(VIDEO).await;
    assert_eq!(told(&miss), ("miss".to_owned(), 0, 1));
    assert_eq!(miss.header("cache-status"), Some("vidra; fwd=miss; stored"));
    let mut age = 0;
    for seconds in [0, 1, 99, 400] {
        advance(Duration::from_secs(seconds)).await;
        age += seconds;
        let hit = app.get(VIDEO).await;
        assert_eq!((told(&hit), &hit.text), (("hit".to_owned(), age, 0), &miss.text));
        assert_eq!(hit.header("cache-status"), Some("vidra; hit"));
    }
    let ttl = directive(&miss, "max-age").unwrap();
    advance(IN_GRACE).await;
    age += IN_GRACE.as_secs();
    let stale = app.get(VIDEO).await;
    assert_eq!((told(&stale), &stale.text), (("stale".to_owned(), age, 0), &miss.text));
    // A negative time to live is RFC 9211's way to say stale; `hit` and `fwd` exclude each other.
    let status = stale.header("cache-status").unwrap();
    let left: i64 = status.strip_prefix("vidra; hit; ttl=").unwrap().parse().unwrap();
    assert!((left + (age - ttl) as i64).abs() <= 1, "{status} of {ttl} at {age}");
    sleep(Duration::from_millis(1)).await;
    let renewed = app.get(VIDEO).await;
    assert_eq!(told(&renewed), ("hit".to_owned(), 0, 0));
    assert_eq!(renewed.header("etag"), miss.header("etag"), "the same answer has the same tag");
}

#[tokio::test(start_paused = true)]
async fn a_known_answer_is_not_sent_again_in_any_state() {
    let etag = TestApp::new().get(VIDEO).await.header("etag").unwrap().to_owned();
    let app = TestApp::new();
    let known = [("if-none-match", &*etag)];
    for (age, x_cache) in [(Duration::ZERO, "miss"), (Duration::ZERO, "hit"), (IN_GRACE, "stale")] {
        advance(age).await;
        let got = get_with(&app, VIDEO, &known).await;
        assert_eq!((got.status.as_u16(), got.header("x-cache")), (304, Some(x_cache)));
        assert_eq!((got.text.as_str(), got.header("etag")), ("", Some(&*etag)));
        for name in ["cache-control", "age", "vary", "cache-status"] {
            assert!(got.header(name).is_some(), "{x_cache}: {name}");
        }
        for name in ["content-type", "content-length", "content-encoding"] {
            assert_eq!(got.header(name), None, "{x_cache}: {name}");
        }
    }
    app.sim.inject(Fault::any(Action::status(503)));
    advance(STALE).await;
    let got = get_with(&app, VIDEO, &known).await;
    assert_eq!((got.status.as_u16(), got.header("x-cache")), (304, Some("stale")));
}

#[tokio::test]
async fn compressed_and_plain_are_two_forms_of_one_answer() {
    let app = TestApp::new();
    let path = "/api/playlist/PLsize50";
    let table = [
        ("", false),
        ("identity", false),
        ("br", false),
        ("gzip;q=0", false),
        ("gzip; q=0.0", false),
        ("gzip;q=0, *", false),
        ("*, gzip;Q=0", false),
        ("*;q=0", false),
        ("gzip", true),
        ("GZIP", true),
        ("br, gzip;q=0.5", true),
        ("*", true),
        ("*;q=0, gzip", true),
        ("deflate, gzip, br, zstd", true),
    ];
    let (_, plain, plain_header) = raw(&app, path, &[]).await;
    let (_, _, packed_header) = raw(&app, path, &[("accept-encoding", "gzip")]).await;
    let (plain_tag, packed_tag) = (plain_header("etag"), packed_header("etag"));
    assert_ne!(plain_tag, packed_tag);
    for (accepts, is_packed) in table {
        let (status, body, header) = raw(&app, path, &[("accept-encoding", accepts)]).await;
        assert_eq!((status, header("vary").as_str()), (200, "accept-encoding"), "{accepts}");
        assert_eq!(header("content-length"), body.len().to_string(), "{accepts}");
        let (encoding, tag) = if is_packed { ("gzip", &packed_tag) } else { ("", &plain_tag) };
        assert_eq!((&*header("content-encoding"), &header("etag")), (encoding, tag), "{accepts}");
        let body = if is_packed { unpacked(&body) } else { body.to_vec() };
        assert_eq!(body, plain, "{accepts}");
    }
    // Whoever has one form has the answer, and is told so under the tag that it has.
    for tag in [&plain_tag, &packed_tag] {
        for accepts in ["gzip", "identity"] {
            let headers = [("accept-encoding", accepts), ("if-none-match", &**tag)];
            let (status, body, header) = raw(&app, path, &headers).await;
            assert_eq!((status, body.len(), &header("etag")), (304, 0, tag), "{accepts} {tag}");
        }
    }
    let (_, small, header) =
        raw(&app, "/api/video/quirkNoLike/title", &[("accept-encoding", "gzip")]).await;
    assert_eq!(
        (header("content-encoding").as_str(), header("vary").as_str()),
        ("", "accept-encoding")
    );
    assert!(small.starts_with(b"{"), "too small to be worth it");
}

#[tokio::test]
async fn a_transcript_is_ready_for_those_who_accept_the_same() {
    let app = TestApp::new();
    let path = "/api/transcript/txManualAsr";
    let table: [(&[&str], &str); 6] = [
        (&["text/vtt"], "text/vtt; charset=utf-8"),
        (&["text/plain"], "text/plain; charset=utf-8"),
        (&["text/html", "text/vtt"], "text/vtt; charset=utf-8"),
        (&["text/html", "text/plain"], "text/plain; charset=utf-8"),
        (&["text/html"], "application/json"),
        (&[], "application/json"),
    ];
    for _ in 0..2 {
        for (accepted, content_type) in table {
            let headers: Vec<_> = accepted.iter().map(|accept| ("accept", *accept)).collect();
            let got = get_with(&app, path, &headers).await;
            assert_eq!(got.header("content-type"), Some(content_type), "{accepted:?}");
            assert_eq!(got.header("vary"), Some("accept, accept-encoding"));
        }
    }
    assert_eq!(app.sim.record().calls, 2, "one player, one track");
}

/// A platform whose videos were all published so long ago.
#[derive(Clone)]
struct Recent(Simulator, SignedDuration);

impl Transport for Recent {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let mut answer = InProcess(self.0.clone()).exchange(request).await?;
            let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
            for item in body["items"].as_array_mut().into_iter().flatten() {
                item["snippet"]["publishedAt"] = json!((Timestamp::now() - self.1).to_string());
            }
            answer.body = body.to_string().into();
            Ok(answer)
        })
    }
}
