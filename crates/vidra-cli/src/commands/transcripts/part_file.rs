//! Files that appear complete or not at all.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// The prefix and the suffix of files that are not complete yet.
pub(super) const OURS: &str = ".vidra-";
pub(super) const PART: &str = ".part";

/// Writes a file atomically: it gets its name once it is complete.
pub(super) fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let part = folder.join(part_name()?);
    write_new(&part, content)?;
    fs::rename(&part, folder.join(name)).inspect_err(|_| drop(fs::remove_file(&part)))
}

/// An unpredictable name for an incomplete file, because other users may be able to write to the folder. Its
/// length does not depend on the transcript.
pub(super) fn part_name() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    Ok(format!("{OURS}{:016x}{PART}", u64::from_ne_bytes(random)))
}

/// Creates and writes a file. Fails if it exists, also as a symbolic link.
pub(super) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    // Synced before the rename: after a crash, an empty file would pass for a transcript.
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.inspect_err(|_| drop(fs::remove_file(path)))
}
