//! Records as files in a folder that several processes can share.
//!
//! A write goes to a temporary name and is then renamed. Each record is complete or absent at every
//! moment, even after `kill -9`. There is no index that could be wrong.
//!
//! A background thread counts the files. Above the limit it evicts the least recently used ones. It
//! deletes expired records within a day.

mod folder;
mod maintenance;
mod oldest;
mod write_order;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::codec::encoded_len;
use super::{BoxFuture, Record, Store, StoreError, Usage};
use folder::{FOLDERS, Folder, Location, make_root, size_of};
use write_order::{PendingWrite, WriteOrder};

/// The maximum number of threads that work on files. A hanging disk blocks no more threads than
/// these.
const THREADS: usize = 16;

/// A store with one file for each record. Opening takes the same time for any number of files.
pub struct Fs {
    shared: Arc<Shared>,
    threads: Arc<Semaphore>,
}

struct Shared {
    root: PathBuf,
    limit: u64,
    /// One for each subfolder.
    tallies: Vec<Mutex<Tally>>,
    /// The total size of all counted subfolders.
    bytes: AtomicU64,
    /// The bytes that this process wrote since the last complete count.
    written: AtomicU64,
    /// The lock of maintenance, and the earliest time of its next run.
    tending: Mutex<Option<Instant>>,
    /// Wakes the maintenance thread. Dropping it ends the thread.
    wake: Option<SyncSender<()>>,
    order: Arc<WriteOrder>,
}

/// The size of a subfolder.
#[derive(Default)]
struct Tally {
    /// `None` until the first count.
    usage: Option<Usage>,
    /// Increases with every change by this process, so that a count can detect concurrent changes.
    changes: u64,
}

impl Fs {
    /// Opens `folder` and creates it if it is missing. Its files use at most `limit_bytes`, counted
    /// in whole blocks, and briefly 5 % more. Each further process that writes can add 10 % until
    /// its next count.
    ///
    /// # Errors
    ///
    /// Any I/O error if the folder cannot be created or the maintenance thread cannot start.
    pub fn open(folder: impl Into<PathBuf>, limit_bytes: u64) -> io::Result<Self> {
        let root = folder.into();
        make_root(&root)?;
        Self::tended(root, limit_bytes, maintenance::SWEEP_EVERY)
    }

    /// Opens an existing folder, to inspect or clear it. This store has no limit and does no
    /// maintenance on its own.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] or [`io::ErrorKind::NotADirectory`] if there is no such folder.
    pub fn open_existing(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let root = folder.into();
        match std::fs::metadata(&root)?.is_dir() {
            true => Ok(Self::new(Arc::new(Shared::new(root, u64::MAX, None)))),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn tended(root: PathBuf, limit: u64, sweep_every: Duration) -> io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        let shared = Arc::new(Shared::new(root, limit, Some(wake)));
        maintenance::start(Arc::downgrade(&shared), woken, sweep_every)?;
        shared.tend_soon();
        Ok(Self::new(shared))
    }

    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, threads: Arc::new(Semaphore::new(THREADS)) }
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        &self.shared.root
    }

    /// Runs maintenance now instead of waiting for the background thread. It counts all files,
    /// deletes leftovers of killed processes and expired records, and evicts above the limit.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the disk fails.
    pub async fn tend(&self) -> Result<(), StoreError> {
        self.on_a_thread(|shared| {
            let mut due = lock(&shared.tending);
            (0..FOLDERS).try_for_each(|index| shared.sweep(index))?;
            shared.tend(&mut due)
        })
        .await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Shared>) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        // The permit belongs to the work, which continues after its caller has left.
        let thread = Arc::clone(&self.threads).acquire_owned().await;
        let outcome = spawn_blocking(move || {
            let _thread = thread;
            work(&shared).map_err(|error| {
                StoreError::Unavailable(format!("{}: {error}", shared.root.display()))
            })
        });
        outcome.await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }
}

impl fmt::Debug for Fs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { root, limit, .. } = &*self.shared;
        f.debug_struct("Fs").field("folder", root).field("limit", limit).finish_non_exhaustive()
    }
}

impl Store for Fs {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let key = key.to_owned();
        Box::pin(async move { self.on_a_thread(move |shared| shared.get(&key)).await? })
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        let keys = keys.to_vec();
        Box::pin(self.on_a_thread(move |shared| {
            keys.iter().map(|key| Ok(shared.get(key)?.unwrap_or(None))).collect()
        }))
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let write = self.shared.order.begin(Location::from_key(key));
        let (key, record) = (key.to_owned(), record.clone());
        Box::pin(self.on_a_thread(move |shared| shared.put(&write, &key, &record)))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let write = self.shared.order.begin(Location::from_key(key));
        Box::pin(self.on_a_thread(move |shared| shared.remove(&write)))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        let number = self.shared.order.number();
        Box::pin(self.on_a_thread(move |shared| shared.clear(number)))
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(self.on_a_thread(|shared| shared.usage()))
    }
}

impl Shared {
    fn new(root: PathBuf, limit: u64, wake: Option<SyncSender<()>>) -> Self {
        Self {
            root,
            limit,
            tallies: (0..FOLDERS).map(|_| Mutex::default()).collect(),
            bytes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            tending: Mutex::new(None),
            wake,
            order: Arc::default(),
        }
    }

    /// The outer error is from the disk. The inner error concerns the record.
    fn get(&self, key: &str) -> io::Result<Result<Option<Record>, StoreError>> {
        let location = Location::from_key(key);
        let Some(folder) = Folder::open(&self.root, location.folder)? else { return Ok(Ok(None)) };
        Ok(match folder.read(&location.file, self.largest().max(size_of(1)))? {
            None => Ok(None),
            Some(content) => Record::decode(&Bytes::from(content), key),
        })
    }

    fn put(self: &Arc<Self>, write: &PendingWrite, key: &str, record: &Record) -> io::Result<()> {
        let size = size_of(encoded_len(key, record) as u64);
        let written = self.written.fetch_add(size, Ordering::Relaxed) + size;
        // While eviction lags behind, the store drops new records instead of filling the disk.
        let is_overfull =
            self.bytes.load(Ordering::Relaxed) > self.limit.saturating_add(self.limit / 20);
        if size > self.largest() || is_overfull {
            self.remove(write)?;
        } else if let Some(folder) = Folder::make(&self.root, write.location.folder)? {
            let unfinished = folder.write(&record.encode(key))?;
            let mut tally = self.tally(write.location.folder);
            if !write.is_over() {
                let before = folder.size(&write.location.file);
                unfinished.finish(&write.location.file)?;
                self.change(&mut tally, before, Some(size));
                write.done();
            }
        }
        if self.bytes.load(Ordering::Relaxed) > self.limit || written > self.limit / 10 {
            self.tend_soon();
        }
        Ok(())
    }

    /// The maximum size of a file.
    fn largest(&self) -> u64 {
        self.limit / 10
    }

    fn remove(&self, write: &PendingWrite) -> io::Result<()> {
        let mut tally = self.tally(write.location.folder);
        if !write.is_over() {
            if let Some(folder) = Folder::open(&self.root, write.location.folder)? {
                self.unlink(&mut tally, &folder, &write.location.file)?;
            }
            write.done();
        }
        Ok(())
    }

    fn unlink(&self, tally: &mut Tally, folder: &Folder, file: &str) -> io::Result<()> {
        let before = folder.size(file);
        folder.remove(file)?;
        self.change(tally, before, None);
        Ok(())
    }

    fn clear(&self, number: u64) -> io::Result<()> {
        self.order.clear(number);
        for index in 0..FOLDERS {
            // Waits for a writer that has already passed its check, so that the listing includes
            // its file.
            drop(self.tally(index));
            let Some(folder) = Folder::open(&self.root, index)? else { continue };
            let mut files = vec![];
            folder.list(|listed| files.push(listed.file))?;
            for file in files {
                self.unlink(&mut self.tally(index), &folder, &file)?;
            }
        }
        Ok(())
    }

    fn usage(&self) -> io::Result<Usage> {
        let mut all = Usage::default();
        for index in 0..FOLDERS {
            let known = self.tally(index).usage;
            let usage = match known {
                Some(usage) => usage,
                None => self.count(index, |_| {})?,
            };
            all.entries += usage.entries;
            all.bytes += usage.bytes;
        }
        Ok(all)
    }

    fn tally(&self, index: usize) -> MutexGuard<'_, Tally> {
        lock(&self.tallies[index])
    }

    /// Updates the size of a subfolder after one file changed.
    fn change(&self, tally: &mut Tally, before: Option<u64>, after: Option<u64>) {
        tally.changes += 1;
        let Some(usage) = &mut tally.usage else { return };
        let count = |size: Option<u64>| u64::from(size.is_some());
        usage.entries = (usage.entries + count(after)).saturating_sub(count(before));
        let bytes = (usage.bytes + after.unwrap_or(0)).saturating_sub(before.unwrap_or(0));
        self.shift(usage.bytes, bytes);
        usage.bytes = bytes;
    }

    /// Replaces a subfolder's share of the total.
    fn shift(&self, before: u64, after: u64) {
        self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn expired_files_are_removed_in_the_background() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Fs::tended(folder.path().to_owned(), 1 << 20, Duration::from_millis(1));
        let store = open().expect("a store");
        let over = Record {
            stored_at: 1,
            keep_until: 2,
            is_refusal: false,
            is_cheap: false,
            schema: 1,
            body: "over".into(),
        };
        store.put("key", &over).await.expect("it is stored");
        let location = Location::from_key("key");
        let path = folder.path().join(format!("{:02x}", location.folder)).join(&location.file);
        let file = std::fs::File::options().write(true).open(&path).expect("its file");
        file.set_modified(std::time::UNIX_EPOCH).expect("it is old");
        let begun = Instant::now();
        while path.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is not removed");
            tokio::task::yield_now().await;
        }
        // The count may have included the file before its removal; the next run corrects it.
        store.tend().await.expect("it can be tended");
        assert_eq!(store.usage().await, Ok(Usage::default()));
    }
}
