//! Brings the working copy of a count to the disk, on a thread of its own.
//!
//! A request never waits for a sync. A change is on the disk within 10 ms, synced together with all
//! others of that time, also with those of other processes.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::disk::{Disk, LOCK_TIMEOUT, Lock, Part};
use super::health::Health;
use super::record::Record;

/// The shortest time between the starts of two syncs. A change waits at most this long, or for the end
/// of a sync that is running, so that it is on the disk within 10 ms if a sync takes up to 5 ms.
const GROUP: Duration = Duration::from_millis(5);

/// The time until a failed sync is repeated.
const REPEAT: Duration = Duration::from_secs(1);

/// How long the end of the process waits for the last sync. A disk that hangs must not prevent the
/// end.
const LAST_SYNC: Duration = Duration::from_secs(1);

/// The two synced copies.
///
/// A sync overwrites the older copy, so that the newer one is on the disk during the whole write,
/// however it ends.
#[derive(Debug)]
pub(super) struct Copies {
    disk: Arc<dyn Disk>,
    /// The copy that this process synced last, and its sequence number.
    synced: Option<(Part, u64)>,
    /// The copy whose last sync failed, and its sequence number. A later sync of it can succeed
    /// although the disk does not have it.
    failed: Option<(Part, u64)>,
}

impl Copies {
    pub(super) fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk, synced: None, failed: None }
    }

    /// Brings the working copy to the disk.
    ///
    /// # Errors
    ///
    /// Any I/O error, or a timeout of a lock.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let _copies = self.disk.lock(Lock::Synced, LOCK_TIMEOUT)?;
        let working = {
            let _working = self.disk.lock(Lock::Working, LOCK_TIMEOUT)?;
            self.disk.read(Part::Working)?
        };
        // The next change repairs a damaged working copy.
        let Some(bytes) = working else { return Ok(()) };
        let Some(Record { sequence, .. }) = Record::decode(&bytes) else { return Ok(()) };
        let [first, second] = [self.sequence(Part::First)?, self.sequence(Part::Second)?];
        let (newer, older) = match first >= second {
            true => ((Part::First, first), Part::Second),
            false => ((Part::Second, second), Part::First),
        };
        // Another process may have been killed between the write and the sync of the newer copy.
        if let (part, Some(sequence)) = newer
            && self.synced != Some((part, sequence))
        {
            self.disk.sync(part)?;
            self.synced = Some((part, sequence));
        }
        if newer.1.is_some_and(|synced| synced >= sequence) {
            return Ok(());
        }
        self.failed = Some((older, sequence));
        self.disk.write(older, &bytes)?;
        self.disk.sync(older)?;
        (self.failed, self.synced) = (None, Some((older, sequence)));
        Ok(())
    }

    /// The sequence number of a copy; `None` if it is missing, damaged or perhaps not on the disk.
    fn sequence(&self, part: Part) -> io::Result<Option<u64>> {
        let record = self.disk.read(part)?.and_then(|bytes| Record::decode(&bytes));
        let sequence = record.map(|record| record.sequence);
        Ok(sequence.filter(|sequence| self.failed != Some((part, *sequence))))
    }
}

/// The thread that syncs. It starts with the first change and ends, after a last sync, when this is
/// dropped.
#[derive(Debug)]
pub(super) struct Syncer {
    disk: Arc<dyn Disk>,
    health: Arc<Health>,
    thread: Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    /// Holds at most one message: later changes join the sync that it announces.
    changes: SyncSender<()>,
    /// Disconnected when the thread ends.
    end: Receiver<()>,
}

impl Syncer {
    pub(super) fn new(disk: Arc<dyn Disk>, health: Arc<Health>) -> Self {
        Self { disk, health, thread: Mutex::default() }
    }

    /// Announces a change of the working copy. It does not wait.
    pub(super) fn announce(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            match self.start() {
                Ok(running) => *thread = Some(running),
                Err(error) => self.health.sync_ended(&Err(error)),
            }
        }
        if let Some(running) = &*thread {
            // A full channel is a sync that has not begun.
            let _ = running.changes.try_send(());
        }
    }

    fn start(&self) -> io::Result<Running> {
        let (changes, announced) = mpsc::sync_channel(1);
        let (ends, end) = mpsc::channel::<()>();
        let (copies, health) = (Copies::new(Arc::clone(&self.disk)), Arc::clone(&self.health));
        thread::Builder::new().name("vidra-ledger".into()).spawn(move || {
            let _ends = ends;
            run(copies, &health, &announced);
        })?;
        Ok(Running { changes, end })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { changes, end }) = thread.take() {
            drop(changes);
            // A task must not block. The thread makes its last sync unless the process ends first.
            if tokio::task::try_id().is_none() {
                let _ = end.recv_timeout(LAST_SYNC);
            }
        }
    }
}

/// Syncs after each announcement until the channel is disconnected.
fn run(mut copies: Copies, health: &Health, announced: &Receiver<()>) {
    let mut next = Instant::now();
    let mut has_failed = false;
    loop {
        let change = match has_failed {
            true => announced.recv_timeout(REPEAT),
            false => announced.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        if change == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        // Other changes join this sync meanwhile.
        thread::park_timeout(next.saturating_duration_since(Instant::now()));
        next = Instant::now() + GROUP;
        let result = copies.sync();
        has_failed = result.is_err();
        health.sync_ended(&result);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use jiff::Timestamp;

    use super::*;
    use crate::quota::disk::Held;
    use crate::quota::{Bucket, Ledger, QuotaLimits};

    /// Waits for the thread, which has no clock that a test could set.
    #[track_caller]
    fn wait_until(mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        while !is_so() {
            assert!(Instant::now() < until, "it takes too long");
            thread::yield_now();
        }
    }

    /// A disk whose locks are never free, until the sender is dropped.
    #[derive(Debug)]
    struct HangingDisk(Mutex<Receiver<()>>);

    impl Disk for HangingDisk {
        fn lock(&self, _: Lock, _: Duration) -> io::Result<Held> {
            let _ = self.0.lock().unwrap().recv();
            Err(io::ErrorKind::TimedOut.into())
        }

        fn read(&self, _: Part) -> io::Result<Option<Vec<u8>>> {
            unreachable!("it needs a lock")
        }

        fn write(&self, _: Part, _: &[u8]) -> io::Result<()> {
            unreachable!("it needs a lock")
        }

        fn sync(&self, _: Part) -> io::Result<()> {
            unreachable!("it needs a lock")
        }
    }

    #[test]
    fn the_end_of_the_process_waits_for_a_disk_that_hangs_and_a_task_does_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let time_of_drop = |in_task: bool| {
            let (_release, hangs) = mpsc::channel();
            let syncer = Syncer::new(
                Arc::new(HangingDisk(Mutex::new(hangs))),
                Arc::new(Health::new("test")),
            );
            syncer.announce();
            let timed_drop = async move {
                let begun = Instant::now();
                drop(syncer);
                begun.elapsed()
            };
            runtime.block_on(async {
                match in_task {
                    true => tokio::spawn(timed_drop).await.unwrap(),
                    // As a command does.
                    false => timed_drop.await,
                }
            })
        };
        assert!(time_of_drop(true) < LAST_SYNC);
        assert!(time_of_drop(false) >= LAST_SYNC);
    }

    fn ledger(folder: &tempfile::TempDir) -> (Ledger, PathBuf, Timestamp) {
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        let path = folder.path().join("quota.json");
        (Ledger::in_file(QuotaLimits::default(), path.clone(), now), path, now)
    }

    #[test]
    fn review_s10_the_thread_writes_the_copies_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, path, now) = ledger(&folder);
        let working = |extension| fs::read(path.with_extension(extension)).unwrap_or_default();
        for extension in ["json.2", "json.1", "json.2"] {
            ledger.charge(Bucket::Default, 0, now).unwrap();
            wait_until(|| working(extension) == working("json"));
        }
        assert_ne!(working("json.1"), working("json"));
    }

    #[test]
    fn review_o6_copies_that_cannot_be_synced_are_reported_until_they_can() {
        let folder = tempfile::tempdir().unwrap();
        let (ledger, path, now) = ledger(&folder);
        let [first, second] = ["json.1", "json.2"].map(|it| path.with_extension(it));
        let is_synced = |copy| fs::read(copy).ok() == fs::read(&path).ok();
        ledger.charge(Bucket::Default, 0, now).unwrap();
        wait_until(|| is_synced(&second));
        fs::remove_file(&first).unwrap();
        fs::create_dir(&first).unwrap();
        ledger.charge(Bucket::Default, 0, now).unwrap();
        wait_until(|| ledger.health(now).is_failing);
        assert_eq!(ledger.quota(now).buckets[0].used, 2);
        fs::remove_dir(&first).unwrap();
        // It repeats the sync without another charge.
        wait_until(|| is_synced(&first));
        wait_until(|| !ledger.health(now).is_failing);
    }
}
