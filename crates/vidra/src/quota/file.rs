//! The ledger's file: read and written under a lock that other processes honour.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::day::Day;

/// What is written each time, filled up with white space: a disk writes so much in one piece, and a
/// process that is killed has written all of it or nothing. A new file in place of the old one would
/// be as safe, and take thirty times as long at every call of the platform.
const SECTOR: usize = 512;

/// The file, locked. Dropping it lets go of the lock.
pub(super) struct Locked {
    file: File,
    length: usize,
    _lock: File,
    /// What it held when it was locked; `None` where there is nothing to read.
    pub(super) kept: Option<Day>,
}

impl Locked {
    /// Locks and reads the file, waiting for another process no longer than `patience`. The lock has
    /// a file of its own: the ledger's may be damaged and removed by hand.
    pub(super) fn open(path: &Path, patience: Duration) -> io::Result<Self> {
        let lock = open(&path.with_extension("lock"))?;
        wait_for(&lock, patience)?;
        let mut file = open(path)?;
        let mut bytes = Vec::with_capacity(SECTOR);
        file.read_to_end(&mut bytes)?;
        let read = (!bytes.is_empty()).then(|| serde_json::from_slice(&bytes));
        let kept = read.transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "the quota ledger's file is damaged");
            None
        });
        Ok(Self { file, length: bytes.len(), _lock: lock, kept })
    }

    /// Writes `day` over what was kept.
    pub(super) fn replace(mut self, day: &Day) -> io::Result<()> {
        if self.kept.as_ref() == Some(day) {
            return Ok(());
        }
        let mut bytes = serde_json::to_vec(day)?;
        bytes.resize(SECTOR.max(bytes.len()), b'\n');
        self.file.rewind()?;
        self.file.write_all(&bytes)?;
        // Junk may have been longer.
        if self.length > bytes.len() { self.file.set_len(bytes.len() as u64) } else { Ok(()) }
    }
}

/// Opens a file to be read and written; makes it, and its folder, where there is none, for its user
/// alone: a stranger could hold the lock.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let open = || options.open(path);
    match (open(), path.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            open()
        }
        (opened, _) => opened,
    }
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
