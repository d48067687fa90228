//! Hostile responses of the platform, against our parsers and against readers of our responses.

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use serde_json::{Value, json};

use super::{Always, Intercepted, ROUTES};

/// JSON that is hard to parse, alone and in the positions that parsers expect values in.
fn jsons() -> Vec<String> {
    let deep = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    let digits = "9".repeat(1 << 14);
    let values = [
        deep("[", "]", 127),
        deep("[", "]", 20_000),
        "[".repeat(100_000),
        "{\"a\":".repeat(20_000),
        deep("{\"items\":[", "]}", 5_000),
        digits.clone(),
        format!("-{digits}.{digits}e{digits}"),
        "1e400".to_owned(),
        "-1e-400".to_owned(),
        "18446744073709551616".to_owned(),
        "-0".to_owned(),
        "NaN".to_owned(),
        r#""\ud800""#.to_owned(),
        r#""\udc00\ud800""#.to_owned(),
        r#""\u0000\u001b[31m\u2028\u202e""#.to_owned(),
        "\"\u{0}\"".to_owned(),
        format!("\"{}\"", "x".repeat(70_000)),
        r#"{"id":"a","id":"b","snippet":{},"snippet":[]}"#.to_owned(),
        r#"{"__proto__":{"a":1},"constructor":null}"#.to_owned(),
        "null".to_owned(),
        "{}".to_owned(),
    ];
    let mut all = vec![];
    for value in values {
        for template in [
            "{}",
            r#"{"items":{}}"#,
            r#"{"items":[{}]}"#,
            r#"{"items":[{"id":{}}]}"#,
            r#"{"items":[{"id":"quirkNoLike","statistics":{"viewCount":{}}}]}"#,
            r#"{"items":[{"id":"quirkNoLike","contentDetails":{"duration":{}},"snippet":{}}]}"#,
            r#"{"nextPageToken":{},"items":[],"pageInfo":{}}"#,
            r#"{"error":{"code":{},"errors":[{}],"details":{}}}"#,
            r#"{"playabilityStatus":{"status":"OK"},"captions":{}}"#,
            r#"{"captions":{"playerCaptionsTracklistRenderer":{"captionTracks":[{}]}}}"#,
            r#"{"events":[{"tStartMs":{},"segs":[{"utf8":{}}]}]}"#,
            r#"{"items":[],"items":{}}"#,
        ] {
            // Not `format!`: the braces are JSON's.
            all.push(template.replace("{}", &value));
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn s12_hostile_json_from_the_platform_never_causes_a_500() {
    let all = jsons();
    assert!(all.len() > 200);
    let paths = [
        "/api/video/quirkNoLike",
        "/api/channel/@fermata/videos",
        "/api/playlist/PLsize1",
        "/api/comments/quirkNoLike",
        "/api/transcript/txManualAsr",
        "/api/i18n/regions",
    ];
    for body in &all {
        let status = if body.starts_with("{\"error\"") { 403 } else { 200 };
        let app = Always::answering(status, HeaderMap::new(), body.clone()).app();
        // Only the transcript route parses responses of the player and of tracks.
        let is_keyless = body.starts_with("{\"playability")
            || body.starts_with("{\"captions")
            || body.starts_with("{\"events");
        for path in paths.into_iter().filter(|path| !is_keyless || path.contains("transcript")) {
            let got = app.get(path).await;
            assert_ne!(got.status.as_u16(), 500, "{path}: {body:.200}");
            assert!(serde_json::from_str::<Value>(&got.text).is_ok(), "{path}: {body:.200}");
        }
    }
}

/// Line ends, escape sequences, direction overrides, and syntax of other formats.
const HOSTILE_TEXT: &str = "a\r\nset-cookie: x=y\r\n\r\n\n\ndata: {}\n\nid: 1\u{1b}[31m\u{7}\u{2028}\u{2029}\u{202e}\u{0}\u{85}--> <script>alert(1)</script>\"';=cmd()";

/// Replaces every text that is not an identifier or an address.
fn insert_hostile_text(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let is_text = matches!(
                    name.as_str(),
                    "title"
                        | "description"
                        | "textDisplay"
                        | "textOriginal"
                        | "authorDisplayName"
                        | "channelTitle"
                        | "simpleText"
                        | "text"
                        | "languageCode"
                        | "utf8"
                        | "customUrl"
                        | "country"
                        | "name"
                        | "gl"
                        | "hl"
                        | "defaultLanguage"
                );
                match value {
                    Value::String(text) if is_text => *text = HOSTILE_TEXT.to_owned(),
                    other => insert_hostile_text(other),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(insert_hostile_text),
        _ => {}
    }
}

#[tokio::test]
async fn s13_platform_text_cannot_inject_into_headers_streams_or_subtitles() {
    let (app, _) = Intercepted::app(|_, body| insert_hostile_text(body));
    let forms = ["srt", "vtt", "txt", "json"];
    let transcripts =
        forms.map(|form| format!("/api/transcript/txManualAsr?format={form}&download=true"));
    let routes = ROUTES.into_iter().chain(transcripts.iter().map(|path| ("GET", path.as_str())));
    let mut good = 0;
    for (method, path) in routes {
        for accept in ["*/*", "application/x-ndjson, */*;q=0.1", "text/event-stream, */*;q=0.1"] {
            let request = Request::builder().method(method).uri(path).header("accept", accept);
            let got = app.send(request.body(Body::empty()).unwrap()).await;
            good += u32::from(got.status == 200);
            assert!(!got.headers.contains_key("set-cookie"), "{path}");
            for (name, value) in &got.headers {
                let is_plain = value.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte));
                assert!(is_plain, "{path}: {name}: {value:?}");
            }
            if let Some(disposition) = got.header("content-disposition") {
                let name = disposition.strip_prefix("attachment; filename=\"").unwrap();
                let name = name.strip_suffix('"').unwrap();
                let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
                assert!(name.bytes().all(is_safe), "{name}");
            }
            match got.header("content-type").unwrap() {
                "application/json" => drop(got.json()),
                "application/x-ndjson" => {
                    let lines = got.text.lines().map(serde_json::from_str::<Value>);
                    assert!(lines.into_iter().all(|line| line.is_ok()), "{path}: {}", got.text);
                }
                "text/event-stream" => {
                    for event in got.text.split_terminator("\n\n") {
                        let data: Vec<&str> = event
                            .split(['\r', '\n'])
                            .filter(|it| it.starts_with("data:"))
                            .collect();
                        assert_eq!(data.len(), 1, "{path}: {event:?}");
                        assert!(serde_json::from_str::<Value>(&data[0][5..]).is_ok(), "{event:?}");
                    }
                }
                "text/vtt; charset=utf-8" => {
                    let arrows = got.text.lines().filter(|line| line.contains("-->"));
                    assert!(arrows.into_iter().all(|line| line.starts_with("00:")), "{}", got.text);
                    assert!(!got.text.contains("<script"), "{}", got.text);
                }
                _ => {}
            }
        }
    }
    assert!(good > 30, "{good} were answered");
}

#[tokio::test]
async fn s13_caller_input_cannot_inject_headers() {
    let app = super::TestApp::new();
    let evil = "en%0d%0aset-cookie:%20x=y%0d%0a%0d%0a";
    let paths = [
        format!("/api/transcript/txManualAsr?lang={evil}&download=true"),
        format!("/api/transcript/txManualAsr?translate={evil}&download=true"),
        format!("/api/transcript/txManualAsr?format={evil}"),
        format!("/api/transcript/{evil}"),
        format!("/api/video/{evil}"),
        format!("/api/i18n/regions?hl={evil}"),
        format!("/api/video-categories?region={evil}"),
        format!("/{evil}"),
        "/%1b%5b31m%e2%80%a8%e2%80%ae".to_owned(),
    ];
    for path in paths {
        let got = app.get(&path).await;
        assert!([400, 404].contains(&got.status.as_u16()), "{path}: {}", got.text);
        assert!(!got.headers.contains_key("set-cookie"), "{path}");
        let error = &got.json()["error"];
        let text = format!("{}{}", error["message"], error["details"]);
        let text: Value = json!(text);
        let text = text.as_str().unwrap();
        assert!(!text.contains(char::is_control), "{path}: {text}");
    }
    for id in ["a\tb", "a b", "\u{1b}[31m", "é", "a\u{2028}b"] {
        let request = Request::get("/healthz").header("x-request-id", id.as_bytes());
        let Ok(request) = request.body(Body::empty()) else { continue };
        let got = app.send(request).await;
        assert_eq!(got.header("x-request-id").unwrap().len(), 16, "{id:?}");
    }
}
