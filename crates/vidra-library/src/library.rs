//! [`Library`]: one method per operation.

mod collections;
mod copy;
mod cursor;
mod maintenance;
mod notify;
mod operations;
mod search;

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, Weak};

use jiff::Timestamp;
use rusqlite::Connection;
use vidra::clock::{Clock, SystemClock};
use vidra::transcript::FullTranscript;
use vidra::{Reason, Result};

use crate::collection::{CollectionName, CollectionRequest, CollectionSource, VideoState};
use crate::job::{Item, ItemState, Job, JobId, JobRequest, JobSource, NumberedEvent};
use crate::store::items::ResultRow;
use crate::store::{Database, Health, NoticeRelay, ProcessLock, processes};
pub use copy::{Copied, CopyStep};
use notify::Changes;

/// A library file: jobs, collections and transcripts. It is cheap to clone.
///
/// Several processes may use one file at the same time. Operations run on threads of their own, and never block the
/// runtime. Cancelling an operation does not undo a change that has begun.
#[derive(Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    clock: Arc<dyn Clock>,
    changes: Changes,
    limits: Limits,
    /// The searches that run or wait.
    searches: Arc<AtomicUsize>,
}

/// The limits of a library. `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Unfinished jobs of one caller, without those of its collections.
    pub unfinished_jobs: Option<u64>,
    /// Collections of one caller.
    pub collections: Option<u64>,
    /// Bytes of the transcripts that the jobs of one caller have stored. Beyond it, new jobs are refused, and others
    /// wait.
    pub caller_bytes: Option<u64>,
    /// Bytes of the file. Beyond it, nothing is stored and jobs wait; reading goes on.
    pub file_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unfinished_jobs: Some(100),
            collections: Some(100),
            caller_bytes: None,
            file_bytes: None,
        }
    }
}

impl Limits {
    /// Sets the number of unfinished jobs of one caller.
    pub fn with_unfinished_jobs(self, unfinished_jobs: Option<u64>) -> Self {
        Self { unfinished_jobs, ..self }
    }

    /// Sets the number of collections of one caller.
    pub fn with_collections(self, collections: Option<u64>) -> Self {
        Self { collections, ..self }
    }

    /// Sets the bytes of the transcripts of one caller.
    pub fn with_caller_bytes(self, caller_bytes: Option<u64>) -> Self {
        Self { caller_bytes, ..self }
    }

    /// Sets the bytes of the file.
    pub fn with_file_bytes(self, file_bytes: Option<u64>) -> Self {
        Self { file_bytes, ..self }
    }
}

/// The jobs that an operation may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// All jobs: an operator, or a service without keys.
    All,
    /// The jobs of this caller.
    Owner(String),
}

impl Access {
    fn owner(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Owner(name) => Some(name),
        }
    }
}

/// A job to create.
#[derive(Debug, Clone)]
pub struct Create {
    /// The name of the caller's key. Empty without keys.
    pub owner: String,
    /// The options of the job.
    pub request: JobRequest,
    /// The sources of the videos.
    pub sources: Vec<JobSource>,
    /// A key that the caller chose, so that a repeated request does not start a second job.
    pub idempotency_key: Option<String>,
}

/// A created job.
#[derive(Debug, Clone)]
pub struct Created {
    /// The job.
    pub job: Job,
    /// Whether this call created it. `false` if an earlier call with the same key did.
    pub is_new: bool,
}

/// A collection to create, or to replace the one with the same name.
#[derive(Debug, Clone)]
pub struct PutCollection {
    /// The name of the caller's key. Empty without keys.
    pub owner: String,
    /// The name.
    pub name: CollectionName,
    /// The options.
    pub request: CollectionRequest,
    /// The sources of the videos.
    pub sources: Vec<CollectionSource>,
}

/// The filter of a page of videos of a collection.
#[derive(Debug, Clone, Copy, Default)]
pub struct VideoFilter {
    /// Only videos in this state.
    pub state: Option<VideoState>,
    /// Only videos with this reason.
    pub reason: Option<Reason>,
}

/// The filter of a page of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemFilter {
    /// Only items in this state.
    pub state: Option<ItemState>,
    /// Only items with this reason.
    pub reason: Option<Reason>,
}

/// An ended item with its transcript.
#[derive(Debug, Clone)]
pub struct StoredResult {
    /// The item.
    pub item: Item,
    /// The transcript. An error if the stored text is damaged, and `None` if the item failed or the transcript was
    /// removed from the library.
    pub transcript: Option<Result<FullTranscript>>,
}

impl From<ResultRow> for StoredResult {
    /// Decodes the transcript.
    fn from(row: ResultRow) -> Self {
        Self { item: row.item, transcript: row.text.map(|text| text.transcript()) }
    }
}

/// A job with its events, for a caller that follows it.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The job.
    pub job: Job,
    /// The events after the requested number, at most 500.
    pub events: Vec<NumberedEvent>,
}

impl Library {
    /// Opens a library file, and creates it if necessary. It blocks on files.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryTooNew`] if a newer release made the file, [`Reason::LibraryInUse`] if it has to be migrated
    /// while another process uses it, [`Reason::LibraryDamaged`] if it is no library, and
    /// [`Reason::LibraryUnavailable`] if it cannot be read or written.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        Self::open_with_clock(path, limits, Arc::new(SystemClock))
    }

    /// Opens a library file with another clock than the machine's.
    ///
    /// # Errors
    ///
    /// Those of [`Library::open`].
    pub fn open_with_clock(path: &Path, limits: Limits, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self::new(Database::open(path, limits.file_bytes)?, clock, limits))
    }

    /// Opens the library in a PostgreSQL database, and creates its tables if necessary. The processes of several machines
    /// can use it at the same time.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`] if the server does not answer, or if a newer release made the tables.
    pub async fn open_in_postgres(database: &vidra::Database, limits: Limits) -> Result<Self> {
        Self::open_in_postgres_with_clock(database, limits, Arc::new(SystemClock)).await
    }

    /// Opens the library in a PostgreSQL database with another clock than the machine's.
    ///
    /// # Errors
    ///
    /// Those of [`Library::open_in_postgres`].
    pub async fn open_in_postgres_with_clock(
        database: &vidra::Database,
        limits: Limits,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Ok(Self::new(Database::in_postgres(database, limits.file_bytes).await?, clock, limits))
    }

    /// The library for a process that uses it alone, so that it seldom looks for changes of others. For tests, whose clock
    /// jumps.
    #[doc(hidden)]
    #[must_use]
    pub fn alone(self) -> Self {
        self.inner.database.set_alone();
        self
    }

    /// A library in memory. It runs everything on the calling thread, for tests and simulations.
    ///
    /// # Errors
    ///
    /// None that a caller can expect.
    pub fn in_memory(memory: &Memory, limits: Limits, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self::new(Database::in_memory(Arc::clone(&memory.0))?, clock, limits))
    }

    fn new(database: Database, clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let relay = database.relay();
        let changes = Changes::new(relay.as_ref().map(|it| it.outgoing.clone()));
        let searches = Arc::default();
        let inner = Arc::new(Inner { database, clock, changes, limits, searches });
        if let Some(relay) = relay {
            tokio::spawn(hear_others(Arc::downgrade(&inner), relay));
        }
        Self { inner }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.inner.limits
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.inner.changes
    }

    /// Whether the file works. It reads no row.
    pub fn health(&self) -> Health {
        self.inner.database.health()
    }

    /// Frees the leases of all processes. Only for a library in memory, where no lock shows that a process has ended.
    ///
    /// # Errors
    ///
    /// None that a caller can expect.
    #[doc(hidden)]
    pub async fn release_all_leases(&self) -> Result<()> {
        let release = |it: &_| {
            let all = processes::processes(it)?;
            all.into_iter().try_for_each(|number| processes::release_process(it, number).map(drop))
        };
        self.inner.database.write(release).await
    }

    /// Whether a worker of any process runs this job, so that it continues by itself.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`].
    pub async fn has_worker(&self, id: JobId) -> Result<bool> {
        self.inner.database.has_worker(id).await
    }

    /// Registers this process as a worker of the file, for these jobs or for all.
    pub(crate) async fn register(&self, only: &[JobId]) -> Result<(i64, ProcessLock)> {
        self.inner.database.register(only, self.now()).await
    }
}

/// Announces the changes of other machines until the library is dropped.
async fn hear_others(library: Weak<Inner>, mut relay: NoticeRelay) {
    while let Some(news) = relay.next().await {
        let Some(library) = library.upgrade() else { return };
        library.changes.hear(news);
    }
}

/// The memory of a [`Library::in_memory`]. Libraries over the same memory follow each other like processes.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Mutex<Connection>>);

impl Memory {
    /// Empty memory.
    ///
    /// # Errors
    ///
    /// None that a caller can expect.
    pub fn new() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(vidra::Error::internal)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }
}
