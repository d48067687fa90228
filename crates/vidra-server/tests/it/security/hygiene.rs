//! Error details of the platform, or of a proxy in front of it, never reach callers.

use axum::body::Body;
use axum::http::header::{LOCATION, SERVER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Request};
use serde_json::json;
use vidra::transport::Failure;

use super::{Always, ROUTES};

/// A host, an address, a path and names that appear only in upstream errors.
const INTERNALS: [&str; 5] =
    ["inner.example", "10.11.12.13", "/var/lib/secret", "proj-4711", "sim.invalid"];

fn platforms() -> Vec<(&'static str, Always)> {
    let detail = "inner.example (10.11.12.13:443) /var/lib/secret proj-4711";
    let error = |status: u16, reason: &str| {
        let one =
            json!({"message": detail, "domain": detail, "reason": reason, "location": detail});
        let details =
            json!([{"@type": detail, "reason": reason, "metadata": {"consumer": detail}}]);
        let error = json!({"code": status, "message": detail, "status": detail, "errors": [one], "details": details});
        json!({ "error": error }).to_string()
    };
    let headers = || {
        let value = HeaderValue::from_str(detail).unwrap();
        let location = HeaderValue::from_static("http://inner.example/10.11.12.13");
        let headers = [(SERVER, value.clone()), (WWW_AUTHENTICATE, value), (LOCATION, location)];
        HeaderMap::from_iter(headers)
    };
    let answering = |status, body: String| Always::answering(status, headers(), body);
    let page = format!("<html><title>{detail}</title><pre>{detail}</pre></html>");
    let mut all = vec![
        ("no connection", Always(Err(Failure::NotSent(detail.to_owned())))),
        ("a broken one", Always(Err(Failure::Broken(detail.to_owned())))),
        ("too late", Always(Err(Failure::TimedOut))),
        ("too large", Always(Err(Failure::TooLarge))),
        ("a page", answering(200, page.clone())),
        ("JSON of another shape", answering(200, json!({"detail": detail}).to_string())),
        ("half of it", answering(200, format!("{{\"items\":[{{\"id\":\"{detail}"))),
        ("types that do not fit", answering(200, json!({"items": detail}).to_string())),
        ("a word", answering(200, json!(detail).to_string())),
        (
            "a player's reason",
            answering(
                200,
                json!({"playabilityStatus": {"status": detail, "reason": detail}}).to_string(),
            ),
        ),
    ];
    for status in [301, 302, 307, 400, 401, 403, 404, 407, 418, 429, 500, 502, 503] {
        all.push(("a page and a status", answering(status, page.clone())));
        all.push(("text and a status", answering(status, detail.to_owned())));
        for reason in
            ["backendError", "keyInvalid", "accessNotConfigured", "forbidden", "unheardOf", detail]
        {
            all.push(("an error", answering(status, error(status, reason))));
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn s6_errors_never_leak_upstream_details() {
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
                let visible = format!("{} {:?}", got.text, got.headers);
                for internal in INTERNALS {
                    assert!(!visible.contains(internal), "{what}: {path}: {internal} in {visible}");
                }
            }
        }
        for path in ["/readyz", "/metrics", "/api/quota"] {
            let visible = app.get(path).await.text;
            assert!(
                INTERNALS.iter().all(|internal| !visible.contains(internal)),
                "{what}: {path}: {visible}"
            );
        }
    }
}
