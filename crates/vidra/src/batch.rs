//! Batches: transcripts of many videos with bounded concurrency, partial failure and progress events.

pub(crate) mod body;
mod model;
mod parse;
mod source;
mod tally;
mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, Stream, stream};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::cache::Cached;
use crate::context::waiters::Urgency;
use crate::context::{Context, OnWait, Slot};
use crate::error::{Error, Reason, Result};
use crate::list::Availability;
use crate::resource::Services;
use crate::resource::lookup::Lookup;
use crate::resource::playlist::Entry;
use crate::transcript::{FullTranscript, TimeRange};
use crate::transport::traced;
use source::Listed;

pub use model::{BatchEvent, BatchQuery, BatchSummary, BatchTranscript, VideoTranscript};
pub use source::BatchSource;
pub use tally::BatchReport;
pub(crate) use tally::Batches;

/// A batch with its dependencies.
pub(crate) struct Batch {
    pub(crate) services: Arc<Services>,
    /// The context, with the deadline of the whole batch.
    pub(crate) ctx: Context,
    pub(crate) source: BatchSource,
    pub(crate) query: BatchQuery,
    /// The slot among all batches, held while this one runs.
    pub(crate) _slot: OwnedSemaphorePermit,
    pub(crate) tally: Arc<Batches>,
}

/// The buffer for a slow reader. A full buffer applies back-pressure to the batch.
const EVENT_BUFFER: usize = 2;

/// The maximum concurrency of a batch.
const MAX_CONCURRENCY: usize = 20;

/// The number of entries to list ahead. One page keeps all workers busy, and a caller that leaves
/// early has not paid for further pages.
const LISTED_AHEAD: usize = 50;

/// The maximum number of waits for an open circuit breaker. An entry can meet each of about three
/// pauses twice: at its end, and during another request's probe.
const WAITS: u32 = 6;

/// The minimum time between two `Waiting` events. All entries wait for the same limiter, so one
/// event is enough.
const WAIT_REPORT_INTERVAL: Duration = Duration::from_secs(15);

type Events = mpsc::Sender<Result<BatchEvent>>;

/// An entry and its position, counted from 1.
type NumberedEntry = (u64, Entry);

/// Runs the batch in its own task, which ends when the caller drops the stream.
pub(crate) fn run(batch: Batch) -> impl Stream<Item = Result<BatchEvent>> + Send {
    let (events, receiver) = mpsc::channel(EVENT_BUFFER);
    traced::spawn(async move {
        tokio::select! {
            // Checked first, so that nothing starts after the reader has left.
            biased;
            () = events.closed() => {}
            done = AssertUnwindSafe(work(Arc::new(batch), &events)).catch_unwind() => {
                if done.is_err() {
                    // Without an error the reader would take the truncated stream for a complete
                    // one.
                    let _ = events.send(Err(Error::internal("a panic"))).await;
                }
            }
        }
    });
    stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) })
}

/// Lists and transcribes concurrently: entries start while later pages are still being fetched.
async fn work(batch: Arc<Batch>, events: &Events) {
    let (entries, waiting) = mpsc::channel(LISTED_AHEAD);
    // If listing fails, the entries listed so far still complete, and the error comes last.
    let (listed, (succeeded, failed)) =
        tokio::join!(source::list(&batch, entries, events), transcribe(&batch, waiting, events));
    let BatchQuery { from, to, .. } = batch.query;
    let last = listed.map(|Listed { source, total_videos }| {
        let requested_range = [from.unwrap_or(1), to.unwrap_or(total_videos)];
        BatchEvent::Done(BatchSummary { source, total_videos, requested_range, succeeded, failed })
    });
    let _ = events.send(last).await;
}

/// Transcribes entries with the requested concurrency, and counts the results.
async fn transcribe(
    batch: &Arc<Batch>,
    mut waiting: mpsc::Receiver<NumberedEntry>,
    events: &Events,
) -> (u64, u64) {
    let concurrency = batch.query.concurrency.clamp(1, MAX_CONCURRENCY);
    let ctx = Context {
        urgency: batch.ctx.urgency.min(Urgency::Batch),
        // The concurrency of the batch already limits its entries.
        slot: Slot::not_needed(),
        on_wait: Some(report_waits(events)),
        ..batch.ctx.clone()
    };
    // Dropping the set aborts its tasks, for example when the reader leaves.
    let mut under_way = JoinSet::new();
    let (mut succeeded, mut failed, mut more) = (0, 0, true);
    loop {
        tokio::select! {
            // Results come first. No entry starts while the reader takes a result, so results do
            // not pile up.
            biased;
            Some(done) = under_way.join_next() => {
                let result: VideoTranscript =
                    done.expect("a panic is caught inside, and nobody aborts");
                batch.tally.note_done(result.transcript.is_ok());
                match result.transcript {
                    Ok(_) => succeeded += 1,
                    Err(_) => failed += 1,
                }
                let _ = events.send(Ok(BatchEvent::Result(result))).await;
            }
            entry = waiting.recv(), if more && under_way.len() < concurrency => match entry {
                Some(entry) => {
                    let (batch, ctx) = (Arc::clone(batch), ctx.clone());
                    let work = async move { transcript_of(&batch, &ctx, entry).await };
                    under_way.spawn(work.in_current_span());
                }
                None => more = false,
            },
            else => return (succeeded, failed),
        }
    }
}

/// Returns a callback that sends `Waiting` events at intervals. It drops the event if the buffer is
/// full.
fn report_waits(events: &Events) -> OnWait {
    // Weak, because a shared fetch can outlive its batch and must not keep the stream open.
    let events = events.downgrade();
    let last_report = Mutex::new(None::<Instant>);
    Arc::new(move |wait| {
        let Some(events) = events.upgrade() else { return };
        let mut last_report = last_report.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last_report.is_none_or(|then| now.duration_since(then) >= WAIT_REPORT_INTERVAL)
            && events.try_send(Ok(BatchEvent::Waiting(wait))).is_ok()
        {
            *last_report = Some(now);
        }
    })
}

async fn transcript_of(batch: &Batch, ctx: &Context, entry: NumberedEntry) -> VideoTranscript {
    let (position, Entry { video, mut title, availability, .. }) = entry;
    let transcript = match video {
        Some(id) if availability == Availability::Public => {
            let lookup = Lookup::Transcript(id, batch.query.transcript.clone());
            let read = || batch.services.read_record(ctx, &lookup);
            let transcript = async {
                let record = retry_while_breaker_open(ctx.deadline, read).await?;
                read_transcript(&batch.query, &record.body, &mut title)
            };
            let caught = AssertUnwindSafe(transcript).catch_unwind().await;
            caught.unwrap_or_else(|_| Err(Error::internal("a panic")))
        }
        id => {
            let named = id.map(|id| id.to_string());
            let named = named.unwrap_or_else(|| format!("entry {position}"));
            let reason = match availability {
                Availability::Private => Reason::VideoPrivate,
                Availability::Public | Availability::Deleted => Reason::VideoNotFound,
            };
            Err(reason.error(named))
        }
    };
    VideoTranscript { video_id: video, title, position, transcript }
}

/// Reads the requested form of a transcript from its record. It fills in a title that the source does not have.
fn read_transcript(
    query: &BatchQuery,
    record: &Bytes,
    title: &mut String,
) -> Result<BatchTranscript> {
    if query.chunks.is_none() && query.range == TimeRange::default() && !title.is_empty() {
        let lines = serde_json::from_slice(FullTranscript::lines_of_record(record))
            .map_err(Error::internal)?;
        return Ok(BatchTranscript::Lines(lines));
    }
    let full = FullTranscript::from_record(record)?.cut(query.range);
    if title.is_empty() {
        title.clone_from(&full.info.title);
    }
    Ok(match &query.chunks {
        Some(chunks) => BatchTranscript::Chunks(full.chunked(chunks).chunks),
        None => BatchTranscript::Lines(full.lines()),
    })
}

/// Fetches a transcript, and waits while a circuit breaker is open. Without the wait, the rest of
/// the playlist would fail within moments.
async fn retry_while_breaker_open<F>(deadline: Instant, read: impl Fn() -> F) -> Result<Cached>
where
    F: Future<Output = Result<Cached>>,
{
    let mut waits = 0;
    loop {
        let error = match read().await {
            Err(error) if error.reason() == Reason::Failing => error,
            ended => return ended,
        };
        waits += 1;
        let wait = error.retry_after().unwrap_or_default();
        if waits > WAITS || Instant::now() + wait >= deadline {
            return Err(error);
        }
        sleep(wait).await;
    }
}
