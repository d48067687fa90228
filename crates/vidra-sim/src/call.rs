//! A parsed request.

use crate::query::Query;
use crate::route::Endpoint;
use bytes::Bytes;
use http::request::Parts;
use serde_json::Value;

/// The default origin of URLs in answers.
const ORIGIN: &str = "https://www.youtube.com";

/// A parsed request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) endpoint: Endpoint,
    pub(crate) head: Parts,
    pub(crate) sent: Bytes,
    /// The body as JSON; null if it is not JSON.
    pub(crate) json: Value,
    /// The query, plus `videoId` and `clientName` from the query or the body, so that faults can match
    /// them.
    pub(crate) query: Query,
    /// The origin of URLs in the answer.
    pub(crate) origin: String,
    /// Whether the egress of this call is blocked.
    pub(crate) blocked: bool,
}

impl Call {
    pub(crate) fn read(head: Parts, sent: Bytes, origin: Option<&str>) -> Self {
        let endpoint = Endpoint::at(head.uri.path());
        let keyless = endpoint.is_keyless();
        let json =
            if keyless { serde_json::from_slice(&sent).unwrap_or_default() } else { Value::Null };
        let mut query = Query::parse(head.uri.query().unwrap_or_default());
        if keyless {
            query = about(&query, &json);
        }
        if endpoint == Endpoint::Consent {
            // The fields of the form count as parameters.
            let form = Query::parse(&String::from_utf8_lossy(&sent));
            let back = form.get("continue").map(|back| query.with("continue", back));
            query = back.unwrap_or(query);
        }
        let origin = origin.map_or_else(|| origin_of(&head), str::to_owned);
        Self { endpoint, head, sent, json, query, origin, blocked: false }
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The URL of the call, for pages that link back to it.
    pub(crate) fn url(&self) -> String {
        let path = self.head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        format!("{}{path}", self.origin)
    }

    /// The egress of the call: the name that a proxy added, or `direct`.
    pub(crate) fn egress(&self) -> &str {
        self.header("x-sim-egress").unwrap_or("direct")
    }

    /// The query with one parameter replaced.
    pub(crate) fn with_parameter(&self, name: &str, value: &str) -> Query {
        self.query.with(name, value)
    }
}

/// The query with the video and the client of the call.
fn about(query: &Query, json: &Value) -> Query {
    let mut all = query.clone();
    let video = json["videoId"].as_str().or_else(|| query.get("v"));
    let client = json["context"]["client"]["clientName"].as_str();
    for (name, value) in [("videoId", video), ("clientName", client)] {
        if let Some(value) = value {
            all = all.with(name, value);
        }
    }
    all
}

/// The origin of the web host: the simulator's own on a socket, YouTube's in process.
fn origin_of(head: &Parts) -> String {
    let sent = head.headers.get("host").and_then(|host| host.to_str().ok());
    let host = head.uri.authority().map(http::uri::Authority::as_str).or(sent);
    let local = |host: &str| {
        host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
    };
    match host.filter(|host| local(host)) {
        Some(host) => format!("http://{host}"),
        None => ORIGIN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(uri: &str, host: Option<&str>, body: &str) -> Call {
        let mut request = http::Request::post(uri);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let (head, ()) = request.body(()).expect("a valid request").into_parts();
        Call::read(head, Bytes::copy_from_slice(body.as_bytes()), None)
    }

    #[test]
    fn origin_follows_the_request_host() {
        assert_eq!(call("/watch?v=a", None, "").origin, ORIGIN);
        assert_eq!(call("https://www.youtube.com/watch", None, "").origin, ORIGIN);
        assert_eq!(call("/watch", Some("127.0.0.1:99"), "").origin, "http://127.0.0.1:99");
        assert_eq!(
            call("https://www.youtube.com/watch?v=a", None, "").url(),
            format!("{ORIGIN}/watch?v=a")
        );
        assert_eq!(call("http://localhost:7/watch", None, "").origin, "http://localhost:7");
    }

    #[test]
    fn video_id_is_read_from_query_or_body() {
        assert_eq!(call("/watch?v=abc", None, "").query.get("videoId"), Some("abc"));
        let body = r#"{"videoId":"xyz","context":{"client":{"clientName":"IOS"}}}"#;
        let player = call("/youtubei/v1/player", None, body);
        assert_eq!(player.query.get("videoId"), Some("xyz"));
        assert_eq!(player.query.get("clientName"), Some("IOS"));
        assert_eq!(player.egress(), "direct");
    }
}
