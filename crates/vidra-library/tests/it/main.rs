//! The library over the simulator.

mod collection_faults;
mod collections;
mod copy;
mod jobs;
mod quality;
mod resources;
mod restarts;
mod rooms;
mod search;
mod search_index;
mod store;
mod thirty_days;
mod worlds;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;
use vidra::clock::Clock;
use vidra::{ApiKey, Database, InProcess, Vidra};
use vidra_library::{
    Access, Create, Job, JobId, JobRequest, JobSource, Library, Limits, Memory, Worker,
    WorkerConfig,
};
use vidra_sim::Simulator;

/// A wall clock that follows the runtime's clock, which tests pause.
#[derive(Clone)]
pub(crate) struct TestClock {
    start: tokio::time::Instant,
    at: Timestamp,
}

impl TestClock {
    pub(crate) fn new() -> Self {
        // Ten in the morning in Los Angeles.
        let at = "2026-11-17T18:00:00Z".parse().unwrap();
        Self { start: tokio::time::Instant::now(), at }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.at + self.start.elapsed()
    }

    fn suspended(&self) -> Duration {
        Duration::ZERO
    }
}

/// The database of a library.
#[derive(Clone)]
pub(crate) enum Store {
    Memory(Memory),
    Postgres(Database),
}

impl Store {
    pub(crate) fn memory() -> Self {
        Self::Memory(Memory::new().unwrap())
    }

    /// A PostgreSQL database of its own. `None` if PostgreSQL is not installed.
    pub(crate) async fn postgres() -> Option<Self> {
        let server = vidra_engines::shared_postgres()?;
        let database = Database::connect(&server.url(&server.database())).await.unwrap();
        Some(Self::Postgres(database))
    }

    /// Opens the library.
    pub(crate) async fn open(&self, limits: Limits, clock: Arc<dyn Clock>) -> Library {
        match self {
            Self::Memory(memory) => Library::in_memory(memory, limits, clock).unwrap(),
            Self::Postgres(database) => {
                // A paused clock would jump to the end of each wait for the server.
                tokio::time::resume();
                let library = Library::open_in_postgres_with_clock(database, limits, clock).await;
                tokio::time::pause();
                library.unwrap().alone()
            }
        }
    }
}

/// Tests that run on each store, under a clock that jumps.
#[macro_export]
macro_rules! on_each_store {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[tokio::test(start_paused = true)]
            async fn memory() {
                super::$test($crate::Store::memory()).await;
            }

            #[tokio::test]
            async fn postgres() {
                let Some(store) = $crate::Store::postgres().await else { return };
                tokio::time::pause();
                super::$test(store).await;
            }
        })*
    };
}

/// A platform, a client and a library, under one clock.
pub(crate) struct World {
    pub(crate) platform: Simulator,
    pub(crate) clock: TestClock,
    pub(crate) store: Store,
    pub(crate) config: WorkerConfig,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::over(Simulator::new())
    }

    pub(crate) fn over(platform: Simulator) -> Self {
        let (clock, store) = (TestClock::new(), Store::memory());
        Self { platform, clock, store, config: WorkerConfig::default() }
    }

    pub(crate) fn on(self, store: Store) -> Self {
        Self { store, ..self }
    }

    pub(crate) fn client(&self) -> vidra::Builder {
        Vidra::builder()
            .key(ApiKey::new("demo-key"))
            .transport(InProcess(self.platform.clone()))
            .clock(self.clock.clone())
    }

    pub(crate) async fn library(&self) -> Library {
        self.library_with(Limits::default()).await
    }

    pub(crate) async fn library_with(&self, limits: Limits) -> Library {
        self.store.open(limits, Arc::new(self.clock.clone())).await
    }

    /// Starts a worker. It runs until the guard is dropped.
    pub(crate) fn work(&self, library: &Library, vidra: Vidra) -> WorkerGuard {
        let payer = vidra.clone();
        let payers = Arc::new(move |_: &str| Some(payer.clone()));
        let worker = Worker::new(library.clone(), vidra, payers, self.config);
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            worker.run(async { _ = stopped.await }).await.unwrap();
        });
        WorkerGuard { stop: Some(stop), task }
    }
}

pub(crate) struct WorkerGuard {
    stop: Option<oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<()>,
}

impl WorkerGuard {
    /// Stops the worker gracefully.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.task).await.unwrap();
    }

    /// Ends the worker at once, as a killed process would.
    pub(crate) fn kill(self) {
        self.task.abort();
    }
}

pub(crate) fn create(sources: &[&str]) -> Create {
    let sources = sources.iter().map(|text| JobSource::parse(text).unwrap()).collect();
    let request = JobRequest::default();
    Create { owner: String::new(), request, sources, idempotency_key: None }
}

/// Waits until a job has ended or waits.
pub(crate) async fn settled(library: &Library, id: JobId) -> Job {
    let mut seen = 0;
    loop {
        let job =
            library.changed_job(id, &Access::All, seen, Duration::from_secs(3600)).await.unwrap();
        if job.state.is_finished() {
            return job;
        }
        seen = job.version;
    }
}
