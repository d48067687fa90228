//! Reads small files that the operator names: keys and certificates.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The maximum size of a file: a hundred times the usual one.
const MAX_BYTES: u64 = 16 << 20;

/// Reads a whole file. It never waits for a writer, so a reload cannot hang.
///
/// # Errors
///
/// An error of the system, or `InvalidInput` if the path is no regular file or the file is larger than 16 MB.
pub fn read_config_file(path: &Path) -> io::Result<Vec<u8>> {
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
    // Without the flag, opening a FIFO waits until somebody writes to it.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(wrong("not a regular file"));
    }
    let mut bytes = vec![];
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(wrong("larger than 16 MB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};
    use std::fs;

    use super::*;

    /// A FIFO without a writer would block the thread forever.
    #[test]
    fn review_s11_only_a_regular_file_of_bounded_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("fifo"), Mode::RUSR).unwrap();
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        File::create(at("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let read = |name: &str| read_config_file(&at(name)).map_err(|error| error.to_string());
        assert_eq!(read("file").unwrap(), b"text");
        assert_eq!(read("link").unwrap(), b"text");
        for (name, expected) in
            [("fifo", "regular"), ("folder", "regular"), ("large", "16 MB"), ("none", "No such")]
        {
            let error = read(name).unwrap_err();
            assert!(error.contains(expected), "{name}: {error}");
        }
        let device = read_config_file(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(device.kind(), io::ErrorKind::InvalidInput);
    }
}
