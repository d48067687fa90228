//! Stores transcripts that the service fetched without a job.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;
use vidra::{TranscriptQuery, VideoId};
use vidra_library::Library;

/// How many transcripts wait for the library. More are dropped, because a request never waits for the library.
const QUEUE: usize = 256;

/// A fetched transcript: its query, and its record.
type Fetched = (TranscriptQuery, Bytes);

/// The transcripts that are fetched from now on. Clones share them.
#[derive(Clone)]
pub struct FetchedTranscripts(Arc<Inner>);

struct Inner {
    queue: mpsc::Sender<Fetched>,
    /// Taken by the task that stores them.
    waiting: Mutex<Option<mpsc::Receiver<Fetched>>>,
    stored: AtomicU64,
    dropped: AtomicU64,
}

impl Default for FetchedTranscripts {
    fn default() -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (stored, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
        Self(Arc::new(Inner { queue, waiting: Mutex::new(Some(waiting)), stored, dropped }))
    }
}

impl FetchedTranscripts {
    /// The observer that adds each transcript, for [`vidra::Builder::on_transcript`].
    pub fn observer(&self) -> impl Fn(VideoId, &TranscriptQuery, &Bytes) + Send + Sync + 'static {
        let inner = Arc::clone(&self.0);
        move |_, query: &TranscriptQuery, record: &Bytes| {
            if inner.queue.try_send((query.clone(), record.clone())).is_err() {
                inner.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Stores the transcripts until `stop` resolves, and then those that wait.
    pub(crate) async fn store(&self, library: &Library, stop: impl Future<Output = ()>) {
        let waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut waiting) = waiting else { return };
        let mut stop = std::pin::pin!(stop);
        loop {
            let next = tokio::select! {
                biased;
                next = waiting.recv() => next,
                () = &mut stop => None,
            };
            let Some((query, record)) = next else { return };
            let outcome = match library.store_transcript(&query, record).await {
                Ok(()) => &self.0.stored,
                // The library logs that its disk fails.
                Err(_) => &self.0.dropped,
            };
            outcome.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many were stored, and how many were not.
    pub(crate) fn outcomes(&self) -> [(&'static str, u64); 2] {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        [("stored", count(&self.0.stored)), ("dropped", count(&self.0.dropped))]
    }
}

impl fmt::Debug for FetchedTranscripts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchedTranscripts").field("outcomes", &self.outcomes()).finish()
    }
}
