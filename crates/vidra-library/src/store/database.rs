//! [`Database`]: transactions on a SQLite file, in memory, or on a PostgreSQL server.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use vidra::{Error, Reason, Result};

use super::background::{ComputeThread, Priority};
use super::error::unavailable;
use super::health::{Counters, Health};
use super::postgres::{Isolation, Liveness, NoticeRelay, Postgres};
use super::sql::Connection;
use super::{processes, sqlite};
use crate::job::JobId;

/// The longest wait for a transaction. A disk that hangs must not hold its callers.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The interval of polls for changes of other processes, and the interval if there are no others.
const POLL: Duration = Duration::from_secs(1);
const ALONE_POLL: Duration = Duration::from_secs(600);

/// A database.
pub(crate) struct Database {
    engine: Engine,
    counters: Arc<Counters>,
    is_alone: AtomicBool,
}

enum Engine {
    File { file: sqlite::File, compute_thread: ComputeThread },
    Memory(sqlite::Memory),
    Postgres { postgres: Postgres, compute_thread: ComputeThread, database: vidra::Database },
}

/// Shows that this process lives, until it is dropped.
#[derive(Debug)]
pub(crate) enum ProcessLock {
    File { _lock: sqlite::ProcessLock },
    Memory,
    Postgres(Liveness),
}

impl ProcessLock {
    /// Whether this process plans collections. On PostgreSQL one process does; on a file each one may.
    pub(crate) fn plans(&self) -> bool {
        match self {
            Self::File { .. } | Self::Memory => true,
            Self::Postgres(liveness) => liveness.plans(),
        }
    }
}

impl Database {
    /// Opens a SQLite file, and creates and migrates it if necessary. Writes that need more than `max_bytes` fail, and
    /// reading goes on.
    pub(crate) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Self> {
        let counters = Arc::default();
        let file = sqlite::File::open(path, max_bytes, &counters)?;
        let compute_thread = ComputeThread::start().map_err(unavailable)?;
        Ok(Self {
            engine: Engine::File { file, compute_thread },
            counters,
            is_alone: AtomicBool::default(),
        })
    }

    /// A database in memory, whose handle `connection` survives this value.
    pub(crate) fn in_memory(connection: Arc<Mutex<rusqlite::Connection>>) -> Result<Self> {
        let counters = Arc::default();
        let memory = sqlite::Memory::new(connection, &counters)?;
        Ok(Self { engine: Engine::Memory(memory), counters, is_alone: AtomicBool::default() })
    }

    /// The tables in a PostgreSQL database, which are created and migrated if necessary. While they have more than
    /// `max_bytes`, nothing is stored.
    pub(crate) async fn in_postgres(
        database: &vidra::Database,
        max_bytes: Option<u64>,
    ) -> Result<Self> {
        let counters = Arc::default();
        let postgres = Postgres::open(database, max_bytes, &counters).await?;
        let compute_thread = ComputeThread::start().map_err(unavailable)?;
        let database = database.clone();
        Ok(Self {
            engine: Engine::Postgres { postgres, compute_thread, database },
            counters,
            is_alone: AtomicBool::default(),
        })
    }

    /// Runs `work` in a transaction that excludes all others, and returns after its commit. If it fails, only its own
    /// changes are undone. Cancelling the future does not stop a write that has begun, and neither does the end of the
    /// wait: a write that is repeated has to find out whether it was made.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_with(Isolation::Alone, work).await
    }

    /// Runs `work` in a transaction that can run beside others of this kind, if the database has several writers. It may
    /// change the rows of jobs that it locks, of items that it takes or has leased, and of one video. It locks a video
    /// before items, and items before a job.
    pub(crate) async fn write_shared<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_with(Isolation::Shared, work).await
    }

    async fn write_with<T: Send + 'static>(
        &self,
        isolation: Isolation,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = async {
            match &self.engine {
                Engine::File { file, .. } => file.write(work).await,
                Engine::Memory(memory) => memory.write(work),
                Engine::Postgres { postgres, .. } => postgres.write(isolation, work).await,
            }
        };
        self.in_time(done).await
    }

    /// Ends the wait for a database that hangs.
    async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout(WAIT_LIMIT, work).await {
            Ok(done) => done,
            Err(elapsed) => {
                let error = unavailable(elapsed);
                self.counters.note_failure(Some(&error));
                Err(error)
            }
        }
    }

    /// Runs `work` in a read transaction, on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let read = async {
            match &self.engine {
                Engine::Postgres { postgres, .. } => postgres.read(work).await,
                _ => self.long_read(work).await,
            }
        };
        self.in_time(read).await
    }

    /// Runs `work`, which may take minutes, in a read transaction.
    pub(crate) async fn long_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.engine {
            Engine::File { file, .. } => file.read(work).await,
            Engine::Memory(memory) => memory.read(work),
            Engine::Postgres { postgres, .. } => postgres.long_read(work).await,
        }
    }

    /// Runs `work` in a read transaction, on a connection for searches. It ends after `limit`, also while it waits for
    /// other searches.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`].
    pub(crate) async fn search<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.engine {
            Engine::File { file, .. } => file.search(limit, work).await,
            Engine::Memory(memory) => memory.read(work),
            Engine::Postgres { postgres, .. } => postgres.search(limit, work).await,
        }
    }

    /// Runs `work` that takes long without the database, on another thread, unless the caller leaves before it begins.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.compute_with(Priority::Store, work).await
    }

    /// As [`Self::compute`], after all work of that kind.
    pub(crate) async fn compute_download<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.compute_with(Priority::Download, work).await
    }

    async fn compute_with<T: Send + 'static>(
        &self,
        priority: Priority,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.engine {
            Engine::File { compute_thread, .. } | Engine::Postgres { compute_thread, .. }
                if !self.is_alone.load(Ordering::Relaxed) =>
            {
                compute_thread.run(priority, work).await
            }
            _ => work(),
        }
    }

    /// Changes the limit of the size.
    pub(crate) async fn limit_bytes(&self, bytes: Option<u64>) -> Result<()> {
        match &self.engine {
            Engine::File { file, .. } => self.in_time(file.limit_bytes(bytes)).await,
            Engine::Memory(memory) => memory.limit_bytes(bytes),
            Engine::Postgres { postgres, .. } => {
                postgres.limit_bytes(bytes);
                Ok(())
            }
        }
    }

    /// Whether the database works. It reads no row.
    pub(crate) fn health(&self) -> Health {
        self.counters.health()
    }

    /// The size in bytes.
    pub(crate) async fn bytes(&self) -> u64 {
        match &self.engine {
            Engine::File { file, .. } => file.bytes().await,
            Engine::Memory(_) => 0,
            Engine::Postgres { postgres, .. } => postgres.bytes().await.unwrap_or(0),
        }
    }

    /// Copies the database to a new SQLite file, while others read and write it.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`] if the file exists or cannot be written, and [`Reason::InvalidInput`] for a library
    /// that is not a file.
    pub(crate) async fn backup(&self, to: &Path) -> Result<()> {
        let message = match &self.engine {
            Engine::File { file, .. } => return file.backup(to).await,
            Engine::Memory(_) => "A library in memory has no file",
            Engine::Postgres { .. } => "The library is in PostgreSQL; back it up with pg_dump",
        };
        Err(Error::new(Reason::InvalidInput, message))
    }

    /// Removes deleted text.
    pub(crate) async fn checkpoint(&self) -> Result<()> {
        match &self.engine {
            Engine::File { file, .. } => file.checkpoint().await,
            Engine::Memory(_) => Ok(()),
            Engine::Postgres { postgres, .. } => postgres.vacuum(false).await,
        }
    }

    /// Gives free space back to the disk.
    pub(crate) async fn vacuum(&self) -> Result<()> {
        match &self.engine {
            Engine::File { file, .. } => file.vacuum().await,
            Engine::Memory(_) => Ok(()),
            Engine::Postgres { postgres, .. } => postgres.vacuum(true).await,
        }
    }

    /// The interval at which waiting callers and workers poll for changes of other processes.
    pub(crate) fn poll(&self) -> Duration {
        let has_others =
            !matches!(self.engine, Engine::Memory(_)) && !self.is_alone.load(Ordering::Relaxed);
        if has_others { POLL } else { ALONE_POLL }
    }

    /// Notes that this process uses the database alone, on one thread, as tests do.
    pub(crate) fn set_alone(&self) {
        self.is_alone.store(true, Ordering::Relaxed);
    }

    /// Whether machines share it, and with it the pace and the blocks of egress addresses.
    pub(crate) fn is_on_a_server(&self) -> bool {
        matches!(self.engine, Engine::Postgres { .. })
    }

    /// The connection to changes of other machines. `None` if there are none.
    pub(crate) fn relay(&self) -> Option<NoticeRelay> {
        match &self.engine {
            Engine::Postgres { postgres, database, .. } => Some(postgres.relay(database)),
            Engine::File { .. } | Engine::Memory(_) => None,
        }
    }

    /// Registers this process as a worker, for these jobs or for all. Returns its number.
    pub(crate) async fn register(
        &self,
        only: &[JobId],
        now: Timestamp,
    ) -> Result<(i64, ProcessLock)> {
        let locks = match &self.engine {
            Engine::Postgres { postgres, .. } => {
                let liveness = self.in_time(postgres.register(only, now)).await?;
                return Ok((liveness.number, ProcessLock::Postgres(liveness)));
            }
            Engine::File { file, .. } => Some(Arc::clone(file.locks())),
            Engine::Memory(_) => None,
        };
        let only = only.to_vec();
        let register = move |connection: &Connection| {
            let number = processes::add_process(connection, now)?;
            // Before the commit: a process without a lock counts as ended.
            let lock = match locks {
                Some(locks) => ProcessLock::File { _lock: locks.process(number, &only)? },
                None => ProcessLock::Memory,
            };
            Ok((number, lock))
        };
        self.write(register).await
    }

    /// Those of the registered processes that have ended.
    pub(crate) async fn ended_processes(&self) -> Result<Vec<i64>> {
        match &self.engine {
            Engine::File { file, .. } => {
                let mut all = self.read(processes::processes).await?;
                all.retain(|number| file.locks().has_ended(*number));
                Ok(all)
            }
            Engine::Memory(_) => Ok(vec![]),
            Engine::Postgres { postgres, .. } => postgres.ended_processes().await,
        }
    }

    /// Whether a worker of any process uses the database.
    pub(crate) async fn has_workers(&self) -> Result<bool> {
        match &self.engine {
            Engine::File { file, .. } => {
                let all = self.read(processes::processes).await?;
                Ok(all.iter().any(|number| !file.locks().has_ended(*number)))
            }
            Engine::Memory(_) => Ok(false),
            Engine::Postgres { postgres, .. } => postgres.has_workers().await,
        }
    }

    /// Frees everything that an ended process had leased. Returns the number of leases.
    pub(crate) async fn release_process(&self, number: i64) -> Result<usize> {
        let freed = self.write(move |it| processes::release_process(it, number)).await?;
        if let Engine::File { file, .. } = &self.engine {
            file.locks().forget(number);
        }
        Ok(freed)
    }

    /// Whether any process that lives runs this job.
    pub(crate) async fn has_worker(&self, id: JobId) -> Result<bool> {
        match &self.engine {
            Engine::File { file, .. } => {
                let all = self.read(processes::processes).await?;
                Ok(all.into_iter().any(|number| file.locks().runs(number, id)))
            }
            Engine::Memory(_) => Ok(false),
            Engine::Postgres { postgres, .. } => postgres.has_worker(id).await,
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match &self.engine {
            Engine::File { file, .. } => Some(file.path()),
            Engine::Memory(_) | Engine::Postgres { .. } => None,
        };
        f.debug_struct("Database").field("path", &path).finish()
    }
}
