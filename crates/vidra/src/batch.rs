//! Transcripts of a whole playlist: bounded, one failure never failing the rest, told as they come.

mod parse;
mod tally;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{FutureExt, Stream, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::Instrument;

use crate::ask::{self, Ask};
use crate::cache::Cached;
use crate::cache::audience::Audience;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::playlist::{self, Entry, Standing};
use crate::fetch::transcript;
use crate::ident::{PlaylistId, VideoId};
use crate::transcript::{Languages, Reason, TranscriptLine, TranscriptQuery};
use crate::upstream::Scope;
use crate::upstream::web::{Errand, Place};

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
    /// Why there are none, what else is known (the languages there are, what the operator can do), and
    /// at the end the machine's word for it in brackets; absent on a successful one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(
            nullable = false,
            example = "Video has no captions: dQw4w9WgXcQ (captions_disabled)"
        )
    )]
    pub error: Option<String>,
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
    pub(crate) scope: Scope,
    /// When the whole batch has to be done.
    pub(crate) deadline: Instant,
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

/// Entries that may wait for a retry beside those at work. With more, a playlist
/// of thousands would be started at once as soon as the platform stumbles.
const WAITING: usize = 32;

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
    crate::upstream::traced::spawn(async move {
        tokio::select! {
            // First, so that nothing starts after the reader has left.
            biased;
            () = events.closed() => {}
            done = AssertUnwindSafe(work(Arc::new(batch), &events)).catch_unwind() => {
                if done.is_err() {
                    // A stream that just ends would look like one that is complete.
                    let _ = events.send(Err(Error::bug("a panic"))).await;
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
    let mut pages = std::pin::pin!(playlist::entries(&batch.scope, &batch.id));
    let mut next = pages.try_next().await?;
    let _ = events.send(Ok(BatchEvent::Started)).await;
    while let Some(page) = next {
        for entry in page {
            total += 1;
            let is_in_range =
                from.is_none_or(|from| total >= from) && to.is_none_or(|to| total <= to);
            if is_in_range && !entry.video.is_some_and(|video| skip.contains(&video)) {
                batch.tally.note_listed();
                // The receiver lives until this sender is gone.
                let _ = entries.send((total, entry)).await;
            }
        }
        next = pages.try_next().await?;
    }
    Ok(total)
}

/// Transcribes entries, never more at a time than asked, and counts what became of them.
async fn transcribe(
    batch: &Arc<Batch>,
    mut waiting: mpsc::Receiver<Placed>,
    events: &Events,
) -> (u64, u64) {
    let concurrency = batch.query.concurrency.clamp(1, MOST_AT_ONCE);
    let places = Arc::new(Semaphore::new(concurrency));
    let most = concurrency + WAITING;
    let tell = telling(events);
    // Ends its tasks when it is dropped, and so when the reader is gone.
    let mut under_way = JoinSet::<(VideoTranscript, Place)>::new();
    let (mut succeeded, mut failed, mut more) = (0, 0, true);
    loop {
        tokio::select! {
            // Results first: they free places.
            biased;
            Some(done) = under_way.join_next() => {
                let (result, _place) = done.expect("a panic is caught inside, and nobody aborts");
                batch.tally.note_done(result.status);
                match result.status {
                    BatchStatus::Success => succeeded += 1,
                    BatchStatus::Failed => failed += 1,
                }
                let _ = events.send(Ok(BatchEvent::Result(result))).await;
            }
            started = next(&places, &mut waiting), if more && under_way.len() < most => match started {
                Some((entry, permit)) => {
                    let place = Place::taken(Arc::clone(&places), permit, tell.clone());
                    let batch = Arc::clone(batch);
                    let work = async move {
                        // The place is kept until the result has been taken: a slow reader slows the
                        // work, and results do not pile up.
                        (transcript_of(&batch, entry, &place).await, place)
                    };
                    under_way.spawn(work.in_current_span());
                }
                None => more = false,
            },
            else => return (succeeded, failed),
        }
    }
}

/// The next entry, once there is a place for it.
async fn next(
    places: &Arc<Semaphore>,
    waiting: &mut mpsc::Receiver<Placed>,
) -> Option<(Placed, OwnedSemaphorePermit)> {
    let permit = Arc::clone(places).acquire_owned().await.ok()?;
    Some((waiting.recv().await?, permit))
}

/// Tells the reader that an entry waits, but not so of each; a reader who has no room for that news
/// needs none of it.
fn telling(events: &Events) -> impl Fn(Duration) + Clone + Send + Sync + 'static {
    let events = events.clone();
    let told = Arc::new(Mutex::new(None::<Instant>));
    move |wait| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.is_none_or(|then| now.duration_since(then) >= BETWEEN_WAITS)
            && events.try_send(Ok(BatchEvent::Waiting(wait))).is_ok()
        {
            *told = Some(now);
        }
    }
}

async fn transcript_of(batch: &Batch, (position, entry): Placed, place: &Place) -> VideoTranscript {
    let result = match entry.video {
        Some(id) if entry.standing == Standing::Public => {
            let deadline = batch.deadline;
            let Scope { web, cache, want, .. } = &batch.scope;
            let wanted =
                TranscriptQuery { languages: batch.query.languages.clone(), translate: None };
            let key = Ask::Transcript(id, wanted.clone()).key();
            let work = async |seats| {
                // As urgent as its waiters: single requests may have joined.
                let audience = &Audience::of_lasting([seats]);
                let errand = Errand { web, id, deadline, place, audience };
                ask::json(&transcript::one(&errand, &wanted).await?)
            };
            let ask = || cache.get_or_do(key.clone(), *want, deadline, place, work);
            let caught = AssertUnwindSafe(patiently(place, deadline, ask)).catch_unwind().await;
            caught
                .unwrap_or_else(|_| Err(Error::bug("a panic")))
                .and_then(|transcript| transcript.decode())
                // The cache does not know the video.
                .map_err(|error| match (error.kind(), error.reason()) {
                    (ErrorKind::Timeout, None) => Reason::TimedOut.error(id),
                    _ => error,
                })
        }
        id => {
            let named = id.map(|id| id.to_string());
            let named = named.unwrap_or_else(|| format!("entry {position} of the playlist"));
            let reason = match entry.standing {
                Standing::Private => Reason::Private,
                Standing::Public | Standing::Deleted => Reason::VideoUnavailable,
            };
            Err(reason.error(named))
        }
    };
    let video_id = entry.video.as_ref().map(VideoId::to_string).unwrap_or_default();
    let (status, lines, error) = match result {
        Ok(lines) => (BatchStatus::Success, Some(lines), None),
        Err(error) => (BatchStatus::Failed, None, Some(told(&error))),
    };
    VideoTranscript { video_id, title: entry.title, position, status, lines, error }
}

/// The transcript; where the platform fails and is left alone, once it is asked again. To go on without
/// waiting would fail all that is left of a playlist in a moment. Waits while it asks for nothing: others
/// who want the same are told at once, and need not wait with it.
async fn patiently<F>(place: &Place, deadline: Instant, ask: impl Fn() -> F) -> Result<Cached>
where
    F: Future<Output = Result<Cached>>,
{
    let mut waits = 0;
    loop {
        let error = match ask().await {
            Err(error) if error.reason() == Some(Reason::Failing) => error,
            ended => return ended,
        };
        waits += 1;
        let wait = error.retry_after().unwrap_or_default();
        let is_too_long = Instant::now() + wait >= deadline;
        if waits > WAITS || is_too_long || place.aside(deadline, sleep(wait)).await.is_none() {
            return Err(error);
        }
    }
}

/// All that an answer by itself would say: the message, more where there is more, and the machine's word
/// in brackets at the end.
fn told(error: &Error) -> String {
    let reason = error.reason().map(|reason| format!("reason: {}", reason.code()));
    let more = error.details().iter().filter(|line| Some(*line) != reason.as_ref());
    let all: Vec<&str> = std::iter::once(error.message()).chain(more.map(String::as_str)).collect();
    let all = all.join("; ");
    match error.reason() {
        Some(reason) => format!("{all} ({})", reason.code()),
        None => all,
    }
}
