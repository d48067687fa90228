//! Wakes callers that wait for changes of jobs, and the worker, in this process.

use tokio::sync::{Notify, broadcast};

use crate::job::JobId;

/// How many changes a slow reader may miss before it reads the database.
const BUFFER: usize = 256;

/// Announces changes of jobs.
pub(crate) struct Changes {
    jobs: broadcast::Sender<JobId>,
    /// Wakes the worker.
    work: Notify,
}

impl Default for Changes {
    fn default() -> Self {
        Self { jobs: broadcast::channel(BUFFER).0, work: Notify::new() }
    }
}

impl Changes {
    /// Announces progress of a job to its subscribers.
    pub(crate) fn note(&self, id: JobId) {
        // Nobody may be listening.
        let _ = self.jobs.send(id);
    }

    /// Announces a change that a caller made, also to the worker.
    pub(crate) fn note_request(&self, id: JobId) {
        self.note(id);
        self.work.notify_one();
    }

    /// Announces a change to the worker alone.
    pub(crate) fn wake_worker(&self) {
        self.work.notify_one();
    }

    /// Waits until a caller has changed something since the last wait.
    pub(crate) async fn requested(&self) {
        self.work.notified().await;
    }

    /// Listens from now on, so that no change is lost between a read and the wait.
    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription(self.jobs.subscribe())
    }
}

/// Changes since the subscription.
pub(crate) struct Subscription(broadcast::Receiver<JobId>);

impl Subscription {
    /// Waits for a change of this job. It also returns after missed changes, which may have been of this job.
    pub(crate) async fn of(mut self, id: JobId) {
        while let Ok(changed) = self.0.recv().await {
            if changed == id {
                return;
            }
        }
    }
}
