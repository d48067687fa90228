//! One item: its transcript is fetched and stored.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::sleep;
use vidra::{Error, Reason, Result, Vidra};

use super::Worker;
use super::verdict::{Verdict, verdict};
use crate::job::{Failure, JobRequest};
use crate::library::Library;
use crate::store::leases::{self, LeasedItem, Work};
use crate::store::transcripts::NewTranscript;

/// How long a task waits before it writes again to a disk that fails.
pub(super) const DISK_PAUSE: Duration = Duration::from_secs(5);

/// The work on one item.
pub(super) struct Task {
    library: Library,
    vidra: Vidra,
    request: JobRequest,
    item: LeasedItem,
}

impl Task {
    /// `None` if the owner has no payer any more.
    pub(super) fn new(worker: &Worker, work: &Work, item: LeasedItem) -> Option<Self> {
        let job = &work.row.job;
        let payer = (worker.payers)(&job.owner)?.in_background(worker.config.reserve_units);
        let vidra = if job.options.refresh { payer.refreshing() } else { payer };
        let (library, request) = (worker.library.clone(), job.options.clone());
        Some(Self { library, vidra, request, item })
    }

    /// Fetches the transcript, and stores the result. A fetched transcript is not lost while the disk fails: the task
    /// tries again until it can store it.
    pub(super) async fn run(self) {
        let fetch = async {
            let query = &self.request.transcript;
            NewTranscript::new(&self.vidra.full_transcript(self.item.video, query).await?.body)
        };
        let fetched = AssertUnwindSafe(fetch).catch_unwind().await;
        let outcome = match fetched.unwrap_or_else(|_| Err(Error::internal("a panic"))) {
            Ok(new) => Ok(new),
            Err(error) => match verdict(&error, self.item.attempts) {
                Verdict::Fail => Err(Failure::from(&error)),
                // The resource reports its own wait: the planner asks it before the next lease.
                Verdict::Wait(_) => {
                    return self.until_stored(|| self.postpone(Duration::ZERO, None)).await;
                }
                Verdict::Retry(wait) => {
                    return self.until_stored(|| self.postpone(wait, Some(&error))).await;
                }
            },
        };
        self.until_stored(|| self.end(&outcome)).await;
    }

    async fn end(&self, outcome: &Result<NewTranscript, Failure>) -> Result<()> {
        let (lease, outcome) = (self.item.lease, outcome.clone());
        let (request, now) = (self.request.transcript_key(), self.library.now());
        let end = move |it: &_| leases::end_item(it, &lease, &outcome, &request, now);
        self.library.database().write(end).await.map(drop)
    }

    async fn postpone(&self, wait: Duration, attempt: Option<&Error>) -> Result<()> {
        let (lease, attempt) = (self.item.lease, attempt.cloned());
        let until = self.library.now().checked_add(wait).unwrap_or(jiff::Timestamp::MAX);
        let postpone = move |it: &_| leases::postpone_item(it, &lease, until, attempt.as_ref());
        self.library.database().write(postpone).await
    }

    async fn until_stored<F>(&self, write: impl Fn() -> F)
    where
        F: Future<Output = Result<()>>,
    {
        while let Err(error) = write().await {
            if error.reason() != Reason::LibraryUnavailable {
                let source = std::error::Error::source(&error);
                tracing::error!(
                    reason = error.reason().code(),
                    source,
                    "the end of an item was not stored"
                );
                return;
            }
            sleep(DISK_PAUSE).await;
        }
    }
}
