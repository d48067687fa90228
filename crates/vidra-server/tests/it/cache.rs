//! Cached answers: their headers, and how they cover an outage of the platform.

mod outage;

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
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{InProcess, Transport};
use vidra_server::Config;
use vidra_sim::{Action, Fault, Simulator};

use crate::app::{PEER, TestApp, TestResponse};

const VIDEO: &str = "/api/video/quirkNoLike";
const IN_GRACE: Duration = Duration::from_secs(20 * 60);
const STALE: Duration = Duration::from_secs(2 * 3600);

async fn get_with(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> TestResponse {
    let request =
        headers.iter().fold(Request::get(path), |it, (name, value)| it.header(*name, *value));
    app.send(request.body(Body::empty()).unwrap()).await
}

/// The status, the body as it is sent, and a function that returns a header.
async fn raw(
    app: &TestApp,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, Bytes, impl Fn(&str) -> String + use<>) {
    let request =
        headers.iter().fold(Request::get(path), |it, (name, value)| it.header(*name, *value));
    let (head, body) =
        app.app.answer(request.body(Body::empty()).unwrap(), PEER).await.into_parts();
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
fn directive(got: &TestResponse, name: &str) -> Option<u64> {
    let all = got.header("cache-control").unwrap();
    let values = all.split(", ").filter_map(|directive| directive.split_once('='));
    values.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn headers_report_cache_outcome_age_and_cost() {
    let app = TestApp::new();
    let outcome = |got: &TestResponse| {
        let [x_cache, age] = ["x-cache", "age"].map(|name| got.header(name).unwrap().to_owned());
        (x_cache, age.parse::<u64>().unwrap(), got.cost())
    };
    let miss = app.get(VIDEO).await;
    assert_eq!(outcome(&miss), ("miss".to_owned(), 0, 1));
    assert_eq!(miss.header("cache-status"), Some("vidra; fwd=miss"));
    let mut age = 0;
    for seconds in [0, 1, 99, 400] {
        advance(Duration::from_secs(seconds)).await;
        age += seconds;
        let hit = app.get(VIDEO).await;
        assert_eq!((outcome(&hit), &hit.text), (("hit".to_owned(), age, 0), &miss.text));
        assert_eq!(hit.header("cache-status"), Some("vidra; hit"));
    }
    let ttl = directive(&miss, "max-age").unwrap();
    advance(IN_GRACE).await;
    age += IN_GRACE.as_secs();
    let stale = app.get(VIDEO).await;
    assert_eq!((outcome(&stale), &stale.text), (("stale".to_owned(), age, 0), &miss.text));
    // A negative time to live is RFC 9211's way to say stale; `hit` and `fwd` exclude each other.
    let status = stale.header("cache-status").unwrap();
    let left: i64 = status.strip_prefix("vidra; hit; ttl=").unwrap().parse().unwrap();
    assert!((left + (age - ttl) as i64).abs() <= 1, "{status} of {ttl} at {age}");
    sleep(Duration::from_millis(1)).await;
    let renewed = app.get(VIDEO).await;
    assert_eq!(outcome(&renewed), ("hit".to_owned(), 0, 0));
    assert_eq!(renewed.header("etag"), miss.header("etag"), "the same answer has the same tag");
}

#[tokio::test(start_paused = true)]
async fn a_refetched_empty_list_is_a_miss_with_age_zero() {
    let app = TestApp::new();
    let path = "/api/videos?ids=quirkAbsent";
    let fetch = async || {
        let got = app.get(path).await;
        assert_eq!((got.status.as_u16(), got.text.as_str()), (200, "[]"));
        let [x_cache, age] = ["x-cache", "age"].map(|name| got.header(name).unwrap().to_owned());
        (x_cache, age)
    };
    let expected = |x_cache: &str, age: &str| (x_cache.to_owned(), age.to_owned());
    for calls in 1..=3 {
        assert_eq!(fetch().await, expected("miss", "0"), "fetch {calls}");
        advance(Duration::from_secs(7)).await;
        assert_eq!(fetch().await, expected("hit", "7"), "fetch {calls}");
        assert_eq!(app.sim.record().calls, calls);
        // Past the TTL of a missing video.
        advance(IN_GRACE).await;
    }
}

/// A list that contains a stale video is sent, but not kept for the next request.
#[tokio::test(start_paused = true)]
async fn a_list_with_a_stale_part_is_not_fresh() {
    for list in ["/api/playlist/PLsize50", "/api/channel/UCB-2_pXPtFYDifLXZF-S8PA/videos?limit=5"] {
        let app = TestApp::new();
        let listed = app.get(list).await.json();
        let videos = listed.get("videos").unwrap_or(&listed);
        let video = format!("/api/video/{}", videos[0]["id"].as_str().unwrap());
        // In an empty cache: the video is fetched long before the list.
        let app = TestApp::new();
        app.get(&video).await;
        advance(IN_GRACE).await;
        let first = app.get(list).await;
        assert_eq!(first.header("x-cache"), Some("miss"), "{list}");
        assert_eq!(directive(&first, "max-age"), Some(0), "{list}");
        sleep(Duration::from_secs(1)).await;
        let renewed = app.get(list).await;
        assert_eq!((renewed.header("x-cache"), renewed.cost()), (Some("hit"), 0), "{list}");
        assert!(directive(&renewed, "max-age") > Some(60), "{list}: it is fresh now");
    }
}

/// A missing video may appear, so a list without it is kept no longer than "not found" is.
#[tokio::test(start_paused = true)]
async fn a_list_without_a_missing_video_is_kept_for_five_minutes() {
    let app = TestApp::new();
    let max_age = directive(&app.get("/api/videos?ids=quirkNoLike,quirkAbsent").await, "max-age");
    assert!((Some(200)..=Some(330)).contains(&max_age), "{max_age:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_callers_share_one_upstream_call() {
    let app = TestApp::new();
    app.sim.set_latency(Duration::from_millis(500));
    let answers = join_all((0..1_000).map(|_| app.get(VIDEO))).await;
    assert_eq!(app.sim.record().calls, 1);
    let same = |got: &TestResponse| (got.text.clone(), got.header("etag").map(str::to_owned));
    assert!(answers.iter().all(|got| same(got) == same(&answers[0])));
    let is_collapsed = |got: &&TestResponse| {
        got.header("cache-status") == Some("vidra; fwd=miss; collapsed")
            && got.header("x-cache") == Some("coalesced")
    };
    assert_eq!(answers.iter().filter(is_collapsed).count(), 999);
    assert_eq!(answers.iter().map(TestResponse::cost).sum::<u32>(), 1);
}

#[tokio::test(start_paused = true)]
async fn cache_control_states_ttl_grace_and_stale_if_error() {
    let app = TestApp::new();
    // Path, TTL, grace and stale-if-error, in seconds.
    let table = [
        (VIDEO, 900, 3_600, 7 * 86_400),
        ("/api/videos?ids=quirkNoLike,quirkNoComm", 900, 3_600, 7 * 86_400),
        ("/api/channel/@fermata", 3_600, 6 * 3_600, 7 * 86_400),
        ("/api/playlist/PLsize1", 900, 3_600, 7 * 86_400),
        ("/api/playlist/PLsize1/ids", 900, 3_600, 7 * 86_400),
        ("/api/comments/quirkHtmlCm", 600, 3_600, 86_400),
        ("/api/i18n/regions", 7 * 86_400, 3 * 86_400, 10 * 86_400),
        ("/api/transcript/txManualAsr", 7 * 86_400, 86_400, 30 * 86_400),
        ("/api/transcript/txManualAsr/tracks", 86_400, 6 * 3_600, 30 * 86_400),
    ];
    for (path, ttl, grace, stale_if_error) in table {
        let got = app.get(path).await;
        let max_age = directive(&got, "max-age").unwrap();
        assert!((ttl * 9 / 10..=ttl * 11 / 10).contains(&max_age), "{path}: {max_age}");
        assert_eq!(directive(&got, "stale-while-revalidate"), Some(grace), "{path}");
        let sie = directive(&got, "stale-if-error").unwrap();
        assert!(sie <= stale_if_error && sie >= stale_if_error * 9 / 10, "{path}: {sie}");
        // `Age` counts from the fetch, so that `max-age` is the same for an older answer.
        advance(Duration::from_secs(60)).await;
        assert_eq!(directive(&app.get(path).await, "max-age"), Some(max_age), "{path}");
    }
    // A response that is computed for each request must not be cached.
    assert_eq!(app.get("/api/quota").await.header("cache-control"), Some("no-cache"));
}

#[tokio::test(start_paused = true)]
async fn a_matching_etag_gets_304_on_miss_hit_and_stale() {
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
async fn gzip_and_identity_responses_have_their_own_etags() {
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
        let (encoding, tag) = if is_packed { ("gzip", &packed_tag) } else { ("", &plain_tag) };
        assert_eq!((&*header("content-encoding"), &header("etag")), (encoding, tag), "{accepts}");
        let body = if is_packed { unpacked(&body) } else { body.to_vec() };
        assert_eq!(body, plain, "{accepts}");
    }
    // A caller that sends the tag of a form that it accepts gets 304 with the same tag.
    let table = [
        ("gzip", &plain_tag, (304, 0, &plain_tag)),
        ("gzip", &packed_tag, (304, 0, &packed_tag)),
        ("identity", &plain_tag, (304, 0, &plain_tag)),
        ("identity", &packed_tag, (200, plain.len(), &plain_tag)),
    ];
    for (accepts, tag, expected) in table {
        let headers = [("accept-encoding", accepts), ("if-none-match", &**tag)];
        let (status, body, header) = raw(&app, path, &headers).await;
        assert_eq!((status, body.len(), &header("etag")), expected, "{accepts} {tag}");
    }
    let (_, small, header) =
        raw(&app, "/api/video/quirkNoLike/title", &[("accept-encoding", "gzip")]).await;
    assert_eq!(
        (header("content-encoding").as_str(), header("vary").as_str()),
        ("", "accept-encoding")
    );
    assert!(small.starts_with(b"{"), "too small to be compressed");
}

#[tokio::test]
async fn the_response_cache_distinguishes_transcripts_by_accept() {
    let app = TestApp::new();
    let path = "/api/transcript/txManualAsr";
    let table: [(&[&str], &str); 6] = [
        (&["text/vtt"], "text/vtt; charset=utf-8"),
        (&["text/plain"], "text/plain; charset=utf-8"),
        (&["text/html", "text/vtt"], "text/vtt; charset=utf-8"),
        (&["text/html", "text/plain"], "text/plain; charset=utf-8"),
        (&["text/html", "*/*;q=0.1"], "application/json"),
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
    assert_eq!(app.sim.record().calls, 2, "one player call and one track");
}

#[tokio::test(start_paused = true)]
async fn no_cache_refetches_only_if_the_service_allows_it() {
    for (may, x_cache, cost, age) in [(true, "miss", 1, "0"), (false, "hit", 0, "60")] {
        let config = Config { callers_may_refresh: may, ..Config::default() };
        let app = TestApp::configured(|builder| builder, config);
        app.get(VIDEO).await;
        advance(Duration::from_secs(60)).await;
        for directives in ["no-cache", "max-stale, No-Cache"] {
            let got = get_with(&app, VIDEO, &[("cache-control", directives)]).await;
            assert_eq!((got.header("x-cache"), got.cost()), (Some(x_cache), cost), "{may}");
            assert_eq!(got.header("age"), Some(age), "{may}");
        }
        let next = app.get(VIDEO).await;
        assert_eq!((next.header("x-cache"), next.header("age")), (Some("hit"), Some(age)));
        let other = get_with(&app, VIDEO, &[("cache-control", "max-age=0")]).await;
        assert_eq!(
            (other.header("x-cache"), other.cost()),
            (Some("hit"), 0),
            "other directives are ignored"
        );
    }
    let app = TestApp::new();
    let playlist = "/api/playlist/PLsize51";
    let newest = [("cache-control", "no-cache")];
    assert_eq!(app.get(playlist).await.cost(), 5);
    assert_eq!(get_with(&app, playlist, &newest).await.cost(), 5, "with all of its videos");
    app.sim.inject(Fault::any(Action::status(503)));
    let got = get_with(&app, playlist, &newest).await;
    assert_eq!((got.status.as_u16(), got.header("x-cache")), (200, Some("stale")));
}

#[tokio::test(start_paused = true)]
async fn head_is_get_without_the_body() {
    let app = TestApp::new();
    for path in [VIDEO, "/api/playlist/PLsize50", "/api/channel/@fermata/videos"] {
        let got = app.get(path).await;
        let head = app.method(Method::HEAD, path).await;
        assert_eq!((head.status.as_u16(), head.text.as_str(), head.cost()), (200, "", 0), "{path}");
        for name in ["etag", "content-length", "content-type", "vary"] {
            assert_eq!(head.header(name), got.header(name), "{path}: {name}");
        }
        assert_eq!(head.header("x-cache"), Some("hit"), "{path}");
    }
    let first = app.method(Method::HEAD, "/api/video/quirkNoComm").await;
    assert_eq!((first.cost(), app.get("/api/video/quirkNoComm").await.cost()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn errors_are_not_stored_in_the_response_cache() {
    let app = TestApp::new();
    app.sim.inject(Fault::any(Action::status(503)));
    for _ in 0..2 {
        let got = app.get(VIDEO).await;
        got.problem(502);
        assert_eq!(got.header("cache-control"), Some("no-store"));
        assert_eq!((got.header("etag"), got.header("age")), (None, None));
    }
    assert_eq!(app.sim.record().calls, 1, "the failure is cached for a second");
    app.sim.clear_faults();
    advance(Duration::from_secs(1)).await;
    assert_eq!(app.get(VIDEO).await.status, 200);
    for cost in [1, 0] {
        let got = app.get("/api/video/quirkAbsent").await;
        got.problem(404);
        assert_eq!((got.cost(), got.header("cache-control")), (cost, Some("no-store")));
    }
}

#[tokio::test]
async fn unrelated_headers_do_not_change_the_answer() {
    let app = TestApp::new();
    for path in [VIDEO, "/api/playlist/PLsize1", "/api/i18n/regions"] {
        let plain = TestApp::new().get(path).await;
        let odd = [
            ("host", "evil.example"),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-proto", "gopher"),
            ("x-original-url", "/api/quota"),
            ("x-rewrite-url", "/api/quota"),
            ("x-http-method-override", "DELETE"),
            ("accept-language", "de"),
            ("accept", "text/html, */*;q=0.1"),
            ("cookie", "a=b"),
            ("authorization", "Bearer x"),
            ("range", "bytes=0-1"),
        ];
        for (name, value) in odd {
            // The request with the header, and the next one without it.
            for headers in [&[(name, value)][..], &[]] {
                let got = get_with(&app, path, headers).await;
                assert_eq!((got.status.as_u16(), &got.text), (200, &plain.text), "{name}");
                for field in ["etag", "content-type", "vary"] {
                    assert_eq!(got.header(field), plain.header(field), "{name}: {field}");
                }
                assert!(!format!("{:?}", got.headers).contains("evil"), "{name}");
            }
        }
        let request = Request::get(path).body(Body::from("id=quirkNoComm")).unwrap();
        assert_eq!(app.send(request).await.text, plain.text, "a body of a GET");
    }
}

/// A platform on which all videos were published this long ago.
#[derive(Clone)]
struct PublishedAgo(Simulator, SignedDuration);

impl Transport for PublishedAgo {
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

#[tokio::test(start_paused = true)]
async fn relative_upload_ages_expire_when_their_wording_changes() {
    // Age of the newest video, its wording, and the seconds until the wording changes.
    let table = [
        (SignedDuration::from_secs(2 * 3_600 - 100), "1 hour ago", 100),
        (SignedDuration::from_secs(30), "just now", 30),
        (SignedDuration::from_secs(61), "1 minute ago", 59),
        (SignedDuration::from_secs(86_400 - 7), "23 hours ago", 7),
        (SignedDuration::from_hours(3 * 24 + 1), "3 days ago", 660),
    ];
    for (age, wording, changes_in) in table {
        let sim = Simulator::new();
        let app = TestApp::with(|builder| builder.transport(PublishedAgo(sim, age)));
        let path = "/api/channel/@fermata/videos";
        let got = app.get(path).await;
        assert_eq!(got.json()[0]["uploadAge"], wording);
        let max_age = directive(&got, "max-age").unwrap();
        assert!(
            max_age <= changes_in && max_age + 2 >= changes_in.min(540),
            "{wording}: {max_age}"
        );
        for name in ["stale-while-revalidate", "stale-if-error"] {
            assert_eq!(directive(&got, name), None, "{wording}: a stale wording would be wrong");
        }
        // After that, the service renders the cached record again.
        advance(Duration::from_secs(max_age + 1)).await;
        let again = app.get(path).await;
        let age: u64 = again.header("age").unwrap().parse().unwrap();
        assert_eq!((age, again.cost()), (max_age + 1, 0), "{wording}");
        let then = directive(&again, "max-age").unwrap();
        assert!(then >= age && then <= age + changes_in, "{wording}: {then} at {age}");
    }
}
