//! Who answers: the REST service, in this process over the platform or the demo world, or one that runs
//! elsewhere. Commands ask the same question of either, so that they show the same.

use std::env;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clap::builder::FalseyValueParser;
use http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER};
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
use crate::client::{ClientArgs, SETTLE, client};
use crate::failure::{Exit, Failure, exit_of};
use crate::values::http_url;

/// Whom a command asks.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// Ask a running service rather than YouTube [env: VIDRA_SERVER]
    // Not by clap, to which a variable is as good as a flag: --demo has to win over it.
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    #[command(flatten)]
    token: TokenArgs,

    /// Ignore what is cached
    #[arg(long, env = "VIDRA_REFRESH", value_parser = FalseyValueParser::new())]
    refresh: bool,

    #[command(flatten)]
    client: ClientArgs,
}

/// How a caller shows who it is.
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    /// The key that the service asks for. Others on this machine can read arguments: better set the
    /// variable
    #[arg(long, env = "VIDRA_TOKEN", value_name = "KEY", hide_env_values = true)]
    token: Option<Token>,
}

/// A caller's key, which is never shown.
#[derive(Clone)]
struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl From<String> for Token {
    fn from(key: String) -> Self {
        Self(key)
    }
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
    /// Whether a cached answer will do whatever was asked for.
    lenient: bool,
}

type Body = UnsyncBoxBody<Bytes, String>;

/// How long a service elsewhere may take to begin an answer, or to go on with it: a silent one is gone.
/// What takes longer is asked for line by line, which begins at once.
const PATIENCE: Duration = Duration::from_secs(600);

impl Question {
    /// `GET /api/{resource}`.
    pub(crate) fn about(resource: &str) -> Self {
        let path = format!("/api/{resource}");
        Self { method: Method::GET, path, body: None, lenient: false }
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

    /// The same where `--refresh` is meant for another question.
    pub(crate) fn known_will_do(self) -> Self {
        Self { lenient: true, ..self }
    }

    fn request(&self, service: &Service, accept: &'static str) -> Result<Request<Bytes>, Failure> {
        let base = service.base();
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{base}{}", self.path))
            .header(ACCEPT, accept);
        let request = match self.body {
            Some(_) => request.header(CONTENT_TYPE, "application/json"),
            None => request,
        };
        let request = match service.refresh && !self.lenient {
            true => request.header(CACHE_CONTROL, "no-cache"),
            false => request,
        };
        let request = request.body(body.into());
        request.map_err(|_| Failure::usage("that cannot be an id or URL: it is too long"))
    }
}

impl Service {
    /// The service that was asked for.
    pub(crate) fn open(args: &ServiceArgs) -> Result<Self, Failure> {
        let is_demo = args.client.demo;
        if args.server.is_some() && is_demo && env::var_os("VIDRA_DEMO").is_none() {
            return Err(Failure::usage("--server and --demo do not go together"));
        }
        let told = || env::var("VIDRA_SERVER").ok().filter(|url| !is_demo && !url.is_empty());
        if let Some(server) = args.server.clone().or_else(told) {
            let service = Self::at(&server, &args.token)?;
            return Ok(Self { refresh: args.refresh, ..service });
        }
        let vidra = client(&args.client, &Place::of_the_user(args.client.demo))?;
        // What is sent once is not worth keeping ready.
        let config = Config { ready_bytes: 0, mcp: false, ..Config::default() };
        let app = Box::new(App::new(vidra.clone(), config));
        Ok(Self { door: Door::Here { app, vidra }, refresh: args.refresh })
    }

    /// One that runs elsewhere.
    pub(crate) fn at(server: &str, TokenArgs { token }: &TokenArgs) -> Result<Self, Failure> {
        // Not quoted: it may hold a password.
        let server = http_url(server).map_err(|why| format!("--server: {why}"))?;
        let token = token.as_ref().map(|Token(key)| key.trim()).filter(|key| !key.is_empty());
        let door = Door::There {
            network: Network::new(),
            base: server.trim_end_matches('/').trim_end_matches("/api").to_owned(),
            key: token.map(bearer).transpose()?,
        };
        Ok(Self { door, refresh: false })
    }

    /// The whole answer, as JSON.
    pub(crate) async fn ask(&self, question: &Question) -> Result<Bytes, Failure> {
        let answer = self.send(question.request(self, "application/json")?).await?;
        self.read(answer.into_body()).await
    }

    /// An answer that comes line by line.
    pub(crate) async fn ask_for_lines(&self, question: &Question) -> Result<Lines<'_>, Failure> {
        let answer = self.send(question.request(self, "application/x-ndjson")?).await?;
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
            let hint = match headers.get(LOCATION).and_then(|to| to.to_str().ok()) {
                Some(to) => format!("it leads to {to}: ask there"),
                None => "is it a vidra service?".to_owned(),
            };
            let message = format!("{} answered {status}; {hint}", self.base());
            return Failure::Because(Exit::Upstream, message);
        };
        let mut parts = vec![error.message];
        match &self.door {
            Door::Here { .. } => {
                let hint = "set YOUTUBE_API_KEY or --api-key-file, ask a service with --server, or try --demo";
                // There is no service to be started again.
                let is_for_a_service = |line: &&String| line.starts_with("set YOUTUBE_API_KEY");
                let hints = error.details.iter().map(|line| match is_for_a_service(&line) {
                    true => hint.to_owned(),
                    false => line.clone(),
                });
                parts.extend(hints);
            }
            Door::There { .. } if status == 401 => {
                parts.push("give it with --token or VIDRA_TOKEN".to_owned());
            }
            Door::There { .. } => parts.extend_from_slice(&error.details),
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
        let service = Service::at("http://host:1/", &TokenArgs { token: None }).unwrap();
        let question = Question::about("comments")
            .of("https://youtu.be/dQw4w9WgXcQ?t=1")
            .with("order", Some("time"))
            .with("search", Some("a&b"))
            .with("maxResults", None::<u32>);
        let request = question.request(&service, "application/json").unwrap();
        assert_eq!(
            request.uri(),
            "http://host:1/api/comments/https%3A%2F%2Fyoutu%2Ebe%2FdQw4w9WgXcQ%3Ft%3D1?order=time&search=a%26b"
        );
        assert_eq!((request.method(), request.body().len()), (&Method::GET, 0));
    }
}
