//! The operations on jobs.

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};
use vidra::{Reason, Result};

use super::cursor::{read_cursor, write_cursor};
use super::{Access, Create, Created, ItemFilter, Library, StoredResult, Watch};
use crate::job::{Item, Job, JobId, JobRequest, JobSource, JobState, Wait};
use crate::store::items::{self, ResultRow};
use crate::store::jobs::{self, Change, JobQuery, NewJob};
use crate::store::{eta, events};

/// How long a job waits at least while the disk fails.
const DISK_WAIT: Duration = Duration::from_secs(30);

/// The largest number of events that are read at once.
const EVENTS: usize = 500;

/// The compressed bytes of a page of results in memory. Rendered, a page has about ten times as many, and each slow reader
/// holds one.
const RESULT_BYTES: usize = 256 << 10;

impl Library {
    /// Creates a job.
    ///
    /// # Errors
    ///
    /// [`Reason::IdempotencyKeyReused`] if the key belongs to another request, [`Reason::TooManyJobs`], and
    /// [`Reason::LibraryLimitReached`].
    pub async fn create(&self, create: Create) -> Result<Created> {
        let Create { owner, request, sources, idempotency_key } = create;
        let fingerprint = || fingerprint(&request, &sources);
        let idempotency = idempotency_key.map(|key| (key, fingerprint()));
        let limits = self.limits();
        let new = NewJob {
            id: JobId::random()?,
            owner,
            request,
            sources,
            idempotency,
            max_unfinished: limits.unfinished_jobs,
            max_bytes: limits.caller_bytes,
        };
        let now = self.now();
        let write =
            self.inner.database.write(move |connection| jobs::create(connection, &new, now));
        let (job, is_new) = write.await?;
        self.changes().note_request(job.id);
        Ok(Created { job, is_new })
    }

    /// Finds a job.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`] also for a job that `access` does not include.
    pub async fn job(&self, id: JobId, access: &Access) -> Result<Job> {
        let (access, now) = (access.clone(), self.now());
        let read = self.inner.database.read(move |connection| {
            let row = jobs::find(connection, id, access.owner())?;
            eta::with_eta(connection, row, now)
        });
        Ok(self.shown(read.await?))
    }

    /// The job as callers see it. While nothing can be stored, an active job waits, and its state cannot be stored either.
    fn shown(&self, mut job: Job) -> Job {
        if job.state.is_active() && self.health().is_failing {
            let until = self.now().checked_add(DISK_WAIT).unwrap_or(Timestamp::MAX);
            job.waiting = Some(Wait { reason: Reason::LibraryUnavailable, until });
            (job.state, job.progress.eta_seconds) = (JobState::Waiting, None);
        }
        job
    }

    /// Finds a job when it has a later version than `seen`, or after `wait`.
    ///
    /// # Errors
    ///
    /// Those of [`Library::job`].
    pub async fn changed_job(
        &self,
        id: JobId,
        access: &Access,
        seen: u64,
        wait: Duration,
    ) -> Result<Job> {
        let deadline = Instant::now() + wait;
        loop {
            let changed = self.changes().subscribe();
            let job = self.job(id, access).await?;
            let now = Instant::now();
            if job.version > seen || now >= deadline {
                return Ok(job);
            }
            let _ = timeout_at(deadline.min(now + self.database().poll()), changed.of(id)).await;
        }
    }

    /// A page of jobs, the newest first, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidCursor`] if the cursor is not one of such a list.
    pub async fn jobs(
        &self,
        access: &Access,
        state: Option<JobState>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Job>, Option<String>)> {
        let list = format!("jobs {:?} {state:?}", access.owner());
        let before = cursor.map(|cursor| read_cursor(&list, cursor)).transpose()?.map(|[it]| it);
        let owner = access.owner().map(str::to_owned);
        let (query, now) = (JobQuery { owner, state, before, limit: limit + 1 }, self.now());
        let read = self.inner.database.read(move |connection| {
            let mut rows = jobs::page(connection, &query)?;
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            let next =
                rows.last().filter(|_| has_more).map(|row| write_cursor(&list, [row.number]));
            let jobs = rows.into_iter().map(|row| eta::with_eta(connection, row, now));
            Ok((jobs.collect::<Result<Vec<_>>>()?, next))
        });
        read.await
    }

    /// A page of a job's items, and the cursor of the next page.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`], and [`Reason::InvalidCursor`] if the cursor is not one of such a list.
    pub async fn items(
        &self,
        id: JobId,
        access: &Access,
        filter: ItemFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Item>, Option<String>)> {
        let list = format!("items {id} {filter:?}");
        let [after] = cursor.map_or(Ok([0]), |cursor| read_cursor(&list, cursor))?;
        let query = items::ItemQuery {
            state: filter.state,
            reason: filter.reason,
            after: u64::try_from(after).unwrap_or(0),
            limit: limit + 1,
        };
        let access = access.clone();
        let read = self.inner.database.read(move |connection| {
            let row = jobs::find(connection, id, access.owner())?;
            let mut items = items::page(connection, row.number, &query)?;
            let has_more = items.len() > limit;
            items.truncate(limit);
            let last = items.last().filter(|_| has_more);
            let next = last.map(|item| write_cursor(&list, [item.position as i64]));
            Ok((items, next))
        });
        read.await
    }

    /// The ended items of a job after a position, with their transcripts: at most `limit`, fewer if they are large. An
    /// empty page is the last one.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`].
    pub async fn results(
        &self,
        id: JobId,
        access: &Access,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredResult>> {
        let rows = self.result_rows(id, access, after, limit).await?;
        let decode = move || Ok(rows.into_iter().map(StoredResult::from).collect());
        self.inner.database.compute_download(decode).await
    }

    /// As [`Self::results`], with compressed transcripts: decompressing takes longer than reading, and does not belong in
    /// the transaction.
    pub(crate) async fn result_rows(
        &self,
        id: JobId,
        access: &Access,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ResultRow>> {
        let access = access.clone();
        let read = self.inner.database.read(move |connection| {
            let row = jobs::find(connection, id, access.owner())?;
            items::results(connection, row.number, after, limit, RESULT_BYTES)
        });
        read.await
    }

    /// The state of a job, and its events after the one with number `after`. If there are none it waits up to `wait`.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`].
    pub async fn watch(
        &self,
        id: JobId,
        access: &Access,
        after: u64,
        wait: Duration,
    ) -> Result<Watch> {
        let deadline = Instant::now() + wait;
        loop {
            let (access, now) = (access.clone(), self.now());
            let changed = self.changes().subscribe();
            let read = self.inner.database.read(move |connection| {
                let row = jobs::find(connection, id, access.owner())?;
                let events = events::since(connection, row.number, after, EVENTS);
                let events = events?;
                Ok(Watch { job: eta::with_eta(connection, row, now)?, events })
            });
            let watch = read.await?;
            let watch = Watch { job: self.shown(watch.job), ..watch };
            let now = Instant::now();
            if !watch.events.is_empty() || watch.job.state.is_finished() || now >= deadline {
                return Ok(watch);
            }
            let _ = timeout_at(deadline.min(now + self.database().poll()), changed.of(id)).await;
        }
    }

    /// Pauses a job. Items in flight end.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`], and [`Reason::JobStateConflict`] if the job has ended.
    pub async fn pause(&self, id: JobId, access: &Access) -> Result<Job> {
        self.change(id, access, Change::Pause).await
    }

    /// Continues a paused job.
    ///
    /// # Errors
    ///
    /// Those of [`Library::pause`].
    pub async fn resume(&self, id: JobId, access: &Access) -> Result<Job> {
        self.change(id, access, Change::Resume).await
    }

    /// Cancels a job. Items in flight end, and the others stay pending.
    ///
    /// # Errors
    ///
    /// Those of [`Library::pause`].
    pub async fn cancel(&self, id: JobId, access: &Access) -> Result<Job> {
        self.change(id, access, Change::Cancel).await
    }

    async fn change(&self, id: JobId, access: &Access, change: Change) -> Result<Job> {
        let (access, now) = (access.clone(), self.now());
        let write = self
            .inner
            .database
            .write(move |connection| jobs::change(connection, id, access.owner(), change, now));
        let job = write.await?;
        self.changes().note_request(id);
        Ok(job)
    }

    /// Makes failed items pending again: those with these reasons, or all. Returns the job and the number of items.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`], [`Reason::JobStateConflict`] if the job was cancelled, and [`Reason::TooManyJobs`] if the
    /// job has ended and its owner has too many others.
    pub async fn retry(
        &self,
        id: JobId,
        access: &Access,
        reasons: Option<Vec<Reason>>,
    ) -> Result<(Job, u64)> {
        let (access, now) = (access.clone(), self.now());
        let max_unfinished = self.limits().unfinished_jobs;
        let write = self.inner.database.write(move |connection| {
            jobs::retry(connection, id, access.owner(), reasons.as_deref(), max_unfinished, now)
        });
        let retried = write.await?;
        self.changes().note_request(id);
        Ok(retried)
    }

    /// Deletes a job with its items and events. Its transcripts stay in the library.
    ///
    /// # Errors
    ///
    /// [`Reason::JobNotFound`].
    pub async fn delete(&self, id: JobId, access: &Access) -> Result<()> {
        let access = access.clone();
        let write = self
            .inner
            .database
            .write(move |connection| jobs::delete(connection, id, access.owner()));
        write.await?;
        self.changes().note_request(id);
        self.purge_deleted().await
    }
}

/// A hash of everything that a request says.
fn fingerprint(request: &JobRequest, sources: &[JobSource]) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(request).unwrap_or_default());
    for source in sources {
        hash.update(format!("\n{} {source}", source.kind()));
    }
    hash.finalize().to_vec()
}
