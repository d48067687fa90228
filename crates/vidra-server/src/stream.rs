//! Streams: a batch as NDJSON lines or server-sent events, and a list as NDJSON lines.

mod job;

use std::convert::Infallible;
use std::error::Error as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::{Either, select};
use futures_util::{Stream, StreamExt, stream};
use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;
use vidra::{BatchEvent, BatchSummary, PlaylistId, Result, SourceId, VideoTranscript};

use crate::accept::preferred_type;
use crate::drain::{Drain, STREAM_LIMIT};
use crate::error_body::{ApiError, ErrorBody};

pub(crate) use job::{or_broken, sse_until_shutdown, with_error_line};

/// The form of the response to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchFormat {
    /// One JSON document at the end.
    Whole,
    /// A line or event for each result, as soon as it is available.
    Stream(StreamFormat),
}

/// The form of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFormat {
    /// One JSON object per line.
    Ndjson,
    /// Server-sent events.
    Sse,
}

/// The longest silence of a stream. Proxies close a connection that is silent for a minute.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Tells nginx to pass each line on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The number of entries in the source, for the progress of a reader. Absent if it is unknown.
const X_TOTAL_VIDEOS: HeaderName = HeaderName::from_static("x-total-videos");

impl BatchFormat {
    /// The format that `Accept` prefers.
    pub(crate) fn preferred(headers: &HeaderMap) -> Self {
        let types = [
            ("application/json", Self::Whole),
            ("text/event-stream", Self::Stream(StreamFormat::Sse)),
            ("application/x-ndjson", Self::Stream(StreamFormat::Ndjson)),
        ];
        preferred_type(headers, &types).unwrap_or(Self::Whole)
    }
}

/// Streams the events of a batch. The response begins when the first page of the source has arrived, so
/// an error before that is an ordinary error response. If the service shuts down before the batch ends, the
/// last event is an error.
pub(crate) async fn respond(
    events: impl Stream<Item = Result<BatchEvent>> + Send + 'static,
    format: StreamFormat,
    drain: Drain,
    summary: impl FnOnce(BatchSummary) -> SummaryLine + Send + 'static,
) -> Result<Response, ApiError> {
    let mut events = Box::pin(events);
    let total_videos = match events.next().await {
        Some(Ok(BatchEvent::Started { total_videos, .. })) => total_videos,
        Some(Err(error)) => return Err(error.into()),
        Some(Ok(_)) | None => return Err(ApiError::internal("a batch did not begin")),
    };
    let mut summary = Some(summary);
    let lines = events
        .filter_map(move |event| std::future::ready(BatchLine::from_event(event, &mut summary)));
    let lines = until_shutdown(with_heartbeat(lines), drain);
    let mut response = match format {
        StreamFormat::Sse => {
            let events = lines.zip(stream::iter(1..));
            let events = events.map(|(line, id)| Ok::<_, Infallible>(line.event(id)));
            Sse::new(events).into_response()
        }
        StreamFormat::Ndjson => ndjson(lines),
    };
    let headers = response.headers_mut();
    add_stream_headers(headers);
    if let Some(total) = total_videos {
        headers.insert(X_TOTAL_VIDEOS, total.into());
    }
    Ok(response)
}

/// Streams the items of a list as NDJSON. The response begins with the first item or after 15 seconds. An error before
/// that is an ordinary error response.
pub(crate) async fn respond_with_list(
    items: impl Stream<Item = Result<Value>> + Send + 'static,
    drain: Drain,
) -> Result<Response, ApiError> {
    let mut items = Box::pin(items.peekable());
    if let Ok(Some(Err(error))) = timeout(HEARTBEAT, items.as_mut().peek()).await {
        return Err(error.clone().into());
    }
    let start = (items, Some(0));
    let lines = stream::unfold(start, |(mut items, count)| async move {
        let count = count?;
        Some(match items.next().await {
            Some(Ok(item)) => (ListLine::result(item), (items, Some(count + 1))),
            Some(Err(error)) => (ListLine::Error(line_of(error, "list failed")), (items, None)),
            None => (ListLine::Summary(ListSummary { count }), (items, None)),
        })
    });
    let lines = until_shutdown(with_heartbeat(Box::pin(lines)), drain);
    let mut response = ndjson(lines);
    add_stream_headers(response.headers_mut());
    Ok(response)
}

/// Adds the headers of every stream. Server-sent events have another `Cache-Control` by themselves.
pub(crate) fn add_stream_headers(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
}

/// A line of a stream.
trait Line: Serialize + Send + 'static {
    fn waiting(wait: Waiting) -> Self;
    fn error(error: ErrorBody) -> Self;
    /// The wait, if this line reports one.
    fn wait(&self) -> Option<&Waiting>;

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn ndjson(lines: impl Stream<Item = impl Line> + Send + 'static) -> Response {
    let lines = lines.map(|line| Ok::<_, Infallible>(line.json() + "\n"));
    let ndjson = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (ndjson, Body::from_stream(lines)).into_response()
}

/// The last line of a stream that failed. The status has been sent, so it is the body of the error alone.
fn line_of(error: vidra::Error, message: &'static str) -> ErrorBody {
    let (reason, source) = (error.reason().code(), error.source());
    tracing::warn!(reason, source, %error, "{message}");
    ApiError::from(error).into_line()
}

/// The lines until the service has to stop, and then an error.
fn until_shutdown<L: Line>(
    lines: impl Stream<Item = L> + Unpin,
    drain: Drain,
) -> impl Stream<Item = L> {
    let end = Box::pin(drain.has_lasted(STREAM_LIMIT));
    until(lines, end, || L::error(ApiError::shutting_down().into_line()))
}

/// Adds a `waiting` line whenever nothing else was sent for 15 seconds.
fn with_heartbeat<L: Line>(lines: impl Stream<Item = L> + Unpin) -> impl Stream<Item = L> + Unpin {
    // The end of the last reported wait.
    let start = (lines, Instant::now());
    let beating = stream::unfold(start, |(mut lines, wait_ends)| async move {
        let line = match timeout(HEARTBEAT, lines.next()).await {
            Ok(line) => line?,
            Err(_elapsed) => L::waiting(Waiting::new(wait_ends.duration_since(Instant::now()))),
        };
        let wait_ends = match line.wait() {
            Some(wait) => Instant::now() + Duration::from_secs_f64(wait.waiting),
            None => wait_ends,
        };
        Some((line, (lines, wait_ends)))
    });
    Box::pin(beating)
}

/// `events` until `end` resolves, and then one last item.
fn until<T>(
    events: impl Stream<Item = T> + Unpin,
    end: impl Future<Output = ()> + Unpin,
    last: fn() -> T,
) -> impl Stream<Item = T> {
    stream::unfold(Some((events, end)), move |rest| async move {
        let (mut events, end) = rest?;
        // The end comes first: with a slow reader an event is always ready.
        match select(end, events.next()).await {
            Either::Left(((), _)) => Some((last(), None)),
            Either::Right((event, end)) => Some((event?, Some((events, end)))),
        }
    })
}

/// A line of a stream while there is no result.
#[derive(Serialize, ToSchema)]
pub(crate) struct Waiting {
    /// Seconds until an entry that waits for the rate limiter may continue; 0 if none waits.
    #[schema(example = 3.6)]
    waiting: f64,
}

impl Waiting {
    /// A wait, to the millisecond, as all times of the service.
    fn new(wait: Duration) -> Self {
        Self { waiting: wait.as_millis() as f64 / 1000.0 }
    }
}

/// A server-sent event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation: `BatchLine::event` writes it")]
pub(crate) struct BatchEventText {
    /// The kind of the line.
    event: EventName,
    /// The number of the event in its stream, from 1.
    #[schema(pattern = "^[1-9][0-9]*$", example = "1")]
    id: String,
    /// A `BatchLine` as JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "documentation: `BatchLine::event` writes it")]
pub(crate) enum EventName {
    Result,
    Waiting,
    Summary,
    Error,
}

/// A line of a stream, or the `data` of an event.
#[derive(Serialize, ToSchema)]
#[schema(rename_all = "lowercase")]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum BatchLine {
    /// Event `result`: the result of an entry. Results are in no particular order.
    Result(VideoTranscript),
    /// Event `waiting`: entries wait for the rate limiter, or no result was ready for 15 seconds.
    Waiting(Waiting),
    /// Event `summary`: the batch is complete. It is the last line.
    Summary(SummaryLine),
    /// Event `error`: the source could not be read to its end, or the service is shutting down. It is the
    /// last line, in place of the summary.
    Error(ErrorBody),
}

impl Line for BatchLine {
    fn waiting(wait: Waiting) -> Self {
        Self::Waiting(wait)
    }

    fn error(error: ErrorBody) -> Self {
        Self::Error(error)
    }

    fn wait(&self) -> Option<&Waiting> {
        if let Self::Waiting(wait) = self { Some(wait) } else { None }
    }
}

/// The totals of a batch. They name the source as the endpoint does.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryLine {
    /// The playlist's id. Absent in a batch of `POST /api/transcripts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, nullable = false, required = false, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf")]
    playlist_id: Option<PlaylistId>,
    /// The source of the videos. Absent in a batch of `POST /api/playlist/{id}/transcript`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, required = false)]
    source: Option<SourceId>,
    /// The number of entries in the source. With `to` or `since` it is YouTube's own count, unless the batch read the
    /// list to its end.
    total_videos: u64,
    /// The first and last requested position.
    #[schema(example = json!([1, 25]))]
    requested_range: [u64; 2],
    /// The number of successful results.
    succeeded: u64,
    /// The number of failed results.
    failed: u64,
}

impl SummaryLine {
    /// The totals, with the source.
    pub(crate) fn with_source(summary: BatchSummary) -> Self {
        let BatchSummary { source, total_videos, requested_range, succeeded, failed, .. } = summary;
        let (playlist_id, source) = (None, Some(source));
        Self { playlist_id, source, total_videos, requested_range, succeeded, failed }
    }

    /// The totals, with the id of the playlist.
    pub(crate) fn with_playlist_id(playlist_id: PlaylistId, summary: BatchSummary) -> Self {
        let line = Self::with_source(summary);
        Self { playlist_id: Some(playlist_id), source: None, ..line }
    }
}

/// A line of a list.
#[derive(Serialize, ToSchema)]
#[schema(rename_all = "lowercase")]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum ListLine {
    /// The next item, with its chosen members. The type of a search result is `result`.
    #[schema(value_type = Object)]
    Result(Value),
    /// No item was ready for 15 seconds.
    Waiting(Waiting),
    /// The list is complete. It is the last line.
    Summary(ListSummary),
    /// The list could not be read to its end, or the service is shutting down. It is the last line, in place of the
    /// summary.
    Error(ErrorBody),
}

impl ListLine {
    /// The line of an item. A search result has a `type` of its own, which is `result` in a line.
    fn result(mut item: Value) -> Self {
        if let Some(members) = item.as_object_mut()
            && let Some(kind) = members.remove("type")
        {
            members.insert("result".to_owned(), kind);
        }
        Self::Result(item)
    }
}

/// The totals of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct ListSummary {
    /// The number of items that were sent.
    #[schema(example = 120)]
    count: u64,
}

impl Line for ListLine {
    fn waiting(wait: Waiting) -> Self {
        Self::Waiting(wait)
    }

    fn error(error: ErrorBody) -> Self {
        Self::Error(error)
    }

    fn wait(&self) -> Option<&Waiting> {
        if let Self::Waiting(wait) = self { Some(wait) } else { None }
    }
}

impl BatchLine {
    /// `None` for an event that is not sent. `summary` is the form of the summary, which is sent once.
    fn from_event(
        event: Result<BatchEvent>,
        summary: &mut Option<impl FnOnce(BatchSummary) -> SummaryLine>,
    ) -> Option<Self> {
        Some(match event {
            Ok(BatchEvent::Result(result)) => Self::Result(result),
            Ok(BatchEvent::Waiting(wait)) => Self::Waiting(Waiting::new(wait)),
            Ok(BatchEvent::Done(done)) => Self::Summary(summary.take()?(done)),
            Err(error) => Self::Error(line_of(error, "batch failed")),
            // The head of the response reports the start.
            Ok(_) => return None,
        })
    }

    fn event(&self, id: usize) -> Event {
        let name = match self {
            Self::Result(_) => "result",
            Self::Waiting(_) => "waiting",
            Self::Summary(_) => "summary",
            Self::Error(_) => "error",
        };
        // JSON has no raw line breaks, so one data line is enough.
        Event::default().event(name).id(id.to_string()).data(self.json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow reader of a batch finds an event whenever it reads.
    #[tokio::test]
    async fn a_stream_that_always_has_an_event_ends_too() {
        let mut events = Box::pin(until(stream::repeat(1), std::future::ready(()), || 2));
        assert_eq!((events.next().await, events.next().await), (Some(2), None));
    }
}
