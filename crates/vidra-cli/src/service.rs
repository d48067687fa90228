//! The REST service that answers commands: in this process over YouTube or the simulator, or a remote one.
//! Commands send the same request to either, so that they print the same.

mod error_body;
mod lines;
mod request;

use std::env;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clap::builder::FalseyValueParser;
use futures_util::StreamExt;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full};
use tokio::time::timeout;
use vidra::{Network, Reason, Vidra};
use vidra_server::{App, Config};

use crate::cache_args::StoreLocation;
use crate::client::{ClientArgs, SETTLE, client};
use crate::failure::{Exit, Failure, Refused, exit_code};
use crate::values::{Secret, http_url};

use error_body::{ErrorBody, advice};
use lines::LineBuffer;
pub(crate) use request::RestRequest;

/// Which service a command uses.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// Send the request to a running service instead of YouTube [env: VIDRA_SERVER]
    // Not read by clap, which treats a variable like a flag: --demo has to win over it.
    #[arg(long, value_name = "URL")]
    server: Option<String>,

    #[command(flatten)]
    token: TokenArgs,

    /// Ignore cached answers
    #[arg(long, env = "VIDRA_REFRESH", value_parser = FalseyValueParser::new())]
    refresh: bool,

    #[command(flatten)]
    client: ClientArgs,
}

/// How a caller authenticates.
#[derive(Debug, clap::Args)]
pub(crate) struct TokenArgs {
    /// Caller key for the service. Other users of this machine can read arguments: prefer the variable
    #[arg(long, env = "VIDRA_TOKEN", value_name = "KEY", hide_env_values = true)]
    token: Option<Secret>,
}

/// The service that answers.
pub(crate) struct Service {
    backend: Backend,
    refresh: bool,
    /// Whether it may cache answers.
    may_cache: bool,
    /// How long a remote service may take to begin an answer.
    timeout: Duration,
}

enum Backend {
    InProcess { app: Box<App>, vidra: Vidra },
    Remote { network: Network, base: String, key: Option<HeaderValue> },
}

type Body = UnsyncBoxBody<Bytes, String>;

/// The default request timeout of a service.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// How long the command waits for a remote service beyond the request timeout: the time to connect and to
/// receive the service's own error.
const MARGIN: Duration = Duration::from_secs(30);

/// The longest pause within an answer. A stream that has no event sends a heartbeat every 15 seconds, and
/// every other answer is complete when it begins.
const SILENCE: Duration = Duration::from_secs(60);

/// The most bytes of one line in a stream. Each holds one transcript, and 12 hours of speech take about
/// 10 MB.
const LONGEST_LINE: usize = 64 << 20;

/// The most bytes of an answer that is not a stream.
const LONGEST_ANSWER: usize = 256 << 20;

impl Service {
    /// The service that the flags and the environment select.
    pub(crate) fn open(args: &ServiceArgs) -> Result<Self, Failure> {
        let is_demo = args.client.demo;
        if args.server.is_some() && is_demo && env::var_os("VIDRA_DEMO").is_none() {
            return Err(Failure::usage("--server and --demo cannot be used together"));
        }
        let from_env = || env::var("VIDRA_SERVER").ok().filter(|url| !is_demo && !url.is_empty());
        if let Some(server) = args.server.clone().or_else(from_env) {
            let service = Self::remote(&server, &args.token)?;
            let timeout = args.client.request_timeout.saturating_add(MARGIN);
            return Ok(Self { refresh: args.refresh, timeout, ..service });
        }
        let vidra = client(&args.client, &StoreLocation::user_default(args.client.demo))?;
        // Without a cache of responses: a command sends each request once.
        let config = Config { response_cache_bytes: 0, mcp: false, ..Config::default() };
        let app = Box::new(App::new(vidra.clone(), config));
        let backend = Backend::InProcess { app, vidra };
        let (refresh, timeout) = (args.refresh, args.client.request_timeout);
        Ok(Self { backend, refresh, may_cache: args.client.cache.is_on(), timeout })
    }

    /// A service on another machine or in another process.
    pub(crate) fn remote(server: &str, TokenArgs { token }: &TokenArgs) -> Result<Self, Failure> {
        // The error does not quote the URL, because it may contain a password.
        let server = http_url(server).map_err(|why| format!("--server: {why}"))?;
        let token = token.as_ref().map(|Secret(key)| key.trim()).filter(|key| !key.is_empty());
        let backend = Backend::Remote {
            network: Network::new(),
            base: server.trim_end_matches('/').trim_end_matches("/api").to_owned(),
            key: token.map(bearer).transpose()?,
        };
        Ok(Self { backend, refresh: false, may_cache: true, timeout: REQUEST_TIMEOUT + MARGIN })
    }

    /// Sends a request and reads the whole answer, which is JSON.
    pub(crate) async fn fetch(&self, request: &RestRequest) -> Result<Bytes, Failure> {
        let answer = self.send(request, "application/json").await?;
        self.read(answer.into_body()).await
    }

    /// Sends a request and streams the answer. It requests server-sent events instead of NDJSON, because only
    /// those have heartbeats, which distinguish a slow service from a dead one.
    pub(crate) async fn stream(&self, request: &RestRequest) -> Result<EventStream<'_>, Failure> {
        let answer = self.send(request, EVENT_STREAM).await?;
        let content_type = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !content_type.is_some_and(|it| it.starts_with(EVENT_STREAM.as_bytes())) {
            let message = format!("{} sent no events; is it a vidra service?", self.base());
            return Err(Failure::Message(Exit::Upstream, message));
        }
        let total_videos = answer.headers().get(TOTAL_VIDEOS);
        let total_videos = total_videos.and_then(|total| total.to_str().ok()?.parse().ok());
        let (body, lines) = (answer.into_body(), LineBuffer::default());
        Ok(EventStream { service: self, total_videos, body, lines })
    }

    /// Waits until the cache has stored what was fetched.
    pub(crate) async fn settle(&self) {
        if let Backend::InProcess { vidra, .. } = &self.backend {
            let _ = timeout(SETTLE, vidra.settled()).await;
        }
    }

    fn base(&self) -> &str {
        match &self.backend {
            Backend::InProcess { .. } => "",
            Backend::Remote { base, .. } => base,
        }
    }

    /// Sends a request. Every status but success is a failure.
    async fn send(
        &self,
        request: &RestRequest,
        accept: &'static str,
    ) -> Result<Response<Body>, Failure> {
        let mut request = request.build(self.base(), accept, self.refresh)?;
        let response = match &self.backend {
            Backend::InProcess { app, .. } => {
                let answer = app.answer(request.map(Full::new), IpAddr::V4(Ipv4Addr::LOCALHOST));
                answer.await.map(|body| body.map_err(|error| error.to_string()).boxed_unsync())
            }
            Backend::Remote { network, base, key } => {
                if let Some(key) = key {
                    request.headers_mut().insert(AUTHORIZATION, key.clone());
                }
                let unreachable = |why: String| {
                    let hint = "is a service running there? (vidra serve)";
                    let message = format!("{base} does not answer: {why}; {hint}");
                    Failure::Message(Exit::Network, message)
                };
                let waited = self.timeout.as_secs();
                let opened = timeout(self.timeout, network.open(request)).await;
                let response = opened
                    .map_err(|_| format!("no answer within {waited} s (--request-timeout)"))
                    .and_then(|response| response.map_err(|why| why.to_string()))
                    .map_err(unreachable)?;
                response.map(|body| body.map_err(|why| why.to_string()).boxed_unsync())
            }
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = self.read(body).await?;
        Err(self.error_response(head.status.as_u16(), &head.headers, &body))
    }

    /// Reads a body to its end.
    async fn read(&self, mut body: Body) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(data) = self.next_data(&mut body).await? {
            if whole.len() + data.len() > LONGEST_ANSWER {
                let limit = LONGEST_ANSWER >> 20;
                return Err(self.interrupted(&format!("the answer is longer than {limit} MB")));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// The next bytes of a body, or `None` at its end. Fails when none arrive for [`SILENCE`].
    async fn next_data(&self, body: &mut Body) -> Result<Option<Bytes>, Failure> {
        let Ok(data) = timeout(SILENCE, BodyDataStream::new(body).next()).await else {
            return Err(self.interrupted(&format!("no data for {} s", SILENCE.as_secs())));
        };
        data.transpose().map_err(|why| self.interrupted(&why))
    }

    /// The failure of an answer that began and cannot be read to its end.
    fn interrupted(&self, why: &str) -> Failure {
        let whose = match &self.backend {
            Backend::InProcess { .. } => String::new(),
            Backend::Remote { base, .. } => format!(" of {base}"),
        };
        Failure::Message(Exit::Network, format!("the answer{whose} broke off: {why}"))
    }

    /// The failure of an error response: one line with the cause and the remedy.
    pub(crate) fn error_response(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> Failure {
        let Ok(ErrorBody { error }) = serde_json::from_slice(body) else {
            let hint = match headers.get(LOCATION).and_then(|to| to.to_str().ok()) {
                Some(to) => format!("it redirects to {to}: use that URL"),
                None => "is it a vidra service?".to_owned(),
            };
            let message = format!("{} answered {status}; {hint}", self.base());
            return Failure::Message(Exit::Upstream, message);
        };
        let reason = error.reason.as_deref().and_then(Reason::from_code);
        let mut parts = vec![error.message];
        match &self.backend {
            Backend::Remote { .. } if status == 401 => {
                parts.push("set it with --token or VIDRA_TOKEN".to_owned());
            }
            _ => parts.extend(error.details),
        }
        parts.extend(reason.and_then(|reason| self.advice(reason)).map(str::to_owned));
        let header = headers.get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
        let retry_after = header.or(error.retry_after).map(Duration::from_secs);
        let (exit, message) = (exit_code(status, reason), parts.join("; "));
        Failure::Refused(Refused { exit, reason, message, retry_after })
    }

    /// The advice for the user about an error. `None` if only the operator of a remote service can solve it.
    pub(crate) fn advice(&self, reason: Reason) -> Option<&'static str> {
        match &self.backend {
            Backend::InProcess { .. } => advice(reason),
            Backend::Remote { .. } => None,
        }
    }

    /// Whether the service may have cached what it has fetched.
    pub(crate) fn may_cache(&self) -> bool {
        self.may_cache
    }
}

const EVENT_STREAM: &str = "text/event-stream";
const TOTAL_VIDEOS: &str = "x-total-videos";

/// An answer that arrives as server-sent events.
pub(crate) struct EventStream<'a> {
    service: &'a Service,
    /// The number of entries in the playlist. `None` from an earlier release.
    pub(crate) total_videos: Option<u64>,
    body: Body,
    lines: LineBuffer,
}

impl EventStream<'_> {
    /// The data of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(data) = self.lines.next_data() {
                return Ok(Some(data));
            }
            if self.lines.unfinished() > LONGEST_LINE {
                let limit = LONGEST_LINE >> 20;
                let why = format!("an event is longer than {limit} MB");
                return Err(self.service.interrupted(&why));
            }
            match self.service.next_data(&mut self.body).await? {
                Some(data) => self.lines.push(&data),
                None => return Ok(None),
            }
        }
    }
}

fn bearer(key: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
    let mut value = value.map_err(|_| Failure::usage("--token does not hold a usable key"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use tokio::time::{Instant, sleep};

    use super::*;

    fn remote() -> Service {
        Service::remote("http://host:1/", &TokenArgs { token: None }).unwrap()
    }

    /// A body that sends these parts, each after a delay in seconds, and never ends.
    fn endless(parts: Vec<(u64, &'static str)>) -> Body {
        let parts = stream::iter(parts).then(|(wait, part)| async move {
            sleep(Duration::from_secs(wait)).await;
            Ok(Frame::data(Bytes::from_static(part.as_bytes())))
        });
        StreamBody::new(parts.chain(stream::pending())).boxed_unsync()
    }

    fn events(service: &Service, body: Body) -> EventStream<'_> {
        EventStream { service, total_videos: None, body, lines: LineBuffer::default() }
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[track_caller]
    fn is_interruption<T: std::fmt::Debug>(result: Result<T, Failure>, why: &str) {
        match result {
            Err(Failure::Message(Exit::Network, message)) => {
                assert_eq!(message, format!("the answer of http://host:1 broke off: {why}"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_service_times_out() {
        let service = remote();
        let mut stream = events(&service, endless(vec![(1, "data: {}\n\ndata: half")]));
        assert_eq!(stream.next().await.unwrap().unwrap(), "{}");
        let began = Instant::now();
        let next = timeout(DAY, stream.next()).await.expect("no hang");
        is_interruption(next, "no data for 60 s");
        assert_eq!(began.elapsed(), SILENCE);
        let read = timeout(DAY, service.read(endless(vec![(1, "["), (59, "1")]))).await;
        is_interruption(read.expect("no hang"), "no data for 60 s");
        assert_eq!(began.elapsed(), SILENCE * 3);
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_keep_a_slow_stream_alive() {
        let service = remote();
        let mut parts = vec![(15, ":\n\n"); 1_000];
        parts.push((15, "event: result\nid: 1\ndata: {\"a\":"));
        parts.push((59, "1}\n\n"));
        let mut stream = events(&service, endless(parts));
        assert_eq!(stream.next().await.unwrap().unwrap(), "{\"a\":1}");
    }

    #[tokio::test(start_paused = true)]
    async fn overlong_event_is_rejected() {
        let service = remote();
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let pieces =
            vec![piece; (LONGEST_LINE >> 20) + 1].into_iter().map(|it| Ok(Frame::data(it)));
        let body = StreamBody::new(stream::iter(pieces).chain(stream::pending())).boxed_unsync();
        is_interruption(events(&service, body).next().await, "an event is longer than 64 MB");
    }
}
