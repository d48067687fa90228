//! One of the 256 subfolders, and all file operations inside it.
//!
//! The subfolder stays open during an operation. File names are hashes, and links are never
//! followed. No key and no planted file can reach anything outside the cache.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ring::digest::{SHA256, digest};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::super::codec::{HEADER, keep_until};

/// The number of subfolders. With a million records each has about 4,000 files, which file systems
/// handle well. A second level would cost more space than many caches need.
pub(super) const FOLDERS: usize = 256;

/// The prefix of a temporary file name. 16 random hexadecimal digits follow.
const UNFINISHED: &str = "new-";
/// A temporary file older than this is a leftover of a killed process.
const LEFTOVER_AFTER: Duration = Duration::from_secs(600);
/// A file used more recently than this is not marked again, because marking writes to the disk.
const MARK_AFTER: Duration = Duration::from_secs(600);

/// The location of a key's record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Location {
    pub(super) folder: usize,
    pub(super) file: String,
}

impl Location {
    pub(super) fn from_key(key: &str) -> Self {
        let hash = digest(&SHA256, key.as_bytes());
        let hash = hash.as_ref();
        let mut file = String::with_capacity(62);
        for byte in &hash[1..] {
            let _ = write!(file, "{byte:02x}");
        }
        Self { folder: hash[0].into(), file }
    }
}

/// A file of a listing.
pub(super) struct Listed {
    pub(super) file: String,
    pub(super) size: u64,
    /// The time of the last use, in nanoseconds of Unix time.
    pub(super) used: i64,
}

/// An open subfolder.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a subfolder. `None` if it does not exist, or if its name belongs to something else.
    /// Only the keys of that subfolder lose their cache then.
    pub(super) fn open(root: &Path, index: usize) -> io::Result<Option<Self>> {
        // Only the last component of the path is ours. The operator may have made the rest a link.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = path(root, index);
        match openat(CWD, &path, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(Errno::NOENT) => Ok(None),
            // If the cache's root itself is not a folder, this `statat` fails too and the error is
            // returned.
            Err(Errno::NOTDIR | Errno::LOOP)
                if statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW).is_ok() =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a subfolder and creates it if it is missing, even if someone deleted the whole cache.
    /// `None` if its name belongs to something else.
    pub(super) fn make(root: &Path, index: usize) -> io::Result<Option<Self>> {
        if let Some(folder) = Self::open(root, index)? {
            return Ok(Some(folder));
        }
        make_root(root)?;
        match mkdirat(CWD, path(root, index), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Self::open(root, index),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a file, and marks it as used unless its record is expired. `None` if there is no
    /// regular file of at most `most` bytes.
    pub(super) fn read(&self, file: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open_file(file) {
            Ok(file) => file,
            // A link, a socket or an unreadable file is not ours.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ACCESS) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let about = file.metadata()?;
        if !about.is_file() || about.len() > most {
            return Ok(None);
        }
        let mut content = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
        (&file).take(most).read_to_end(&mut content)?;
        let now = SystemTime::now();
        let is_recent = |used| now.duration_since(used).is_ok_and(|since| since < MARK_AFTER);
        let is_over = keep_until(&content).is_some_and(|until| until <= millis(now));
        if !is_over && !about.modified().is_ok_and(is_recent) {
            // Without permission the file only looks older than it is.
            let _ = file.set_modified(now);
        }
        Ok(Some(content))
    }

    /// The end of retention of a file's record. `None` if the header is not readable.
    pub(super) fn keep_until(&self, file: &str) -> Option<u64> {
        let mut header = [0; HEADER];
        self.open_file(file).ok()?.read_exact(&mut header).ok()?;
        keep_until(&header)
    }

    fn open_file(&self, file: &str) -> Result<File, Errno> {
        // Opening a pipe would otherwise block until its other end opens.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(&self.0, file, flags, Mode::empty()).map(File::from)
    }

    /// Writes `content` to a temporary file. It does not call `fsync`: after a power failure the
    /// checksum exposes a damaged file, which costs one fetch.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<Unfinished<'_>> {
        let name = format!("{UNFINISHED}{:016x}", fastrand::u64(..));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.0, &name, flags, Mode::RUSR | Mode::WUSR)?;
        let unfinished = Unfinished { folder: self, name: Some(name) };
        File::from(file).write_all(content)?;
        Ok(unfinished)
    }

    /// The size of a file. `None` if it does not exist.
    pub(super) fn size(&self, file: &str) -> Option<u64> {
        let about = statat(&self.0, file, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_file(&about).then(|| size(&about))
    }

    /// The time of the last use, as a listing reports it.
    pub(super) fn used(&self, file: &str) -> Option<i64> {
        let about = statat(&self.0, file, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(past(used(&about), nanos(SystemTime::now())))
    }

    /// Removes a file. A missing file is no error.
    pub(super) fn remove(&self, file: &str) -> io::Result<()> {
        match unlinkat(&self.0, file, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Visits every record's file, and removes temporary files of killed processes. It ignores all
    /// other files.
    pub(super) fn list(&self, mut each: impl FnMut(Listed)) -> io::Result<()> {
        let now = nanos(SystemTime::now());
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(file) = entry.file_name().to_str() else { continue };
            let (is_record, is_unfinished) = (is_record(file), is_unfinished(file));
            if !is_record && !is_unfinished {
                continue;
            }
            // The file may have been removed since it was listed.
            let Ok(about) = statat(&self.0, file, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if !is_file(&about) {
                continue;
            }
            let used = used(&about);
            if is_record {
                let (file, size, used) = (file.to_owned(), size(&about), past(used, now));
                each(Listed { file, size, used });
            } else if used.abs_diff(now) > LEFTOVER_AFTER.as_nanos() as u64 {
                self.remove(file)?;
            }
        }
        Ok(())
    }
}

/// A complete temporary file. Dropping it removes it.
pub(super) struct Unfinished<'a> {
    folder: &'a Folder,
    name: Option<String>,
}

impl Unfinished<'_> {
    /// Replaces `file` atomically: a reader sees the old file or the new one.
    pub(super) fn finish(mut self, file: &str) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        renameat(&self.folder.0, name, &self.folder.0, file)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.folder.remove(name);
        }
    }
}

/// Creates the cache's root with access for the owner only. It does not change an existing folder.
pub(super) fn make_root(root: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)
}

fn path(root: &Path, index: usize) -> PathBuf {
    root.join(format!("{index:02x}"))
}

fn is_record(file: &str) -> bool {
    file.len() == 62 && is_hex(file)
}

fn is_unfinished(file: &str) -> bool {
    file.strip_prefix(UNFINISHED).is_some_and(|chance| chance.len() == 16 && is_hex(chance))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_file(about: &Stat) -> bool {
    FileType::from_raw_mode(about.st_mode) == FileType::RegularFile
}

/// The size of a file in whole blocks, which is the space it occupies.
fn size(about: &Stat) -> u64 {
    size_of(u64::try_from(about.st_size).unwrap_or(0))
}

pub(super) fn size_of(length: u64) -> u64 {
    length.div_ceil(4096) * 4096
}

#[expect(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
fn used(about: &Stat) -> i64 {
    (about.st_mtime as i64).saturating_mul(1_000_000_000).saturating_add(about.st_mtime_nsec as i64)
}

/// Treats a time in the future as very old. The clock was wrong when the file was written, and the
/// file must not escape eviction.
fn past(used: i64, now: i64) -> i64 {
    if used > now { 0 } else { used }
}

pub(super) fn nanos(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(nanos(time) / 1_000_000).unwrap_or(0)
}
