//! Requests to the keyless interface of the simulator, in this process, without violations.

use bytes::Bytes;
use http::{HeaderMap, Request};
use serde_json::{Value, json};
use vidra_sim::Simulator;

/// A client's name, number, version and `User-Agent`.
pub(crate) type Client = (&'static str, &'static str, &'static str, &'static str);

pub(crate) const ANDROID: Client = (
    "ANDROID",
    "3",
    "21.26.364",
    "com.google.android.youtube/21.26.364 (Linux; U; Android 11) gzip",
);
pub(crate) const IOS: Client =
    ("IOS", "5", "21.26.4", "com.google.ios.youtube/21.26.4 (iPhone16,2; U; CPU iOS 18_5)");
pub(crate) const VISIONOS: Client =
    ("VISIONOS", "101", "1.02", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)");
pub(crate) const WEB: Client = ("WEB", "1", "2.20260708.00.00", "Mozilla/5.0 (X11; Linux x86_64)");
pub(crate) const MWEB: Client = ("MWEB", "2", "2.20260708.05.00", "Mozilla/5.0 (Linux)");
pub(crate) const EMBEDDED: Client =
    ("WEB_EMBEDDED_PLAYER", "56", "2.20260708.00.00", "Mozilla/5.0 (X11; Linux x86_64)");
pub(crate) const TV: Client = ("TVHTML5", "7", "7.20260707.07.00", "Mozilla/5.0 (SMART-TV)");
pub(crate) const ALL: [Client; 7] = [ANDROID, IOS, VISIONOS, WEB, MWEB, EMBEDDED, TV];

/// A status, the headers and the body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Sends a request; `None` if the connection drops before or within the body.
pub(crate) async fn send(simulator: &Simulator, request: Request<Bytes>) -> Option<Reply> {
    let (head, body) = simulator.call(request).await.ok()?.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Reply { status: head.status.as_u16(), headers: head.headers, body })
}

/// A player request of a client.
pub(crate) fn player_request(id: &str, client: Client) -> Request<Bytes> {
    let (name, number, version, agent) = client;
    let mut body = json!({
        "context": {"client": {"clientName": name, "clientVersion": version, "hl": "en", "gl": "US"}},
        "videoId": id,
        "contentCheckOk": true,
        "racyCheckOk": true,
    });
    if client.0 == EMBEDDED.0 {
        body["context"]["thirdParty"] = json!({"embedUrl": "https://www.example.org/"});
    }
    Request::post("/youtubei/v1/player?prettyPrint=false")
        .header("content-type", "application/json")
        .header("accept-language", "en")
        .header("x-youtube-client-name", number)
        .header("x-youtube-client-version", version)
        .header("user-agent", agent)
        .body(body.to_string().into())
        .expect("a valid request")
}

/// The player's answer about a video.
pub(crate) async fn player(simulator: &Simulator, id: &str, client: Client) -> Value {
    let reply = send(simulator, player_request(id, client)).await.expect("an answer");
    assert_eq!(reply.status, 200, "{id}: {}", reply.body);
    reply.json()
}

/// The tracks in a player's answer.
pub(crate) fn tracks(body: &Value) -> Vec<Value> {
    let list = &body["captions"]["playerCaptionsTracklistRenderer"]["captionTracks"];
    list.as_array().cloned().unwrap_or_default()
}

/// The `baseUrl` of a track, without its `fmt`.
pub(crate) fn base_url(track: &Value) -> String {
    track["baseUrl"].as_str().unwrap_or_default().replace("&fmt=srv3", "")
}

/// Fetches a page or a text.
pub(crate) async fn get(simulator: &Simulator, url: &str, cookie: &str) -> Option<Reply> {
    let path = url.strip_prefix("https://www.youtube.com").unwrap_or(url);
    let request = Request::get(path).header("accept-language", "en").header("cookie", cookie);
    send(simulator, request.body(Bytes::new()).expect("a valid request")).await
}

/// Fetches the text of track `n`; `more` is appended to its URL.
pub(crate) async fn text(simulator: &Simulator, id: &str, n: usize, more: &str) -> Reply {
    let body = player(simulator, id, ANDROID).await;
    let url = base_url(tracks(&body).get(n).unwrap_or_else(|| panic!("{id} has no track {n}")));
    get(simulator, &format!("{url}{more}"), "").await.expect("an answer")
}

/// Fetches the watch page.
pub(crate) async fn watch(simulator: &Simulator, id: &str) -> Reply {
    get(simulator, &format!("/watch?v={id}"), "SOCS=CAI").await.expect("an answer")
}
