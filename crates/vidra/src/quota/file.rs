//! The ledger's file. All access holds a lock that other processes respect.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use super::day::Day;

/// The size of each write, padded with white space. A disk writes a sector atomically, so a killed
/// process has written all of it or nothing. A rename would be equally safe, but thirty times as
/// slow for every call.
const SECTOR: usize = 512;

/// The locked file. Dropping it releases the lock.
pub(super) struct Locked {
    file: File,
    length: usize,
    _lock: File,
    /// The content at the time of the lock. `None` if the file is empty or damaged.
    pub(super) stored: Option<Day>,
}

impl Locked {
    /// Locks and reads the file. It waits at most `patience` for another process. The lock is a
    /// separate file, because an operator can delete a damaged ledger.
    ///
    /// # Errors
    ///
    /// Any I/O error, or a timeout of the lock.
    pub(super) fn open(path: &Path, patience: Duration) -> io::Result<Self> {
        let lock = open(&path.with_extension("lock"))?;
        wait_for(&lock, patience)?;
        let mut file = open(path)?;
        let mut bytes = Vec::with_capacity(SECTOR);
        file.read_to_end(&mut bytes)?;
        let read = (!bytes.is_empty()).then(|| serde_json::from_slice(&bytes));
        let stored = read.transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "quota ledger file damaged");
            None
        });
        Ok(Self { file, length: bytes.len(), _lock: lock, stored })
    }

    /// Overwrites the file with `day`.
    pub(super) fn replace(mut self, day: &Day) -> io::Result<()> {
        if self.stored.as_ref() == Some(day) {
            return Ok(());
        }
        let mut bytes = serde_json::to_vec(day)?;
        bytes.resize(SECTOR.max(bytes.len()), b'\n');
        self.file.rewind()?;
        self.file.write_all(&bytes)?;
        // A damaged file can be longer.
        if self.length > bytes.len() { self.file.set_len(bytes.len() as u64) } else { Ok(()) }
    }
}

/// Opens a file for reading and writing, and creates it and its folder if necessary. Only the owner
/// has access, because another user could hold the lock.
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
