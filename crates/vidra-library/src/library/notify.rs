//! Wakes callers that wait for changes of jobs in this process.

use tokio::sync::broadcast;

use crate::job::JobId;

/// How many changes a slow reader may miss before it looks for itself.
const BUFFER: usize = 256;

/// Announces changes of jobs.
pub(crate) struct Changes(broadcast::Sender<JobId>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Changes {
    /// Announces a change of a job.
    pub(crate) fn note(&self, id: JobId) {
        // Nobody may be listening.
        let _ = self.0.send(id);
    }

    /// Listens from now on, so that no change is lost between a read and the wait.
    pub(crate) fn subscribe(&self) -> Subscription {
        Subscription(self.0.subscribe())
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

    /// Waits for a change of any job.
    pub(crate) async fn any(&mut self) {
        let _ = self.0.recv().await;
    }
}
