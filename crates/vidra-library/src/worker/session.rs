//! The state of a running worker, and its steps.

mod release;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{Instant, timeout};
use vidra::{Reason, Result};

use super::active_jobs::{ActiveJobs, READ_INTERVAL};
use super::journal::{self, Journal};
use super::plan::{self, Plan, Planner, Running};
use super::resources::{self, Resources};
use super::{POLL, Worker, discovery, item, listing, schedule};
use crate::job::{JobId, JobState, Wait};
use crate::library::Access;
use crate::store::leases::{self, LeasedItem, LeasedSource, ListedSource};
use crate::store::work::{self, Work};
use crate::store::{ProcessLock, processes};

/// How long the worker waits after a failed transaction.
const PAUSE: Duration = Duration::from_secs(5);

/// How long a stopping worker waits for work in flight.
const GRACE: Duration = Duration::from_secs(5);

/// How often the pace of egress addresses is stored while items run. A killed process loses at most this much of it.
const SAVE_INTERVAL: Duration = Duration::from_secs(30);

/// How often old data is removed.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(3600);

/// The lease that a task holds.
struct Held {
    job: i64,
    id: JobId,
    fence: i64,
    is_listing: bool,
}

impl Held {
    fn new(work: &Work, fence: i64, is_listing: bool) -> Self {
        Self { job: work.row.number, id: work.row.job.id, fence, is_listing }
    }
}

/// The state of a running worker.
pub(super) struct Session<'a> {
    worker: &'a Worker,
    /// The jobs that it runs. All if there are none.
    only: &'a [JobId],
    process: i64,
    lock: ProcessLock,
    pub(super) tasks: JoinSet<()>,
    /// The leases of the running tasks.
    held: HashMap<task::Id, Held>,
    running: HashMap<i64, Running>,
    planner: Planner,
    resources: Resources,
    /// The waits as they were stored, by job.
    waits: HashMap<i64, Option<Wait>>,
    pub(super) jobs: ActiveJobs,
    journal: Journal,
    /// When the next collection is due.
    next_due: Option<Timestamp>,
    next_maintenance: Instant,
    next_save: Instant,
    is_failing: bool,
}

impl<'a> Session<'a> {
    pub(super) async fn new(
        worker: &'a Worker,
        only: &'a [JobId],
        process: i64,
        lock: ProcessLock,
    ) -> Self {
        let resources = Resources::restore(worker).await;
        Self {
            worker,
            only,
            process,
            lock,
            tasks: JoinSet::new(),
            held: HashMap::new(),
            running: HashMap::new(),
            planner: Planner::default(),
            resources,
            waits: HashMap::new(),
            jobs: ActiveJobs::default(),
            journal: Journal::default(),
            next_due: None,
            next_maintenance: Instant::now(),
            next_save: Instant::now() + SAVE_INTERVAL,
            is_failing: false,
        }
    }

    /// Starts all work that can start. Returns the time of the next step if nothing happens before.
    pub(super) async fn step(&mut self) -> Instant {
        match self.try_step().await {
            Ok(wake) => {
                self.is_failing = false;
                wake
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    let source = std::error::Error::source(&error);
                    tracing::error!(reason = error.reason().code(), source, "job worker paused");
                }
                Instant::now() + PAUSE
            }
        }
    }

    async fn try_step(&mut self) -> Result<Instant> {
        let library = &self.worker.library;
        self.maintain().await?;
        if !self.tasks.is_empty() && Instant::now() >= self.next_save {
            self.save_egress().await;
        }
        if self.jobs.are_old() {
            self.next_due = match self.only.is_empty() && self.lock.plans() {
                true => schedule::start_due(self.worker).await?,
                false => None,
            };
            self.release_dead_processes().await?;
            self.release_lost_leases().await?;
            let now = library.now();
            let max_bytes = library.limits().caller_bytes;
            let read = move |it: &_| work::active_jobs(it, max_bytes, now);
            let mut active = library.database().read(read).await?;
            active.retain(|work| self.only.is_empty() || self.only.contains(&work.row.job.id));
            let active = self.pause_revoked(active).await?;
            self.journal.note_active(library, &active).await?;
            // Somebody may have changed the state of a job that waited.
            let waiting: HashSet<i64> = active
                .iter()
                .filter(|work| work.row.job.state == JobState::Waiting)
                .map(|work| work.row.number)
                .collect();
            self.waits.retain(|number, _| waiting.contains(number));
            self.jobs.renew(active);
        }
        let now = library.now();
        self.resources.drop_expired(library, now).await?;
        let limits = plan::Limits { items: self.worker.config.concurrency };
        let plan = self.planner.plan(&self.jobs.all, &self.running, limits, now, |job, kind| {
            self.resources.wait(&self.worker.payers, job, kind, now)
        });
        self.start(&plan, now).await?;
        self.store_waits(&plan, now).await?;
        let poll = library.database().poll();
        let until = plan.wake.map_or(poll, |at| {
            Duration::try_from(at.duration_since(now)).unwrap_or_default().min(poll)
        });
        let until = if self.jobs.is_expired { until.min(READ_INTERVAL) } else { until };
        let until = self.next_due.map_or(until, |at| {
            until.min(Duration::try_from(at.duration_since(now)).unwrap_or_default())
        });
        if until.is_zero() {
            // A collection is due.
            self.jobs.expire();
        }
        Ok(Instant::now() + until.max(Duration::from_millis(1)))
    }

    /// Removes old data once an hour.
    async fn maintain(&mut self) -> Result<()> {
        if Instant::now() < self.next_maintenance {
            return Ok(());
        }
        self.next_maintenance = Instant::now() + MAINTENANCE_INTERVAL;
        let library = &self.worker.library;
        let oldest =
            self.worker.config.retention.and_then(|life| library.now().checked_sub(life).ok());
        let removed = library.expire(oldest).await?;
        if removed > 0 {
            tracing::info!(removed, "old transcripts removed");
            // There may be more. Jobs go on between two pages.
            self.next_maintenance = Instant::now() + POLL;
        }
        Ok(())
    }

    /// Pauses the jobs of callers whose keys were revoked.
    async fn pause_revoked(&mut self, active: Vec<Work>) -> Result<Vec<Work>> {
        let (mut kept, payers) = (vec![], &self.worker.payers);
        for work in active {
            if payers(&work.row.job.owner).is_some() {
                kept.push(work);
                continue;
            }
            let id = work.row.job.id;
            match self.worker.library.pause(id, &Access::All).await {
                Ok(_) => {}
                // It has just ended.
                Err(error)
                    if matches!(error.reason(), Reason::JobStateConflict | Reason::JobNotFound) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            }
            tracing::warn!(job = %id, owner = work.row.job.owner, "job paused: the key of its owner was revoked");
        }
        Ok(kept)
    }

    /// Leases the planned work in one transaction, and starts it.
    async fn start(&mut self, plan: &Plan, now: Timestamp) -> Result<()> {
        if plan.starts.is_empty() {
            return Ok(());
        }
        let (process, max_bytes) = (self.process, self.worker.library.limits().caller_bytes);
        let mut starts: Vec<_> = plan
            .starts
            .iter()
            .map(|(index, start)| (self.jobs.all[*index].row.clone(), *start))
            .enumerate()
            .collect();
        // Transactions of several processes lock jobs in the same order.
        starts.sort_by_key(|(_, (row, _))| row.number);
        let lease = move |it: &_| {
            let mut leased: Vec<(usize, Option<LeasedSource>, Vec<LeasedItem>)> = vec![];
            for (index, (row, start)) in &starts {
                let source = match start.lists {
                    true => leases::lease_source(it, process, row.number, now)?,
                    false => None,
                };
                let items = match start.items {
                    0 => vec![],
                    count => leases::lease_items(it, process, row, count, max_bytes, now)?,
                };
                leased.push((*index, source, items));
            }
            Ok(leased)
        };
        let leased = self.worker.library.database().write_shared(lease).await?;
        for (index, source, items) in leased {
            let (place, start) = plan.starts[index];
            let work = &mut self.jobs.all[place];
            if start.items > items.len() {
                // There are no more, or their transcripts are known.
                (work.next_item, self.jobs.is_expired) = (None, true);
            }
            if start.lists {
                work.next_source = None;
            }
            let work = work.clone();
            if let Some(source) = source {
                self.spawn_listing(&work, source);
            }
            for item in items {
                self.spawn_item(&work, item);
            }
            // Items with known transcripts have ended, and the state may have changed.
            self.worker.library.changes().note(work.row.job.id);
        }
        Ok(())
    }

    fn spawn_item(&mut self, work: &Work, item: LeasedItem) {
        let held = Held::new(work, item.lease.fence, false);
        // Without a payer the lease is freed with the next read.
        let Some(task) = item::Task::new(self.worker, work, item) else { return };
        self.running.entry(held.job).or_default().items += 1;
        let task = self.tasks.spawn(task.run());
        self.held.insert(task.id(), held);
    }

    fn spawn_listing(&mut self, work: &Work, source: LeasedSource) {
        let held = Held::new(work, source.lease.fence, true);
        let (job, blocked) = (held.job, self.resources.handle());
        // Without a payer the lease is freed with the next read.
        let task = match source.source.clone() {
            ListedSource::Named(named) => {
                let task = listing::Task::new(self.worker, work, source, named, blocked);
                task.map(|task| self.tasks.spawn(task.run()))
            }
            ListedSource::Feeds(collection) => {
                let task = discovery::Task::new(self.worker, work, &source, collection, blocked);
                task.map(|task| self.tasks.spawn(task.read_feeds()))
            }
            ListedSource::Lists(collection) => {
                let task = discovery::Task::new(self.worker, work, &source, collection, blocked);
                task.map(|task| self.tasks.spawn(task.read_lists()))
            }
        };
        let Some(task) = task else { return };
        self.running.entry(job).or_default().is_listing = true;
        self.held.insert(task.id(), held);
    }

    /// Notes the end of a task, and of all others that have ended.
    pub(super) fn note_ends(&mut self, first: &Result<(task::Id, ()), JoinError>) {
        self.note_end(first);
        while let Some(next) = self.tasks.try_join_next_with_id() {
            self.note_end(&next);
        }
    }

    /// Notes the end of a task. The lease of a task that panicked is freed with the next read.
    fn note_end(&mut self, ended: &Result<(task::Id, ()), JoinError>) {
        let task = match ended {
            Ok((task, ())) => *task,
            Err(error) => {
                tracing::error!("a task of the job worker panicked");
                error.id()
            }
        };
        let Some(Held { job, id, is_listing, .. }) = self.held.remove(&task) else { return };
        let running = self.running.entry(job).or_default();
        match is_listing {
            true => running.is_listing = false,
            false => running.items = running.items.saturating_sub(1),
        }
        if is_listing {
            // It has added items, or has failed.
            self.jobs.expire();
        }
        self.running.retain(|_, running| *running != Running::default());
        self.worker.library.changes().note(id);
    }

    /// Stores what jobs wait for, if that has changed.
    async fn store_waits(&mut self, plan: &Plan, now: Timestamp) -> Result<()> {
        let (mut changed, active) = (vec![], &self.jobs.all);
        for (index, wait) in &plan.waits {
            let row = &active[*index].row;
            let stored =
                self.waits.get(&row.number).cloned().unwrap_or_else(|| row.job.waiting.clone());
            if !resources::is_same_wait(stored.as_ref(), wait.as_ref()) {
                changed.push((row.number, row.job.id, wait.clone()));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let mut stored = changed.clone();
        stored.sort_by_key(|(job, _, _)| *job);
        let store = move |it: &_| {
            for (job, _, wait) in &stored {
                leases::set_wait(it, *job, wait.as_ref(), now)?;
            }
            Ok(())
        };
        self.worker.library.database().write_shared(store).await?;
        // A message about a long wait may be due before anything else.
        self.jobs.is_expired = true;
        for (number, id, wait) in changed {
            journal::note_wait(id, wait.as_ref());
            self.waits.insert(number, wait);
            self.worker.library.changes().note(id);
        }
        Ok(())
    }

    pub(super) async fn save_egress(&mut self) {
        self.next_save = Instant::now() + SAVE_INTERVAL;
        self.resources.save_egress(&self.worker.library, &self.worker.vidra).await;
    }

    /// Logs the jobs that have ended since the last step.
    async fn note_ended(&mut self) {
        let library = &self.worker.library;
        let now = library.now();
        let active = library.database().read(move |it| work::active_jobs(it, None, now)).await;
        let Ok(mut active) = active else { return };
        active.retain(|work| self.journal.has(work.row.job.id));
        let _ = self.journal.note_active(library, &active).await;
    }

    /// Ends the worker: waits for work in flight, and gives back the rest.
    pub(super) async fn finish(mut self) {
        let _ = timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.tasks.shutdown().await;
        self.save_egress().await;
        self.note_ended().await;
        let process = self.process;
        let release = move |it: &_| processes::release_process(it, process);
        if let Err(error) = self.worker.library.database().write(release).await {
            // The next worker finds that this process has ended.
            tracing::warn!(reason = error.reason().code(), "leases not released");
        }
    }
}
