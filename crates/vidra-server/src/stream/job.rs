//! Streams of a job: its events, and its results in bytes.

use std::convert::Infallible;
use std::error::Error as _;

use axum::response::sse::Event;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use vidra::{Reason, Result};

use super::{Line, ListLine, line_of, until};
use crate::drain::{Drain, STREAM_LIMIT};
use crate::error_body::{ApiError, ErrorBody};

/// The events until the service has to stop, and then an error.
pub(crate) fn sse_until_shutdown(
    events: impl Stream<Item = Event> + Unpin,
    drain: Drain,
) -> impl Stream<Item = Event> {
    let end = Box::pin(drain.has_lasted(STREAM_LIMIT));
    until(events, end, || {
        let body = serde_json::to_string(&ApiError::shutting_down().into_line());
        Event::default().event("error").data(body.unwrap_or_default())
    })
}

/// The lines of NDJSON until they end, fail, or the service has to stop. The last line is an error in the latter cases.
pub(crate) fn with_error_line(
    lines: impl Stream<Item = Result<Bytes>> + Send + 'static,
    drain: Drain,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let line = |body: ErrorBody| Bytes::from(ListLine::Error(body).json() + "\n");
    let end = Box::pin(drain.has_lasted(STREAM_LIMIT));
    let lines = until(Box::pin(lines), end, || Err(shutting_down()));
    lines.map(move |bytes| Ok(bytes.unwrap_or_else(|error| line(line_of(error, "results failed")))))
}

/// The bytes of a document. The connection breaks if they fail, or if the service has to stop, so that a client
/// cannot mistake a part for the whole.
pub(crate) fn or_broken(
    bytes: impl Stream<Item = Result<Bytes>> + Send + 'static,
    drain: Drain,
) -> impl Stream<Item = Result<Bytes>> + Send + 'static {
    let end = Box::pin(drain.has_lasted(STREAM_LIMIT));
    until(Box::pin(bytes), end, || Err(shutting_down())).inspect(|bytes| {
        if let Err(error) = bytes {
            let (reason, source) = (error.reason().code(), error.source());
            tracing::warn!(reason, source, %error, "results failed");
        }
    })
}

fn shutting_down() -> vidra::Error {
    vidra::Error::new(Reason::ShuttingDown, "The service is shutting down")
}
