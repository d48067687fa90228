//! The events of a job, as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::http::{HeaderMap, HeaderName};
use axum::response::IntoResponse;
use axum::response::sse::{Event, Sse};
use futures_util::{Stream, StreamExt, stream};
use vidra::format::iso_millis;
use vidra_library::{Access, Job, JobId, Library, NumberedEvent};

use crate::error_body::{ApiError, JobErrors, Result};
use crate::extract::{Id, Query, invalid};
use crate::routes::library_caller::LibraryCaller;
use crate::stream::{HEARTBEAT, add_stream_headers, sse_until_shutdown};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The changes of a job as server-sent events.
///
/// The first event is a `snapshot`: the job as it is. Then come the numbered events: `state`, `listed` and `item`. Their
/// `data` is JSON with the members of the event, its `number` and its time `at`, and their `id` is the number. The numbers
/// of a job have no gaps.
///
/// Without `Last-Event-ID` and `after` only events after the snapshot follow. With them all events after that number
/// follow, so that a reader misses nothing after a broken connection.
///
/// A comment is sent whenever nothing has happened for 15 seconds. The stream ends when the job has ended and all its
/// events were sent. An `error`, whose `data` is an `ErrorBody`, is the last event of a stream that cannot continue. A
/// caller can follow 50 jobs at the same time.
///
/// Cost: none; no request to YouTube.
#[utoipa::path(
    get, path = "/api/jobs/{id}/events", tag = "Jobs",
    params(
        ("id" = String, Path),
        ("after" = Option<u64>, Query, description = "The number of the last event that the reader has; of this and `Last-Event-ID` the greater one counts; only events after the snapshot follow if not given", example = 0),
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last event that the reader has; of this and `after` the greater one counts; only events after the snapshot follow if not given", example = "0")
    ),
    responses((status = 200, description = "The events", body = String, content_type = "text/event-stream"), JobErrors)
)]
pub(in crate::routes) async fn get_job_events(
    jobs: LibraryCaller,
    Id(id): Id<JobId>,
    mut query: Query,
    headers: HeaderMap,
) -> Result {
    let whole = |text: &str| text.parse::<u64>().map_err(|_| "must be a whole number");
    let after = query.parsed("after", whole);
    query.check()?;
    let last = match headers.get(LAST_EVENT_ID) {
        Some(last) if !last.is_empty() => {
            let number = last.to_str().ok().and_then(|text| whole(text.trim()).ok());
            let fault = "last-event-id: must be a whole number";
            Some(number.ok_or_else(|| invalid("A header is not valid", fault))?)
        }
        _ => None,
    };
    // A reader that reconnects repeats the query of its first request, and adds the header.
    let after = after.max(last);
    let slot = jobs.follow()?;
    let LibraryCaller { library, access, drain, .. } = jobs;
    let job = library.job(id, &access).await?;
    // A number beyond the last event can only come from another file.
    let after = after.map_or(job.version, |after| after.min(job.version));
    let first = stream::iter([snapshot(&job, after)]);
    let events = first.chain(numbered_events(library, id, access, after));
    // The stream owns the slot, however it ends.
    let events = events.inspect(move |_| _ = &slot);
    let events = sse_until_shutdown(events, drain).map(Ok::<_, Infallible>);
    let mut response = Sse::new(events).into_response();
    add_stream_headers(response.headers_mut());
    Ok(response)
}

fn snapshot(job: &Job, after: u64) -> Event {
    let data = serde_json::to_string(job).unwrap_or_default();
    Event::default().event("snapshot").id(after.to_string()).data(data)
}

/// The events after a number, until the job has ended. It sends a comment as a heartbeat.
fn numbered_events(
    library: Library,
    id: JobId,
    access: Access,
    after: u64,
) -> impl Stream<Item = Event> + Send + 'static {
    struct Reader {
        library: Library,
        access: Access,
        after: u64,
        ready: VecDeque<NumberedEvent>,
    }
    let reader = Reader { library, access, after, ready: VecDeque::new() };
    Box::pin(stream::unfold(Some(reader), move |reader| async move {
        let mut reader = reader?;
        if reader.ready.is_empty() {
            match reader.library.watch(id, &reader.access, reader.after, HEARTBEAT).await {
                Ok(watch) if watch.events.is_empty() && watch.job.state.is_finished() => {
                    return None;
                }
                Ok(watch) => reader.ready.extend(watch.events),
                Err(error) => {
                    let body = ApiError::from(error).into_line();
                    let data = serde_json::to_string(&body).unwrap_or_default();
                    return Some((Event::default().event("error").data(data), None));
                }
            }
        }
        match reader.ready.pop_front() {
            Some(event) => {
                reader.after = event.number;
                Some((numbered(&event), Some(reader)))
            }
            None => Some((Event::default().comment("waiting"), Some(reader))),
        }
    }))
}

fn numbered(NumberedEvent { number, at, json, .. }: &NumberedEvent) -> Event {
    // A stored event is an object with its type as the first member.
    let members = json.strip_prefix('{').unwrap_or("}");
    let name = ["state", "listed", "item"]
        .into_iter()
        .find(|name| members.starts_with(&format!("\"type\":\"{name}\"")));
    let data = format!(r#"{{"number":{number},"at":"{}",{members}"#, iso_millis(*at));
    Event::default().event(name.unwrap_or("message")).id(number.to_string()).data(data)
}
