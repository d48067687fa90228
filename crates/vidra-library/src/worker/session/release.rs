//! Frees leases that nobody works on.

use std::collections::HashSet;

use vidra::Result;

use super::Session;
use crate::store::processes;

impl Session<'_> {
    /// Frees the leases of processes that have died.
    pub(super) async fn release_dead_processes(&mut self) -> Result<()> {
        let database = self.worker.library.database();
        for process in database.ended_processes().await? {
            if process != self.process {
                let freed = database.release_process(process).await?;
                tracing::info!(process, freed, "leases of an ended process released");
            }
        }
        Ok(())
    }

    /// Frees leases that no task holds, for example after a write that failed for an unknown reason.
    pub(super) async fn release_lost_leases(&mut self) -> Result<()> {
        let (process, now) = (self.process, self.worker.library.now());
        let only = self.only.to_vec();
        let held: HashSet<i64> = self.held.values().map(|held| held.fence).collect();
        let database = self.worker.library.database();
        let count = database.read(move |it| processes::leased(it, process)).await?;
        if count.is_some_and(|count| count <= held.len()) {
            return Ok(());
        }
        let release = move |it: &_| {
            processes::keep_process(it, process, &only, now)?;
            processes::release_lost(it, process, &held)
        };
        let freed = database.write(release).await?;
        if freed > 0 {
            tracing::warn!(freed, "lost leases released");
        }
        Ok(())
    }
}
