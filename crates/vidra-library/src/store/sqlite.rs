//! A library in a SQLite file, or in memory for tests.

mod connect;
mod error;
mod locks;
mod migrate;
mod readers;
mod searches;
mod statements;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB};
use vidra::{Error, Result};

use super::background::processors_for_searches;
use super::error::unavailable;
use super::health::Counters;
use super::sql::Connection as Transaction;
use connect::{STATEMENTS, connect, connect_for_search, refuse_other_files};
pub(super) use error::sql;
use locks::private_options;
pub(super) use locks::{Locks, ProcessLock};
#[cfg(test)]
pub(super) use migrate::migrate;
use readers::{Readers, in_read};
use writer::{OpenedFile, Writer, in_transaction};

/// The number of connections for reading.
const READERS: usize = 4;

/// The largest number of pages that SQLite allows.
const MAX_PAGES: u64 = 4_294_967_294;

/// A SQLite file. One thread writes; readers have connections of their own.
pub(super) struct File {
    path: PathBuf,
    writer: Writer,
    readers: Arc<Readers>,
    /// Connections of their own, so that searches hold up nobody else.
    searchers: Arc<Readers>,
    locks: Arc<Locks>,
}

impl File {
    /// Opens a file, and creates and migrates it if necessary. Writes that need more than `max_bytes` fail, and reading
    /// goes on.
    pub(super) fn open(
        path: &Path,
        max_bytes: Option<u64>,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        refuse_other_files(path)?;
        // Processes that name the file differently must find the same locks.
        let path = &std::fs::canonicalize(path).map_err(unavailable)?;
        let (connection, locks) = migrate::open(path, || connect(path, false))?;
        let opened = OpenedFile::new(path)?;
        limit_bytes(&connection, max_bytes)?;
        let readers = (0..READERS).map(|_| connect(path, true)).collect::<Result<Vec<_>>>()?;
        let searchers = (0..processors_for_searches())
            .map(|_| connect_for_search(path))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            path: path.to_owned(),
            writer: Writer::start(connection, Arc::clone(counters), opened).map_err(unavailable)?,
            readers: Arc::new(Readers::new(readers)),
            searchers: Arc::new(Readers::new(searchers)),
            locks: Arc::new(locks),
        })
    }

    /// Runs `work` in a transaction, and returns after its commit. If it fails, only its own changes are undone.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.write(work).await
    }

    /// Runs `work` in a read transaction.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.readers.run(move |it| in_read(it, work)).await
    }

    /// Runs `work` in a read transaction, on a connection for searches. It ends after `limit`, also while it waits for
    /// other searches, and when the caller leaves.
    ///
    /// # Errors
    ///
    /// [`Reason::SearchTimedOut`](vidra::Reason::SearchTimedOut).
    pub(super) async fn search<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        searches::run(&self.searchers, limit, work).await
    }

    /// Runs `work` outside of a transaction, on a connection of its own.
    async fn outside_transaction(
        &self,
        work: impl FnOnce(&Connection) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let path = self.path.clone();
        let done = tokio::task::spawn_blocking(move || work(&connect(&path, false)?));
        done.await.map_err(Error::internal)?
    }

    /// Changes the limit of the file.
    pub(super) async fn limit_bytes(&self, bytes: Option<u64>) -> Result<()> {
        self.write(move |it| limit_bytes(it, bytes)).await
    }

    /// The size of the file in bytes, with its write-ahead log.
    pub(super) async fn bytes(&self) -> u64 {
        let path = self.path.clone();
        let size = move |suffix: &str| {
            let mut name = path.clone().into_os_string();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |it| it.len())
        };
        tokio::task::spawn_blocking(move || size("") + size("-wal")).await.unwrap_or(0)
    }

    /// Copies the database to a new file, while others read and write it.
    ///
    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`](vidra::Reason::LibraryUnavailable) if the file exists or cannot be written.
    pub(super) async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        self.readers.run(move |it| in_read(it, |_| backup(it, &to))).await
    }

    /// Copies the write-ahead log into the file, and empties it.
    pub(super) async fn checkpoint(&self) -> Result<()> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        self.outside_transaction(move |it| it.execute_batch(checkpoint).map_err(sql)).await
    }

    /// Rewrites the file without free pages.
    pub(super) async fn vacuum(&self) -> Result<()> {
        let vacuum = "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)";
        self.outside_transaction(move |it| it.execute_batch(vacuum).map_err(sql)).await
    }

    /// The locks of this process.
    pub(super) fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A database in memory. It runs everything at once on the calling thread, for tests and simulations, which have no other
/// threads.
pub(super) struct Memory {
    connection: Arc<Mutex<Connection>>,
    counters: Arc<Counters>,
}

impl Memory {
    /// `connection` survives this value.
    pub(super) fn new(
        connection: Arc<Mutex<Connection>>,
        counters: &Arc<Counters>,
    ) -> Result<Self> {
        lock(&connection).set_prepared_statement_cache_capacity(STATEMENTS);
        migrate::migrate(&mut lock(&connection))?;
        Ok(Self { connection, counters: Arc::clone(counters) })
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        in_transaction(&mut lock(&self.connection), &self.counters, work)
    }

    pub(super) fn limit_bytes(&self, bytes: Option<u64>) -> Result<()> {
        self.write(move |it| limit_bytes(it, bytes))
    }

    pub(super) fn read<T>(&self, work: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        in_read(&lock(&self.connection), work)
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Limits the size of the file. SQLite never sets a limit below the present size.
fn limit_bytes(connection: &Transaction, bytes: Option<u64>) -> Result<()> {
    let page: i64 = connection.query_row("PRAGMA page_size", (), |row| row.get(0))?;
    let pages = bytes.map_or(MAX_PAGES, |bytes| bytes / page.unsigned_abs().max(1));
    let set = format!("PRAGMA max_page_count = {}", pages.clamp(1, MAX_PAGES));
    connection.query_row(&set, (), |_| Ok(()))
}

fn backup(connection: &Connection, to: &Path) -> Result<()> {
    // Creating the file first never replaces another one.
    private_options().create_new(true).open(to).map_err(unavailable)?;
    // The first read takes the snapshot. Without it, every commit of another connection would start the copy again.
    let snapshot = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let copied = snapshot
        .and_then(|()| connection.backup(MAIN_DB, to, None::<fn(rusqlite::backup::Progress)>));
    copied.map_err(|error| {
        // A part of a copy is of no use.
        let _ = std::fs::remove_file(to);
        sql(error)
    })
}

#[cfg(test)]
mod tests;
