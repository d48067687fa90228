//! What the platform, or something on the way to it, says when it fails stays with the operator.

use axum::body::Body;
use axum::http::header::{LOCATION, SERVER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Request};
use serde_json::json;
use vidra::transport::Failure;

use super::{Always, ROUTES};

/// Words that stand for a host, an address, a path and a name of theirs.
const THEIRS: [&str; 5] =
    ["inner.example", "10.11.12.13", "/var/lib/secret", "proj-4711", "sim.invalid"];

fn platforms() -> Vec<(&'static str, Always)> {
    let said = "inner.example (10.11.12.13:443) /var/lib/secret proj-4711";
    let error = |status: u16, reason: &str| {
        let one = json!({"message": said, "domain": said, "reason": reason, "location": said});
        let details = json!([{"@type": said, "reason": reason, "metadata": {"consumer": said}}]);
        let error = json!({"code": status, "message": said, "status": said, "errors": [one], "details": details});
        json!({ "error": error }).to_string()
    };
    let headers = || {
        let value = HeaderValue::from_str(said).unwrap();
        let location = HeaderValue::from_static("http://inner.example/10.11.12.13");
        let headers = [(SERVER, value.clone()), (WWW_AUTHENTICATE, value), (LOCATION, location)];
        HeaderMap::from_iter(headers)
    };
    let answering = |status, body: String| Always::answering(status, headers(), body);
    let page = format!("<html><title>{said}</title><pre>{said}</pre></html>");
    let mut all = vec![
        ("no connection", Always(Err(Failure::NotSent(said.to_owned())))),
        ("a broken one", Always(Err(Failure::Broken(said.to_owned())))),
        ("too late", Always(Err(Failure::TimedOut))),
        ("too large", Always(Err(Failure::TooLarge))),
        ("a page", answering(200, page.clone())),
        ("JSON of another shape", answering(200, json!({"said": said}).to_string())),
        ("half of it", answering(200, format!("{{\"items\":[{{\"id\":\"{said}"))),
        ("types that do not fit", answering(200, json!({"items": said}).to_string())),
        ("a word", answering(200, json!(said).to_string())),
        (
            "a player's reason",
            answering(
                200,
                json!({"playabilityStatus": {"status": said, "reason": said}}).to_string(),
            ),
        ),
    ];
    for status in [301, 302, 307, 400, 401, 403, 404, 407, 418, 429, 500, 502, 503] {
        all.push(("a page and a status", answering(status, page.clone())));
        all.push(("text and a status", answering(status, said.to_owned())));
        for reason in
            ["backendError", "keyInvalid", "accessNotConfigured", "forbidden", "unheardOf", said]
        {
            all.push(("an error", answering(status, error(status, reason))));
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn s6_no_error_tells_what_the_platform_said() {
    for (what, platform) in platforms() {
        let app = platform.app();
        for (method, path) in ROUTES {
            for accept in ["*/*", "application/x-ndjson", "text/event-stream"] {
                let request = Request::builder().method(method).uri(path).header("accept", accept);
                let got = app.send(request.body(Body::empty()).unwrap()).await;
                let status = got.status.as_u16();
                assert_ne!(status, 500, "{what}: {path}: {}", got.text);
                if status != 200 {
                    got.problem(status);
                }
                assert!(got.header("x-request-id").is_some());
                let told = format!("{} {:?}", got.text, got.headers);
                for theirs in THEIRS {
                    assert!(!told.contains(theirs), "{what}: {path}: {theirs} in {told}");
                }
            }
        }
        for path in ["/readyz", "/metrics", "/api/quota"] {
            let told = app.get(path).await.text;
            assert!(THEIRS.iter().all(|theirs| !told.contains(theirs)), "{what}: {path}: {told}");
        }
    }
}
