//! The worker: leases items, runs them, and waits for resources.
//!
//! One task plans, and one task runs each item or listing. A plan reads the active jobs, divides the free slots among
//! callers and then among their jobs, and leases that many items in one transaction. Then it sleeps until something
//! ends, a job changes, or a resource becomes available.

mod active_jobs;
mod discovery;
mod egress;
mod failure_action;
mod feed_pace;
mod item;
mod journal;
mod listing;
mod plan;
mod resources;
mod schedule;
mod session;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{sleep, sleep_until};
use vidra::{Error, Reason, Result, Vidra};

use crate::estimate::background_pace;
use crate::job::JobId;
use crate::library::{Access, Library};
use crate::store::eta;
use crate::store::leases::Lease;
use feed_pace::FeedPace;
use session::Session;

/// The client that pays for the jobs of a caller. `None` if the caller's key was revoked: its jobs are paused.
pub type Payers = Arc<dyn Fn(&str) -> Option<Vidra> + Send + Sync>;

/// The settings of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// How many items run at once, of all jobs together.
    pub concurrency: usize,
    /// The quota units of a day that jobs leave to interactive requests.
    pub reserve_units: u32,
    /// How long transcripts are stored that no collection refers to. `None` for ever.
    pub retention: Option<Duration>,
    /// Whether the transcripts of videos that were deleted or made private are removed.
    pub follows_deletions: bool,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { concurrency: 8, reserve_units: 2_000, retention: None, follows_deletions: false }
    }
}

impl WorkerConfig {
    /// Sets how many items run at once.
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Sets the quota units of a day that jobs leave to interactive requests.
    pub fn with_reserve_units(self, reserve_units: u32) -> Self {
        Self { reserve_units, ..self }
    }

    /// Sets how long transcripts are stored that no collection refers to.
    pub fn with_retention(self, retention: Option<Duration>) -> Self {
        Self { retention, ..self }
    }

    /// Sets whether the transcripts of videos that were deleted or made private are removed.
    pub fn with_follows_deletions(self, follows_deletions: bool) -> Self {
        Self { follows_deletions, ..self }
    }
}

/// Runs the jobs of a library, and starts the syncs of its collections.
pub struct Worker {
    library: Library,
    vidra: Vidra,
    payers: Payers,
    config: WorkerConfig,
    feed_pace: FeedPace,
}

/// How often a command in the foreground looks whether its jobs have ended.
const IDLE_POLL: Duration = Duration::from_millis(250);

/// How often a plan is made without a reason: other processes may have changed something.
const POLL: Duration = Duration::from_secs(1);

impl Worker {
    /// A worker for the jobs of `library`. It fetches with the clients of `payers`, which share the egress addresses of
    /// `vidra`.
    pub fn new(library: Library, vidra: Vidra, payers: Payers, config: WorkerConfig) -> Self {
        Self { library, vidra, payers, config, feed_pace: FeedPace::default() }
    }

    /// Runs jobs until `stop` resolves. Then it waits up to five seconds for work in flight, and gives back the rest.
    ///
    /// # Errors
    ///
    /// Only if the worker cannot register itself. A failing disk later on is logged, and tried again.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<()> {
        self.run_jobs(&[], stop).await
    }

    /// Runs these jobs until `stop` resolves. All jobs if there are none.
    async fn run_jobs(&self, only: &[JobId], stop: impl Future<Output = ()>) -> Result<()> {
        let (process, lock) = self.library.register(only).await?;
        let pace = background_pace(&self.vidra);
        self.library.database().write(move |it| eta::set_pace(it, pace)).await?;
        let mut session = Session::new(self, only, process, lock).await;
        let mut stop = std::pin::pin!(stop);
        let mut egress = self.vidra.egress_changes();
        let mut indexing = std::pin::pin!(self.complete_index().fuse());
        loop {
            let wake = session.step().await;
            tokio::select! {
                // Nothing starts after the worker was stopped.
                biased;
                () = &mut stop => break,
                // A block is stored before the results that came with it.
                _ = egress.changed() => session.save_egress().await,
                Some(ended) = session.tasks.join_next_with_id() => session.note_ends(&ended),
                () = self.library.changes().requested() => session.jobs.expire(),
                () = &mut indexing => {}
                () = sleep_until(wake) => {}
            }
        }
        session.finish().await;
        Ok(())
    }

    /// Adds the transcripts of earlier releases to the index, and removes an earlier index.
    async fn complete_index(&self) {
        let complete = async || {
            let transcripts = self.library.complete_index(|_| ()).await?;
            self.library.remove_unused_indexes().await?;
            Ok::<_, Error>(transcripts)
        };
        loop {
            match complete().await {
                Ok(0) => return,
                Ok(transcripts) => return tracing::info!(transcripts, "search index completed"),
                Err(error) => {
                    let reason = error.reason().code();
                    tracing::warn!(reason, "search index not completed");
                    sleep(DISK_PAUSE).await;
                }
            }
        }
    }

    /// Runs `jobs` until none of them is active, for a command in the foreground. It leaves the other jobs of the file
    /// alone.
    ///
    /// # Errors
    ///
    /// Those of [`Worker::run`].
    pub async fn run_until_idle(
        &self,
        jobs: &[JobId],
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let idle = async {
            loop {
                let mut is_active = false;
                for id in jobs {
                    is_active |= match self.library.job(*id, &Access::All).await {
                        Ok(job) => job.state.is_active(),
                        // A failing disk does not end the job.
                        Err(error) => error.reason() != Reason::JobNotFound,
                    };
                }
                if !is_active {
                    return;
                }
                sleep(IDLE_POLL).await;
            }
        };
        let mut stop = std::pin::pin!(stop);
        let mut idle = std::pin::pin!(idle);
        let either = async {
            tokio::select! {
                biased;
                () = &mut stop => {}
                () = &mut idle => {}
            }
        };
        self.run_jobs(jobs, either).await
    }
}

/// How long a task waits before it writes again to a disk that fails.
const DISK_PAUSE: Duration = Duration::from_secs(5);

/// How long a task waits before it writes again to a damaged file.
const DAMAGED_PAUSE: Duration = Duration::from_secs(60);

/// Repeats a write while the disk fails, so that nothing that was fetched is lost. `None` after another error, which is
/// logged: the session frees the lease then.
async fn until_stored<T, F>(lease: Lease, write: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T>>,
{
    loop {
        match write().await {
            Ok(done) => return Some(done),
            Err(error) if error.reason() == Reason::LibraryUnavailable => sleep(DISK_PAUSE).await,
            // Until an operator has repaired or replaced the file. Fetching again would not help.
            Err(error) if error.reason() == Reason::LibraryDamaged => sleep(DAMAGED_PAUSE).await,
            Err(error) => {
                let (job, position) = (lease.job, lease.position);
                let (reason, source) = (error.reason().code(), std::error::Error::source(&error));
                tracing::error!(job, position, reason, source, "result not stored");
                return None;
            }
        }
    }
}

/// The error of a fetch that panicked.
fn panicked() -> Error {
    Error::internal("the fetch of a job panicked")
}
