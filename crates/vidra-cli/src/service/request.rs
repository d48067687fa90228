//! Requests to the REST interface.

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::failure::Failure;

/// A request to the REST interface.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RestRequest {
    method: Method,
    path: String,
    body: Option<RequestBody>,
    idempotency_key: Option<String>,
    /// Whether a cached answer is fine despite `--refresh`.
    allows_cached: bool,
    accept: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
enum RequestBody {
    Json(Value),
    Text(String),
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The usual format of answers.
const JSON: &str = "application/json";

impl RestRequest {
    /// `GET /api/{resource}`.
    pub(crate) fn get(resource: &str) -> Self {
        let path = format!("/api/{resource}");
        let (method, idempotency_key) = (Method::GET, None);
        Self { method, path, body: None, idempotency_key, allows_cached: false, accept: JSON }
    }

    /// Uses another method than GET.
    pub(crate) fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// Appends a segment to the path.
    pub(crate) fn segment(mut self, part: &str) -> Self {
        self.path = format!("{}/{}", self.path, utf8_percent_encode(part, NON_ALPHANUMERIC));
        self
    }

    /// Adds a query parameter, if there is a value.
    pub(crate) fn parameter(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            let value = value.to_string();
            let sign = if self.path.contains('?') { '&' } else { '?' };
            let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
            self.path = format!("{}{sign}{name}={value}", self.path);
        }
        self
    }

    /// Makes it a POST with this body.
    pub(crate) fn post(self, body: Value) -> Self {
        Self { method: Method::POST, body: Some(RequestBody::Json(body)), ..self }
    }

    /// Makes it a POST with a plain text, such as a list of ids.
    pub(crate) fn post_text(self, text: String) -> Self {
        Self { method: Method::POST, body: Some(RequestBody::Text(text)), ..self }
    }

    /// Adds a key with which a repeated request has no second effect.
    pub(crate) fn idempotency_key(self, key: Option<&str>) -> Self {
        Self { idempotency_key: key.map(str::to_owned), ..self }
    }

    /// Accepts a cached answer despite `--refresh`, which is meant for another request of the command.
    pub(crate) fn allow_cached(self) -> Self {
        Self { allows_cached: true, ..self }
    }

    /// Requests another format than JSON.
    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// The HTTP request to the service at `base`.
    pub(super) fn build(&self, base: &str, refresh: bool) -> Result<Request<Bytes>, Failure> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{base}{}", self.path))
            .header(ACCEPT, self.accept);
        let body = match &self.body {
            Some(RequestBody::Json(json)) => Some((JSON, json.to_string())),
            Some(RequestBody::Text(text)) => Some(("text/plain", text.clone())),
            None => None,
        };
        if let Some((content_type, _)) = body {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(key) = &self.idempotency_key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if refresh && !self.allows_cached {
            request = request.header(CACHE_CONTROL, "no-cache");
        }
        let body = body.map(|(_, body)| body).unwrap_or_default();
        let request = request.body(body.into());
        request.map_err(|_| Failure::usage("the id or URL is too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_match_the_rest_interface() {
        let request = RestRequest::get("comments")
            .segment("https://youtu.be/dQw4w9WgXcQ?t=1")
            .parameter("order", Some("time"))
            .parameter("search", Some("a&b"))
            .parameter("maxResults", None::<u32>);
        let request = request.build("http://host:1", false).unwrap();
        assert_eq!(
            request.uri(),
            "http://host:1/api/comments/https%3A%2F%2Fyoutu%2Ebe%2FdQw4w9WgXcQ%3Ft%3D1?order=time&search=a%26b"
        );
        assert_eq!((request.method(), request.body().len()), (&Method::GET, 0));
    }
}
