//! Log events of jobs: their start, their waits and their end.

use std::collections::BTreeSet;

use vidra::format::iso_millis;
use vidra::{Reason, Result};

use crate::job::{Job, JobId, JobState, Wait};
use crate::library::{Access, Library};
use crate::store::work::Work;

/// The jobs that were active at the last step.
#[derive(Default)]
pub(super) struct Journal(BTreeSet<JobId>);

impl Journal {
    /// Whether a job was active at the last step.
    pub(super) fn has(&self, id: JobId) -> bool {
        self.0.contains(&id)
    }

    /// Logs jobs that are active now and were not before, and the other way round.
    pub(super) async fn note_active(&mut self, library: &Library, active: &[Work]) -> Result<()> {
        let now: BTreeSet<JobId> = active.iter().map(|work| work.row.job.id).collect();
        for job in active.iter().map(|work| &work.row.job).filter(|job| !self.0.contains(&job.id)) {
            let Job { id, owner, source_count, state, .. } = job;
            let event = if *state == JobState::Queued { "job started" } else { "job continued" };
            tracing::info!(job = %id, owner, sources = source_count, "{event}");
        }
        let gone: Vec<JobId> = self.0.difference(&now).copied().collect();
        self.0 = now;
        for id in gone {
            match library.job(id, &Access::All).await {
                Ok(job) => note_end(&job),
                Err(error) if error.reason() == Reason::JobNotFound => {
                    tracing::info!(job = %id, "job deleted");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn note_end(job: &Job) {
    let (id, progress) = (job.id, &job.progress);
    let (state, succeeded, units) = (job.state.word(), progress.succeeded, progress.units);
    let failed: u64 = progress.failed.values().sum();
    let reason = job.error.as_ref().map(|error| error.reason.code());
    let event = if job.state == JobState::Paused { "job paused" } else { "job ended" };
    tracing::info!(job = %id, state, succeeded, failed, units, reason, "{event}");
}

/// Logs that a job waits, or no longer does.
pub(super) fn note_wait(id: JobId, wait: Option<&Wait>) {
    match wait {
        Some(Wait { reason, until }) => {
            let (reason, until) = (reason.code(), iso_millis(*until));
            tracing::info!(job = %id, reason, until, "job waits");
        }
        None => tracing::info!(job = %id, "job no longer waits"),
    }
}
