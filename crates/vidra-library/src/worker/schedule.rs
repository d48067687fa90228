//! Starts the syncs of collections that are due.

use std::time::Duration;

use jiff::Timestamp;
use vidra::{Reason, Result};

use super::Worker;
use crate::store::sync::Due;
use crate::store::{collections, outbox, sync};

/// When the schedule is read again after something was started.
const AGAIN: Duration = Duration::from_secs(1);

/// Starts everything that is due. Returns when it should be called again. `None` without collections.
pub(super) async fn start_due(worker: &Worker) -> Result<Option<Timestamp>> {
    let (library, now) = (&worker.library, worker.library.now());
    let read =
        move |it: &_| Ok((sync::due(it, now)?, outbox::next_wait(it)?, collections::active(it)?));
    let (all, wait, active) = library.database().read(read).await?;
    for (owner, collection) in active {
        if (worker.payers)(&owner).is_none() {
            pause(worker, &owner, collection, now).await?;
        }
    }
    let is_wait_due = wait.is_some_and(|at| at <= now);
    if is_wait_due {
        library.database().write(move |it| outbox::note_waits(it, now)).await?;
    }
    let next = all.first().map(|due| due.at).into_iter().chain(wait).min();
    let due: Vec<Due> = all.into_iter().filter(|due| due.at <= now).collect();
    let has_started = is_wait_due || !due.is_empty();
    for due in due {
        start(worker, due, now).await?;
    }
    let again = now.checked_add(AGAIN).unwrap_or(Timestamp::MAX);
    Ok(if has_started { Some(again) } else { next })
}

/// Pauses a collection whose owner's key was revoked.
async fn pause(worker: &Worker, owner: &str, collection: i64, now: Timestamp) -> Result<()> {
    tracing::warn!(owner, collection, "collection paused: the key of its owner was revoked");
    let why = Some(Reason::CallerKeyInvalid);
    let pause = move |it: &_| collections::set_paused(it, collection, true, why, now);
    worker.library.database().write(pause).await
}

async fn start(worker: &Worker, due: Due, now: Timestamp) -> Result<()> {
    let (library, collection, retries_only) = (&worker.library, due.collection, due.retries_only);
    let start = move |it: &_| sync::start_due(it, &due, now);
    if let Some(job) = library.database().write(start).await? {
        tracing::debug!(%job, collection, retries_only, "sync of a collection started");
        library.changes().note(job);
    }
    Ok(())
}
