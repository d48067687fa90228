//! Who answers: the REST service, in this process over the platform or the demo world, or one that runs
//! elsewhere. Commands ask the same question of either, so that they show the same.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clap::builder::FalseyValueParser;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use vidra::{Network, Vidra};
use vidra_server::{App, Config};

use crate::cache::Place;
use crate::client::{ClientArgs, client};
use crate::failure::{Exit, Failure, exit_of};
use crate::values::http_url;

/// Whom a command asks.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// Ask a running service rather than YouTube
    #[arg(long, env = "VIDRA_SERVER", value_name = "URL", value_parser = http_url, conflicts_with = "demo")]
    server: Option<String>,

    /// The key that the service asks for. Others on this machine can read arguments: better set the
    /// variable
    #[arg(long, env = "VIDRA_TOKEN", value_name = "KEY", hide_env_values = true)]
    token: Option<String>,

    /// Ask anew also for what is known
    #[arg(long, env = "VIDRA_REFRESH", value_parser = FalseyValueParser::new())]
    refresh: bool,

    #[command(flatten)]
    client: ClientArgs,
}

/// Whoever answers.
pub(crate) struct Service {
    door: Door,
    refresh: bool,
}

enum Door {
    Here { app: Box<App>, vidra: Vidra },
    There { network: Network, base: String, key: Option<HeaderValue> },
}

/// A request of the REST interface.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    method: Method,
    path: String,
    body: Option<Value>,
}

type Body = UnsyncBoxBody<Bytes, String>;

/// How long a service elsewhere may take to begin an answer. It gives up by itself long before.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long the end waits for answers to be kept.
const SETTLE: Duration = Duration::from_secs(2);

impl Question {
    /// `GET /api/{resource}`.
    pub(crate) fn about(resource: &str) -> Self {
        Self { method: Method::GET, path: format!("/api/{resource}"), body: None }
    }

    /// One more part of the path: an identifier, or what about it.
    pub(crate) fn of(mut self, part: &str) -> Self {
        self.path = format!("{}/{}", self.path, utf8_percent_encode(part, NON_ALPHANUMERIC));
        self
    }

    /// A parameter of the query, where there is a value.
    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            let value = value.to_string();
            let sign = if self.path.contains('?') { '&' } else { '?' };
            let value = utf8_percent_encode(&value, NON_ALPHANUMERIC);
            self.path = format!("{}{sign}{name}={value}", self.path);
        }
        self
    }

    /// The same as a POST with this body.
    pub(crate) fn posting(self, body: Value) -> Self {
        Self { method: Method::POST, body: Some(body), ..self }
    }

    fn request(&self, base: &str, accept: &'static str) -> Result<Request<Bytes>, Failure> {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{base}{}", self.path))
            .header(ACCEPT, accept);
        let request = match self.body {
            Some(_) => request.header(CONTENT_TYPE, "application/json"),
            None => request,
        };
        request.body(body.into()).map_err(|error| Failure::usage(error.to_string()))
    }
}

impl Service {
    /// The service that was asked for.
    pub(crate) fn open(args: &ServiceArgs) -> Result<Self, Failure> {
        if let Some(server) = &args.server {
            let service = Self::at(server, args.token.as_deref())?;
            return Ok(Self { refresh: args.refresh, ..service });
        }
        let vidra = client(&args.client, &Place::of_the_user(args.client.demo))?;
        // What is sent once is not worth keeping ready.
        let config = Config { ready_bytes: 0, mcp: false, ..Config::default() };
        let app = Box::new(App::new(vidra.clone(), config));
        Ok(Self { door: Door::Here { app, vidra }, refresh: args.refresh })
    }

    /// One that runs elsewhere.
    pub(crate) fn at(server: &str, token: Option<&str>) -> Result<Self, Failure> {
        let door = Door::There {
            network: Network::new(),
            base: server.trim_end_matches('/').to_owned(),
            key: token.map(bearer).transpose()?,
        };
        Ok(Self { door, refresh: false })
    }

    /// The whole answer, as JSON.
    pub(crate) async fn ask(&self, question: &Question) -> Result<Bytes, Failure> {
        let answer = self.send(question.request(self.base(), "application/json")?).await?;
        self.read(answer.into_body()).await
    }

    /// An answer that comes line by line.
    pub(crate) async fn ask_for_lines(&self, question: &Question) -> Result<Lines<'_>, Failure> {
        let answer = self.send(question.request(self.base(), "application/x-ndjson")?).await?;
        Ok(Lines { service: self, body: answer.into_body(), rest: BytesMut::new() })
    }

    /// Waits until what was fetched has been kept.
    pub(crate) async fn settle(&self) {
        if let Door::Here { vidra, .. } = &self.door {
            let _ = timeout(SETTLE, vidra.settled()).await;
        }
    }

    fn base(&self) -> &str {
        match &self.door {
            Door::Here { .. } => "",
            Door::There { base, .. } => base,
        }
    }

    /// The head of a success; whatever else comes is a failure.
    async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Body>, Failure> {
        if self.refresh {
            request.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        let response = match &self.door {
            Door::Here { app, .. } => {
                let answer = app.answer(request.map(Full::new), IpAddr::V4(Ipv4Addr::LOCALHOST));
                answer.await.map(|body| body.map_err(|error| error.to_string()).boxed_unsync())
            }
            Door::There { network, key, .. } => {
                if let Some(key) = key {
                    request.headers_mut().insert(AUTHORIZATION, key.clone());
                }
                let opened = timeout(PATIENCE, network.open(request)).await;
                let response = opened.map_err(|_| self.lost("no answer in time"))?;
                let response = response.map_err(|why| self.lost(&why.to_string()))?;
                response.map(|body| body.map_err(|why| why.to_string()).boxed_unsync())
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = self.read(body).await?;
        Err(self.refusal(head.status.as_u16(), &head.headers, &body))
    }

    async fn read(&self, body: Body) -> Result<Bytes, Failure> {
        let whole = body.collect().await.map_err(|why| self.lost(&why))?;
        Ok(whole.to_bytes())
    }

    /// The service, or the connection to it, is gone.
    fn lost(&self, why: &str) -> Failure {
        let message = match &self.door {
            Door::Here { .. } => format!("the answer broke off: {why}"),
            Door::There { base, .. } => {
                format!("{base} does not answer: {why}; is a service running there? (vidra serve)")
            }
        };
        Failure::Because(Exit::Network, message)
    }

    /// What the service said, in one line that says what to do.
    pub(crate) fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Failure {
        let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
            let message = format!("{} answered {status}, and not as vidra does", self.base());
            return Failure::Because(Exit::Upstream, message);
        };
        let mut parts = vec![error.message];
        match &self.door {
            Door::Here { vidra, .. } if status == 503 && !vidra.has_key() => {
                let hint = "set YOUTUBE_API_KEY or --api-key-file, ask a service with --server, or try --demo";
                parts.push(hint.to_owned());
            }
            Door::There { .. } if status == 401 => {
                parts.push("give it with --token or VIDRA_TOKEN".to_owned());
            }
            _ => parts.extend_from_slice(&error.details),
        }
        let wait = headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
        parts.extend(wait.map(|wait| format!("try again in {}", vidra::format::span(wait))));
        Failure::Because(exit_of(status, &error.details), parts.join("; "))
    }
}

/// An answer that comes line by line.
pub(crate) struct Lines<'a> {
    service: &'a Service,
    body: Body,
    rest: BytesMut,
}

impl Lines<'_> {
    /// The next line, without its end. `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1).freeze();
                return Ok(Some(line.slice(..end)));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
                Some(Err(why)) => return Err(self.service.lost(&why)),
                None => return Ok(None),
            }
        }
    }
}

/// The body of every answer that is no success.
#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorInfo,
}

#[derive(Deserialize)]
struct ErrorInfo {
    message: String,
    details: Vec<String>,
}

fn bearer(key: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
    let mut value = value.map_err(|_| Failure::usage("--token does not hold a usable key"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_requests_of_the_rest_interface() {
        let question = Question::about("comments")
            .of("https://youtu.be/dQw4w9WgXcQ?t=1")
            .with("order", Some("time"))
            .with("search", Some("a&b"))
            .with("maxResults", None::<u32>);
        let request = question.request("http://host:1", "application/json").unwrap();
        assert_eq!(
            request.uri(),
            "http://host:1/api/comments/https%3A%2F%2Fyoutu%2Ebe%2FdQw4w9WgXcQ%3Ft%3D1?order=time&search=a%26b"
        );
        assert_eq!((request.method(), request.body().len()), (&Method::GET, 0));
    }
}
