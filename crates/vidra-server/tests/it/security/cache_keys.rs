//! A cached answer is served only for the request that it was fetched for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Intercepted;
use crate::app::TestApp;

/// Spellings of requests that are equal or nearly equal.
const TARGETS: [&str; 69] = [
    // Order, number and spelling of parameters.
    "/api/comments/quirkNoLike?order=time&maxResults=5",
    "/api/comments/quirkNoLike?maxResults=5&order=time",
    "/api/comments/quirkNoLike?order=time&order=relevance&maxResults=5",
    "/api/comments/quirkNoLike?order=relevance&order=time&maxResults=5",
    "/api/comments/quirkNoLike?order=relevance&maxResults=5",
    "/api/comments/quirkNoLike?order=time;maxResults=5",
    "/api/comments/quirkNoLike?order=time%26maxResults=5",
    "/api/comments/quirkNoLike?ORDER=relevance&maxResults=5",
    "/api/comments/quirkNoLike?order=time&maxResults=05",
    "/api/comments/quirkNoLike?order=time&maxResults=50",
    "/api/comments/quirkNoLike?order=time&maxResults=5&",
    "/api/comments/quirkNoLike?order=time&maxResults=5&&x",
    "/api/comments/quirkNoLike?order=time&maxResults=5#fragment",
    // Search terms.
    "/api/comments/quirkNoLike?search=a+b",
    "/api/comments/quirkNoLike?search=a%20b",
    "/api/comments/quirkNoLike?search=a%2Bb",
    "/api/comments/quirkNoLike?search=a%00b",
    "/api/comments/quirkNoLike?search=",
    "/api/comments/quirkNoLike?search",
    "/api/comments/quirkNoLike?search=%20",
    "/api/comments/quirkNoLike?search=A%20b",
    "/api/comments/quirkNoLike?search=caf%C3%A9",
    "/api/comments/quirkNoLike?search=cafe%CC%81",
    "/api/comments/quirkNoLike?search=a%2Forder%2Ftime",
    "/api/comments/quirkNoLike?search=a%3Aorder%3Atime",
    "/api/comments/quirkNoLike?search=-",
    // Paths.
    "/api/comments/quirkNoLike",
    "/api/comments/quirkNoLike/",
    "/api/comments/quirkNoLike/top",
    "/api/comments/quirkNoLike//top",
    "/api/comments/quirkNoLike%2Ftop",
    "/api/comments/quirkNoLik%65",
    "/api/comments/quirknolike",
    "/api/video/quirkNoLike",
    "/api/video/quirkNoLike?",
    "/api/video/quirkNoLike?part=snippet",
    "/api/video/quirkNoLike/title",
    "/api/videos?ids=quirkNoLike",
    "/api/videos?ids=quirkNoLike,quirkNoView",
    "/api/videos?ids=quirkNoView,quirkNoLike",
    "/api/videos?ids=quirkNoLike&ids=quirkNoView",
    "/api/videos?ids=quirkNoLike%2CquirkNoView",
    "/api/videos?ids=quirkNoLike,quirkNoLike",
    // Languages, with separators of key parts.
    "/api/transcript/txManualAsr",
    "/api/transcript/txManualAsr?lang=en",
    "/api/transcript/txManualAsr?lang=EN",
    "/api/transcript/txManualAsr?lang=en:asr",
    "/api/transcript/txManualAsr?lang=en/asr",
    "/api/transcript/txManualAsr?lang=en,de",
    "/api/transcript/txManualAsr?lang=de,en",
    "/api/transcript/txManualAsr?lang=en&translate=fr",
    "/api/transcript/txManualAsr?lang=en,fr",
    "/api/transcript/txManualAsr?translate=fr",
    "/api/transcript/txManualAsr?format=vtt",
    "/api/transcript/txManualAsr?format=srt",
    // Only the language differs, for a video with captions in many languages.
    "/api/transcript/txManyLang_",
    "/api/transcript/txManyLang_?lang=de",
    "/api/transcript/txManyLang_?lang=fr",
    "/api/transcript/txManyLang_?lang=de,fr",
    "/api/transcript/txManyLang_?lang=fr,de",
    "/api/transcript/txManyLang_?lang=zh-Hans",
    "/api/transcript/txManyLang_?lang=zh-Hant",
    "/api/transcript/txManyLang_?lang=zh",
    "/api/transcript/txManyLang_?lang=de&translate=fr",
    "/api/transcript/txManyLang_?lang=fr&translate=de",
    "/api/transcript/txManyLang_?lang=de&format=vtt",
    "/api/i18n/regions?hl=de",
    "/api/i18n/regions?hl=DE",
    "/api/i18n/regions",
];

/// The response of a service with an empty cache.
async fn from_empty_cache(target: &str) -> (u16, String) {
    response(&TestApp::new(), target).await
}

async fn response(app: &TestApp, target: &str) -> (u16, String) {
    // Clients do not send a fragment, but the service must handle one.
    match Request::get(target).body(Body::empty()) {
        Ok(request) => {
            let got = app.send(request).await;
            (got.status.as_u16(), got.text)
        }
        Err(_) => (0, String::new()),
    }
}

/// In any order, and however often it is sent, each request gets the answer that it gets from an empty cache.
#[test]
fn s7_no_request_gets_the_answer_to_another() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let expected: HashMap<&str, (u16, String)> = TARGETS
        .iter()
        .map(|target| (*target, runtime.block_on(from_empty_cache(target))))
        .collect();
    assert!(expected.values().filter(|(status, _)| *status == 200).count() > 40);
    let orders = prop::collection::vec(prop::sample::select(TARGETS.to_vec()), 1..120);
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&orders, |targets| {
        let app = TestApp::new();
        for target in targets {
            let got = runtime.block_on(response(&app, target));
            prop_assert_eq!(&got, &expected[target], "{}", target);
        }
        Ok(())
    });
    result.unwrap();
}

/// Requests that differ in the language alone, in both orders: each gets captions of its own language.
#[tokio::test]
async fn s7_no_language_gets_the_captions_of_another() {
    let table = [
        ("lang=de", "de"),
        ("lang=fr", "fr"),
        ("lang=de,fr", "de"),
        ("lang=fr,de", "fr"),
        ("lang=zh-Hans", "zh-Hans"),
        ("lang=zh-Hant", "zh-Hant"),
        ("lang=zh", "zh"),
        ("lang=pt-BR", "pt-BR"),
        ("lang=pt-PT", "pt-PT"),
        ("lang=de&translate=fr", "fr"),
        ("lang=fr&translate=de", "de"),
        ("lang=de&translate=es", "es"),
    ];
    let lines_of = async |app: &TestApp, query: &str| {
        let answer = app.get(&format!("/api/transcript/txManyLang_?{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
        answer.json()
    };
    let app = TestApp::new();
    let backwards = TestApp::new();
    for (query, language) in table {
        let lines = lines_of(&app, query).await;
        let languages: Vec<&str> =
            lines.as_array().unwrap().iter().map(|line| line["lang"].as_str().unwrap()).collect();
        assert!(!languages.is_empty() && languages.iter().all(|it| *it == language), "{query}");
    }
    for (query, language) in table.into_iter().rev() {
        let lines = lines_of(&backwards, query).await;
        assert_eq!(lines[0]["lang"], language, "{query}");
        assert_eq!(lines, lines_of(&app, query).await, "{query}");
    }
    let [german, french] = ["lang=de", "lang=fr"].map(|query| lines_of(&app, query));
    assert_ne!(german.await[0]["text"], french.await[0]["text"]);
}

/// Headers, bodies and method overrides that are no part of the cache key.
#[tokio::test]
async fn s8_unkeyed_input_does_not_change_any_answer() {
    let path = "/api/video/quirkNoLike";
    let plain = TestApp::new().get(path).await;
    let headers = [
        ("host", "evil.example"),
        ("forwarded", "host=evil.example;proto=gopher"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-server", "evil.example"),
        ("x-forwarded-scheme", "nothttps"),
        ("x-forwarded-proto", "gopher"),
        ("x-forwarded-port", "1"),
        ("x-forwarded-prefix", "/evil"),
        ("x-forwarded-path", "/evil"),
        ("x-forwarded-for", "203.0.113.7"),
        ("x-host", "evil.example"),
        ("x-original-host", "evil.example"),
        ("x-original-url", "/api/quota"),
        ("x-rewrite-url", "/api/quota"),
        ("x-override-url", "/api/quota"),
        ("x-http-method", "DELETE"),
        ("x-http-method-override", "DELETE"),
        ("x-method-override", "POST"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "text/html, evil/*, */*;q=0.1"),
        ("accept-language", "de"),
        ("accept-charset", "utf-16"),
        ("cookie", "id=evil"),
        ("authorization", "Bearer evil"),
        ("x-api-key", "evil"),
        ("origin", "https://evil.example"),
        ("referer", "https://evil.example"),
        ("user-agent", "evil"),
        ("range", "bytes=0-1"),
        ("te", "trailers"),
        ("upgrade", "evil"),
        ("via", "1.1 evil"),
    ];
    let app = TestApp::new();
    // As a miss and as a hit, with and without a body, which the service ignores.
    for (name, value) in headers {
        for body in ["", "id=quirkNoComm&_method=DELETE", r#"{"id":"quirkNoComm"}"#] {
            for app in [&TestApp::new(), &app] {
                let request = Request::get(path).header(name, value);
                let sent = app.send(request.body(Body::from(body)).unwrap()).await;
                for got in [sent, app.get(path).await] {
                    assert_eq!((got.status.as_u16(), &got.text), (200, &plain.text), "{name}");
                    for field in ["etag", "content-type", "vary", "location"] {
                        assert_eq!(got.header(field), plain.header(field), "{name}: {field}");
                    }
                    let headers = format!("{:?}", got.headers);
                    assert!(!headers.contains("evil") && !headers.contains("gopher"), "{headers}");
                }
            }
        }
    }
    for name in ["x-http-method", "x-http-method-override", "x-method-override"] {
        let request = Request::post(path).header(name, "GET").body(Body::empty()).unwrap();
        app.send(request).await.problem(405);
    }
    app.get(&format!("{path}?_method=POST")).await.problem(400);
}

/// The platform returns the data of another item, and then the right data.
#[tokio::test(start_paused = true)]
async fn s8_data_of_another_item_is_neither_sent_nor_cached() {
    let wrong = |_: &str, body: &mut Value| {
        let kind = body["kind"].as_str().unwrap_or_default().to_owned();
        for item in body["items"].as_array_mut().into_iter().flatten() {
            item["id"] = match kind.as_str() {
                "youtube#videoListResponse" => json!("quirkDurDay"),
                "youtube#channelListResponse" => json!("UC_x5XG1OV2P6uZZ5FSM9Ttw"),
                _ => json!("PLsize50"),
            };
        }
        if body["videoDetails"].is_object() {
            body["videoDetails"]["videoId"] = json!("quirkDurDay");
        }
    };
    let channel = TestApp::new().get("/api/channel/@fermata").await.json();
    let channel = format!("/api/channel/{}", channel["id"].as_str().unwrap());
    for path in [
        "/api/video/quirkNoLike",
        "/api/video/quirkNoLike/title",
        "/api/videos?ids=quirkNoLike",
        &channel,
        "/api/playlist/PLsize1/info",
        "/api/transcript/txManualAsr",
    ] {
        let is_wrong = Arc::new(AtomicBool::new(true));
        let now = Arc::clone(&is_wrong);
        let (app, _) = Intercepted::app(move |path, body| {
            if now.load(Ordering::Relaxed) {
                wrong(path, body);
            }
        });
        app.get(path).await.problem(502);
        is_wrong.store(false, Ordering::Relaxed);
        // The failure is cached for a second.
        sleep(Duration::from_secs(2)).await;
        let expected = TestApp::new().get(path).await;
        let got = app.get(path).await;
        assert_eq!((got.status.as_u16(), &got.text), (200, &expected.text), "{path}");
    }
}
