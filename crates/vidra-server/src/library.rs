//! The library file of the service. The service starts without it if the disk fails.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;
use vidra::{Error, Reason, Result};
use vidra_library::{Library, WorkerConfig};

/// How often a file is tried that could not be opened.
const RETRY: Duration = Duration::from_secs(30);

/// The library of a service, and how its jobs run.
#[derive(Debug, Clone)]
pub struct LibraryConfig {
    /// The file.
    pub file: LibraryFile,
    /// How jobs run.
    pub worker: WorkerConfig,
}

/// A library file that may not be available yet. Clones share it.
#[derive(Clone)]
pub struct LibraryFile(Arc<Shared>);

struct Shared {
    library: OnceLock<Library>,
    open: Box<dyn Fn() -> Result<Library> + Send + Sync>,
}

impl LibraryFile {
    /// An open library.
    pub fn new(library: Library) -> Self {
        let shared = Shared { library: library.into(), open: Box::new(|| Err(unavailable())) };
        Self(Arc::new(shared))
    }

    /// A library that cannot be opened now. The service tries `open`, which may block, every 30 seconds.
    pub fn unavailable(open: impl Fn() -> Result<Library> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { library: OnceLock::new(), open: Box::new(open) }))
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
    Error::new(Reason::LibraryUnavailable, "The library file cannot be used now")
        .with_retry_after(Some(RETRY))
}
