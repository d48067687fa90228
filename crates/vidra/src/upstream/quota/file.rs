//! The ledger's file: read and replaced under a lock that other processes honour.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::day::Day;

/// The file, locked. Dropping it lets go of the lock.
pub(super) struct Locked<'a> {
    path: &'a Path,
    _lock: File,
    /// What it held when it was locked; `None` where there is nothing to read.
    pub(super) kept: Option<Day>,
}

impl<'a> Locked<'a> {
    /// Locks and reads the file, waiting for another process no longer than `patience`. The lock has
    /// a file of its own, because the ledger's is replaced.
    pub(super) fn open(path: &'a Path, patience: Duration) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = File::options().create(true).append(true).open(beside(path, "lock"))?;
        wait_for(&lock, patience)?;
        let kept = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .inspect_err(|error| tracing::warn!(%error, "the quota ledger's file is damaged"))
                .ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { path, _lock: lock, kept })
    }

    /// Replaces the file whole, so that a process killed in the middle leaves the old one.
    pub(super) fn replace(self, day: &Day) -> io::Result<()> {
        if self.kept.as_ref() == Some(day) {
            return Ok(());
        }
        let new = beside(self.path, "new");
        fs::write(&new, serde_json::to_vec(day)?)?;
        fs::rename(&new, self.path)
    }
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    path.with_extension(extension)
}

#[expect(clippy::disallowed_methods, reason = "on a blocking thread; a file lock has no waker")]
fn wait_for(lock: &File, patience: Duration) -> io::Result<()> {
    let until = Instant::now() + patience;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}
