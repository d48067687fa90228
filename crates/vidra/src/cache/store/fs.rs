//! Records as files in a folder, which several processes may share.
//!
//! A file is written under another name and renamed, so that at every moment, also that of a kill -9,
//! each record is whole or not there. There is no index that could be wrong: the folder is the truth.
//! How much it holds is counted in the background, and when that is more than the limit the files go
//! that were not used for longest.

mod folder;
mod oldest;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::codec::encoded_len;
use super::{BoxFuture, Record, Store, StoreError, Usage};
use folder::{FOLDERS, Folder, Place, make_root, size_of};
use oldest::{Aged, Oldest};

/// How many threads work on files at once. Should the disk hang, no more than these hang with it.
const THREADS: usize = 16;

/// Keeps records as files. Opening is quick however many there are.
pub struct Fs {
    shared: Arc<Shared>,
    threads: Arc<Semaphore>,
}

struct Shared {
    root: PathBuf,
    limit: u64,
    /// One for each folder.
    tallies: Vec<Mutex<Tally>>,
    /// What all folders hold that were counted.
    bytes: AtomicU64,
    /// What this process wrote since all folders were last counted.
    written: AtomicU64,
    /// Held while files are counted and evicted; when that may be done again.
    tending: Mutex<Option<Instant>>,
}

/// What a folder holds.
#[derive(Default)]
struct Tally {
    /// `None` until it is counted.
    usage: Option<Usage>,
    /// Rises with every change that this process makes, so that counting notices them.
    changes: u64,
}

impl Fs {
    /// Keeps files under `folder`, which is made where it is missing. Their blocks add up to at most
    /// `limit_bytes`, and 5 % more for a moment; each further process that writes may add 10 %, until
    /// it counts again.
    pub fn open(folder: impl Into<PathBuf>, limit_bytes: u64) -> io::Result<Self> {
        let root = folder.into();
        make_root(&root)?;
        let shared = Arc::new(Shared {
            root,
            limit: limit_bytes,
            tallies: (0..FOLDERS).map(|_| Mutex::default()).collect(),
            bytes: AtomicU64::new(0),
            written: AtomicU64::new(0),
            tending: Mutex::new(None),
        });
        shared.tend_soon();
        Ok(Self { shared, threads: Arc::new(Semaphore::new(THREADS)) })
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.shared.root
    }

    /// Counts all files, removes what killed processes left behind and, where the limit is passed,
    /// evicts. It happens by itself; this is for those who want it now.
    pub async fn tend(&self) -> Result<(), StoreError> {
        self.on_a_thread(|shared| {
            let mut due = lock(&shared.tending);
            shared.tend(&mut due)
        })
        .await
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Shared>) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        // It goes with the work, which goes on when its caller has left.
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
        let (key, record) = (key.to_owned(), record.clone());
        Box::pin(self.on_a_thread(move |shared| shared.put(&key, &record)))
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = key.to_owned();
        Box::pin(self.on_a_thread(move |shared| shared.remove(&key)))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.on_a_thread(|shared| shared.clear()))
    }

    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(self.on_a_thread(|shared| shared.usage()))
    }
}

impl Shared {
    /// The outer error is the disk's, the inner one the record's.
    fn get(&self, key: &str) -> io::Result<Result<Option<Record>, StoreError>> {
        let place = Place::of(key);
        let Some(folder) = Folder::open(&self.root, place.folder)? else { return Ok(Ok(None)) };
        Ok(match folder.read(&place.file, self.largest().max(size_of(1)))? {
            None => Ok(None),
            Some(content) => Record::decode(&Bytes::from(content), key),
        })
    }

    fn put(self: &Arc<Self>, key: &str, record: &Record) -> io::Result<()> {
        let size = size_of(encoded_len(key, record) as u64);
        let written = self.written.fetch_add(size, Ordering::Relaxed) + size;
        // While eviction is behind, it is better to keep nothing more than to fill the disk.
        let is_overfull =
            self.bytes.load(Ordering::Relaxed) > self.limit.saturating_add(self.limit / 20);
        if size > self.largest() || is_overfull {
            self.remove(key)?;
        } else {
            let place = Place::of(key);
            let Some(folder) = Folder::make(&self.root, place.folder)? else { return Ok(()) };
            let unfinished = folder.write(&record.encode(key))?;
            let mut tally = self.tally(place.folder);
            let before = folder.size(&place.file);
            unfinished.finish(&place.file)?;
            self.change(&mut tally, before, Some(size));
        }
        if self.bytes.load(Ordering::Relaxed) > self.limit || written > self.limit / 10 {
            self.tend_soon();
        }
        Ok(())
    }

    /// The largest file that is kept.
    fn largest(&self) -> u64 {
        self.limit / 10
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let place = Place::of(key);
        match Folder::open(&self.root, place.folder)? {
            Some(folder) => self.remove_file(&folder, &place),
            None => Ok(()),
        }
    }

    fn remove_file(&self, folder: &Folder, place: &Place) -> io::Result<()> {
        let mut tally = self.tally(place.folder);
        let before = folder.size(&place.file);
        folder.remove(&place.file)?;
        self.change(&mut tally, before, None);
        Ok(())
    }

    fn clear(&self) -> io::Result<()> {
        for index in 0..FOLDERS {
            let Some(folder) = Folder::open(&self.root, index)? else { continue };
            let mut files = vec![];
            folder.list(|listed| files.push(listed.file))?;
            for file in files {
                self.remove_file(&folder, &Place { folder: index, file })?;
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

    /// Counts a folder, once more where this process changed it meanwhile. After the third time the
    /// number may be off by what was changed; the next count will be better.
    fn count(&self, index: usize, mut each: impl FnMut(Aged)) -> io::Result<Usage> {
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
                    let place = Place { folder: index, file: listed.file };
                    each(Aged { used: listed.used, size: listed.size, place });
                }
                return Ok(usage);
            }
        }
        unreachable!("the last time decides")
    }

    /// Starts a thread that tends, unless one does or did so a moment ago. A thread of its own, because
    /// a runtime would wait for it before it ends.
    fn tend_soon(self: &Arc<Self>) {
        let is_due = |due: &Option<Instant>| due.is_none_or(|due| Instant::now() >= due);
        if !self.tending.try_lock().is_ok_and(|due| is_due(&due)) {
            return;
        }
        let shared = Arc::clone(self);
        let tend = move || {
            let Ok(mut due) = shared.tending.try_lock() else { return };
            if let Err(error) = shared.tend(&mut due) {
                tracing::debug!(%error, "the cache's folder could not be counted");
            }
        };
        // Where there is no thread to be had, the next write tries again.
        let _ = std::thread::Builder::new().name("vidra-cache".to_owned()).spawn(tend);
    }

    /// Counts everything and evicts down to nine tenths of the limit where it is passed. `due` makes
    /// sure that it takes a tenth of the time at most.
    fn tend(&self, due: &mut Option<Instant>) -> io::Result<()> {
        let begun = Instant::now();
        let outcome = self.count_and_evict();
        *due = Some(Instant::now() + begun.elapsed() * 9 + Duration::from_millis(1));
        outcome
    }

    fn count_and_evict(&self) -> io::Result<()> {
        let goal = self.limit - self.limit / 10;
        // Before the first count it is not known how much is too much, and others may be writing.
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
                let Some(folder) = Folder::open(&self.root, file.place.folder)? else { continue };
                // Not if it was replaced or used since it was listed.
                if folder.used(&file.place.file) == Some(file.used) {
                    self.remove_file(&folder, &file.place)?;
                }
            }
        }
        Ok(())
    }

    fn tally(&self, index: usize) -> MutexGuard<'_, Tally> {
        lock(&self.tallies[index])
    }

    /// Notes that a file of the folder changed its size, appeared or went.
    fn change(&self, tally: &mut Tally, before: Option<u64>, after: Option<u64>) {
        tally.changes += 1;
        let Some(usage) = &mut tally.usage else { return };
        let count = |size: Option<u64>| u64::from(size.is_some());
        usage.entries = (usage.entries + count(after)).saturating_sub(count(before));
        let bytes = (usage.bytes + after.unwrap_or(0)).saturating_sub(before.unwrap_or(0));
        self.shift(usage.bytes, bytes);
        usage.bytes = bytes;
    }

    /// A folder's share of the sum was `before` and is `after`.
    fn shift(&self, before: u64, after: u64) {
        self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
