//! The files of a count: a working copy, two synced copies, and a lock.

use std::any::Any;
use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// A larger file is damaged. The most tallies that a count stores are smaller.
const MAX_BYTES: u64 = 64 << 20;

/// The buffer of a read. The files of a few accounts fit, so that one call reads them.
const BUFFER_BYTES: usize = 4 << 10;

/// The content of a file that cannot be a count, so that another copy is used.
const DAMAGED: &[u8] = &[0];

/// `O_NONBLOCK`, so that a FIFO in place of a file blocks nobody. Regular files ignore it.
const NO_WAIT: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// How long to wait for another process that holds a lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// One of the files with a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Written at each change and never synced. It survives a killed process.
    Working,
    /// Two synced copies, written in turn. One of them survives a power cut.
    First,
    Second,
}

/// A lock that other processes respect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Protects the working copy. It is never held during a sync.
    Working,
    /// Protects the synced copies.
    Synced,
}

/// Holds a lock until it is dropped.
pub(super) type Held = Box<dyn Any + Send>;

/// The disk below a count. Tests replace it with one that loses its power.
pub(super) trait Disk: Debug + Send + Sync {
    /// The content of a file; `None` if there is no file.
    fn read(&self, part: Part) -> io::Result<Option<Vec<u8>>>;
    /// Overwrites a file in place. It is on the disk only after a sync.
    fn write(&self, part: Part, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the content of a file is on the disk.
    fn sync(&self, part: Part) -> io::Result<()>;
    /// Takes a lock. It waits at most `timeout` for another process.
    fn lock(&self, lock: Lock, timeout: Duration) -> io::Result<Held>;
}

/// Real files.
#[derive(Debug)]
pub(super) struct Files {
    /// The path of the working copy.
    path: PathBuf,
    /// Whether the entries of the folder are on the disk.
    is_folder_synced: AtomicBool,
}

impl Files {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_folder_synced: AtomicBool::new(false) }
    }

    fn path(&self, part: Part) -> PathBuf {
        let suffix = match part {
            Part::Working => return self.path.clone(),
            Part::First => ".1",
            Part::Second => ".2",
        };
        let mut path: OsString = self.path.clone().into();
        path.push(suffix);
        path.into()
    }

    /// Waits until no process writes the working copy, and keeps it so. Unlike [`Disk::lock`] it
    /// creates no file: `None` if the files were never written.
    pub(super) fn lock_to_read(&self, timeout: Duration) -> io::Result<Option<Held>> {
        match open_to_read(&self.lock_path(Lock::Working)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => {
                let file = file?;
                wait_for(|| file.try_lock_shared(), timeout)?;
                Ok(Some(Box::new(file)))
            }
        }
    }

    fn lock_path(&self, lock: Lock) -> PathBuf {
        match lock {
            // Not the working copy itself, because an operator can delete it.
            Lock::Working => self.path.with_extension("lock"),
            Lock::Synced => self.path(Part::First),
        }
    }

    /// Opens a file for writing, and creates it and its folder if necessary. Only the owner has
    /// access, because another user could hold the lock.
    fn open(&self, path: &Path) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).mode(0o600).custom_flags(NO_WAIT);
        match (options.open(path), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                self.is_folder_synced.store(false, Ordering::Relaxed);
                options.create(true).truncate(false).open(path)
            }
            (opened, _) => opened,
        }
    }
}

impl Disk for Files {
    fn read(&self, part: Part) -> io::Result<Option<Vec<u8>>> {
        let file = match open_to_read(&self.path(part)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        // A device such as `/dev/zero` has no end, and a folder has no content.
        if !file.metadata()?.is_file() {
            return Ok(Some(DAMAGED.to_vec()));
        }
        let mut bytes = Vec::with_capacity(BUFFER_BYTES);
        let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
        damaged_by_bad_sectors(read.map(|_| bytes)).map(Some)
    }

    fn write(&self, part: Part, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.open(&self.path(part))?;
        let before = file.metadata()?;
        if !before.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        file.write_all(bytes)?;
        let length = bytes.len() as u64;
        if before.len() > length { file.set_len(length) } else { Ok(()) }
    }

    fn sync(&self, part: Part) -> io::Result<()> {
        open_to_read(&self.path(part))?.sync_data()?;
        if !self.is_folder_synced.load(Ordering::Relaxed)
            && let Some(folder) = self.path.parent()
        {
            // The folder of `a.json` is "".
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
            self.is_folder_synced.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn lock(&self, lock: Lock, timeout: Duration) -> io::Result<Held> {
        let file = self.open(&self.lock_path(lock))?;
        wait_for(|| file.try_lock(), timeout)?;
        Ok(Box::new(file))
    }
}

/// Opens a file for reading. It does not wait if the path is a FIFO.
fn open_to_read(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(NO_WAIT).open(path)
}

/// Bad sectors damage a file, so that another copy is used. Other errors may pass, and then the file
/// is as good as before.
fn damaged_by_bad_sectors(read: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match read {
        Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
            Ok(DAMAGED.to_vec())
        }
        read => read,
    }
}

#[expect(clippy::disallowed_methods, reason = "on a blocking thread; a file lock has no waker")]
fn wait_for(try_lock: impl Fn() -> Result<(), TryLockError>, timeout: Duration) -> io::Result<()> {
    let until = Instant::now() + timeout;
    // Most locks are held for less than this.
    let mut pause = Duration::from_micros(100);
    loop {
        match try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn only_bad_sectors_count_as_damage() {
        let read = |errno: Errno| damaged_by_bad_sectors(Err(errno.into())).ok();
        assert_eq!(read(Errno::IO), Some(vec![0]));
        assert_eq!(read(Errno::MFILE), None);
        assert_eq!(read(Errno::ACCESS), None);
        assert_eq!(damaged_by_bad_sectors(Ok(b"x".to_vec())).unwrap(), b"x");
    }

    #[test]
    fn a_folder_in_place_of_a_file_counts_as_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().join("quota.json"));
        std::fs::create_dir(files.path(Part::First)).unwrap();
        assert_eq!(files.read(Part::First).unwrap().unwrap(), DAMAGED);
        assert!(files.write(Part::First, b"x").is_err());
    }

    #[test]
    fn a_device_in_place_of_a_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().join("quota.json"));
        for part in [Part::Working, Part::First, Part::Second] {
            std::os::unix::fs::symlink("/dev/zero", files.path(part)).unwrap();
            assert_eq!(files.read(part).unwrap().unwrap(), DAMAGED);
            assert!(files.write(part, b"x").is_err());
        }
    }

    /// A blocking open would wait for a writer.
    #[test]
    fn a_fifo_in_place_of_a_file_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().join("quota.json"));
        for part in [Part::Working, Part::First, Part::Second] {
            mkfifoat(CWD, files.path(part), Mode::RUSR | Mode::WUSR).unwrap();
            assert_eq!(files.read(part).unwrap().unwrap(), DAMAGED);
            assert!(files.write(part, b"x").is_err() && files.sync(part).is_err());
        }
    }
}
