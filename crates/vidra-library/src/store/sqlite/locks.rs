//! Locks between the processes that use one file.
//!
//! A process holds a shared lock on one file, so that nobody migrates the database meanwhile, and an exclusive lock on
//! a file with its own number. The system releases both when the process dies, however it dies: no clock decides.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use vidra::{Error, Reason, Result};

use crate::job::JobId;
use crate::store::error::unavailable;

/// How long a start waits for the start of another process.
pub(super) const START_WAIT: Duration = Duration::from_secs(30);

/// The time between two attempts to take a lock.
const RETRY: Duration = Duration::from_millis(20);

/// The locks of a process on one database.
#[derive(Debug)]
pub(crate) struct Locks {
    folder: PathBuf,
    /// Shared by all processes.
    _usage: File,
}

/// The lock that shows that a process lives.
#[derive(Debug)]
pub(crate) struct ProcessLock {
    path: PathBuf,
    file: File,
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

impl Locks {
    /// Takes the shared lock of the database at `path`. If `needs_migration`, `migrate` runs under the exclusive lock
    /// first. It blocks for up to `wait` while another process opens the database.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`] if another process does not finish opening the database in time, and
    /// [`Reason::LibraryInUse`] if another process uses a database that has to be migrated.
    pub(super) fn take<T>(
        path: &Path,
        wait: Duration,
        mut open: impl FnMut() -> Result<(T, bool)>,
        mut migrate: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<(T, Self)> {
        let folder = with_suffix(path, "-locks");
        create_private_folder(&folder).map_err(unavailable)?;
        let usage = open_file(&folder.join("usage"))?;
        // Processes that start at the same moment open the file one after the other. The lock ends with this function.
        let start = open_file(&folder.join("start"))?;
        lock_within(&start, wait)?;
        usage.lock_shared().map_err(unavailable)?;
        let (mut opened, needs_migration) = open()?;
        if needs_migration {
            usage.unlock().map_err(unavailable)?;
            usage.try_lock().map_err(in_use)?;
            migrate(&mut opened)?;
            usage.unlock().map_err(unavailable)?;
            usage.lock_shared().map_err(unavailable)?;
        }
        Ok((opened, Self { folder, _usage: usage }))
    }

    /// Takes the lock of the process with this number, which runs these jobs, or all if there are none.
    pub(crate) fn process(&self, number: i64, only: &[JobId]) -> Result<ProcessLock> {
        let path = self.process_path(number);
        let mut locked = open_file(&path)?;
        locked.try_lock().map_err(in_use)?;
        for id in only {
            writeln!(locked, "{id}").map_err(unavailable)?;
        }
        Ok(ProcessLock { path, file: locked })
    }

    /// Whether the process with this number lives and runs this job.
    pub(crate) fn runs(&self, number: i64, id: JobId) -> bool {
        // A file that cannot be read says nothing about jobs.
        let only = fs::read_to_string(self.process_path(number)).unwrap_or_default();
        let is_for_it = only.is_empty() || only.lines().any(|line| line == id.to_string());
        is_for_it && !self.has_ended(number)
    }

    /// Whether the process with this number has ended.
    pub(crate) fn has_ended(&self, number: i64) -> bool {
        match File::open(self.process_path(number)) {
            // The probe ends with the value.
            Ok(file) => file.try_lock().is_ok(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }

    /// Removes the file of a process that has ended.
    pub(crate) fn forget(&self, number: i64) {
        let _ = fs::remove_file(self.process_path(number));
    }

    fn process_path(&self, number: i64) -> PathBuf {
        self.folder.join(format!("process-{number}"))
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Options for a file that only its owner may read.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn open_file(path: &Path) -> Result<File> {
    private_options().read(true).create(true).truncate(false).open(path).map_err(unavailable)
}

/// Takes an exclusive lock, and blocks for up to `wait`.
#[expect(clippy::disallowed_methods, reason = "opening a library blocks; a file lock has no waker")]
fn lock_within(file: &File, wait: Duration) -> Result<()> {
    let deadline = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(RETRY),
            Err(TryLockError::WouldBlock) => {
                let message = "Another process has not finished opening the library file";
                return Err(Error::new(Reason::LibraryUnavailable, message));
            }
            Err(TryLockError::Error(error)) => return Err(unavailable(error)),
        }
    }
}

fn in_use(error: TryLockError) -> Error {
    match error {
        TryLockError::WouldBlock => {
            Error::new(Reason::LibraryInUse, "Another process uses the library file")
        }
        TryLockError::Error(error) => unavailable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_waits_for_another_one_within_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.db");
        let take = |wait| Locks::take(&path, wait, || Ok(((), false)), |()| Ok(()));
        drop(take(Duration::ZERO).unwrap());
        let start = open_file(&folder.path().join("library.db-locks/start")).unwrap();
        start.lock().unwrap();
        assert_eq!(take(Duration::ZERO).unwrap_err().reason(), Reason::LibraryUnavailable);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| take(Duration::from_secs(60)).map(drop));
            drop(start);
            waiting.join().unwrap().unwrap();
        });
    }
}
