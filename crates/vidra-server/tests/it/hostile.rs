//! Random paths, queries and bodies on every route: no 5xx, no panic, and errors have their shape.

use axum::body::Body;
use axum::http::{Method, Request};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::app::TestApp;

const ROUTES: [(Method, &str); 24] = [
    (Method::GET, "/api/video/{}"),
    (Method::GET, "/api/video/{}/title"),
    (Method::GET, "/api/videos"),
    (Method::GET, "/api/channel/{}"),
    (Method::GET, "/api/channel/{}/videos"),
    (Method::GET, "/api/playlist/{}"),
    (Method::GET, "/api/playlist/{}/info"),
    (Method::GET, "/api/playlist/{}/ids"),
    (Method::POST, "/api/playlist/{}/query"),
    (Method::GET, "/api/comments/{}"),
    (Method::GET, "/api/comments/{}/top"),
    (Method::GET, "/api/comment-replies/{}"),
    (Method::GET, "/api/transcript/{}"),
    (Method::GET, "/api/transcript/{}/tracks"),
    (Method::POST, "/api/playlist/{}/transcript"),
    (Method::GET, "/api/i18n/regions"),
    (Method::GET, "/api/i18n/languages"),
    (Method::GET, "/api/video-categories"),
    (Method::POST, "/api/url/parse"),
    (Method::GET, "/api/quota"),
    (Method::GET, "/healthz"),
    (Method::GET, "/readyz"),
    (Method::GET, "/openapi.json"),
    (Method::GET, "/llms.txt"),
];

/// A path segment: mostly junk, sometimes something that exists or nearly does.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,40}",
        "\\PC{0,20}",
        "[A-Za-z0-9_-]{11}",
        "(https?://)?(www\\.|m\\.|)(youtube\\.com|youtu\\.be|evil\\.example)/[ -~]{0,30}",
        Just("quirkNoLike".to_owned()),
        Just("PLsize1".to_owned()),
        Just("@fermata".to_owned()),
        Just("../../etc/passwd".to_owned()),
        Just("\0\r\n".to_owned()),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("limit"),
        Just("ids"),
        Just("order"),
        Just("maxResults"),
        Just("search"),
        Just("replies"),
        Just("lang"),
        Just("format"),
        Just("translate"),
        Just("hl"),
        Just("region"),
        Just("v"),
        Just("list"),
    ];
    let value = prop_oneof!["[ -~]{0,30}", "-?[0-9]{0,25}", "\\PC{0,10}", "[a-z]{2}"];
    prop::collection::vec((name, value), 0..4).prop_map(|pairs| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        pairs.collect::<Vec<_>>().join("&")
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "\\{\"(filter|sort|range|url)\":.{0,40}\\}".prop_map(String::into_bytes),
        Just(br#"{"url": "https://youtu.be/dQw4w9WgXcQ"}"#.to_vec()),
        Just(
            br#"{"range": {"start": 18446744073709551615, "end": 18446744073709551615}}"#.to_vec()
        ),
        Just(br#"{"filter": {"views": {"min": 1e400}}}"#.to_vec()),
        Just(b"[".repeat(5000)),
    ]
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[test]
fn random_requests_never_cause_a_server_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let app = TestApp::new();
    let input = (0..ROUTES.len(), segment(), any::<bool>(), query(), body(), any::<bool>());
    let mut runner =
        TestRunner::new(Config { cases: 4000, failure_persistence: None, ..Config::default() });
    let result = runner.run(&input, |(route, segment, typed, query, body, as_json)| {
        let (method, template) = &ROUTES[route];
        let segment = if typed { segment } else { encoded(&segment) };
        let uri = format!("{}?{query}", template.replace("{}", &segment));
        let mut request = Request::builder().method(method).uri(uri.as_str());
        if as_json {
            request = request.header("content-type", "application/json");
        }
        // Input that is not a valid request never reaches the service.
        let Ok(request) = request.body(Body::from(body)) else { return Ok(()) };
        let got = runtime.block_on(app.send(request));
        let status = got.status.as_u16();
        prop_assert!(status < 500, "{method} {uri}: {status} {}", got.text);
        prop_assert!(got.header("x-quota-cost").is_some());
        if status >= 400 {
            got.problem(status);
        }
        Ok(())
    });
    result.unwrap();
    for sent in app.sim.record().requests {
        let clean = sent.query.iter().all(|(_, value)| !value.contains(['\0', '\r', '\n']));
        assert!(clean, "sent upstream: {:?}", sent.query);
    }
}
