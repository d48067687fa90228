//! Background writes to the far store. Writes of one key stay in order, and the queue is bounded,
//! so that a slow store cannot exhaust memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, oneshot};

use super::super::{Guarded, Record, StoreError};

/// The maximum number of keys in the queue. A list of 20,000 videos would fill it, so long lists wait
/// for capacity.
const MAX_WAITING: usize = 8192;
/// The maximum total size of queued bodies.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The number of concurrent writes.
const AT_ONCE: usize = 8;

pub(super) struct Writes {
    far: Arc<Guarded>,
    queue: Mutex<Queue>,
    slots: Semaphore,
    /// Notified when a key leaves the queue.
    progress: Notify,
    dropped: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// Every key with a running or pending write, and its next write. A newer record replaces a
    /// pending one.
    next: HashMap<Box<str>, Option<Write>>,
    bytes: usize,
    /// Callers that wait until a key leaves the queue.
    waiting: HashMap<Box<str>, Vec<oneshot::Sender<()>>>,
}

enum Write {
    Put(Record),
    /// Notifies the caller that waits for the removal.
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
            slots: Semaphore::new(AT_ONCE),
            progress: Notify::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Queues `record`, unless the queue is full. A pending record of the same key does not count,
    /// because the new one replaces it.
    pub(super) fn put(self: &Arc<Self>, key: &str, record: Record) {
        let mut queue = self.lock();
        let known = queue.next.get(key);
        let is_full = known.is_none() && queue.next.len() >= MAX_WAITING;
        let others = queue.bytes - known.and_then(Option::as_ref).map_or(0, Write::bytes);
        let is_heavy = others > 0 && others + record.body.len() > MAX_BYTES;
        if !is_full && !is_heavy && self.add(&mut queue, key, Write::Put(record)) {
            return;
        }
        self.dropped.fetch_add(1, Ordering::Relaxed);
        // An older record is pending or being written. No record is better than an outdated one.
        if let Some(None | Some(Write::Put(_))) = queue.next.get(key) {
            self.add(&mut queue, key, Write::Remove(None));
        }
    }

    /// Removes `key` after its pending writes. A put during the removal takes effect after it.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The far store can still have the record.
    pub(super) async fn remove(self: &Arc<Self>, key: &str) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.add(&mut self.lock(), key, Write::Remove(Some(sender)));
        // A newer record replaced the removal, so the old record is gone in any case.
        done.await.unwrap_or(Ok(()))
    }

    /// Drops all pending records.
    pub(super) fn forget_waiting(&self) {
        let mut queue = self.lock();
        for write in queue.next.values_mut() {
            if matches!(write, Some(Write::Put(_))) {
                *write = None;
            }
        }
        queue.bytes = 0;
    }

    /// Waits until the store has received the pending writes of `key`.
    pub(super) async fn written(&self, key: &str) {
        let (sender, written) = oneshot::channel();
        {
            let mut queue = self.lock();
            if !queue.next.contains_key(key) {
                return;
            }
            queue.waiting.entry(key.into()).or_default().push(sender);
        }
        // The key left the queue, or this queue ended.
        let _ = written.await;
    }

    /// Waits until the queue is empty.
    pub(super) async fn settled(&self) {
        self.wait_until(|queue| queue.next.is_empty()).await;
    }

    /// Waits until the queue is at most half full.
    pub(super) async fn wait_for_capacity(&self) {
        let has_capacity =
            |queue: &Queue| queue.next.len() <= MAX_WAITING / 2 && queue.bytes <= MAX_BYTES / 2;
        self.wait_until(has_capacity).await;
    }

    async fn wait_until(&self, is_reached: impl Fn(&Queue) -> bool) {
        loop {
            let mut progress = std::pin::pin!(self.progress.notified());
            progress.as_mut().enable();
            if is_reached(&self.lock()) {
                return;
            }
            progress.await;
        }
    }

    pub(super) fn under_way(&self) -> usize {
        self.lock().next.len()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Adds a write. Returns `false` outside a runtime, where no task could run it.
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

    /// Runs the writes of `key` until none is left.
    async fn work(self: Arc<Self>, key: Box<str>) {
        loop {
            let _slot = self.slots.acquire().await;
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

    /// Takes the next write of `key`. Without one it removes the key from the queue.
    fn take(&self, key: &str) -> Option<Write> {
        let mut queue = self.lock();
        let write = queue.next.get_mut(key).and_then(Option::take);
        match &write {
            Some(write) => queue.bytes -= write.bytes(),
            None => {
                queue.next.remove(key);
                // A waiter that has left needs no message.
                let waiting = queue.waiting.remove(key).unwrap_or_default();
                waiting.into_iter().for_each(|waiting| _ = waiting.send(()));
                if queue.next.is_empty() {
                    queue.next.shrink_to(64);
                }
                self.progress.notify_waiters();
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use tokio::time::timeout;

    use super::*;
    use crate::store::{Memory, Store};

    #[tokio::test(start_paused = true)]
    async fn there_is_capacity_again_when_half_of_the_queue_is_written() {
        let far = Arc::new(Memory::new(1 << 20));
        let writes =
            Arc::new(Writes::to(Arc::new(Guarded::new(Arc::clone(&far) as Arc<dyn Store>))));
        let record = Record {
            stored_at: 0,
            keep_until: u64::MAX,
            is_refusal: false,
            is_cheap: true,
            schema: 1,
            body: bytes::Bytes::new(),
        };
        let put = |number: usize| writes.put(&number.to_string(), record.clone());
        (0..=MAX_WAITING / 2).for_each(put);
        assert_eq!(writes.wait_for_capacity().now_or_never(), None, "one too many");
        timeout(Duration::from_secs(1), writes.wait_for_capacity()).await.expect("the tasks write");
        assert!(writes.under_way() <= MAX_WAITING / 2);
        writes.settled().await;
        assert_eq!((writes.under_way(), writes.dropped()), (0, 0));
        put(1);
        put(2);
        assert_eq!(writes.written("1").now_or_never(), None);
        assert_eq!(writes.written("3").now_or_never(), Some(()), "it is not in the queue");
        writes.written("1").await;
        writes.written("2").await;
        assert!(far.get("1").await.unwrap().is_some() && far.get("2").await.unwrap().is_some());
        assert!(writes.lock().waiting.is_empty());
    }
}
