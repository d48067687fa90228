//! Wakes callers that wait for changes of jobs, and the worker.

use tokio::sync::{Notify, broadcast, mpsc};

use crate::job::JobId;
use crate::store::JobNotice;

/// How many changes a slow reader may miss before it reads the database.
const BUFFER: usize = 256;

/// Announces changes of jobs.
pub(crate) struct Changes {
    jobs: broadcast::Sender<JobId>,
    /// Wakes the worker.
    work: Notify,
    /// To the processes of other machines.
    others: Option<mpsc::UnboundedSender<JobNotice>>,
}

impl Changes {
    pub(crate) fn new(others: Option<mpsc::UnboundedSender<JobNotice>>) -> Self {
        Self { jobs: broadcast::channel(BUFFER).0, work: Notify::new(), others }
    }

    /// Announces progress of a job to its subscribers.
    pub(crate) fn note(&self, id: JobId) {
        self.announce(JobNotice { job: id, is_request: false });
    }

    /// Announces a change that a caller made, also to workers.
    pub(crate) fn note_request(&self, id: JobId) {
        self.announce(JobNotice { job: id, is_request: true });
    }

    fn announce(&self, news: JobNotice) {
        self.hear(news);
        if let Some(others) = &self.others {
            // The database may have been closed.
            let _ = others.send(news);
        }
    }

    /// Announces a change of any process in this one.
    pub(crate) fn hear(&self, news: JobNotice) {
        // Nobody may be listening.
        let _ = self.jobs.send(news.job);
        if news.is_request {
            self.work.notify_one();
        }
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
