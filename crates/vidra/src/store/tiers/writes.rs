//! Writes to the far store, in the background: those of one key in their order, and never so many
//! that a slow store fills the memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, oneshot};

use super::super::{Guarded, Record, StoreError};

/// How many keys may wait to be written. A playlist of 5,000 is put in a few hundred milliseconds.
const MOST_WAITING: usize = 8192;
/// How large the bodies may be that wait.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How many are written at the same time.
const AT_ONCE: usize = 8;

pub(super) struct Writes {
    far: Arc<Guarded>,
    queue: Mutex<Queue>,
    places: Semaphore,
    /// Told when nothing is left to write.
    idle: Notify,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// Every key that is being written or waits for it, with what is to be written next. A newer
    /// record takes the place of one that still waits.
    next: HashMap<Box<str>, Option<Write>>,
    bytes: usize,
}

enum Write {
    Put(Record),
    /// Tells whoever waits for it.
    Remove(Option<oneshot::Sender<Result<(), StoreError>>>),
}

impl Write {
    fn bytes(&self) -> usize {
        match self {
            Self::Put(record) => record.body.len(),
            Self::Remove(_) => 0,
        }
    }
}

impl Writes {
    pub(super) fn to(far: Arc<Guarded>) -> Self {
        Self {
            far,
            queue: Mutex::default(),
            places: Semaphore::new(AT_ONCE),
            idle: Notify::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Writes `record` soon, unless too much waits already. What waits for the same key is not too
    /// much: it makes room.
    pub(super) fn put(self: &Arc<Self>, key: &str, record: Record) {
        let mut queue = self.lock();
        let known = queue.next.get(key);
        let is_full = known.is_none() && queue.next.len() >= MOST_WAITING;
        let others = queue.bytes - known.and_then(Option::as_ref).map_or(0, Write::bytes);
        let is_heavy = others > 0 && others + record.body.len() > MOST_BYTES;
        if !is_full && !is_heavy && self.add(&mut queue, key, Write::Put(record)) {
            return;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        // An older record is on its way: it is better to have none.
        if let Some(None | Some(Write::Put(_))) = queue.next.get(key) {
            self.add(&mut queue, key, Write::Remove(None));
        }
    }

    /// Removes `key` after what waits for it now; a put that comes meanwhile comes after the removal.
    pub(super) async fn remove(self: &Arc<Self>, key: &str) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.add(&mut self.lock(), key, Write::Remove(Some(sender)));
        // Replaced by a newer record: so the old one goes all the same.
        done.await.unwrap_or(Ok(()))
    }

    /// Drops the records that wait.
    pub(super) fn forget_waiting(&self) {
        let mut queue = self.lock();
        for write in queue.next.values_mut() {
            if matches!(write, Some(Write::Put(_))) {
                *write = None;
            }
        }
        queue.bytes = 0;
    }

    /// Waits until nothing is left to write.
    pub(super) async fn settled(&self) {
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if self.lock().next.is_empty() {
                return;
            }
            idle.await;
        }
    }

    pub(super) fn under_way(&self) -> usize {
        self.lock().next.len()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Whether it could be added: outside a runtime nobody would write it.
    fn add(self: &Arc<Self>, queue: &mut Queue, key: &str, write: Write) -> bool {
        let Ok(runtime) = Handle::try_current() else { return false };
        let bytes = write.bytes();
        let replaced = match queue.next.entry(key.into()) {
            Entry::Occupied(mut waiting) => waiting.get_mut().replace(write),
            Entry::Vacant(free) => {
                free.insert(Some(write));
                runtime.spawn(Arc::clone(self).work(key.into()));
                None
            }
        };
        queue.bytes += bytes;
        queue.bytes -= replaced.map_or(0, |write| write.bytes());
        true
    }

    /// Writes what there is for `key` until there is nothing more.
    async fn work(self: Arc<Self>, key: Box<str>) {
        loop {
            let _place = self.places.acquire().await;
            let Some(write) = self.take(&key) else { return };
            match write {
                Write::Put(record) => self.far.put(&key, &record).await,
                Write::Remove(done) => {
                    let outcome = self.far.remove(&key).await;
                    let _ = done.map(|done| done.send(outcome));
                }
            }
        }
    }

    /// The next write of `key`; where there is none, its place in the queue is given up.
    fn take(&self, key: &str) -> Option<Write> {
        let mut queue = self.lock();
        let write = queue.next.get_mut(key).and_then(Option::take);
        match &write {
            Some(write) => queue.bytes -= write.bytes(),
            None => {
                queue.next.remove(key);
                if queue.next.is_empty() {
                    queue.next.shrink_to(64);
                    self.idle.notify_waiters();
                }
            }
        }
        write
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").field("waiting", &self.lock().next.len()).finish_non_exhaustive()
    }
}
