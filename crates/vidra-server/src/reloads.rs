//! Counts the reloads of files that the operator replaced.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The reloads since the start, by file. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Reloads(Arc<Mutex<BTreeMap<&'static str, Outcomes>>>);

/// The reloads of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// Whether the last one failed, so that the service continues with the old file.
    pub(crate) last_failed: bool,
}

impl Reloads {
    /// Counts a reload. `file` is a word for the metrics, never a path.
    pub fn note(&self, file: &'static str, succeeded: bool) {
        let mut files = self.lock();
        let outcomes = files.entry(file).or_default();
        outcomes.last_failed = !succeeded;
        *(if succeeded { &mut outcomes.succeeded } else { &mut outcomes.failed }) += 1;
    }

    pub(crate) fn outcomes(&self) -> BTreeMap<&'static str, Outcomes> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Outcomes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
