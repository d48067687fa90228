//! Transcripts of a whole playlist: bounded, one failure never failing the rest, told as they come.

mod parse;
mod tally;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, Stream, stream};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::cache::Cached;
use crate::context::waiters::Urgency;
use crate::context::{Context, OnWait, Slot};
use crate::error::{Error, Reason, Result};
use crate::ident::{PlaylistId, VideoId};
use crate::resource::Services;
use crate::resource::ask::Ask;
use crate::resource::playlist::{Entries, Entry, Standing};
use crate::transcript::{Languages, TranscriptLine, TranscriptQuery};
use crate::transport::traced;

pub use tally::BatchReport;
pub(crate) use tally::Batches;

/// Which transcripts of a playlist, and how many at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchQuery {
    /// How many transcripts may be under way together, 1 to 20.
    pub concurrency: usize,
    /// The first place of the playlist, counted from 1.
    pub from: Option<u64>,
    /// The last place, included; past the end is the end.
    pub to: Option<u64>,
    /// The languages that will do, most wanted first; by default the one that is spoken.
    pub languages: Languages,
    /// Videos that are not wanted, because they are known already: nothing is asked for them, and they
    /// are among neither the results nor the counts of the summary but `totalVideos`.
    pub skip: HashSet<VideoId>,
}

impl Default for BatchQuery {
    fn default() -> Self {
        let languages = Languages::default();
        Self { concurrency: 3, from: None, to: None, languages, skip: HashSet::new() }
    }
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VideoTranscript {
    /// The video's id; empty where the platform does not tell it.
    #[cfg_attr(feature = "openapi", schema(example = "dQw4w9WgXcQ"))]
    pub video_id: String,
    /// The title; empty where the video is private or deleted.
    pub title: String,
    /// The place in the whole playlist, counted from 1.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, example = 1))]
    pub position: u64,
    /// Whether there is a transcript.
    pub status: BatchStatus,
    /// The lines; absent on a failed result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub lines: Option<Vec<TranscriptLine>>,
    /// Why there are none, in a sentence; absent on a successful result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(nullable = false, example = "Video has no captions: dQw4w9WgXcQ")
    )]
    pub error: Option<String>,
    /// Why there are none, in one word; absent on a successful result.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "reason_or_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, example = "captions_disabled"))]
    pub reason: Option<Reason>,
}

/// What became of an entry, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum BatchStatus {
    /// There is a transcript.
    Success,
    /// There is none.
    Failed,
}

/// The counts of a whole batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BatchSummary {
    /// The playlist's id.
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf"))]
    pub playlist_id: PlaylistId,
    /// How many entries the playlist has.
    pub total_videos: u64,
    /// The first and last place that were asked for.
    #[cfg_attr(feature = "openapi", schema(example = json!([1, 25])))]
    pub requested_range: [u64; 2],
    /// How many results are a success.
    pub succeeded: u64,
    /// How many are not.
    pub failed: u64,
}

/// Something that happened in a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum BatchEvent {
    /// The playlist is there: its first page has come. The first event.
    Started,
    /// An entry is done, in whatever order.
    Result(VideoTranscript),
    /// An entry has to wait this long for its turn, so that the platform does not block us. Told of
    /// the first that waits, and then at most every 15 seconds.
    Waiting(Duration),
    /// All is done. The last event.
    Done(BatchSummary),
}

/// A batch and all it works with.
pub(crate) struct Batch {
    pub(crate) services: Arc<Services>,
    /// Its deadline is that of the whole batch.
    pub(crate) ctx: Context,
    pub(crate) id: PlaylistId,
    pub(crate) query: BatchQuery,
    /// Among all batches, as long as it is at work.
    pub(crate) _place: OwnedSemaphorePermit,
    pub(crate) tally: Arc<Batches>,
}

/// Results that a slow reader has not taken yet; beyond them the work waits for the reader.
const UNREAD: usize = 2;

/// The most transcripts under way together.
const MOST_AT_ONCE: usize = 20;

/// Entries that are listed before their turn: a page ahead keeps everyone at work, and a caller who
/// goes away early has not paid for pages that nobody needed.
const LISTED_AHEAD: usize = 50;

/// How often an entry waits for a platform that fails to be asked again: about three pauses, each of
/// which may be met twice, at its end and while another finds out.
const WAITS: u32 = 6;

/// Between two announcements that entries wait: all of them do, and one word for all is enough.
const BETWEEN_WAITS: Duration = Duration::from_secs(15);

type Events = mpsc::Sender<Result<BatchEvent>>;

/// An entry and its place, counted from 1.
type Placed = (u64, Entry);

/// Runs the batch as a task of its own, which ends when the stream is dropped.
pub(crate) fn run(batch: Batch) -> impl Stream<Item = Result<BatchEvent>> + Send {
    let (events, receiver) = mpsc::channel(UNREAD);
    traced::spawn(async move {
        tokio::select! {
            // First, so that nothing starts after the reader has left.
            biased;
            () = events.closed() => {}
            done = AssertUnwindSafe(work(Arc::new(batch), &events)).catch_unwind() => {
                if done.is_err() {
                    // A stream that just ends would look like one that is complete.
                    let _ = events.send(Err(Error::internal("a panic"))).await;
                }
            }
        }
    });
    stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) })
}

/// Walks through the playlist and transcribes beside it: entries start while later pages are still
/// being asked for.
async fn work(batch: Arc<Batch>, events: &Events) {
    let (entries, waiting) = mpsc::channel(LISTED_AHEAD);
    // Where the playlist breaks off, what was listed until then is still done, which is a page ahead at
    // most, and the error comes last.
    let (walked, (succeeded, failed)) =
        tokio::join!(walk(&batch, entries, events), transcribe(&batch, waiting, events));
    let BatchQuery { from, to, .. } = batch.query;
    let last = walked.map(|total_videos| {
        let requested_range = [from.unwrap_or(1), to.unwrap_or(total_videos)];
        let playlist_id = batch.id.clone();
        BatchEvent::Done(BatchSummary {
            playlist_id,
            total_videos,
            requested_range,
            succeeded,
            failed,
        })
    });
    let _ = events.send(last).await;
}

/// Hands on the entries that were asked for, and counts them all.
async fn walk(batch: &Batch, entries: mpsc::Sender<Placed>, events: &Events) -> Result<u64> {
    let BatchQuery { from, to, ref skip, .. } = batch.query;
    let mut total = 0;
    // The number of batches is limited by itself.
    let ctx = Context { slot: Slot::not_needed(), ..batch.ctx.for_parts() };
    let mut pages = Entries::new(&batch.services, &ctx, &batch.id).await?;
    let mut next = pages.next().await?;
    let _ = events.send(Ok(BatchEvent::Started)).await;
    while let Some(page) = next {
        for entry in page.iter() {
            total += 1;
            let is_in_range =
                from.is_none_or(|from| total >= from) && to.is_none_or(|to| total <= to);
            if is_in_range && !entry.video.is_some_and(|video| skip.contains(&video)) {
                batch.tally.note_listed();
                // The receiver lives until this sender is gone.
                let _ = entries.send((total, entry.clone())).await;
            }
        }
        next = pages.next().await?;
    }
    Ok(total)
}

/// Transcribes entries, never more at a time than requested, and counts the results.
async fn transcribe(
    batch: &Arc<Batch>,
    mut waiting: mpsc::Receiver<Placed>,
    events: &Events,
) -> (u64, u64) {
    let concurrency = batch.query.concurrency.clamp(1, MOST_AT_ONCE);
    let ctx = Context {
        urgency: Urgency::Batch,
        // Entries are limited by the concurrency of their batch.
        slot: Slot::not_needed(),
        on_wait: Some(report_waits(events)),
        ..batch.ctx.clone()
    };
    // Ends its tasks when it is dropped, and so when the reader is gone.
    let mut under_way = JoinSet::new();
    let (mut succeeded, mut failed, mut more) = (0, 0, true);
    loop {
        tokio::select! {
            // Results first. While the reader takes one, no entry starts: results do not pile up.
            biased;
            Some(done) = under_way.join_next() => {
                let result: VideoTranscript =
                    done.expect("a panic is caught inside, and nobody aborts");
                batch.tally.note_done(result.status);
                match result.status {
                    BatchStatus::Success => succeeded += 1,
                    BatchStatus::Failed => failed += 1,
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

/// Reports to the reader that entries wait, now and then. A slow reader is not told.
fn report_waits(events: &Events) -> OnWait {
    // Weak, because a shared fetch may outlive its batch and must not keep the stream open.
    let events = events.downgrade();
    let last_report = Mutex::new(None::<Instant>);
    Arc::new(move |wait| {
        let Some(events) = events.upgrade() else { return };
        let mut last_report = last_report.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last_report.is_none_or(|then| now.duration_since(then) >= BETWEEN_WAITS)
            && events.try_send(Ok(BatchEvent::Waiting(wait))).is_ok()
        {
            *last_report = Some(now);
        }
    })
}

async fn transcript_of(batch: &Batch, ctx: &Context, entry: Placed) -> VideoTranscript {
    let (position, entry) = entry;
    let result = match entry.video {
        Some(id) if entry.standing == Standing::Public => {
            let wanted =
                TranscriptQuery { languages: batch.query.languages.clone(), translate: None };
            let ask = Ask::Transcript(id, wanted);
            let read = || batch.services.read(ctx, &ask);
            let caught = AssertUnwindSafe(patiently(ctx.deadline, read)).catch_unwind().await;
            caught
                .unwrap_or_else(|_| Err(Error::internal("a panic")))
                .and_then(|transcript| transcript.decode())
        }
        id => {
            let named = id.map(|id| id.to_string());
            let named = named.unwrap_or_else(|| format!("entry {position} of the playlist"));
            let reason = match entry.standing {
                Standing::Private => Reason::VideoPrivate,
                Standing::Public | Standing::Deleted => Reason::VideoNotFound,
            };
            Err(reason.error(named))
        }
    };
    let video_id = entry.video.as_ref().map(VideoId::to_string).unwrap_or_default();
    let (title, status) = (entry.title, BatchStatus::Success);
    let done = VideoTranscript {
        video_id,
        title,
        position,
        status,
        lines: None,
        error: None,
        reason: None,
    };
    match result {
        Ok(lines) => VideoTranscript { lines: Some(lines), ..done },
        Err(error) => VideoTranscript {
            status: BatchStatus::Failed,
            error: Some(sentence(&error)),
            reason: Some(error.reason()),
            ..done
        },
    }
}

/// The transcript. While a circuit breaker is open, the entry waits: otherwise the rest of a playlist would fail
/// in a moment.
async fn patiently<F>(deadline: Instant, read: impl Fn() -> F) -> Result<Cached>
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

/// The message of an error with its details.
fn sentence(error: &Error) -> String {
    let all = std::iter::once(error.message()).chain(error.details().iter().map(String::as_str));
    all.collect::<Vec<_>>().join("; ")
}

/// A word of another release counts as none.
fn reason_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Reason>, D::Error> {
    let code: Option<String> = Deserialize::deserialize(deserializer)?;
    Ok(code.as_deref().and_then(Reason::from_code))
}
