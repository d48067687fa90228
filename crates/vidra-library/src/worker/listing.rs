//! One source: its pages become items.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use jiff::Timestamp;
use vidra::{Availability, EntryPage, EntrySource, Error, Reason, Vidra};

use super::failure_action::{FailureAction, action_after};
use super::resources::Blocked;
use super::{Worker, panicked, until_stored};
use crate::job::{Failure, JobRequest, JobSource};
use crate::library::Library;
use crate::store::leases::LeasedSource;
use crate::store::listing::{self, Charge, ListedPage, ListedVideo};
use crate::store::work::Work;

/// How many pages one task lists before other jobs have a turn.
const PAGES_OF_A_TURN: usize = 20;

/// The listing of one source.
pub(super) struct Task {
    library: Library,
    vidra: Vidra,
    owner: String,
    request: JobRequest,
    source: LeasedSource,
    named: JobSource,
    /// The units that the job has cost so far.
    units: u64,
    /// The number of calls under this lease.
    calls: u64,
    blocked: Blocked,
}

impl Task {
    /// `None` if the owner has no payer.
    pub(super) fn new(
        worker: &Worker,
        work: &Work,
        source: LeasedSource,
        named: JobSource,
        blocked: Blocked,
    ) -> Option<Self> {
        let job = &work.row.job;
        let payer = (worker.payers)(&job.owner)?;
        Some(Self {
            library: worker.library.clone(),
            vidra: payer.in_background(worker.config.reserve_units),
            owner: job.owner.clone(),
            request: job.options.clone(),
            source,
            named,
            units: job.progress.units,
            calls: 0,
            blocked,
        })
    }

    /// Lists page by page, until the end of the source, until a resource is unavailable, or until others shall have a
    /// turn. Every page is stored before the next one is fetched, so that a restart pays for no page twice.
    pub(super) async fn run(mut self) {
        for _ in 0..PAGES_OF_A_TURN {
            if !self.page().await {
                return;
            }
        }
        self.postpone(Charge::default(), Timestamp::UNIX_EPOCH, false).await;
    }

    /// Fetches and stores the next page. Returns whether there is another one.
    async fn page(&mut self) -> bool {
        if self.request.unit_budget.is_some_and(|budget| self.units >= budget) {
            let message = format!("The job has used its budget of {} units", self.units);
            let error = Error::new(Reason::UnitBudgetExhausted, message);
            self.fail(Charge::default(), &error).await;
            return false;
        }
        let source = match &self.named {
            JobSource::Playlist(id) => EntrySource::Playlist(id.clone()),
            JobSource::Channel(channel) => EntrySource::Uploads(channel.clone()),
            JobSource::Video(_) => {
                self.fail(Charge::default(), &Error::internal("a video has no list")).await;
                return false;
            }
        };
        let metered = self.vidra.metered();
        let page = metered.entries_page(&source, self.source.cursor.as_deref());
        let page = AssertUnwindSafe(page).catch_unwind().await;
        let page = page.unwrap_or_else(|_| Err(panicked()));
        let units = u64::from(metered.cost().units());
        (self.units, self.calls) = (self.units + units, self.calls + 1);
        let charge = Charge { call: self.calls, units, at: self.library.now() };
        match page {
            Ok(page) => self.store(page, charge).await,
            Err(error) => {
                self.stop(charge, &error).await;
                false
            }
        }
    }

    /// Stores a page. Returns whether there is another one.
    async fn store(&mut self, page: EntryPage, charge: Charge) -> bool {
        let page = self.listed(page, charge);
        self.source.cursor.clone_from(&page.next);
        self.source.attempts = 0;
        let (lease, limit) = (self.source.lease, self.request.limit);
        let write = || {
            let (page, now) = (page.clone(), self.library.now());
            let add = move |it: &_| listing::add_page(it, &lease, limit, &page, now);
            self.library.database().write(add)
        };
        until_stored(lease, write).await.unwrap_or(false)
    }

    /// Gives the source back after an error, or fails it.
    async fn stop(&self, charge: Charge, error: &Error) {
        match action_after(error, self.source.attempts) {
            FailureAction::Wait(wait) => {
                // First the resource, so that nobody tries again before it is known.
                let noted = self.blocked.note_data_api(&self.library, &self.owner, error, wait);
                if let Err(error) = noted.await {
                    tracing::warn!(
                        reason = error.reason().code(),
                        "pause of the Data API not stored"
                    );
                }
                self.postpone(charge, Timestamp::UNIX_EPOCH, false).await;
            }
            FailureAction::Retry(wait) => {
                let at = self.library.now().checked_add(wait).unwrap_or(Timestamp::MAX);
                self.postpone(charge, at, true).await;
            }
            FailureAction::Fail => self.fail(charge, error).await,
        }
    }

    /// The requested videos of a page. Uploads are in the order of time, so a full page that is older than requested is
    /// the last one.
    fn listed(&self, page: EntryPage, charge: Charge) -> ListedPage {
        let dates = self.request.dates;
        let is_dated = dates.since.is_some() || dates.until.is_some();
        let is_old = |published: Option<Timestamp>| {
            dates.since.zip(published).is_some_and(|(since, published)| published < since)
        };
        let is_last = matches!(self.named, JobSource::Channel(_))
            && !page.entries.is_empty()
            && page.entries.iter().all(|entry| is_old(entry.published));
        let mut videos = vec![];
        for entry in page.entries {
            let is_requested = match entry.published {
                Some(at) => !is_old(Some(at)) && dates.until.is_none_or(|until| at <= until),
                None => !is_dated,
            };
            let reason = match (entry.video, entry.availability) {
                (_, Availability::Private) => Some(Reason::VideoPrivate),
                (None, _) | (_, Availability::Deleted) => Some(Reason::VideoNotFound),
                _ => None,
            };
            if is_requested {
                let (video, published) = (entry.video, entry.published);
                videos.push(ListedVideo { video, reason, published });
            }
        }
        let (cursor, next) = (self.source.cursor.clone(), page.next_cursor.filter(|_| !is_last));
        ListedPage { videos, cursor, next, charge }
    }

    async fn postpone(&self, charge: Charge, at: Timestamp, is_failed: bool) {
        let lease = self.source.lease;
        let write = || {
            let postpone =
                move |it: &_| listing::postpone_source(it, &lease, charge, at, is_failed);
            self.library.database().write(postpone)
        };
        until_stored(lease, write).await;
    }

    async fn fail(&self, charge: Charge, error: &Error) {
        let lease = self.source.lease;
        let write = || {
            let (mut failure, now) = (Failure::from(error), self.library.now());
            // A job can have many sources.
            if failure.reason != Reason::UnitBudgetExhausted {
                failure.message = format!("{}: {}", self.named, failure.message);
            }
            let fail = move |it: &_| listing::fail_source(it, &lease, charge, &failure, now);
            self.library.database().write(fail)
        };
        until_stored(lease, write).await;
    }
}
