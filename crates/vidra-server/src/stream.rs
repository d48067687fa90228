//! Responses to a batch: one JSON document, or a stream of NDJSON lines or server-sent events.

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
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;
use vidra::{BatchEvent, BatchSummary, Result, VideoTranscript};

use crate::accept::preferred_type;
use crate::drain::{Drain, STREAM_LIMIT};
use crate::error_body::{ApiError, ErrorBody};

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
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Tells nginx to pass each line on at once.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The number of entries in the playlist, for the progress of a reader.
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

/// Streams the events of a batch. The response begins when the first page of the playlist has arrived, so
/// an error before that is an ordinary error response. If the service shuts down before the batch ends, the
/// last event is an error.
pub(crate) async fn respond(
    events: impl Stream<Item = Result<BatchEvent>> + Send + 'static,
    format: StreamFormat,
    drain: Drain,
) -> Result<Response, ApiError> {
    let mut events = Box::pin(events);
    let total_videos = match events.next().await {
        Some(Ok(BatchEvent::Started { total_videos })) => total_videos,
        Some(Err(error)) => return Err(error.into()),
        Some(Ok(_)) | None => return Err(ApiError::internal("a batch did not begin")),
    };
    let lines = events.filter_map(|event| std::future::ready(BatchLine::from_event(event)));
    let lines = until(with_heartbeat(lines), Box::pin(drain.has_lasted(STREAM_LIMIT)), || {
        BatchLine::Error(ApiError::shutting_down().into_line())
    });
    let mut response = match format {
        StreamFormat::Sse => {
            let events = lines.zip(stream::iter(1..));
            let events = events.map(|(line, id)| Ok::<_, Infallible>(line.event(id)));
            Sse::new(events).into_response()
        }
        StreamFormat::Ndjson => {
            let lines = lines.map(|line| Ok::<_, Infallible>(line.json() + "\n"));
            let ndjson = [(header::CONTENT_TYPE, "application/x-ndjson")];
            (ndjson, Body::from_stream(lines)).into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    headers.insert(X_TOTAL_VIDEOS, total_videos.into());
    Ok(response)
}

/// Adds a `waiting` line whenever nothing else was sent for 15 seconds.
fn with_heartbeat(
    lines: impl Stream<Item = BatchLine> + Unpin,
) -> impl Stream<Item = BatchLine> + Unpin {
    // The end of the last reported wait.
    let start = (lines, Instant::now());
    let beating = stream::unfold(start, |(mut lines, wait_ends)| async move {
        let line = match timeout(HEARTBEAT, lines.next()).await {
            Ok(line) => line?,
            Err(_elapsed) => BatchLine::waiting(wait_ends.duration_since(Instant::now())),
        };
        let wait_ends = match &line {
            BatchLine::Waiting(wait) => Instant::now() + Duration::from_secs_f64(wait.waiting),
            _ => wait_ends,
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
        match select(events.next(), end).await {
            Either::Left((event, end)) => Some((event?, Some((events, end)))),
            Either::Right(((), _)) => Some((last(), None)),
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
    Summary(BatchSummary),
    /// Event `error`: the playlist could not be read to its end, or the service is shutting down. It is the
    /// last line, in place of the summary.
    Error(ErrorBody),
}

impl BatchLine {
    /// `None` for an event that is not sent.
    fn from_event(event: Result<BatchEvent>) -> Option<Self> {
        Some(match event {
            // The head of the response reports it.
            Ok(BatchEvent::Started { .. }) => return None,
            Ok(BatchEvent::Result(result)) => Self::Result(result),
            Ok(BatchEvent::Waiting(wait)) => Self::waiting(wait),
            Ok(BatchEvent::Done(summary)) => Self::Summary(summary),
            // The status has been sent, so this is the body of the error alone.
            Err(error) => {
                let (reason, source) = (error.reason().code(), error.source());
                tracing::warn!(reason, source, %error, "batch failed");
                Self::Error(ApiError::from(error).into_line())
            }
        })
    }

    /// A wait, to the millisecond, as all times of the service.
    fn waiting(wait: Duration) -> Self {
        Self::Waiting(Waiting { waiting: wait.as_millis() as f64 / 1000.0 })
    }

    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
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
