//! A library in a PostgreSQL database, which the workers of several machines share.

mod liveness;
mod relay;
mod session;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vidra::{Error, Reason, Result, Sessions};

use super::background::{processors_for_searches, run_with_permit};
use super::copy;
use super::error::{RETRY_AFTER, search_timed_out, unavailable};
use super::health::Counters;
use super::index::build;
use super::sql::Connection;
use crate::job::JobId;
pub(super) use liveness::Liveness;
pub(crate) use relay::{JobNotice, NoticeRelay};
use session::{Begin, Session};

/// The tables, and how releases change them. A released migration never changes.
const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/postgres/1.sql")];

/// The schema of the tables.
const SCHEMA: &str = "vidra_library";

/// How many transactions of each kind run at the same time.
const WRITERS: usize = 6;
const READERS: usize = 4;
const RELAYS: usize = 1;
const MOST_SEARCHERS: usize = 8;

/// The longest time of a statement in milliseconds.
const STATEMENT_TIMEOUT: u32 = 20_000;

/// The advisory lock of transactions. A transaction that excludes all others takes it alone; those that only change the
/// rows of one item or transcript share it.
const TRANSACTIONS: i64 = 0x7669_6472_6102;

/// A process without its lock has ended after this time. A live one takes it again when the server was restarted.
const LIVENESS_GRACE: Duration = Duration::from_secs(3);

/// How long the size of the database is cached.
const SIZE_AGE: Duration = Duration::from_secs(30);

/// How a transaction runs beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isolation {
    /// It excludes all other writes.
    Alone,
    /// It runs beside other writes of this kind. Its rows are locked.
    Shared,
}

/// A PostgreSQL database.
pub(super) struct Postgres {
    sessions: Arc<Sessions>,
    counters: Arc<Counters>,
    writers: Arc<Semaphore>,
    readers: Arc<Semaphore>,
    searchers: Arc<Semaphore>,
    /// The most bytes of the tables. Zero for no limit.
    max_bytes: AtomicU64,
    size: Mutex<Option<(Instant, u64)>>,
    /// Since when registered processes have no lock.
    missing: Mutex<HashMap<i64, Instant>>,
}

impl Postgres {
    /// Creates and migrates the tables if necessary.
    pub(super) async fn open(
        database: &vidra::Database,
        max_bytes: Option<u64>,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        let searchers = processors_for_searches().min(MOST_SEARCHERS);
        let connections = WRITERS + READERS + searchers + RELAYS;
        let sessions =
            database.sessions(SCHEMA, &MIGRATIONS, connections, STATEMENT_TIMEOUT).await?;
        let opened = Self {
            sessions: Arc::new(sessions),
            counters: Arc::clone(counters),
            writers: Arc::new(Semaphore::new(WRITERS)),
            readers: Arc::new(Semaphore::new(READERS)),
            searchers: Arc::new(Semaphore::new(searchers)),
            max_bytes: AtomicU64::new(max_bytes.unwrap_or(0)),
            size: Mutex::default(),
            missing: Mutex::default(),
        };
        // Transactions that run beside each other must not create it.
        opened.write(Isolation::Alone, build::create_first).await?;
        Ok(opened)
    }

    /// Runs `work` in a transaction, and returns after its commit.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        isolation: Isolation,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if isolation == Isolation::Shared {
            self.check_room().await.inspect_err(|error| self.counters.note_failure(Some(error)))?;
        }
        let lock = match isolation {
            Isolation::Alone => "pg_advisory_xact_lock",
            Isolation::Shared => "pg_advisory_xact_lock_shared",
        };
        let begin = Begin::new(format!("BEGIN; SELECT {lock}({TRANSACTIONS})"));
        let start = Instant::now();
        let done = self.run(&self.writers, begin, work).await;
        // Errors of the work are no failures of the database.
        let failure = done.as_ref().err().filter(|it| it.reason() == Reason::LibraryUnavailable);
        self.counters.note_failure(failure);
        self.counters.note_transaction(1, start.elapsed());
        done
    }

    /// Runs `work` in a read transaction: all its statements see the same state.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(&self.readers, Begin::new(READ), work).await
    }

    /// Runs `work`, which may take minutes, in a read transaction.
    pub(super) async fn long_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let begin = Begin::new(format!("{READ}; SET LOCAL statement_timeout = 0"));
        self.run(&self.readers, Begin { is_long: true, ..begin }, work).await
    }

    /// Runs `work` in a read transaction that ends after `limit`, also while it waits for other searches.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`].
    pub(super) async fn search<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let sql = format!("{READ}; {SEARCH}; SET LOCAL statement_timeout = {}", limit.as_millis());
        let begin = Begin { deadline: Some(Instant::now() + limit), ..Begin::new(sql) };
        let connecting = Arc::clone(&begin.is_connecting);
        let search = self.run(&self.searchers, begin, work);
        match tokio::time::timeout(limit, search).await {
            Ok(done) => done,
            Err(elapsed) if connecting.load(Ordering::Relaxed) => Err(unavailable(elapsed)),
            Err(_) => Err(search_timed_out()),
        }
    }

    /// Runs `work` in a transaction on another thread. If it fails, its changes are undone.
    async fn run<T: Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        begin: Begin,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sessions, runtime) = (Arc::clone(&self.sessions), Handle::current());
        let transaction = move || {
            let session = Session::begin(sessions, runtime, &begin)?;
            let done = catch_unwind(AssertUnwindSafe(|| work(&session)));
            let panicked = |_| Err(Error::internal("a transaction of the library panicked"));
            session.end(done.unwrap_or_else(panicked))
        };
        run_with_permit(permits, transaction).await
    }

    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`] if the tables have reached their limit.
    async fn check_room(&self) -> Result<()> {
        let most = self.max_bytes.load(Ordering::Relaxed);
        if most == 0 {
            return Ok(());
        }
        let known = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match known {
            Some((at, bytes)) if at.elapsed() < SIZE_AGE => bytes,
            _ => {
                let bytes = self.bytes().await?;
                let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
                *size = Some((Instant::now(), bytes));
                bytes
            }
        };
        if bytes < most {
            return Ok(());
        }
        let error =
            Error::new(Reason::LibraryUnavailable, "The library has reached its size limit");
        Err(error.with_retry_after(Some(RETRY_AFTER)))
    }

    /// Changes the limit of the size.
    pub(super) fn limit_bytes(&self, bytes: Option<u64>) {
        self.max_bytes.store(bytes.unwrap_or(0), Ordering::Relaxed);
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The size of all tables in bytes.
    pub(super) async fn bytes(&self) -> Result<u64> {
        let size = "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint)
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = ? AND c.relkind = 'r'";
        let bytes = |it: &Connection| it.query_row(size, [SCHEMA], |row| row.get::<_, i64>(0));
        self.read(bytes).await.map(|bytes| bytes as u64)
    }

    /// Removes deleted rows from the tables, so that their space is used again. With `gives_back` the tables are rewritten,
    /// and the disk gets the space; others wait meanwhile.
    pub(super) async fn vacuum(&self, gives_back: bool) -> Result<()> {
        let options = if gives_back { "FULL, ANALYZE" } else { "ANALYZE" };
        let tables = "SELECT quote_ident(relname) FROM pg_class AS c
            JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'";
        let tables = |it: &Connection| it.query_map(tables, [SCHEMA], |row| row.get(0));
        let tables: Vec<String> = self.read(tables).await?;
        let (sessions, runtime) = (Arc::clone(&self.sessions), Handle::current());
        let vacuum = async move {
            let client =
                sessions.own_connection().await.map_err(|error| session::unavailable(&error))?;
            let failed = |error: tokio_postgres::Error| session::failed(&sessions, &error);
            client
                .batch_execute("SET statement_timeout = 0; SET lock_timeout = 0")
                .await
                .map_err(failed)?;
            for table in tables {
                let vacuum = format!("VACUUM ({options}) {SCHEMA}.{table}");
                client.batch_execute(&vacuum).await.map_err(failed)?;
            }
            Ok(())
        };
        let done = tokio::task::spawn_blocking(move || runtime.block_on(vacuum));
        done.await.map_err(Error::internal)?
    }

    /// Registers this process as a worker, for these jobs or for all.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryInUse`] before a copy into the library is complete.
    pub(super) async fn register(&self, only: &[JobId], now: Timestamp) -> Result<Liveness> {
        self.read(copy::check_complete).await?;
        Liveness::start(Arc::clone(&self.sessions), only, now).await
    }

    /// Those of the registered processes that have ended.
    pub(super) async fn ended_processes(&self) -> Result<Vec<i64>> {
        let without_lock = self.read(liveness::without_lock).await?;
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        missing.retain(|number, _| without_lock.contains(number));
        let now = Instant::now();
        let has_ended =
            |number: &i64| now - *missing.entry(*number).or_insert(now) >= LIVENESS_GRACE;
        Ok(without_lock.into_iter().filter(has_ended).collect())
    }

    /// Whether any process lives.
    pub(super) async fn has_workers(&self) -> Result<bool> {
        self.read(liveness::has_workers).await
    }

    /// Whether any process that lives runs this job.
    pub(super) async fn has_worker(&self, id: JobId) -> Result<bool> {
        self.read(move |it| liveness::has_worker(it, id)).await
    }

    /// Connects changes of this process with those of others.
    pub(super) fn relay(&self, database: &vidra::Database) -> NoticeRelay {
        NoticeRelay::start(&self.sessions, database)
    }
}

const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Settings of searches. The right plan depends on how rare the words are, and a plan for all words would read whole tables.
/// The planner does not know how long it takes to read large `tsvector` values from the table instead of from the index.
const SEARCH: &str = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL jit = off; SET LOCAL enable_seqscan = off; \
    SET LOCAL work_mem = '16MB'";

#[cfg(test)]
mod tests;
