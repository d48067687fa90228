//! The service in front of the simulator, without sockets.

use std::future::{Future, pending};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use vidra::{ApiKey, InProcess, RetryPolicy, Vidra};
use vidra_server::{App, Config, Serving};
use vidra_sim::Simulator;

use crate::midnight;

/// The peer address of test requests.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Simulator and service.
pub(crate) struct TestApp {
    pub(crate) sim: Simulator,
    pub(crate) app: App,
}

/// A response whose body has been read.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestApp {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(vidra::Builder) -> vidra::Builder) -> Self {
        Self::configured(change, Config::default())
    }

    /// A service without caches, for tests that count upstream calls and their cost.
    pub(crate) fn uncached() -> Self {
        Self::uncached_with(|builder| builder)
    }

    pub(crate) fn uncached_with(change: impl FnOnce(vidra::Builder) -> vidra::Builder) -> Self {
        let config = Config { response_cache_bytes: 0, ..Config::default() };
        Self::configured(|builder| change(builder.cache_bytes(0)), config)
    }

    pub(crate) fn configured(
        change: impl FnOnce(vidra::Builder) -> vidra::Builder,
        config: Config,
    ) -> Self {
        midnight::wait_out();
        let sim = Simulator::new();
        let builder = Vidra::builder()
            .key(ApiKey::new("demo-key"))
            .data_api_url("http://sim.invalid/youtube/v3")
            .web_url("http://sim.invalid")
            .transport(InProcess(sim.clone()))
            .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() });
        Self { sim, app: App::new(change(builder).build().unwrap(), config) }
    }

    /// Serves on a local port until the test ends.
    pub(crate) async fn listening(&self) -> SocketAddr {
        self.served(Serving::default(), pending()).await.0
    }

    /// Serves on a local port until `stop`. The task ends when the service has stopped.
    pub(crate) async fn served(
        &self,
        serving: Serving,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> (SocketAddr, JoinHandle<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = self.app.clone();
        (address, tokio::spawn(vidra_server::serve(listener, app, serving, stop, pending())))
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl ToString) -> TestResponse {
        let request = Request::post(path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    pub(crate) async fn method(&self, method: Method, path: &str) -> TestResponse {
        self.send(Request::builder().method(method).uri(path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> TestResponse {
        self.send_from(request, PEER).await
    }

    pub(crate) async fn send_from(&self, request: Request<Body>, peer: IpAddr) -> TestResponse {
        let response = self.app.answer(request, peer).await;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("every body is text");
        TestResponse { status: head.status, headers: head.headers, text }
    }
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn cost(&self) -> u32 {
        self.header("x-quota-cost").expect("every response has a cost").parse().unwrap()
    }

    /// Asserts the shape of an error and returns its message and details.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> (String, Vec<String>) {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        let body = self.json();
        let error = &body["error"];
        assert_eq!(body.as_object().unwrap().len(), 1, "{body}");
        assert_eq!(error.as_object().unwrap().len(), 4, "{body}");
        assert_eq!(error["code"], status, "{body}");
        let reason = error["reason"].as_str().and_then(vidra::Reason::from_code);
        assert!(reason.is_some(), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        let details = error["details"].as_array().unwrap().iter();
        let details = details.map(|line| line.as_str().unwrap().to_owned()).collect();
        (error["message"].as_str().unwrap().to_owned(), details)
    }

    /// The reason of an error.
    pub(crate) fn reason(&self) -> String {
        self.json()["error"]["reason"].as_str().unwrap().to_owned()
    }

    /// The names of an object's fields, in the order they were written.
    pub(crate) fn fields(&self, pointer: &str) -> Vec<String> {
        fields(&self.text, pointer)
    }
}

/// `serde_json::Value` sorts its fields, so their order is read from the text.
pub(crate) fn fields(text: &str, pointer: &str) -> Vec<String> {
    let mut value: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
    for step in pointer.split('/').filter(|step| !step.is_empty()) {
        value = match step.parse::<usize>() {
            Ok(index) => {
                let mut items: Vec<Box<serde_json::value::RawValue>> =
                    serde_json::from_str(value.get()).unwrap();
                items.swap_remove(index)
            }
            Err(_) => {
                let Ordered(fields) = serde_json::from_str(value.get()).unwrap();
                fields.into_iter().find(|(name, _)| name == step).expect(step).1
            }
        };
    }
    let Ordered(fields) = serde_json::from_str(value.get()).unwrap();
    fields.into_iter().map(|(name, _)| name).collect()
}

struct Ordered(Vec<(String, Box<serde_json::value::RawValue>)>);

impl<'de> serde::Deserialize<'de> for Ordered {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> serde::de::Visitor<'de> for Fields {
            type Value = Ordered;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Ordered, A::Error> {
                let mut fields = vec![];
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Ordered(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}
