//! The library file of the service. The service starts without it if the disk fails.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;
use vidra::{Error, Reason, Result};
use vidra_library::{Library, WorkerConfig};

use crate::fetched_transcripts::FetchedTranscripts;

/// The interval between attempts to open the file.
const RETRY: Duration = Duration::from_secs(30);

/// The library of a service, and how its jobs run.
#[derive(Debug, Clone)]
pub struct LibraryConfig {
    /// The file.
    pub file: LibraryFile,
    /// How jobs run.
    pub worker: WorkerConfig,
    /// The transcripts of other requests, if the library stores them too.
    pub fetched: Option<FetchedTranscripts>,
    /// The part of the library that callers with keys can search.
    pub access: LibraryAccess,
}

/// The part of the library that callers with keys can search. Operators can search everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LibraryAccess {
    /// The whole library.
    #[default]
    All,
    /// The videos of their own jobs and collections.
    Own,
}

impl LibraryConfig {
    /// A library that stores the transcripts of jobs alone.
    pub fn new(file: LibraryFile, worker: WorkerConfig) -> Self {
        Self { file, worker, fetched: None, access: LibraryAccess::All }
    }
}

/// A library file that may not be available yet. Clones share it.
#[derive(Clone)]
pub struct LibraryFile(Arc<Shared>);

struct Shared {
    library: OnceLock<Library>,
    /// Whether the worker of jobs has failed, and starts again later.
    is_worker_failing: AtomicBool,
    open: Box<dyn Fn() -> Result<Library> + Send + Sync>,
}

impl LibraryFile {
    /// An open library.
    pub fn new(library: Library) -> Self {
        Self::with(library.into(), || Err(unavailable()))
    }

    /// A library that cannot be opened now. The service tries `open`, which may block, every 30 seconds.
    pub fn unavailable(open: impl Fn() -> Result<Library> + Send + Sync + 'static) -> Self {
        Self::with(OnceLock::new(), open)
    }

    fn with(
        library: OnceLock<Library>,
        open: impl Fn() -> Result<Library> + Send + Sync + 'static,
    ) -> Self {
        let is_worker_failing = AtomicBool::new(false);
        Self(Arc::new(Shared { library, is_worker_failing, open: Box::new(open) }))
    }

    /// Notes whether the worker of jobs has failed.
    pub(crate) fn note_worker(&self, is_failing: bool) {
        self.0.is_worker_failing.store(is_failing, Ordering::Relaxed);
    }

    /// Whether the file could not be opened, the last transaction failed, or the worker of jobs has failed.
    pub(crate) fn is_failing(&self) -> bool {
        let library = self.0.library.get();
        library.is_none_or(|library| library.health().is_failing)
            || self.0.is_worker_failing.load(Ordering::Relaxed)
    }

    /// The library.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`] while the file cannot be opened.
    pub(crate) fn get(&self) -> Result<&Library> {
        self.0.library.get().ok_or_else(unavailable)
    }

    /// The library, as soon as the file can be opened.
    pub(crate) async fn opened(&self) -> Library {
        loop {
            if let Some(library) = self.0.library.get() {
                return library.clone();
            }
            sleep(RETRY).await;
            let shared = Arc::clone(&self.0);
            match spawn_blocking(move || (shared.open)()).await {
                Ok(Ok(library)) => {
                    tracing::info!("library opened");
                    let _ = self.0.library.set(library);
                }
                Ok(Err(error)) => {
                    let source = std::error::Error::source(&error);
                    tracing::warn!(reason = error.reason().code(), source, "library not opened");
                }
                Err(_) => tracing::error!("opening the library panicked"),
            }
        }
    }
}

impl fmt::Debug for LibraryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LibraryFile").field("is_open", &self.0.library.get().is_some()).finish()
    }
}

fn unavailable() -> Error {
    Error::new(Reason::LibraryUnavailable, "The library cannot be used now")
        .with_retry_after(Some(RETRY))
}
