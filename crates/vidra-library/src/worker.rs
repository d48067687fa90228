//! The worker: leases items, runs them, and waits for resources.
//!
//! One task plans, and one task runs each item or listing. A plan reads the active jobs, divides the free slots among
//! callers and then among their jobs, and leases that many items in one transaction. Then it sleeps until something
//! ends, a job changes, or a resource becomes available.

mod egress;
mod item;
mod journal;
mod listing;
mod plan;
mod resources;
mod verdict;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use vidra::{Result, Vidra};

use crate::job::{JobId, Wait};
use crate::library::Library;
use crate::store::leases::{self, LeasedItem, LeasedSource, Work};
use journal::Journal;
use plan::{Plan, Planner, Running};
use resources::Resources;

/// The client that pays for the jobs of a caller. `None` if the caller's key was revoked: its jobs are paused.
pub type Payers = Arc<dyn Fn(&str) -> Option<Vidra> + Send + Sync>;

/// The settings of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// How many items run at once, of all jobs together.
    pub concurrency: usize,
    /// The quota units of a day that jobs leave to interactive requests.
    pub reserve_units: u32,
    /// How long transcripts are kept. `None` for ever.
    pub retention: Option<Duration>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { concurrency: 8, reserve_units: 2_000, retention: None }
    }
}

impl WorkerConfig {
    /// Sets how many items run at once.
    pub fn with_concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Sets the quota units of a day that jobs leave to interactive requests.
    pub fn with_reserve_units(self, reserve_units: u32) -> Self {
        Self { reserve_units, ..self }
    }

    /// Sets how long transcripts are kept.
    pub fn with_retention(self, retention: Option<Duration>) -> Self {
        Self { retention, ..self }
    }
}

/// Runs the jobs of a library.
pub struct Worker {
    library: Library,
    vidra: Vidra,
    payers: Payers,
    config: WorkerConfig,
}

/// How often a plan is made without a reason: other processes may have changed something.
const POLL: Duration = Duration::from_secs(1);

/// The same for a library in memory, which has no other processes.
const MEMORY_POLL: Duration = Duration::from_secs(600);

/// How long the worker waits after a failed transaction.
const PAUSE: Duration = Duration::from_secs(5);

/// How long a stopping worker waits for work in flight.
const GRACE: Duration = Duration::from_secs(5);

/// How often old data is removed.
const CARE_INTERVAL: Duration = Duration::from_secs(3600);

/// What a task of the worker reports at its end.
enum Ended {
    Item { job: i64, id: JobId },
    Listing { job: i64, id: JobId },
}

impl Worker {
    /// A worker for the jobs of `library`. It fetches with the clients of `payers`, which share the egress addresses of
    /// `vidra`.
    pub fn new(library: Library, vidra: Vidra, payers: Payers, config: WorkerConfig) -> Self {
        Self { library, vidra, payers, config }
    }

    /// Runs jobs until `stop` resolves. Then it waits up to five seconds for work in flight, and gives back the rest.
    ///
    /// # Errors
    ///
    /// Only if the worker cannot register itself. A failing disk later on is logged, and tried again.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Result<()> {
        let (process, _lock) = self.library.register().await?;
        let mut session = Session::new(self, process).await;
        let mut stop = std::pin::pin!(stop);
        let mut changes = self.library.changes().subscribe();
        let mut egress = self.vidra.egress_changes();
        loop {
            let wake = session.step().await;
            tokio::select! {
                // Nothing starts after the worker was stopped.
                biased;
                () = &mut stop => break,
                Some(ended) = session.tasks.join_next() => session.note_end(ended.ok()),
                _ = egress.changed() => session.save_egress().await,
                () = changes.any() => {}
                () = sleep_until(wake) => {}
            }
        }
        session.finish().await;
        Ok(())
    }

    /// Runs jobs until none of `jobs` is active, for a command in the foreground.
    ///
    /// # Errors
    ///
    /// Those of [`Worker::run`].
    pub async fn run_until_idle(
        &self,
        jobs: &[JobId],
        stop: impl Future<Output = ()>,
    ) -> Result<()> {
        let mut changes = self.library.changes().subscribe();
        let idle = async {
            loop {
                let mut is_active = false;
                for id in jobs {
                    let job = self.library.job(*id, &crate::library::Access::All).await;
                    is_active |= job.is_ok_and(|job| job.state.is_active());
                }
                if !is_active {
                    return;
                }
                let _ = timeout(POLL, changes.any()).await;
            }
        };
        let mut stop = std::pin::pin!(stop);
        let mut idle = std::pin::pin!(idle);
        let either = async {
            tokio::select! {
                biased;
                () = &mut stop => {}
                () = &mut idle => {}
            }
        };
        self.run(either).await
    }
}

/// The state of a running worker.
struct Session<'a> {
    worker: &'a Worker,
    process: i64,
    tasks: JoinSet<Ended>,
    running: HashMap<i64, Running>,
    planner: Planner,
    resources: Resources,
    /// The waits as they were stored, by job.
    waits: HashMap<i64, Option<Wait>>,
    journal: Journal,
    next_care: Instant,
    is_failing: bool,
}

impl<'a> Session<'a> {
    async fn new(worker: &'a Worker, process: i64) -> Self {
        let resources = Resources::restore(&worker.library, &worker.vidra).await;
        Self {
            worker,
            process,
            tasks: JoinSet::new(),
            running: HashMap::new(),
            planner: Planner::default(),
            resources,
            waits: HashMap::new(),
            journal: Journal::default(),
            next_care: Instant::now(),
            is_failing: false,
        }
    }

    /// Starts all work that can start. Returns the time of the next step if nothing happens before.
    async fn step(&mut self) -> Instant {
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
        self.release_dead_processes().await?;
        self.care().await?;
        let active = library.database().read(leases::active_jobs).await?;
        let active = self.pause_revoked(active).await?;
        self.journal.note_active(library, &active).await?;
        let now = library.now();
        self.resources.drop_expired(library, now).await?;
        let limits = plan::Limits { items: self.worker.config.concurrency };
        let plan = self.planner.plan(&active, &self.running, limits, now, |job, kind| {
            self.resources.wait(&self.worker.payers, job, kind, now)
        });
        self.start(&active, &plan, now).await?;
        self.store_waits(&active, &plan, now).await?;
        let poll = if library.database().path().is_some() { POLL } else { MEMORY_POLL };
        let until = plan.wake.map_or(poll, |at| {
            Duration::try_from(at.duration_since(now)).unwrap_or_default().min(poll)
        });
        Ok(Instant::now() + until.max(Duration::from_millis(1)))
    }

    /// Frees the leases of processes that have died.
    async fn release_dead_processes(&mut self) -> Result<()> {
        let database = self.worker.library.database();
        let Some(locks) = database.locks() else { return Ok(()) };
        let others = database.read(leases::processes).await?;
        for process in others.into_iter().filter(|number| *number != self.process) {
            if locks.has_ended(process) {
                let freed = database.write(move |it| leases::release_process(it, process)).await?;
                tracing::info!(process, freed, "leases of an ended process released");
            }
        }
        Ok(())
    }

    /// Removes old data once an hour.
    async fn care(&mut self) -> Result<()> {
        if Instant::now() < self.next_care {
            return Ok(());
        }
        self.next_care = Instant::now() + CARE_INTERVAL;
        let library = &self.worker.library;
        let oldest =
            self.worker.config.retention.and_then(|life| library.now().checked_sub(life).ok());
        let removed = library.expire(oldest).await?;
        if removed > 0 {
            tracing::info!(removed, "old transcripts removed");
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
            self.worker.library.pause(id, &crate::library::Access::All).await?;
            tracing::warn!(job = %id, owner = work.row.job.owner, "job paused: the key of its owner was revoked");
        }
        Ok(kept)
    }

    /// Leases the planned work in one transaction, and starts it.
    async fn start(&mut self, active: &[Work], plan: &Plan, now: Timestamp) -> Result<()> {
        if plan.starts.is_empty() {
            return Ok(());
        }
        let process = self.process;
        let starts: Vec<_> =
            plan.starts.iter().map(|(index, start)| (active[*index].row.clone(), *start)).collect();
        let lease = move |it: &_| {
            let mut leased: Vec<(usize, Option<LeasedSource>, Vec<LeasedItem>)> = vec![];
            for (index, (row, start)) in starts.iter().enumerate() {
                let source = match start.lists {
                    true => leases::lease_source(it, process, row.number, now)?,
                    false => None,
                };
                let items = match start.items {
                    0 => vec![],
                    count => leases::lease_items(it, process, row, count, now)?,
                };
                leased.push((index, source, items));
            }
            Ok(leased)
        };
        let leased = self.worker.library.database().write(lease).await?;
        for (index, source, items) in leased {
            let work = &active[plan.starts[index].0];
            if let Some(source) = source {
                self.spawn_listing(work, source);
            }
            for item in items {
                self.spawn_item(work, item);
            }
            // Items with known transcripts have ended, and the state may have changed.
            self.worker.library.changes().note(work.row.job.id);
        }
        Ok(())
    }

    fn spawn_item(&mut self, work: &Work, item: LeasedItem) {
        let (job, id) = (work.row.number, work.row.job.id);
        let Some(task) = item::Task::new(self.worker, work, item, self.resources.handle()) else {
            return;
        };
        self.running.entry(job).or_default().items += 1;
        self.tasks.spawn(async move {
            task.run().await;
            Ended::Item { job, id }
        });
    }

    fn spawn_listing(&mut self, work: &Work, source: LeasedSource) {
        let (job, id) = (work.row.number, work.row.job.id);
        let Some(task) = listing::Task::new(self.worker, work, source, self.resources.handle())
        else {
            return;
        };
        self.running.entry(job).or_default().is_listing = true;
        self.tasks.spawn(async move {
            task.run().await;
            Ended::Listing { job, id }
        });
    }

    /// Notes the end of a task. `None` is a task that panicked: its lease is released with the process.
    fn note_end(&mut self, ended: Option<Ended>) {
        let id = match ended {
            Some(Ended::Item { job, id }) => {
                let running = self.running.entry(job).or_default();
                running.items = running.items.saturating_sub(1);
                id
            }
            Some(Ended::Listing { job, id }) => {
                self.running.entry(job).or_default().is_listing = false;
                id
            }
            None => {
                tracing::error!("a task of the job worker panicked");
                return;
            }
        };
        self.running.retain(|_, running| *running != Running::default());
        self.worker.library.changes().note(id);
    }

    /// Stores what jobs wait for, if that has changed.
    async fn store_waits(&mut self, active: &[Work], plan: &Plan, now: Timestamp) -> Result<()> {
        let mut changed = vec![];
        for (index, wait) in &plan.waits {
            let row = &active[*index].row;
            let stored =
                self.waits.get(&row.number).cloned().unwrap_or_else(|| row.job.waiting.clone());
            if !resources::is_same_wait(stored.as_ref(), wait.as_ref()) {
                changed.push((row.number, row.job.id, wait.clone()));
            }
        }
        self.waits.retain(|number, _| active.iter().any(|work| work.row.number == *number));
        if changed.is_empty() {
            return Ok(());
        }
        let stored = changed.clone();
        let store = move |it: &_| {
            for (job, _, wait) in &stored {
                leases::set_wait(it, *job, wait.as_ref(), now)?;
            }
            Ok(())
        };
        self.worker.library.database().write(store).await?;
        for (number, id, wait) in changed {
            journal::note_wait(id, wait.as_ref());
            self.waits.insert(number, wait);
            self.worker.library.changes().note(id);
        }
        Ok(())
    }

    async fn save_egress(&mut self) {
        self.resources.save_egress(&self.worker.library, &self.worker.vidra).await;
    }

    /// Ends the worker: waits for work in flight, and gives back the rest.
    async fn finish(mut self) {
        let _ = timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
        self.tasks.shutdown().await;
        self.save_egress().await;
        let process = self.process;
        let release = move |it: &_| leases::release_process(it, process);
        if let Err(error) = self.worker.library.database().write(release).await {
            // The next worker finds that this process has ended.
            tracing::warn!(reason = error.reason().code(), "leases not released");
        }
    }
}
