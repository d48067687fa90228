//! The REST service that answers commands: in this process over YouTube or the simulator, or a remote one.
//! Commands send the same request to either, so that they print the same.

mod args;
mod error_body;
mod lines;
mod request;
mod stream;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Full};
use tokio::time::timeout;
use vidra::{CallOutcome, Calls, Network, Reason, Vidra};
use vidra_library::Library;
use vidra_server::{App, Config, LibraryConfig, LibraryFile};

use crate::cache_args::StoreLocation;
use crate::client::{SETTLE, builder};
use crate::cost::Spending;
use crate::database::{DatabaseArgs, OpenLibrary};
use crate::failure::{Exit, Failure, Refused, described, exit_code};
use crate::values::{Secret, http_url};

pub(crate) use args::{ServiceArgs, TokenArgs};
use error_body::{ErrorBody, advice};
use lines::LineBuffer;
pub(crate) use request::RestRequest;
use stream::EventStream;

/// The service that answers.
pub(crate) struct Service {
    backend: Backend,
    refresh: bool,
    /// Whether it may cache answers.
    may_cache: bool,
    /// How long a remote service may take to begin an answer.
    timeout: Duration,
    spending: Spending,
}

enum Backend {
    InProcess { app: Box<App>, vidra: Vidra, library: Option<Library> },
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

/// The most bytes of an answer that is not a stream.
const LONGEST_ANSWER: usize = 256 << 20;

/// The most bytes of one line in a stream. Each holds one transcript, and 12 hours of speech take about
/// 10 MB.
const LONGEST_LINE: usize = 64 << 20;

impl Service {
    /// The service that the flags and the environment select. `is_quiet` hides the cost.
    pub(crate) fn open(args: &ServiceArgs, is_quiet: bool) -> Result<Self, Failure> {
        match args.server()? {
            Some(server) => Self::remote_of(&server, args, is_quiet),
            None => Self::in_process(args, is_quiet, None),
        }
    }

    /// The service with jobs that the flags and the environment select: a remote one, or one in this process on a
    /// library.
    pub(crate) async fn open_with_library(
        args: &ServiceArgs,
        database: &DatabaseArgs,
        is_quiet: bool,
    ) -> Result<Self, Failure> {
        let service = match args.server()? {
            Some(server) => Self::remote_of(&server, args, is_quiet)?,
            None => {
                let library = database.open(&args.client).await?;
                Self::in_process(args, is_quiet, Some(library))?
            }
        };
        // The refresh of a job is a part of its request.
        Ok(Self { refresh: false, ..service })
    }

    fn remote_of(server: &str, args: &ServiceArgs, is_quiet: bool) -> Result<Self, Failure> {
        let service = Self::remote(server, &args.token)?;
        let timeout = args.client.request_timeout.saturating_add(MARGIN);
        let spending = Spending::new(args.cost, is_quiet);
        Ok(Self { refresh: args.refresh, timeout, spending, ..service })
    }

    fn in_process(
        args: &ServiceArgs,
        is_quiet: bool,
        library: Option<OpenLibrary>,
    ) -> Result<Self, Failure> {
        let store = StoreLocation::user_default(args.client.is_youtube());
        let mut builder = builder(&args.client, &store)?;
        if let Some(database) = library.as_ref().and_then(|it| it.database.as_ref()) {
            // The service of the same database spends the same quota.
            builder = builder.database(database);
        }
        let vidra = builder.build().map_err(|error| described(&error))?;
        let library = library.map(|it| it.library);
        // Without a cache of responses: a command sends each request once.
        let mut config = Config { response_cache_bytes: 0, mcp: false, ..Config::default() };
        if let Some(library) = &library {
            let (file, worker) = (LibraryFile::new(library.clone()), args.worker_config());
            config.library = Some(LibraryConfig::new(file, worker));
            config.gate.on_loopback = true;
        }
        let app = Box::new(App::new(vidra.clone(), config));
        let backend = Backend::InProcess { app, vidra, library };
        let (refresh, timeout) = (args.refresh, args.client.request_timeout);
        let (may_cache, spending) = (args.client.cache.is_on(), Spending::new(args.cost, is_quiet));
        Ok(Self { backend, refresh, may_cache, timeout, spending })
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
        let (timeout, spending) = (REQUEST_TIMEOUT + MARGIN, Spending::silent());
        Ok(Self { backend, refresh: false, may_cache: true, timeout, spending })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn fetch(&self, request: &RestRequest) -> Result<Bytes, Failure> {
        Ok(self.fetch_page(request).await?.0)
    }

    /// Sends a request for a page of a list. Returns it with the cursor of the next page, which only formats
    /// without room for it have in their head.
    pub(crate) async fn fetch_page(
        &self,
        request: &RestRequest,
    ) -> Result<(Bytes, Option<String>), Failure> {
        let answer = self.send(request).await?;
        let next = answer.headers().get(NEXT_CURSOR).and_then(|next| next.to_str().ok());
        let next = next.map(str::to_owned);
        Ok((self.read(answer.into_body()).await?, next))
    }

    /// The units that the command spends.
    pub(crate) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// Sends a request and streams the answer. It requests server-sent events instead of NDJSON, because only
    /// those have heartbeats, which distinguish a slow service from a dead one.
    pub(crate) async fn stream(&self, request: &RestRequest) -> Result<EventStream<'_>, Failure> {
        let calls_before = self.listing_calls();
        let answer = self.send(&request.clone().accept(EVENT_STREAM)).await?;
        let content_type = answer.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        if !content_type.is_some_and(|it| it.starts_with(EVENT_STREAM.as_bytes())) {
            let message = format!("{} sent no events; is it a vidra service?", self.base());
            return Err(Failure::Message(Exit::Upstream, message));
        }
        let total_videos = answer.headers().get(TOTAL_VIDEOS);
        let total_videos = total_videos.and_then(|total| total.to_str().ok()?.parse().ok());
        Ok(EventStream::new(self, answer.into_body(), total_videos, calls_before))
    }

    /// Sends a request and passes the answer to `write` as it arrives, whatever its length.
    pub(crate) async fn download(
        &self,
        request: &RestRequest,
        mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut body = self.send(request).await?.into_body();
        while let Some(data) = self.next_data(&mut body).await? {
            write(&data)?;
        }
        Ok(())
    }

    /// Sends a request and passes each line of the answer to `write` as it arrives.
    pub(crate) async fn lines(
        &self,
        request: &RestRequest,
        write: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let answer = self.send(&request.clone().accept("application/x-ndjson")).await?;
        self.read_lines(answer.into_body(), write).await
    }

    async fn read_lines(
        &self,
        mut body: Body,
        mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut lines = LineBuffer::default();
        while let Some(data) = self.next_data(&mut body).await? {
            lines.push(&data);
            std::iter::from_fn(|| lines.next()).try_for_each(|line| write(&line))?;
            self.check_length(&lines)?;
        }
        Ok(())
    }

    /// Refuses a line that does not end, so that a faulty service cannot fill the memory.
    fn check_length(&self, lines: &LineBuffer) -> Result<(), Failure> {
        if lines.unfinished() <= LONGEST_LINE {
            return Ok(());
        }
        Err(self.interrupted(&format!("a line is longer than {} MB", LONGEST_LINE >> 20)))
    }

    /// The library file of this process, and the client that fetches for it. `None` for a remote service, which runs
    /// its jobs itself.
    pub(crate) fn library(&self) -> Option<(&Library, &Vidra)> {
        match &self.backend {
            Backend::InProcess { vidra, library: Some(library), .. } => Some((library, vidra)),
            _ => None,
        }
    }

    /// How many calls this process has sent that list playlists, at one unit each. Streams do not report their
    /// cost, and that of a remote service is unknown.
    fn listing_calls(&self) -> u64 {
        let Backend::InProcess { vidra, .. } = &self.backend else { return 0 };
        let is_listing = |calls: &&Calls| LISTING.contains(&calls.endpoint);
        let is_sent = |(outcome, _): &&(CallOutcome, u64)| *outcome != CallOutcome::NotSent;
        let calls = vidra.upstream_report().calls;
        let counts =
            calls.iter().filter(is_listing).flat_map(|it| it.outcomes.iter().filter(is_sent));
        counts.map(|(_, count)| count).sum()
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
    async fn send(&self, request: &RestRequest) -> Result<Response<Body>, Failure> {
        let mut request = request.build(self.base(), self.refresh)?;
        self.spending.check()?;
        let response = match &self.backend {
            Backend::InProcess { app, .. } => {
                request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
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
        let cost = response.headers().get(QUOTA_COST).and_then(|cost| cost.to_str().ok());
        self.spending.add(cost.and_then(|cost| cost.parse().ok()).unwrap_or(0));
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
const QUOTA_COST: &str = "x-quota-cost";
const NEXT_CURSOR: &str = "x-next-cursor";

/// The endpoints of YouTube that a batch uses to list a playlist or the uploads of a channel.
const LISTING: [&str; 4] = ["channels", "playlistItems", "playlists", "videos"];

fn bearer(key: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
    let mut value = value.map_err(|_| Failure::usage("--token does not hold a usable key"))?;
    value.set_sensitive(true);
    Ok(value)
}
