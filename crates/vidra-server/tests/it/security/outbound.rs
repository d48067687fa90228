//! The service sends requests to the platform and nowhere else (SSRF).

use axum::body::Body;
use axum::http::Request;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Intercepted;
use crate::app::TestApp;

/// The only allowed target.
const PLATFORM: [&str; 1] = ["http://sim.invalid"];

/// URLs of other hosts that look like URLs of the platform.
const FOREIGN_URLS: [&str; 34] = [
    // Metadata services and local services.
    "http://169.254.169.254/watch?v=quirkNoLike",
    "http://169.254.169.254/latest/meta-data/?v=quirkNoLike&list=PLsize1",
    "http://[fd00:ec2::254]/watch?v=quirkNoLike",
    "http://metadata.google.internal/watch?v=quirkNoLike",
    "http://127.0.0.1:6379/watch?v=quirkNoLike",
    "http://localhost/watch?v=quirkNoLike",
    "http://[::1]/watch?v=quirkNoLike",
    "http://[::ffff:127.0.0.1]/watch?v=quirkNoLike",
    "http://2130706433/watch?v=quirkNoLike",
    "http://0x7f000001/watch?v=quirkNoLike",
    "http://0177.0.0.1/watch?v=quirkNoLike",
    "http://127.1/watch?v=quirkNoLike",
    // The name of the platform in the wrong position.
    "https://youtube.com.evil.example/watch?v=quirkNoLike",
    "https://evil.example/youtube.com/watch?v=quirkNoLike",
    "https://youtube.com@evil.example/watch?v=quirkNoLike",
    "https://youtube.com:pass@evil.example/watch?v=quirkNoLike",
    "https://evil.example#youtube.com/watch?v=quirkNoLike",
    "https://evil.example?youtube.com/watch?v=quirkNoLike",
    "https://evil.example\\@youtube.com/watch?v=quirkNoLike",
    "https://youtube.com\\@evil.example/watch?v=quirkNoLike",
    "https://www.youtube.com:22/watch?v=quirkNoLike",
    "https://youtube.com%2eevil.example/watch?v=quirkNoLike",
    "https://youtube.com%00.evil.example/watch?v=quirkNoLike",
    "https://youtube.com\r\nhost: evil.example/watch?v=quirkNoLike",
    "//evil.example/watch?v=quirkNoLike",
    "https:///evil.example/watch?v=quirkNoLike",
    // Homographs.
    "https://yоutube.com/watch?v=quirkNoLike",
    "https://youtube。com/watch?v=quirkNoLike",
    "https://xn--yutube-wqf.com/watch?v=quirkNoLike",
    "https://ⓨoutube.com/watch?v=quirkNoLike",
    // Other schemes.
    "file:///etc/passwd?v=quirkNoLike",
    "gopher://127.0.0.1:6379/_quirkNoLike",
    "ftp://youtube.com/watch?v=quirkNoLike",
    "dict://127.0.0.1:11211/quirkNoLike",
];

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Sends `address` in every position that takes one, and returns the statuses.
async fn send_everywhere(app: &TestApp, address: &str) -> Vec<u16> {
    let routes = [
        "/api/video/{}",
        "/api/channel/{}",
        "/api/playlist/{}",
        "/api/playlist/{}/ids",
        "/api/comments/{}",
        "/api/comment-replies/{}",
        "/api/transcript/{}",
        "/api/transcript/{}/tracks",
        "/api/videos?ids={}",
    ];
    let mut statuses = vec![];
    for route in routes {
        for written in [address.to_owned(), encoded(address), encoded(&encoded(address))] {
            let request = Request::get(route.replace("{}", &written)).body(Body::empty());
            // Input that is not a valid request never reaches the service.
            let Ok(request) = request else { continue };
            statuses.push(app.send(request).await.status.as_u16());
        }
    }
    for route in ["/api/playlist/{}/transcript", "/api/playlist/{}/query"] {
        let path = route.replace("{}", &encoded(address));
        statuses.push(app.post(&path, "{}").await.status.as_u16());
    }
    let parsed = app.post("/api/url/parse", json!({ "url": address })).await;
    if !address.starts_with("https://www.youtube.com/") {
        assert!(!parsed.text.contains("quirkNoLike\""), "{address}: {}", parsed.text);
    }
    statuses
}

#[tokio::test]
async fn s1_urls_of_callers_are_never_fetched() {
    let (app, transport) = Intercepted::app(|_, _| {});
    let long = format!("https://{}.example/watch?v=quirkNoLike", "x".repeat(8 << 10));
    for address in FOREIGN_URLS.into_iter().chain([&*long]) {
        for status in send_everywhere(&app, address).await {
            assert!([400, 404].contains(&status), "{address:.99}: {status}");
        }
    }
    assert_eq!(transport.targets(), Vec::<String>::new(), "nothing was sent");
}

#[tokio::test]
async fn s1_only_the_id_of_a_url_is_used() {
    let addresses = [
        "https://www.youtube.com/watch?v=quirkNoLike&next=http://169.254.169.254/",
        "https://www.youtube.com/watch?url=http://evil.example/&v=quirkNoLike#@evil.example",
        "http://youtu.be/quirkNoLike?si=//evil.example",
        "https://m.youtube.com/watch?v=quirkNoLike&host=evil.example:22",
        "https://www.youtube.com/embed/quirkNoLike?origin=https://evil.example",
    ];
    for address in addresses {
        let (app, transport) = Intercepted::app(|_, _| {});
        for route in ["video", "comments", "transcript"] {
            let got = app.get(&format!("/api/{route}/{}", encoded(address))).await;
            assert!([200, 404].contains(&got.status.as_u16()), "{address}: {}", got.text);
        }
        assert_eq!(transport.targets(), PLATFORM, "{address}");
        for upstream in app.sim.record().requests {
            let sent = format!("{} {:?} {}", upstream.path, upstream.query, upstream.body);
            assert!(!sent.contains("evil") && !sent.contains("169.254"), "{address}: {sent}");
            let video = upstream.parameter("id").or_else(|| upstream.parameter("videoId"));
            let video = video.map(str::to_owned).or_else(|| upstream.video_id());
            assert_eq!(video.as_deref(), Some("quirkNoLike"), "{address}: {sent}");
        }
    }
}

/// Sets the URL of every track in a player response.
fn tracks_at(base_url: &'static str) -> impl Fn(&str, &mut Value) {
    move |_, body| {
        let tracks = body.pointer_mut("/captions/playerCaptionsTracklistRenderer/captionTracks");
        for track in tracks.and_then(Value::as_array_mut).into_iter().flatten() {
            track["baseUrl"] = json!(base_url);
        }
    }
}

#[tokio::test]
async fn s2_captions_are_fetched_only_from_the_platform() {
    let hostile = [
        "http://127.0.0.1:8080/api/timedtext?v=txManualAsr",
        "http://169.254.169.254/api/timedtext?v=txManualAsr",
        "file:///etc/passwd",
        "file:///api/timedtext?v=txManualAsr",
        "https://www.youtube.com.evil.example/api/timedtext?v=txManualAsr",
        "https://evil.example/api/timedtext?v=txManualAsr",
        "https://www.youtube.com:22/api/timedtext?v=txManualAsr",
        "https://www.youtube.com:443/api/timedtext?v=txManualAsr",
        "https://user@www.youtube.com/api/timedtext?v=txManualAsr",
        "https://www.youtube.com@evil.example/api/timedtext?v=txManualAsr",
        "https://www.youtube.com:pass@evil.example/api/timedtext?v=txManualAsr",
        "http://www.youtube.com/api/timedtext?v=txManualAsr",
        "https://accounts.youtube.com/api/timedtext?v=txManualAsr",
        "https://www.youtube.com./api/timedtext?v=txManualAsr",
        "//evil.example/api/timedtext?v=txManualAsr",
        "\\\\evil.example/api/timedtext?v=txManualAsr",
        "https://www.youtube.com\\@evil.example/api/timedtext?v=txManualAsr",
        "https://www.youtube.com/api/timedtext/../../logout?v=txManualAsr",
        "https://www.youtube.com/api/timedtext%2f..?v=txManualAsr",
        "https://www.youtube.com/api/timedtextx?v=txManualAsr",
        "https://www.youtube.com/redirect?q=/api/timedtext",
        "https://www.youtube.com/api/timedtext?v=a\r\nhost: evil.example",
        "https://www.youtube.com/api/timedtext?v=a b",
        "https://www.youtube.com/api/timedtext?v=a#@evil.example",
        "https://www.youtube.com/api/timedtext?v=é",
        "https://www.youtube.com/api/timedtext",
        "gopher://127.0.0.1:6379/_api",
        "javascript:alert(1)",
        "?v=txManualAsr",
        "",
    ];
    for base_url in hostile {
        let (app, transport) = Intercepted::app(tracks_at(base_url));
        for query in ["", "?lang=en", "?translate=fr"] {
            let got = app.get(&format!("/api/transcript/txManualAsr{query}")).await;
            got.problem(502);
            assert!(!got.text.contains("evil"), "{base_url}: {}", got.text);
        }
        assert_eq!(transport.targets(), PLATFORM, "{base_url}");
        assert_eq!(app.sim.record().calls_to(vidra_sim::Endpoint::TimedText), 0, "{base_url}");
    }
    // Captions of the platform are fetched from the configured address.
    let valid = [
        "https://www.youtube.com/api/timedtext?v=txManualAsr&host=evil.example",
        "https://m.youtube.com/api/timedtext?v=txManualAsr&next=http://evil.example",
        "/api/timedtext?v=txManualAsr",
    ];
    for base_url in valid {
        let (app, transport) = Intercepted::app(tracks_at(base_url));
        app.get("/api/transcript/txManualAsr").await;
        assert_eq!(app.sim.record().calls_to(vidra_sim::Endpoint::Player), 1, "{base_url}");
        assert!(app.sim.record().calls_to(vidra_sim::Endpoint::TimedText) > 0, "{base_url}");
        assert_eq!(transport.targets(), PLATFORM, "{base_url}");
    }
}
