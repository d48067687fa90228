//! [`Call`]: who answers a call, what its caller may use, and how long it may take.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};
use vidra::{Error, Reason, Vidra};
use vidra_library::{Access, JobId, Library};

/// How long a tool works before it returns what it has.
pub(crate) const WORK_TIME: Duration = Duration::from_secs(40);

/// The time for an answer as a whole. A tool that does not end by itself is stopped.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(45);

/// The context of a call: who answers it, and the limits of its caller.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub(crate) vidra: &'a Vidra,
    progress: Option<&'a ProgressSender>,
    batch_limit: Option<&'a BatchLimit>,
    library: Option<&'a Result<ToolLibrary, Error>>,
    began: Instant,
    is_limited: bool,
}

/// A function that returns a permit, which is released on drop, or `None` when the caller has reached its limit.
type Take = Arc<dyn Fn() -> Option<Box<dyn Send>> + Send + Sync>;

/// The limit of concurrent playlist transcriptions of one caller.
#[derive(Clone)]
pub struct BatchLimit(Take);

impl BatchLimit {
    /// `take` returns a permit for one more playlist, which is released on drop, or `None` when the caller
    /// has reached its limit.
    pub fn new(take: impl Fn() -> Option<Box<dyn Send>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }
}

/// The library, as the caller of a tool may use it.
#[derive(Clone)]
pub struct ToolLibrary {
    pub(crate) library: Library,
    pub(crate) access: Access,
    pub(crate) owner: String,
    pub(crate) sees_own_only: bool,
    pub(crate) reserve_units: u32,
    pub(crate) daily_units: Option<u32>,
    searches: Option<Take>,
    on_job: Option<Arc<dyn Fn(JobId) + Send + Sync>>,
}

impl ToolLibrary {
    /// A library for a caller that may see everything in it. Its jobs belong to nobody.
    pub fn new(library: Library) -> Self {
        Self {
            library,
            access: Access::All,
            owner: String::new(),
            sees_own_only: false,
            reserve_units: 0,
            daily_units: None,
            searches: None,
            on_job: None,
        }
    }

    /// Sets the name of the caller, which owns its jobs and collections, and the jobs that it may see. With
    /// `sees_own_only` it searches the videos of its own jobs and collections only.
    #[must_use]
    pub fn owned_by(self, owner: String, access: Access, sees_own_only: bool) -> Self {
        Self { owner, access, sees_own_only, ..self }
    }

    /// Sets the quota units of a day that jobs leave to other requests, and the units of a day of the caller, for estimates.
    #[must_use]
    pub fn with_units(self, reserve_units: u32, daily_units: Option<u32>) -> Self {
        Self { reserve_units, daily_units, ..self }
    }

    /// Sets a function that is called with each job that a tool starts.
    #[must_use]
    pub fn with_job_hook(self, on_job: impl Fn(JobId) + Send + Sync + 'static) -> Self {
        Self { on_job: Some(Arc::new(on_job)), ..self }
    }

    pub(crate) fn note_job(&self, id: JobId) {
        if let Some(on_job) = &self.on_job {
            on_job(id);
        }
    }

    /// Limits the concurrent searches of the caller. `take` returns a permit for one more search, or `None`.
    #[must_use]
    pub fn with_search_limit(
        self,
        take: impl Fn() -> Option<Box<dyn Send>> + Send + Sync + 'static,
    ) -> Self {
        Self { searches: Some(Arc::new(take)), ..self }
    }

    /// The name of the caller, if it may only see what belongs to it.
    pub(crate) fn only_owner(&self) -> Option<String> {
        match &self.access {
            Access::Owner(name) if self.sees_own_only => Some(name.clone()),
            _ => None,
        }
    }

    /// A permit for one search, to be held until it ends.
    pub(crate) fn search_permit(&self) -> Result<Option<Box<dyn Send>>, Error> {
        let Some(take) = &self.searches else { return Ok(None) };
        let too_many = || {
            let message = "You run too many searches at the same time";
            Error::new(Reason::TooManySearches, message)
                .with_retry_after(Some(Duration::from_secs(1)))
        };
        take().map(Some).ok_or_else(too_many)
    }

    /// Like [`Self::search_permit`], and waits for one until `end`.
    pub(crate) async fn wait_for_search(
        &self,
        end: Instant,
    ) -> Result<Option<Box<dyn Send>>, Error> {
        loop {
            match self.search_permit() {
                Err(_) if Instant::now() < end => sleep(SEARCH_PAUSE).await,
                permit => return permit,
            }
        }
    }
}

/// How long a search waits before it tries again to get a permit.
const SEARCH_PAUSE: Duration = Duration::from_millis(200);

/// Receives the progress of a long call: a few dozen messages, and a few per minute while it waits.
pub type ProgressSender = UnboundedSender<Progress>;

/// The longest time between two progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(15);

/// The progress of a long call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The number of videos that are done.
    pub done: u64,
    /// The number of all videos, if it is known.
    pub total: Option<u64>,
    /// The last step, or the one in progress. It contains no text of third parties.
    pub what: String,
}

impl<'a> Call<'a> {
    /// A call that `vidra` answers and that is billed to this handle. Its time begins now.
    pub fn new(vidra: &'a Vidra) -> Self {
        let began = Instant::now();
        Self { vidra, progress: None, batch_limit: None, library: None, began, is_limited: false }
    }

    /// Lets the call answer within 45 seconds, because clients of MCP give up after a minute.
    #[must_use]
    pub fn with_time_limit(self) -> Self {
        Self { is_limited: true, ..self }
    }

    /// Limits how many playlists the caller transcribes at once.
    #[must_use]
    pub fn within(self, limit: &'a BatchLimit) -> Self {
        Self { batch_limit: Some(limit), ..self }
    }

    /// Lets the call use the library, or sets the reason why it cannot.
    #[must_use]
    pub fn with_library(self, library: &'a Result<ToolLibrary, Error>) -> Self {
        Self { library: Some(library), ..self }
    }

    /// Sends the progress of the call to `progress`.
    #[must_use]
    pub fn with_progress(self, progress: &'a ProgressSender) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// The library.
    ///
    /// # Errors
    ///
    /// The reason why the caller cannot use it.
    pub(crate) fn library(&self) -> Result<&'a ToolLibrary, Error> {
        let off = || Error::new(Reason::LibraryOff, "There is no library");
        self.library.ok_or_else(off)?.as_ref().map_err(Clone::clone)
    }

    /// A permit for one playlist, to be held until it is transcribed.
    pub(crate) fn batch_permit(&self) -> Result<Option<Box<dyn Send>>, Error> {
        let Some(BatchLimit(take)) = self.batch_limit else { return Ok(None) };
        let message = "Too many playlists are being transcribed for you already";
        let too_many = || {
            Error::new(Reason::TooManyBatches, message)
                .with_retry_after(Some(Duration::from_secs(5)))
        };
        take().map(Some).ok_or_else(too_many)
    }

    /// Reports progress, if the caller requested it.
    pub(crate) fn report(&self, done: u64, total: Option<u64>, what: impl Into<String>) {
        if let Some(progress) = self.progress {
            // A receiver that is gone needs no progress.
            let _ = progress.send(Progress { done, total, what: what.into() });
        }
    }

    /// Runs work that is worth finishing although the call has no more time: its result is in the cache then. A call that is
    /// cancelled ends its work.
    ///
    /// # Errors
    ///
    /// [`Reason::TimedOut`] when the call has to answer.
    pub(crate) async fn finish_in_background<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        if !self.is_limited {
            return Ok(work.await);
        }
        let mut task = AbortOnDrop(Some(tokio::spawn(work)));
        let Some(running) = task.0.as_mut() else { return Err(timed_out()) };
        match timeout_at(self.work_ends(), running).await {
            Ok(done) => done.map_err(Error::internal),
            Err(_) => {
                task.0 = None;
                Err(timed_out())
            }
        }
    }

    /// When a tool stops waiting for work that continues without it.
    pub(crate) fn work_ends(&self) -> Instant {
        self.began + WORK_TIME
    }

    /// When the call is stopped. `None` for a call without a time limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.is_limited.then(|| self.began + ANSWER_TIME)
    }

    /// The next item of a stream. Reports progress while none arrives, because many clients abandon a call
    /// after a minute of silence.
    ///
    /// # Errors
    ///
    /// [`Reason::TimedOut`] when the tool has to return what it has.
    pub(crate) async fn next<S>(
        &self,
        from: &mut S,
        done: u64,
        total: Option<u64>,
    ) -> Result<Option<S::Item>, Error>
    where
        S: Stream + Unpin,
    {
        loop {
            let end = self.work_ends();
            let wake = Instant::now() + PROGRESS_INTERVAL;
            let wake = if self.is_limited { wake.min(end) } else { wake };
            match timeout_at(wake, from.next()).await {
                Ok(next) => return Ok(next),
                Err(_) if self.is_limited && wake == end => return Err(timed_out()),
                Err(_) => self.report(done, total, "still at work"),
            }
        }
    }
}

/// Ends a task with the call that waits for it.
struct AbortOnDrop<T>(Option<JoinHandle<T>>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// The error of a call that takes too long.
pub(crate) fn timed_out() -> Error {
    let seconds = WORK_TIME.as_secs();
    Error::new(
        Reason::TimedOut,
        format!("There was no more time: a call may work for {seconds} seconds"),
    )
}
