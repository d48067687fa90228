//! The gate: which requests are accepted, and the errors of those that are rejected.

mod browsers;
mod budgets;
mod keys;
mod rates;
mod usage;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use vidra_server::Config;
use vidra_server::gate::{KeyFile, KeyLimits, Keys, Rules};

use crate::app::{TestApp, TestResponse};

/// A path whose first response is a miss and whose later responses are cache hits.
const VIDEO: &str = "/api/video/quirkNoLike";

/// Names and values.
type Headers<'a> = &'a [(&'a str, &'a str)];

fn app(rules: Rules) -> TestApp {
    TestApp::configured(|builder| builder, Config { gate: rules, ..Config::default() })
}

/// A file with a key for each name; the key is `vk_` and the name.
fn file(callers: &[(&str, KeyLimits)]) -> KeyFile {
    let mut file = KeyFile::default();
    for (name, limits) in callers {
        let key = format!("vk_{name}");
        file.add(name.parse().unwrap(), &key, *limits, SystemTime::UNIX_EPOCH).unwrap();
    }
    file
}

fn keys(callers: &[(&str, KeyLimits)]) -> Arc<Keys> {
    Arc::new(Keys::new(&file(callers)))
}

fn with_rate(rate: &str) -> KeyLimits {
    KeyLimits { rate: Some(rate.parse().unwrap()), ..KeyLimits::default() }
}

/// A request with these headers.
fn request(method: &str, path: &str, headers: Headers<'_>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let with = |request: Builder, (name, value): &(&str, &str)| request.header(*name, *value);
    headers.iter().fold(request, with).body(Body::empty()).unwrap()
}

async fn get(app: &TestApp, path: &str, headers: Headers<'_>) -> TestResponse {
    app.send(request("GET", path, headers)).await
}

/// Requests [`VIDEO`] from this address.
async fn get_from(app: &TestApp, peer: &str, headers: Headers<'_>) -> TestResponse {
    let peer: IpAddr = peer.parse().unwrap();
    app.send_from(request("GET", VIDEO, headers), peer).await
}

/// Sends a request with the key of `name`.
async fn get_as(app: &TestApp, name: &str, path: &str) -> TestResponse {
    get(app, path, &[("x-api-key", &format!("vk_{name}"))]).await
}
