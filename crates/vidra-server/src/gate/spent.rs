//! What callers have spent of the day, kept in a file so that a restart does not give it back.
//!
//! It is written every few seconds and at the end, and not at each call as the ledger is: it decides
//! how callers share what the ledger guards, and a kill may let one have a few units twice.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Mutex;

use jiff::Timestamp;
use vidra::Spending;

use super::key_file::{KeyName, replace_file};
use super::keys::Keys;

/// The file, and what it holds.
#[derive(Debug)]
pub struct SpentFile {
    path: PathBuf,
    kept: Mutex<BTreeMap<KeyName, Spending>>,
}

impl SpentFile {
    /// Opens the file and adds what it holds to what `keys` have spent. One that cannot be read is told
    /// in the log, and begun anew: whoever damaged it must not keep the service from starting.
    pub fn open(path: PathBuf, keys: &Keys) -> Self {
        let kept = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        };
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(%error, "what callers have spent today cannot be read");
            BTreeMap::new()
        });
        keys.restore(&kept, Timestamp::now());
        Self { path, kept: Mutex::new(kept) }
    }

    /// Writes what `keys` have spent, where that is something new. Does file work.
    pub fn save(&self, keys: &Keys) -> io::Result<()> {
        let spent = keys.spending(Timestamp::now());
        let mut kept = self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *kept == spent {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        replace_file(&self.path, &spent)?;
        *kept = spent;
        Ok(())
    }
}
