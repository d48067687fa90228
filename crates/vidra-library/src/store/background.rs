//! Threads that work in the background, and yield to those that answer requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{io, thread};

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use vidra::{Error, Result};

/// How many searches run at the same time: they use at most half of the processors.
pub(super) fn processors_for_searches() -> usize {
    thread::available_parallelism().map_or(1, |it| it.get().div_ceil(2))
}

/// Runs `work` on a thread that may block, as soon as there is a permit for it. The thread holds the permit: a caller that
/// leaves does not free its connection.
///
/// Callers wait in a task. Otherwise a caller that is not polled, because it does something else, could be given a permit
/// that it does not use. Four such callers would wait for each other.
pub(super) async fn run_with_permit<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let permits = Arc::clone(permits);
    // Its task ends with the caller.
    let mut waiting = JoinSet::new();
    waiting.spawn(async move {
        let permit = permits.acquire_owned().await.map_err(Error::internal)?;
        let run = move || {
            let _permit = permit;
            work()
        };
        spawn_blocking(run).await.map_err(Error::internal)?
    });
    let ended = || Error::internal("a task of the library ended");
    waiting.join_next().await.ok_or_else(ended)?.map_err(Error::internal)?
}

/// Starts a thread with a low priority: indexing a transcript takes milliseconds, and answers from the cache microseconds.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let work = || {
        lower_priority();
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    /// As `nice` without an argument.
    const NICE: i32 = 10;
    // On Linux, this is the calling thread alone. A service that may not do it is only slower beside its jobs.
    let _ = rustix::process::setpriority_process(None, NICE);
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

type Work = Box<dyn FnOnce() + Send>;

/// How much work of one priority may be in the queue. More callers wait for room.
const QUEUE: usize = 64;

/// The order of work on the compute thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    /// Storing, indexing, export and import.
    Store,
    /// A page of results for a reader. It begins when no other work waits.
    Download,
}

/// A thread that computes, one work after the other. The allocator has memory for each thread, so there is only one.
pub(super) struct ComputeThread {
    store: mpsc::Sender<Work>,
    downloads: mpsc::Sender<Work>,
}

impl ComputeThread {
    pub(super) fn start() -> io::Result<Self> {
        let (store, mut to_store) = mpsc::channel::<Work>(QUEUE);
        let (downloads, mut to_download) = mpsc::channel::<Work>(QUEUE);
        let mut next = async move || {
            tokio::select! {
                biased;
                Some(work) = to_store.recv() => Some(work),
                Some(work) = to_download.recv() => Some(work),
                else => None,
            }
        };
        spawn("vidra-compute", move || {
            // Without a runtime the queues close, and callers get an error.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return };
            while let Some(work) = runtime.block_on(next()) {
                work();
            }
        })?;
        Ok(Self { store, downloads })
    }

    /// Runs `work` after the others of its priority, unless the caller leaves before it begins.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        priority: Priority,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, done) = oneshot::channel();
        let work = move || {
            if reply.is_closed() {
                return;
            }
            let computed = catch_unwind(AssertUnwindSafe(work));
            let panicked = |_| Err(Error::internal("a computation of the library panicked"));
            let _ = reply.send(computed.unwrap_or_else(panicked));
        };
        let queue = match priority {
            Priority::Store => &self.store,
            Priority::Download => &self.downloads,
        };
        let ended = |_| Error::internal("the computing thread ended");
        queue.send(Box::new(work)).await.map_err(ended)?;
        done.await.map_err(Error::internal)?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::time::Duration;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::task::yield_now;
    use tokio::time::timeout;

    use super::*;

    /// Occupies the thread until the sender is dropped.
    fn occupy(thread: &ComputeThread) -> (impl Future<Output = Result<()>> + '_, mpsc::Sender<()>) {
        let (release, released) = mpsc::channel::<()>();
        let work = move || {
            let _ = released.recv();
            Ok(())
        };
        (thread.run(Priority::Store, work), release)
    }

    #[tokio::test]
    async fn work_of_jobs_runs_before_downloads() {
        let thread = ComputeThread::start().unwrap();
        let order = Arc::<Mutex<Vec<&str>>>::default();
        let run = |priority, name| {
            let order = Arc::clone(&order);
            thread.run(priority, move || {
                order.lock().unwrap().push(name);
                Ok(())
            })
        };
        let (busy, release) = occupy(&thread);
        let mut busy = Box::pin(busy);
        assert!((&mut busy).now_or_never().is_none());
        let mut waiting = vec![];
        for (priority, name) in [
            (Priority::Download, "download"),
            (Priority::Download, "download"),
            (Priority::Store, "item"),
        ] {
            let mut work = Box::pin(run(priority, name));
            assert!((&mut work).now_or_never().is_none());
            waiting.push(work);
        }
        drop(release);
        busy.await.unwrap();
        assert!(join_all(waiting).await.into_iter().all(|it| it.is_ok()));
        assert_eq!(*order.lock().unwrap(), ["item", "download", "download"]);
    }

    /// The branches of a `select!` are not polled while the handler of another branch runs.
    #[tokio::test]
    async fn callers_that_are_not_polled_take_no_permit_from_others() {
        let permits = Arc::new(Semaphore::new(2));
        let held = [permits.try_acquire().unwrap(), permits.try_acquire().unwrap()];
        let mut unpolled = vec![];
        for _ in 0..4 {
            let mut waiting = Box::pin(run_with_permit(&permits, || Ok(())));
            assert!((&mut waiting).now_or_never().is_none());
            unpolled.push(waiting);
        }
        drop(held);
        let next = run_with_permit(&permits, || Ok(()));
        timeout(Duration::from_secs(60), next).await.expect("a permit is free").unwrap();
        assert!(join_all(unpolled).await.into_iter().all(|it| it.is_ok()));
    }

    #[tokio::test]
    async fn a_caller_that_leaves_before_its_permit_runs_nothing() {
        let permits = Arc::new(Semaphore::new(1));
        let held = permits.try_acquire().unwrap();
        let has_run = Arc::new(AtomicBool::new(false));
        let ran = Arc::clone(&has_run);
        let mut left = Box::pin(run_with_permit(&permits, move || {
            ran.store(true, Ordering::Relaxed);
            Ok(())
        }));
        assert!((&mut left).now_or_never().is_none());
        // Its task waits in the queue now.
        yield_now().await;
        drop(left);
        drop(held);
        run_with_permit(&permits, || Ok(())).await.unwrap();
        assert_eq!((permits.available_permits(), has_run.load(Ordering::Relaxed)), (1, false));
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_drops_the_work_of_callers_that_leave() {
        let thread = ComputeThread::start().unwrap();
        let (busy, release) = occupy(&thread);
        let mut busy = Box::pin(busy);
        assert!((&mut busy).now_or_never().is_none());
        let mut waiting = vec![];
        for _ in 0..2 * QUEUE {
            let mut work = Box::pin(thread.run(Priority::Download, || Ok(())));
            assert!((&mut work).now_or_never().is_none());
            waiting.push(work);
        }
        assert_eq!(thread.downloads.capacity(), 0, "the others wait for room");
        // Work of jobs does not wait behind them, and abandoned work makes room.
        let mut item = Box::pin(thread.run(Priority::Store, || Ok(1)));
        assert!((&mut item).now_or_never().is_none());
        waiting.truncate(1);
        drop(release);
        busy.await.unwrap();
        assert_eq!(item.await.unwrap(), 1);
        assert!(join_all(waiting).await.into_iter().all(|it| it.is_ok()));
    }
}
