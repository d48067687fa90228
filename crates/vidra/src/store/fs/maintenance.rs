//! Maintenance of the folder: counting, eviction, and removal of expired records.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::folder::{FOLDERS, Folder, Location, nanos};
use super::oldest::{Aged, Oldest};
use super::{Shared, Usage};

/// The interval between two sweeps, so that each subfolder is swept once a day. A sweep opens
/// files, and a sweep of all subfolders at once would keep the disk busy.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(86_400 / FOLDERS as u64);
/// The grace period after `keep_until`. Clocks differ, and a record that is deleted too early costs
/// a fetch.
const SKEW: Duration = Duration::from_secs(3600);

/// Starts the maintenance thread, which ends with the store. It is not a runtime task, because a
/// runtime would wait for it at shutdown.
pub(super) fn start(
    shared: Weak<Shared>,
    wake: Receiver<()>,
    sweep_every: Duration,
) -> io::Result<()> {
    let work = move || {
        // A random start, so that short-lived processes do not all sweep the same subfolder.
        let mut folder = fastrand::usize(..FOLDERS);
        let mut sweep_at = Instant::now();
        loop {
            let woken = wake.recv_timeout(sweep_at.saturating_duration_since(Instant::now()));
            let Some(shared) = shared.upgrade() else { return };
            let outcome = match woken {
                Ok(()) => shared.tend_if_due(),
                Err(RecvTimeoutError::Timeout) => {
                    let outcome = shared.sweep(folder);
                    folder = (folder + 1) % FOLDERS;
                    sweep_at = Instant::now() + sweep_every;
                    outcome
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if let Err(error) = outcome {
                tracing::debug!(%error, "cache folder maintenance failed");
            }
        }
    };
    std::thread::Builder::new().name("vidra-cache".to_owned()).spawn(work).map(drop)
}

fn is_due(due: Option<Instant>) -> bool {
    due.is_none_or(|due| Instant::now() >= due)
}

impl Shared {
    /// Wakes the maintenance thread, unless it is running or ran a moment ago.
    pub(super) fn tend_soon(self: &Arc<Self>) {
        if let Some(wake) = &self.wake
            && self.tending.try_lock().is_ok_and(|due| is_due(*due))
        {
            // A full channel means that a wake-up is already pending.
            let _ = wake.try_send(());
        }
    }

    fn tend_if_due(&self) -> io::Result<()> {
        match self.tending.try_lock() {
            Ok(mut due) if is_due(*due) => self.tend(&mut due),
            _ => Ok(()),
        }
    }

    /// Counts all files, and evicts down to 90 % of the limit if it is exceeded. `due` limits
    /// maintenance to a tenth of the time.
    pub(super) fn tend(&self, due: &mut Option<Instant>) -> io::Result<()> {
        let begun = Instant::now();
        let outcome = self.count_and_evict();
        *due = Some(Instant::now() + begun.elapsed() * 9 + Duration::from_millis(1));
        outcome
    }

    fn count_and_evict(&self) -> io::Result<()> {
        let goal = self.limit - self.limit / 10;
        // Repeats, because the excess is unknown before the first count and other processes may be
        // writing.
        for _ in 0..4 {
            self.written.store(0, Ordering::Relaxed);
            let mut oldest = Oldest::new(self.bytes.load(Ordering::Relaxed).saturating_sub(goal));
            for index in 0..FOLDERS {
                self.count(index, |file| oldest.add(file))?;
            }
            if self.bytes.load(Ordering::Relaxed) <= self.limit {
                break;
            }
            for file in oldest.into_files() {
                if self.bytes.load(Ordering::Relaxed) <= goal {
                    break;
                }
                if let Some(folder) = Folder::open(&self.root, file.location.folder)? {
                    self.remove_unused(&folder, &file.location, file.used)?;
                }
            }
        }
        Ok(())
    }

    /// Counts a subfolder, and repeats the count if this process changed the subfolder meanwhile.
    /// The third count is final and can be slightly wrong until the next one.
    pub(super) fn count(&self, index: usize, mut each: impl FnMut(Aged)) -> io::Result<Usage> {
        for is_last in [false, false, true] {
            let changes = self.tally(index).changes;
            let mut usage = Usage::default();
            let mut files = vec![];
            if let Some(folder) = Folder::open(&self.root, index)? {
                folder.list(|listed| {
                    usage.entries += 1;
                    usage.bytes += listed.size;
                    files.push(listed);
                })?;
            }
            let mut tally = self.tally(index);
            if tally.changes == changes || is_last {
                let before = tally.usage.replace(usage).unwrap_or_default();
                self.shift(before.bytes, usage.bytes);
                drop(tally);
                for listed in files {
                    let location = Location { folder: index, file: listed.file };
                    each(Aged { used: listed.used, size: listed.size, location });
                }
                return Ok(usage);
            }
        }
        unreachable!("the last time decides")
    }

    /// Removes the expired records of a subfolder.
    pub(super) fn sweep(&self, index: usize) -> io::Result<()> {
        let Some(folder) = Folder::open(&self.root, index)? else { return Ok(()) };
        let over = nanos(SystemTime::now()) - SKEW.as_nanos() as i64;
        let mut old = vec![];
        folder.list(|listed| {
            // A recently written or used file is not expired, because a read does not mark an
            // expired record.
            if listed.used < over {
                old.push(listed);
            }
        })?;
        for listed in old {
            let is_over = |keep_until: u64| keep_until < (over / 1_000_000) as u64;
            if folder.keep_until(&listed.file).is_some_and(is_over) {
                let location = Location { folder: index, file: listed.file };
                self.remove_unused(&folder, &location, listed.used)?;
            }
        }
        Ok(())
    }

    /// Removes a file, unless it was replaced or used since the listing.
    fn remove_unused(&self, folder: &Folder, location: &Location, used: i64) -> io::Result<()> {
        let mut tally = self.tally(location.folder);
        match folder.used(&location.file) == Some(used) {
            true => self.unlink(&mut tally, folder, &location.file),
            false => Ok(()),
        }
    }
}
