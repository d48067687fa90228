//! Where counts are stored.

use std::io;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use super::counts::UnitCounts;
use super::double::LedgerDouble;
use super::file::CountFile;
use super::health::LedgerHealth;

/// The storage of counts. The default is the memory of this process.
#[derive(Debug)]
pub(super) enum Backing {
    Memory(Mutex<UnitCounts>),
    File(CountFile),
    /// Replaces the file in a simulation.
    Double(LedgerDouble),
}

impl Default for Backing {
    fn default() -> Self {
        Self::Memory(Mutex::default())
    }
}

impl Backing {
    /// Reads, changes and writes the counts atomically across threads and processes. Blocks on file
    /// I/O.
    pub(super) fn update<T>(&self, now: Timestamp, change: impl FnOnce(&mut UnitCounts) -> T) -> T {
        match self {
            Self::Memory(counts) => {
                change(&mut counts.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Self::File(file) => file.update(now, change),
            Self::Double(double) => double.update(change),
        }
    }

    /// Brings all changes to the disk. Blocks on file I/O.
    ///
    /// # Errors
    ///
    /// Any I/O error.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync(),
            Self::Memory(_) | Self::Double(_) => Ok(()),
        }
    }

    /// Whether the file works. Does not wait for it.
    pub(super) fn health(&self, now: Timestamp) -> LedgerHealth {
        match self {
            Self::File(file) => file.health(now),
            Self::Memory(_) | Self::Double(_) => LedgerHealth::default(),
        }
    }
}
