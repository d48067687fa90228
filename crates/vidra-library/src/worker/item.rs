//! One item: its transcript is fetched and stored.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use jiff::Timestamp;
use vidra::{Error, Result, Vidra};

use super::failure_action::{FailureAction, action_after};
use super::{Worker, panicked, until_stored};
use crate::job::{Failure, JobRequest, transcript_key};
use crate::library::Library;
use crate::store::leases::{self, LeasedItem};
use crate::store::transcripts::NewTranscript;
use crate::store::work::Work;

/// The work on one item.
pub(super) struct Task {
    library: Library,
    vidra: Vidra,
    request: JobRequest,
    item: LeasedItem,
}

impl Task {
    /// `None` if the owner has no payer.
    pub(super) fn new(worker: &Worker, work: &Work, item: LeasedItem) -> Option<Self> {
        let job = &work.row.job;
        let payer = (worker.payers)(&job.owner)?.in_background(worker.config.reserve_units);
        let vidra = if job.options.refresh || item.is_late { payer.refreshing() } else { payer };
        let (library, request) = (worker.library.clone(), job.options.clone());
        Some(Self { library, vidra, request, item })
    }

    /// Fetches the transcript, and stores the result. A fetched transcript is not lost while the disk fails: the task
    /// tries again until it can store it.
    pub(super) async fn run(self) {
        let fetch = async {
            let query = &self.request.transcript;
            let record = self.vidra.transcript_record(self.item.video, query).await?.body;
            self.library.database().compute(move || NewTranscript::new(&record)).await
        };
        let fetched = AssertUnwindSafe(fetch).catch_unwind().await;
        let outcome = match fetched.unwrap_or_else(|_| Err(panicked())) {
            Ok(new) => Ok(new),
            Err(error) => match action_after(&error, self.item.attempts) {
                FailureAction::Fail => Err(Failure::from(&error)),
                FailureAction::Wait(wait) => return self.wait(wait).await,
                FailureAction::Retry(wait) => return self.postpone(wait, Some(&error)).await,
            },
        };
        let lease = self.item.lease;
        until_stored(lease, || self.end(&outcome)).await;
    }

    /// Gives the item back after a resource was unavailable.
    async fn wait(&self, wait: Duration) {
        let is_translated = self.request.transcript.translate.is_some();
        // The planner checks the address before the next lease. It does not see other resources, such as slots.
        match self.vidra.transcript_wait(is_translated) {
            Some(_) => self.postpone(Duration::ZERO, None).await,
            None => self.postpone(wait, None).await,
        }
    }

    async fn end(&self, outcome: &Result<NewTranscript, Failure>) -> Result<()> {
        let (lease, outcome) = (self.item.lease, outcome.clone());
        let (request, now) = (transcript_key(&self.request.transcript), self.library.now());
        let end = move |it: &_| leases::end_item(it, &lease, &outcome, &request, now);
        self.library.database().write_shared(end).await.map(drop)
    }

    async fn postpone(&self, wait: Duration, attempt: Option<&Error>) {
        let lease = self.item.lease;
        // Without a wait it is due by every clock.
        let until = match wait {
            Duration::ZERO => Timestamp::UNIX_EPOCH,
            wait => self.library.now().checked_add(wait).unwrap_or(Timestamp::MAX),
        };
        let write = || {
            let attempt = attempt.cloned();
            let postpone = move |it: &_| leases::postpone_item(it, &lease, until, attempt.as_ref());
            self.library.database().write_shared(postpone)
        };
        until_stored(lease, write).await;
    }
}
