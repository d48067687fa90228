//! Threads that work in the background, and yield to those that answer requests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{io, thread};

use tokio::sync::{mpsc, oneshot};
use vidra::{Error, Result};

/// How many searches run at the same time: they use at most half of the processors.
pub(super) fn processors_for_searches() -> usize {
    thread::available_parallelism().map_or(1, |it| it.get().div_ceil(2))
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

/// A thread that computes, one work after the other. The allocator has memory for each thread, so there is only one.
pub(super) struct ComputeThread(mpsc::UnboundedSender<Work>);

impl ComputeThread {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, mut queue) = mpsc::unbounded_channel::<Work>();
        spawn("vidra-compute", move || {
            while let Some(work) = queue.blocking_recv() {
                work();
            }
        })?;
        Ok(Self(sender))
    }

    /// Runs `work` after the others, unless the caller leaves before it begins.
    pub(super) async fn run<T: Send + 'static>(
        &self,
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
        self.0.send(Box::new(work)).map_err(|_| Error::internal("the computing thread ended"))?;
        done.await.map_err(Error::internal)?
    }
}
