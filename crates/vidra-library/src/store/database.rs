//! Transactions. One thread writes; readers have connections of their own.

mod background;
mod readers;
mod searches;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use vidra::{Error, Reason, Result};

use super::connect::{STATEMENTS, connect, connect_for_search, refuse_other_files};
use super::error::{sql, unavailable};
use super::locks::Locks;
use super::migrate;
use background::Computer;
use readers::{Readers, in_read};
use searches::searchers;

/// The largest number of writes in one transaction. More would delay the first of them.
const MAX_GROUP: usize = 256;

/// The number of connections for reading.
const READERS: usize = 4;

/// How many writes may wait for the writer.
const QUEUE: usize = 1024;

/// The largest number of pages that SQLite allows.
const MAX_PAGES: u64 = 4_294_967_294;

/// The longest wait for a transaction. A disk that hangs must not hold its callers.
const PATIENCE: Duration = Duration::from_secs(30);

/// A transaction over this time is counted and logged.
const SLOW: Duration = Duration::from_secs(1);

/// A database.
///
/// A file has a writer thread, which drains its queue into one transaction: one sync of the disk serves all writes
/// that wait (group commit). A database in memory runs everything at once on the calling thread, for tests and
/// simulations, which have no other threads.
pub(crate) struct Database {
    mode: Mode,
    counters: Arc<Counters>,
    /// `None` for a database in memory.
    locks: Option<Arc<Locks>>,
}

enum Mode {
    File {
        path: PathBuf,
        writes: mpsc::Sender<Write>,
        readers: Arc<Readers>,
        /// Connections of their own, so that searches hold up nobody else.
        searchers: Arc<Readers>,
        computer: Computer,
    },
    Memory(Arc<Mutex<Connection>>),
}

/// A write that waits for its transaction. It does nothing if the transaction has failed, and says so if it makes the
/// transaction fail. It returns the function that reports the result after the commit.
type Write = Box<dyn FnOnce(&Connection, &mut Group) -> Report + Send>;
type Report = Box<dyn FnOnce(Result<(), Failed>) + Send>;

/// A transaction that failed as a whole. All its writes get the same error.
pub(crate) type Failed = Error;

/// The state of a transaction with several writes.
struct Group {
    /// Whether the transaction can still be committed.
    result: Result<(), Failed>,
    /// The first error of a write that the disk caused.
    disk_error: Option<Error>,
}

#[derive(Debug, Default)]
struct Counters {
    commits: AtomicU64,
    writes: AtomicU64,
    slow: AtomicU64,
    is_failing: AtomicBool,
}

/// Whether the file works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether the last transaction failed because of the disk, or because the file is damaged.
    pub is_failing: bool,
    /// Transactions since the file was opened.
    pub commits: u64,
    /// Writes in these transactions.
    pub writes: u64,
    /// Transactions over one second.
    pub slow: u64,
}

impl Database {
    /// Opens a file, and creates and migrates it if necessary. Writes that need more than `max_bytes` fail, and reading
    /// goes on.
    pub(crate) fn open(path: &Path, max_bytes: Option<u64>) -> Result<Self> {
        refuse_other_files(path)?;
        // Processes that name the file differently must find the same locks.
        let path = &std::fs::canonicalize(path).map_err(unavailable)?;
        let (mut connection, locks) = migrate::open(path, || connect(path, false))?;
        limit_bytes(&connection, max_bytes).map_err(sql)?;
        let readers = (0..READERS).map(|_| connect(path, true)).collect::<Result<Vec<_>>>()?;
        let readers = Arc::new(Readers::new(readers));
        let searchers =
            (0..searchers()).map(|_| connect_for_search(path)).collect::<Result<Vec<_>>>()?;
        let searchers = Arc::new(Readers::new(searchers));
        let (writes, mut queue) = mpsc::channel(QUEUE);
        let counters = Arc::<Counters>::default();
        let counted = Arc::clone(&counters);
        let write_all = move || {
            while let Some(first) = queue.blocking_recv() {
                let mut group = vec![first];
                while group.len() < MAX_GROUP
                    && let Ok(next) = queue.try_recv()
                {
                    group.push(next);
                }
                commit(&mut connection, group, &counted);
            }
        };
        background::spawn("vidra-library", write_all).map_err(unavailable)?;
        let computer = Computer::start().map_err(unavailable)?;
        let path = path.to_owned();
        let mode = Mode::File { path, writes, readers, searchers, computer };
        Ok(Self { mode, counters, locks: Some(Arc::new(locks)) })
    }

    /// A database in memory, whose handle `connection` survives this value.
    pub(crate) fn in_memory(connection: Arc<Mutex<Connection>>) -> Result<Self> {
        lock(&connection).set_prepared_statement_cache_capacity(STATEMENTS);
        migrate::migrate(&mut lock(&connection))?;
        Ok(Self { mode: Mode::Memory(connection), counters: Arc::default(), locks: None })
    }

    /// Runs `work` in a transaction, and returns after its commit. If it fails, only its own changes are undone.
    /// Cancelling the future does not stop a write that has begun, and neither does the end of the wait: a write that is
    /// repeated has to find out whether it was made.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.try_write(move |connection| work(connection).map_err(sql)).await
    }

    /// Runs `work`, which can fail for other reasons than SQL, in a transaction.
    pub(crate) async fn try_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, result) = oneshot::channel();
        let write: Write = Box::new(move |connection, group| {
            let done = group.result.clone().and_then(|()| in_savepoint(connection, work));
            if let Err(error) = &done {
                if matches!(error.reason(), Reason::LibraryUnavailable | Reason::LibraryDamaged) {
                    group.disk_error.get_or_insert_with(|| error.clone());
                }
                // A full disk can roll back the whole transaction.
                if group.result.is_ok() && connection.is_autocommit() {
                    group.result = Err(error.clone());
                }
            }
            Box::new(move |committed| {
                let _ = reply.send(committed.and(done));
            })
        });
        let stopped = || Error::internal("the writer of the library has stopped");
        let done = async {
            match &self.mode {
                Mode::File { writes, .. } => writes.send(write).await.map_err(|_| stopped())?,
                Mode::Memory(connection) => {
                    commit(&mut lock(connection), vec![write], &self.counters);
                }
            }
            result.await.map_err(|_| stopped())?
        };
        self.in_time(done).await
    }

    /// Ends the wait for a disk that hangs.
    async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(done) => done,
            Err(elapsed) => {
                let error = unavailable(elapsed);
                note_failure(&self.counters, Some(&error));
                Err(error)
            }
        }
    }

    /// Runs `work` in a read transaction, on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.try_read(move |connection| work(connection).map_err(sql)).await
    }

    /// Runs `work`, which can fail for other reasons than SQL, in a read transaction.
    pub(crate) async fn try_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.in_time(self.long_read(work)).await
    }

    /// Runs `work`, which may take minutes, in a read transaction.
    pub(crate) async fn long_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.mode {
            Mode::File { readers, .. } => {
                let permit = readers.permit().await?;
                let readers = Arc::clone(readers);
                let read = tokio::task::spawn_blocking(move || {
                    // Held by the thread: a caller that leaves does not free its connection.
                    let _permit = permit;
                    readers.with(|it| in_read(it, work))
                });
                read.await.map_err(Error::internal)?
            }
            Mode::Memory(connection) => in_read(&lock(connection), work),
        }
    }

    /// Runs `work` that takes long without the database, on another thread, unless the caller leaves before it begins.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.mode {
            Mode::File { computer, .. } => computer.run(work).await,
            Mode::Memory(_) => work(),
        }
    }

    /// Runs `work` outside of a transaction, on a connection of its own.
    pub(crate) async fn outside_transaction<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match &self.mode {
            Mode::File { path, .. } => {
                let path = path.clone();
                let done = tokio::task::spawn_blocking(move || work(&connect(&path, false)?));
                done.await.map_err(Error::internal)?
            }
            Mode::Memory(connection) => work(&lock(connection)),
        }
    }

    /// Changes the limit of the file.
    pub(crate) async fn limit_bytes(&self, bytes: Option<u64>) -> Result<()> {
        self.write(move |it| limit_bytes(it, bytes)).await
    }

    /// Whether the file works. It reads no row.
    pub(crate) fn health(&self) -> Health {
        let Counters { commits, writes, slow, is_failing } = &*self.counters;
        let [commits, writes, slow] = [commits, writes, slow].map(|it| it.load(Ordering::Relaxed));
        let is_failing = is_failing.load(Ordering::Relaxed);
        Health { is_failing, commits, writes, slow }
    }

    /// The size of the file in bytes, with its write-ahead log.
    pub(crate) async fn bytes(&self) -> u64 {
        let Mode::File { path, .. } = &self.mode else { return 0 };
        let path = path.clone();
        let size = move |suffix: &str| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |it| it.len())
        };
        tokio::task::spawn_blocking(move || size("") + size("-wal")).await.unwrap_or(0)
    }

    /// The locks of this process. `None` for a database in memory, which has one process.
    pub(crate) fn locks(&self) -> Option<&Arc<Locks>> {
        self.locks.as_ref()
    }

    /// The path of the file. `None` for a database in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.mode {
            Mode::File { path, .. } => Some(path),
            Mode::Memory(_) => None,
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path()).finish()
    }
}

/// Limits the size of the file. SQLite never sets a limit below the present size.
fn limit_bytes(connection: &Connection, bytes: Option<u64>) -> rusqlite::Result<()> {
    let page: i64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let pages = bytes.map_or(MAX_PAGES, |bytes| bytes / page.unsigned_abs().max(1));
    let set = format!("PRAGMA max_page_count = {}", pages.clamp(1, MAX_PAGES));
    connection.query_row(&set, [], |_| Ok(()))
}

/// Runs `work` in a savepoint of the open transaction. A panic undoes its changes too.
fn in_savepoint<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    connection.execute_batch("SAVEPOINT work").map_err(sql)?;
    let done = catch_unwind(AssertUnwindSafe(|| work(connection)));
    let done = done.unwrap_or_else(|_| Err(Error::internal("a write of the library panicked")));
    match &done {
        Ok(_) => connection.execute_batch("RELEASE work").map_err(sql)?,
        // Without a transaction there is nothing left to undo, and the error of the work is the cause.
        Err(_) => _ = connection.execute_batch("ROLLBACK TO work; RELEASE work"),
    }
    done
}

/// Commits the writes in one transaction, and reports the results.
fn commit(connection: &mut Connection, writes: Vec<Write>, counters: &Counters) {
    let (start, count) = (Instant::now(), writes.len());
    let begun = connection.execute_batch("BEGIN IMMEDIATE").map_err(sql);
    let mut group = Group { result: begun, disk_error: None };
    let reports: Vec<Report> =
        writes.into_iter().map(|write| write(connection, &mut group)).collect();
    let Group { result, disk_error } = group;
    let result = result.and_then(|()| {
        let committed = connection.execute_batch("COMMIT").map_err(sql);
        if committed.is_err() {
            // After some errors SQLite has already rolled back.
            let _ = connection.execute_batch("ROLLBACK");
        }
        committed
    });
    let elapsed = start.elapsed();
    counters.commits.fetch_add(1, Ordering::Relaxed);
    counters.writes.fetch_add(count as u64, Ordering::Relaxed);
    note_failure(counters, result.as_ref().err().or(disk_error.as_ref()));
    if elapsed > SLOW {
        counters.slow.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            writes = count,
            elapsed_s = elapsed.as_secs_f64(),
            "slow transaction of the library"
        );
    }
    for report in reports {
        report(result.clone());
    }
}

/// Logs the first of several failures, and the end of them.
fn note_failure(counters: &Counters, error: Option<&Error>) {
    let was_failing = counters.is_failing.swap(error.is_some(), Ordering::Relaxed);
    match error {
        Some(error) if !was_failing => {
            let source = std::error::Error::source(error);
            tracing::error!(reason = error.reason().code(), source, "library transaction failed");
        }
        None if was_failing => tracing::info!("library writes recovered"),
        _ => {}
    }
}

pub(super) fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
