//! A batch as it goes on: whole, or streamed as NDJSON or server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::{Either, select};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;
use vidra::{BatchEvent, BatchSummary, Result, VideoTranscript};

use crate::drain::{Drain, STOPPING, STREAMS_END_AFTER};
use crate::extract::accepted;
use crate::problem::{ErrorBody, Problem};

/// How a batch is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON answer at the end.
    Whole,
    /// A JSON object a line.
    Ndjson,
    /// Server-sent events.
    Sse,
}

/// How often a silent stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);

impl Form {
    /// What the caller likes best.
    pub(crate) fn accepted(headers: &HeaderMap) -> Self {
        let types = [
            ("application/json", Self::Whole),
            ("text/event-stream", Self::Sse),
            ("application/x-ndjson", Self::Ndjson),
        ];
        accepted(headers, &types).unwrap_or(Self::Whole)
    }
}

/// Waits for the end: the summary, and the results in playlist order.
pub(crate) async fn whole(
    events: impl Stream<Item = Result<BatchEvent>>,
) -> Result<(BatchSummary, Vec<VideoTranscript>), Problem> {
    let mut events = std::pin::pin!(events);
    let mut results = vec![];
    while let Some(event) = events.try_next().await? {
        match event {
            BatchEvent::Result(result) => results.push(result),
            BatchEvent::Started | BatchEvent::Waiting(_) => {}
            BatchEvent::Done(summary) => {
                results.sort_by_key(|result| result.position);
                return Ok((summary, results));
            }
        }
    }
    Err(Problem::after_bug("a batch ended without a summary"))
}

/// Sends events as they come, from the moment that the playlist is there: a caller sees that the work
/// has begun, and a silent stream can say that it is alive. What fails before is an ordinary error.
/// Where the service ends before the stream does, its last event says so.
pub(crate) async fn streamed(
    events: impl Stream<Item = Result<BatchEvent>> + Send + 'static,
    form: Form,
    drain: Drain,
) -> Result<Response, Problem> {
    let mut events = Box::pin(events);
    match events.next().await {
        Some(Ok(BatchEvent::Started)) => {}
        Some(Err(error)) => return Err(error.into()),
        Some(Ok(_)) | None => return Err(Problem::after_bug("a batch did not begin")),
    }
    let events = events.filter_map(|event| std::future::ready(Message::of(event)));
    let events = until(events, Box::pin(drain.has_lasted(STREAMS_END_AFTER)), || {
        Message::new("error", &ErrorBody::plain(StatusCode::SERVICE_UNAVAILABLE, STOPPING))
    });
    let mut response = match form {
        Form::Sse => {
            let events = events
                .enumerate()
                .map(|(index, message)| Ok::<_, Infallible>(message.event(index + 1)));
            Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response()
        }
        Form::Ndjson | Form::Whole => {
            let lines = events.map(|message| Ok::<_, Infallible>(message.line()));
            let mut response = Body::from_stream(lines).into_response();
            let ndjson = HeaderValue::from_static("application/x-ndjson");
            response.headers_mut().insert(header::CONTENT_TYPE, ndjson);
            response
        }
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The same until `end` resolves, with a last word then.
fn until<T>(
    events: impl Stream<Item = T> + Unpin,
    end: impl Future<Output = ()> + Unpin,
    last_word: fn() -> T,
) -> impl Stream<Item = T> {
    stream::unfold(Some((events, end)), move |rest| async move {
        let (mut events, end) = rest?;
        match select(events.next(), end).await {
            Either::Left((event, end)) => Some((event?, Some((events, end)))),
            Either::Right(((), _)) => Some((last_word(), None)),
        }
    })
}

/// What a stream says while entries wait for their turn.
#[derive(Serialize, ToSchema)]
pub(crate) struct Waiting {
    /// For how many seconds the first of them has to wait yet.
    #[schema(example = 3.6)]
    waiting: f64,
}

/// A server-sent event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documentation: `Message` writes them")]
pub(crate) struct BatchEventText {
    /// What kind of line it carries.
    event: EventName,
    /// The events of a stream, counted from 1.
    #[schema(pattern = "^[1-9][0-9]*$", example = "1")]
    id: String,
    /// A `BatchLine` as JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "documentation: `Message` writes them")]
pub(crate) enum EventName {
    Result,
    Waiting,
    Summary,
    Error,
}

/// A line of a stream, or the `data` of an event.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[serde(untagged)]
#[expect(dead_code, reason = "documentation: `Message` writes them")]
pub(crate) enum BatchLine {
    /// Event `result`: what became of an entry, in whatever order.
    Result(VideoTranscript),
    /// Event `waiting`: entries wait for their turn. At once, and then at most every 15 seconds.
    Waiting(Waiting),
    /// Event `summary`: all is done. The last.
    Summary(BatchSummary),
    /// Event `error`: the playlist could not be read to its end, or the service stops. The last, in
    /// place of the summary.
    Error(ErrorBody),
}

/// Something to be sent: its name, and its JSON.
struct Message {
    name: &'static str,
    json: String,
}

impl Message {
    /// `None` where there is nothing to say.
    fn of(event: Result<BatchEvent>) -> Option<Self> {
        Some(match event {
            // The head of the answer says it.
            Ok(BatchEvent::Started) => return None,
            Ok(BatchEvent::Result(result)) => Self::new("result", &result),
            Ok(BatchEvent::Waiting(wait)) => {
                // To the millisecond, as all our times are.
                let waiting = wait.as_millis() as f64 / 1000.0;
                Self::new("waiting", &Waiting { waiting })
            }
            Ok(BatchEvent::Done(summary)) => Self::new("summary", &summary),
            // The status has been sent; this is what the error's answer would have held.
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), cause = error.cause(), "{error}");
                Self::new("error", &ErrorBody::of(&error))
            }
        })
    }

    fn new(name: &'static str, value: &impl Serialize) -> Self {
        Self { name, json: serde_json::to_string(value).unwrap_or_default() }
    }

    fn line(self) -> String {
        self.json + "\n"
    }

    fn event(self, id: usize) -> Event {
        // JSON has no line breaks of its own, so one data line holds it all.
        Event::default().event(self.name).id(id.to_string()).data(self.json)
    }
}
