//! The jobs that a worker runs.

use std::time::Duration;

use vidra::Result;

use crate::job::JobId;
use crate::library::Library;
use crate::store::work::Work;

/// How often a worker looks for jobs whose process has ended.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);

/// The jobs that a worker runs: all, or some.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// All if there are none.
    pub(super) jobs: Vec<JobId>,
    /// The owner whose other jobs the worker takes over if no process runs them.
    owner: Option<String>,
}

impl Scope {
    /// These jobs.
    pub(super) fn of(jobs: &[JobId]) -> Self {
        Self { jobs: jobs.to_vec(), owner: None }
    }

    /// The jobs of `owner` that no process runs. They have to be added.
    pub(super) fn unattended(owner: &str) -> Self {
        Self { jobs: vec![], owner: Some(owner.to_owned()) }
    }

    pub(super) fn has(&self, id: JobId) -> bool {
        self.jobs.is_empty() || self.jobs.contains(&id)
    }

    /// Whether the worker takes over jobs.
    pub(super) fn grows(&self) -> bool {
        self.owner.is_some()
    }

    /// Those of the active jobs that the worker can take over.
    pub(super) async fn find(&self, library: &Library, active: &[Work]) -> Result<Vec<JobId>> {
        let mut found = vec![];
        for job in active.iter().map(|work| &work.row.job) {
            let is_other = self.owner.as_ref() == Some(&job.owner) && !self.jobs.contains(&job.id);
            if is_other && !library.has_worker(job.id).await? {
                found.push(job.id);
            }
        }
        Ok(found)
    }
}
