//! Sends notifications about jobs to other machines, and receives theirs. Readers also poll once a second, so that a lost
//! notification delays them by no more than that.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc};
use tokio::time::sleep;
use vidra::Sessions;

use super::session::{Begin, Session};
use crate::job::JobId;
use crate::store::sql::{Statements, Texts};

/// The shortest time between two notifications about one job.
const PAUSE: Duration = Duration::from_millis(250);

/// A change of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct JobNotice {
    pub(crate) job: JobId,
    /// Whether a caller made it, so that workers should look at once.
    pub(crate) is_request: bool,
}

impl JobNotice {
    fn payload(self) -> String {
        let kind = if self.is_request { "request" } else { "job" };
        format!("{kind} {}", self.job)
    }

    fn from_payload(text: &str) -> Option<Self> {
        let (kind, id) = text.split_once(' ')?;
        let is_request = match kind {
            "request" => true,
            "job" => false,
            _ => return None,
        };
        Some(Self { job: JobId::parse(id).ok()?, is_request })
    }
}

/// The connection to the changes of other machines.
pub(crate) struct NoticeRelay {
    /// The changes of this process.
    pub(crate) outgoing: mpsc::UnboundedSender<JobNotice>,
    incoming: broadcast::Receiver<String>,
}

impl NoticeRelay {
    pub(super) fn start(sessions: &Arc<Sessions>, database: &vidra::Database) -> Self {
        let (outgoing, news) = mpsc::unbounded_channel();
        tokio::spawn(send_all(Arc::downgrade(sessions), news));
        Self { outgoing, incoming: database.messages() }
    }

    /// The next change of any machine, also of this one. `None` after the end of the database.
    pub(crate) async fn next(&mut self) -> Option<JobNotice> {
        loop {
            match self.incoming.recv().await {
                Ok(payload) => {
                    if let Some(news) = JobNotice::from_payload(&payload) {
                        return Some(news);
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Sends the changes of this process, those of one moment together.
async fn send_all(sessions: Weak<Sessions>, mut news: mpsc::UnboundedReceiver<JobNotice>) {
    while let Some(first) = news.recv().await {
        let mut all = HashSet::from([first]);
        while let Ok(next) = news.try_recv() {
            all.insert(next);
        }
        let Some(sessions) = sessions.upgrade() else { return };
        let payloads = Texts(all.into_iter().map(JobNotice::payload).collect());
        let runtime = Handle::current();
        let send = move || {
            let session = Session::begin(sessions, runtime, &Begin::new("BEGIN"))?;
            let notify = "SELECT pg_notify('vidra', payload) FROM unnest(?) AS payload";
            let sent = session.each_row(notify, &[&payloads], &mut |_| Ok(true));
            session.end(sent)
        };
        // Without it, the others see the change a little later.
        let _ = tokio::task::spawn_blocking(send).await;
        sleep(PAUSE).await;
    }
}
