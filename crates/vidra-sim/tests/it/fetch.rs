//! Requests to the simulated Data API, in this process.

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use vidra_sim::Simulator;

/// A status and a body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// `errors[0].reason`
    pub(crate) fn reason(&self) -> &str {
        self.body["error"]["errors"][0]["reason"].as_str().unwrap_or_default()
    }

    pub(crate) fn items(&self) -> &[Value] {
        self.body["items"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The member of every item at a JSON pointer.
    pub(crate) fn each(&self, pointer: &str) -> Vec<String> {
        self.items()
            .iter()
            .filter_map(|item| item.pointer(pointer)?.as_str())
            .map(str::to_owned)
            .collect()
    }
}

/// A request with the key in its header.
pub(crate) fn request(path_and_query: &str) -> Request<Bytes> {
    let request =
        Request::get(format!("/youtube/v3/{path_and_query}")).header("x-goog-api-key", "demo-key");
    request.body(Bytes::new()).expect("a valid request")
}

/// Sends a request and returns the status and the bytes of the body.
pub(crate) async fn bytes(simulator: &Simulator, path_and_query: &str) -> (u16, Bytes) {
    let response = simulator.call(request(path_and_query)).await.expect("no fault");
    let status = response.status().as_u16();
    (status, axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a whole body"))
}

/// Sends a request and returns the status and the JSON of the body.
pub(crate) async fn fetch(simulator: &Simulator, path_and_query: &str) -> Answer {
    let (status, bytes) = bytes(simulator, path_and_query).await;
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{path_and_query}: {e}"));
    Answer { status, body }
}

/// All pages of a list, by following `nextPageToken`.
pub(crate) async fn pages(simulator: &Simulator, path_and_query: &str) -> Vec<Answer> {
    let mut pages = vec![fetch(simulator, path_and_query).await];
    while let Some(token) = pages.last().and_then(|page| page.body["nextPageToken"].as_str()) {
        let next = format!("{path_and_query}&pageToken={token}");
        pages.push(fetch(simulator, &next).await);
        assert!(pages.len() < 1000, "{path_and_query} has too many pages");
    }
    pages
}
