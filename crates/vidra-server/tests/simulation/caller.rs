//! One caller: sends its request through the router or the library, and reads the answer or disconnects before.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue};
use futures_util::StreamExt;
use futures_util::future::poll_fn;
use http_body_util::BodyExt;
use tokio::time::{sleep, timeout};
use vidra::{BatchEvent, Cached, Error, ErrorKind, Include, PlaylistId, VideoId, Vidra};

use crate::operation::{Operation, listing};
use crate::plan::{Caller, Departure, Interface};
use crate::world::{PEER, Service, World, key};

/// The answer that a caller got.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The message of an error, and its machine-readable reason.
    pub(crate) message: String,
    pub(crate) reason: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// `hit`, `stale`, `miss` or `coalesced`.
    pub(crate) cache: Option<String>,
    pub(crate) age: Option<Duration>,
    pub(crate) cost: Option<u32>,
    pub(crate) etag: Option<String>,
    /// The results of a batch, and whether its summary arrived.
    pub(crate) results: Vec<serde_json::Value>,
    pub(crate) has_summary: bool,
    /// How many results the summary counts as a success, and how many as failed.
    pub(crate) counts: Option<(u64, u64)>,
}

pub(crate) async fn call(world: &World, number: usize, caller: &Caller) {
    let service = world.service();
    world.events.count(caller.operation.name());
    let id = world.checker.begin(number, caller);
    let performing = perform(world, &service, caller);
    let answer = match caller.departure {
        Departure::Never => Some(performing.await),
        Departure::After(time) => timeout(time, performing).await.ok(),
        Departure::AfterPolls(polls) => with_poll_limit(performing, polls).await,
    };
    match answer {
        Some(answer) => world.checker.answered(id, &answer),
        None => world.checker.left(id),
    }
}

/// Polls `future` at most this often, and drops it if it is not ready by then.
async fn with_poll_limit<F: Future>(future: F, most: u32) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(move |context| {
        if polls == most {
            return Poll::Ready(None);
        }
        polls += 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

async fn perform(world: &World, service: &Service, caller: &Caller) -> Answer {
    let needs_router = matches!(
        caller.operation,
        Operation::Quota | Operation::Cache | Operation::Ready | Operation::Metrics
    );
    match caller.interface {
        Interface::Library if !needs_router => call_library(service, caller).await,
        _ => {
            let tag = caller.is_conditional.then(|| world.checker.tag(caller)).flatten();
            let mut answer = call_router(service, caller, tag.as_ref()).await;
            if answer.status == 304 {
                world.checker.not_modified(caller, &mut answer);
            }
            answer
        }
    }
}

async fn call_router(service: &Service, caller: &Caller, tag: Option<&String>) -> Answer {
    let tool = caller.operation.tool_request().filter(|_| caller.interface == Interface::Tool);
    let mut request = tool.unwrap_or_else(|| caller.operation.request());
    let headers = request.headers_mut();
    headers.insert("x-api-key", HeaderValue::try_from(key(caller.key)).unwrap());
    if caller.no_cache {
        headers.insert("cache-control", HeaderValue::from_static("no-cache"));
    }
    if let Some(tag) = tag {
        headers.insert("if-none-match", HeaderValue::try_from(tag).unwrap());
    }
    if let Some(limit) = caller.timeout {
        let limit = format!("{}ms", limit.as_millis());
        headers.insert("x-request-timeout", HeaderValue::try_from(limit).unwrap());
    }
    let response = service.app.answer(request, PEER).await;
    let (head, body) = response.into_parts();
    let mut body = pin!(body);
    let mut bytes = vec![];
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap_or_default();
        bytes.extend_from_slice(&data);
        if !caller.read_delay.is_zero() && head.status.is_success() {
            sleep(caller.read_delay).await;
        }
    }
    let body = String::from_utf8(bytes).expect("every body is text");
    let mut answer = Answer { status: head.status.as_u16(), ..Answer::from_headers(&head.headers) };
    if answer.status >= 400 {
        let json: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        answer.error(&json["error"]);
    } else if caller.operation.is_batch() {
        answer.batch(&body);
    }
    answer.body = body;
    answer
}

/// The response of `/api/quota` for a key.
pub(crate) async fn quota(service: &Service, key: usize) -> Answer {
    let caller = Caller {
        at: Duration::ZERO,
        key,
        interface: Interface::Router,
        operation: Operation::Quota,
        timeout: None,
        no_cache: false,
        is_conditional: false,
        departure: Departure::Never,
        read_delay: Duration::ZERO,
    };
    call_router(service, &caller, None).await
}

impl Answer {
    fn from_headers(headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let seconds = |name| text(name).and_then(|it| it.parse().ok()).map(Duration::from_secs);
        Self {
            cache: text("x-cache").map(str::to_owned),
            age: seconds("age"),
            cost: text("x-quota-cost").and_then(|it| it.parse().ok()),
            etag: text("etag").map(str::to_owned),
            retry_after: seconds("retry-after"),
            ..Self::default()
        }
    }

    fn error(&mut self, error: &serde_json::Value) {
        self.message = error["message"].as_str().unwrap_or_default().to_owned();
        self.reason = error["reason"].as_str().map(str::to_owned);
    }

    /// The results in any of the three forms.
    fn batch(&mut self, body: &str) {
        if let Ok(whole) = serde_json::from_str::<serde_json::Value>(body)
            && let Some(results) = whole["results"].as_array()
        {
            self.results.clone_from(results);
            self.has_summary = true;
            self.counts = counts(&whole);
            return;
        }
        let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        for line in lines.filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()) {
            if line["position"].is_u64() {
                self.results.push(line);
            } else if line["totalVideos"].is_u64() {
                self.has_summary = true;
                self.counts = counts(&line);
            } else if line["error"].is_object() {
                self.status =
                    u16::try_from(line["error"]["code"].as_u64().unwrap_or(0)).unwrap_or(0);
                self.error(&line["error"]);
                // The head was sent long before, and events have no `Retry-After`.
                self.retry_after = Some(Duration::ZERO);
            }
        }
    }

    fn from_cached(cached: &Cached) -> Self {
        Self {
            status: 200,
            body: String::from_utf8(cached.body.to_vec()).expect("every body is text"),
            cache: Some(cached.outcome.name().to_owned()),
            age: Some(cached.age),
            ..Self::default()
        }
    }

    fn from_error(error: &Error) -> Self {
        Self {
            status: match error.kind() {
                ErrorKind::InvalidInput => 400,
                ErrorKind::NotFound => 404,
                ErrorKind::Forbidden => 403,
                ErrorKind::QuotaExhausted | ErrorKind::RateLimited => 429,
                ErrorKind::UpstreamKey | ErrorKind::Unavailable => 503,
                ErrorKind::Upstream | ErrorKind::Unreachable | ErrorKind::Blocked => 502,
                ErrorKind::Timeout => 504,
                ErrorKind::Internal => 500,
            },
            message: error.message().to_owned(),
            reason: Some(error.reason().code().to_owned()),
            // In whole seconds, as in HTTP.
            retry_after: error
                .retry_after()
                .map(|it| Duration::from_secs(it.as_secs() + u64::from(it.subsec_nanos() > 0))),
            ..Self::default()
        }
    }
}

/// The counts of a summary.
fn counts(summary: &serde_json::Value) -> Option<(u64, u64)> {
    Some((summary["succeeded"].as_u64()?, summary["failed"].as_u64()?))
}

async fn call_library(service: &Service, caller: &Caller) -> Answer {
    let allowance = service.allowances[caller.key].clone();
    let mut vidra = service.vidra.on_allowance(allowance).metered();
    if let Some(limit) = caller.timeout {
        vidra = vidra.within(limit);
    }
    if caller.no_cache {
        vidra = vidra.refreshing();
    }
    let mut answer = if caller.operation.is_batch() {
        call_library_batch(&vidra, caller).await
    } else {
        let got = match &caller.operation {
            Operation::Videos(ids) => {
                let ids: Vec<_> = ids.iter().map(|id| VideoId::parse(id).unwrap()).collect();
                vidra.videos_json(&ids).await
            }
            Operation::VideosOf { playlist, limit } => {
                let id = PlaylistId::parse(playlist).unwrap();
                vidra.playlist_videos_page(&id, None, *limit).await.map(listing::json)
            }
            Operation::Listing(listing) => listing.read(&vidra).await,
            operation @ Operation::Detailed(_) => {
                let vidra = vidra.including(Include::DETAILS.and(Include::CHAPTERS));
                vidra.lookup(&operation.lookup().expect("it is a lookup")).await
            }
            operation => vidra.lookup(&operation.lookup().expect("it is a lookup")).await,
        };
        match got {
            Ok(cached) => Answer::from_cached(&cached),
            Err(error) => Answer::from_error(&error),
        }
    };
    answer.cost = Some(vidra.cost().units());
    answer
}

async fn call_library_batch(vidra: &Vidra, caller: &Caller) -> Answer {
    let (id, query) = caller.operation.batch_query().expect("it is a batch");
    let mut events = pin!(vidra.playlist_transcripts(&id, &query));
    let mut answer = Answer { status: 200, ..Answer::default() };
    while let Some(event) = events.next().await {
        match event {
            Ok(BatchEvent::Result(result)) => {
                answer.results.push(serde_json::to_value(result).unwrap());
            }
            Ok(BatchEvent::Done(summary)) => {
                answer.has_summary = true;
                answer.counts = Some((summary.succeeded, summary.failed));
            }
            Ok(_) => {}
            Err(error) => {
                let results = std::mem::take(&mut answer.results);
                // An error is the last item.
                return Answer { results, ..Answer::from_error(&error) };
            }
        }
        if !caller.read_delay.is_zero() {
            sleep(caller.read_delay).await;
        }
    }
    answer
}
