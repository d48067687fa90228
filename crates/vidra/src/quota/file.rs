//! Counts that several threads and processes share, in files that survive kills and power cuts.
//!
//! Each change is written to the working copy before it takes effect, under a lock. A thread syncs
//! it to one of two other copies soon afterwards ([`super::sync`]). The copy with the highest
//! sequence number wins.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::counts::UnitCounts;
use super::day::date;
use super::disk::{Disk, Files, LOCK_TIMEOUT, Lock, Part};
use super::health::{Health, LedgerHealth};
use super::record::Record;
use super::sync::{Copies, Syncer};

/// Counts in files. Its methods block on file I/O, but never on a sync.
#[derive(Debug)]
pub(super) struct CountFile {
    disk: Arc<dyn Disk>,
    health: Arc<Health>,
    /// `None` in tests that sync themselves.
    syncer: Option<Syncer>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// All that this process knows.
    counts: UnitCounts,
    /// The part of `counts` that is in the file. The difference is added to the file as soon as it
    /// can be written.
    stored: UnitCounts,
    sequence: u64,
    /// Whether the synced copies were read. Afterwards they are only needed if the working copy is
    /// damaged.
    has_opened: bool,
}

impl CountFile {
    /// Counts in the file at `path` and in copies beside it. `what` is the name of the file's
    /// purpose in the log.
    pub(super) fn new(path: PathBuf, what: &'static str) -> Self {
        let mut file = Self::on_disk(Arc::new(Files::new(path)), what);
        file.syncer = Some(Syncer::new(Arc::clone(&file.disk), Arc::clone(&file.health)));
        file
    }

    /// Counts on a disk, without a thread that syncs.
    pub(super) fn on_disk(disk: Arc<dyn Disk>, what: &'static str) -> Self {
        let health = Arc::new(Health::new(what));
        Self { disk, health, syncer: None, state: Mutex::default() }
    }

    pub(super) fn health(&self, now: Timestamp) -> LedgerHealth {
        self.health.report(now)
    }

    /// Reads, changes and writes the counts atomically across threads and processes. If that fails,
    /// the change is kept in memory until it succeeds.
    pub(super) fn update<T>(&self, now: Timestamp, change: impl FnOnce(&mut UnitCounts) -> T) -> T {
        let today = date(now);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // After a failure it does not wait for the lock again, because all callers queue behind the
        // mutex.
        let timeout = if self.health.is_write_failing() { Duration::ZERO } else { LOCK_TIMEOUT };
        let held = self.disk.lock(Lock::Working, timeout);
        // Without the lock it reads the file once, so that a read-only file does not count from zero.
        let read = match held.is_ok() || !state.has_opened {
            true => self.read(&mut state, &today),
            false => Ok(false),
        };
        let result = change(&mut state.counts);
        let written = held.and_then(|_held| self.write(&mut state, read?));
        self.health.access_ended(&written);
        self.health.set_incomplete(&today, state.counts.is_incomplete(&today));
        result
    }

    /// Brings all changes to the disk now.
    ///
    /// # Errors
    ///
    /// Any I/O error, also of the last change.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.health.is_write_failing() {
            return Err(io::Error::other("the file cannot be written"));
        }
        Copies::new(Arc::clone(&self.disk)).sync()
    }

    /// Reads the files into `state`. Returns whether the working copy holds all that was read.
    fn read(&self, state: &mut State, today: &str) -> io::Result<bool> {
        let working = self.disk.read(Part::Working)?;
        let (stored, is_current) = match working.as_deref().and_then(Record::decode) {
            Some(Record { sequence, counts }) if state.has_opened && sequence > 0 => {
                state.sequence = sequence;
                (counts, true)
            }
            _ => self.recover(state, working, today)?,
        };
        let mut counts = stored.clone();
        counts.apply_changes(&state.stored, &state.counts);
        (state.counts, state.stored) = (counts, stored);
        Ok(is_current)
    }

    /// Reads all copies. It is needed at the first access, and if the working copy is missing,
    /// damaged or of an earlier version.
    fn recover(
        &self,
        state: &mut State,
        working: Option<Vec<u8>>,
        today: &str,
    ) -> io::Result<(UnitCounts, bool)> {
        let files = [self.disk.read(Part::First)?, self.disk.read(Part::Second)?, working];
        let records = files.each_ref().map(|bytes| Record::decode(bytes.as_deref()?));
        let newest = records.iter().flatten().max_by_key(|record| record.sequence);
        let [first, second, working] = &records;
        let is_current = newest == working.as_ref() && newest.is_some_and(|it| it.sequence > 0);
        let mut counts = newest.map(|record| record.counts.clone()).unwrap_or_default();
        if !is_current {
            // An earlier version, or this process, may know more than the synced copies.
            let earlier = working.iter().filter(|record| record.sequence == 0);
            earlier.for_each(|record| counts.raise_to(&record.counts));
            counts.raise_to(&state.stored);
        }
        // A file is empty from its creation until its first write, and earlier versions created
        // theirs at the start.
        let is_damaged = |file: &Option<Vec<u8>>| file.as_ref().is_some_and(|it| !it.is_empty());
        let mut pairs = files.iter().zip(&records);
        let has_damage = pairs.any(|(file, record)| record.is_none() && is_damaged(file));
        let has_copies = files[..2].iter().any(Option::is_some);
        if newest.is_none() && !state.has_opened && (has_damage || has_copies) {
            self.health.found_no_copy();
            counts.mark_incomplete(today);
        } else if has_damage {
            self.health.found_damaged_copy();
        }
        if is_current && ![first, second].contains(&working) {
            // A process was killed before the sync of its last change.
            self.syncer.iter().for_each(Syncer::announce);
        }
        state.sequence = state.sequence.max(newest.map_or(0, |record| record.sequence));
        state.has_opened = true;
        Ok((counts, is_current))
    }

    /// Writes the working copy if it has changed.
    fn write(&self, state: &mut State, is_current: bool) -> io::Result<()> {
        let is_unchanged = is_current && state.counts == state.stored;
        if is_unchanged || state.counts.is_empty() {
            return Ok(());
        }
        state.sequence += 1;
        self.disk.write(Part::Working, &Record::encode(state.sequence, &state.counts)?)?;
        state.stored.clone_from(&state.counts);
        self.syncer.iter().for_each(Syncer::announce);
        Ok(())
    }
}
