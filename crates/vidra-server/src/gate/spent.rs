//! The spending of callers today, in a file that survives a restart.
//!
//! The file is written every few seconds and at shutdown, not on each call as the quota ledger is. It only
//! divides what the ledger guards, so after a kill a caller may spend a few units twice.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use vidra::Spending;

use super::key_file::{KeyName, replace_file};
use super::keys::Keys;

/// The file, and its last content.
#[derive(Debug)]
pub struct SpentFile {
    path: PathBuf,
    written: Mutex<BTreeMap<KeyName, Spending>>,
}

impl SpentFile {
    /// Opens the file and adds the spending on the day of `now` to `keys`. An unreadable file is logged and
    /// replaced: a damaged file must not prevent the service from starting.
    pub fn open(path: PathBuf, keys: &Keys, now: Timestamp) -> Self {
        let read = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        };
        let written = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the spending of callers, starting at zero");
            BTreeMap::new()
        });
        keys.restore(&written, now);
        Self { path, written: Mutex::new(written) }
    }

    /// Writes the spending of `keys` on the day of `now`, if it has changed. Blocks on file I/O.
    pub fn save(&self, keys: &Keys, now: Timestamp) -> io::Result<()> {
        self.write(|| keys.spending(now))
    }

    fn write(&self, read: impl FnOnce() -> BTreeMap<KeyName, Spending>) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock: a writer that waits for it must not write an older count over a newer one.
        let spent = read();
        if *written == spent {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        replace_file(&self.path, &spent)?;
        *written = spent;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::key_file::KeyFile;

    #[test]
    fn concurrent_writes_never_store_an_older_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callers.json");
        let keys = Keys::new(&KeyFile::default());
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let file = SpentFile::open(path.clone(), &keys, now);
        let spent = |units: u32| {
            let json =
                format!(r#"{{"alice":{{"date":"2026-11-15","default":{units},"search":0}}}}"#);
            serde_json::from_str::<BTreeMap<KeyName, Spending>>(&json).unwrap()
        };
        let counted = Mutex::new(1);
        std::thread::scope(|scope| {
            let first = || {
                let units = *counted.lock().unwrap();
                *counted.lock().unwrap() += 1;
                let second = scope.spawn(|| file.write(|| spent(*counted.lock().unwrap())));
                // Without the lock, the second overtakes the first here.
                while file.written.try_lock().is_ok() && !second.is_finished() {
                    std::thread::yield_now();
                }
                spent(units)
            };
            file.write(first).unwrap();
        });
        let written: BTreeMap<KeyName, Spending> =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(written, spent(2));
    }
}
