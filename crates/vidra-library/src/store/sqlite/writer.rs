//! The thread that writes to a file.

use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fs, io};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use vidra::{Error, Reason, Result};

use super::error::sql;
use crate::store::background;
use crate::store::error::unavailable;
use crate::store::health::Counters;
use crate::store::sql::Connection as Transaction;

/// The largest number of writes in one transaction. More would delay the first of them.
const MAX_GROUP: usize = 256;

/// How many writes may wait for the writer.
const QUEUE: usize = 1024;

/// A thread that drains its queue into one transaction: one sync of the disk serves all writes that wait (group commit).
pub(super) struct Writer(mpsc::Sender<Write>);

/// A write that waits for its transaction. It does nothing if the transaction has failed, and says so if it makes the
/// transaction fail. It returns the function that reports the result after the commit.
type Write = Box<dyn FnOnce(&Connection, &mut Group) -> Report + Send>;
type Report = Box<dyn FnOnce(Result<(), Failed>) + Send>;

/// A transaction that failed as a whole. All its writes get the same error.
type Failed = Error;

/// The state of a transaction with several writes.
struct Group {
    /// Whether the transaction can still be committed.
    result: Result<(), Failed>,
    /// The first error of a write that the disk caused.
    disk_error: Option<Error>,
}

/// A file that was opened. If it is removed or replaced, writes to it would be lost with the process.
pub(super) struct OpenedFile {
    path: PathBuf,
    /// The device and the number of the file on it.
    id: (u64, u64),
}

impl OpenedFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let metadata = fs::metadata(path).map_err(unavailable)?;
        Ok(Self { path: path.to_owned(), id: (metadata.dev(), metadata.ino()) })
    }

    /// # Errors
    ///
    /// [`Reason::LibraryUnavailable`] if another file or none is at the path.
    fn check(&self) -> Result<()> {
        match Self::new(&self.path) {
            Ok(found) if found.id == self.id => Ok(()),
            _ => {
                let message = "The library file was removed or replaced; restart the process";
                Err(Error::new(Reason::LibraryUnavailable, message))
            }
        }
    }
}

impl Writer {
    /// Starts the thread. Writes fail while `file` is not the file that was opened.
    pub(super) fn start(
        mut connection: Connection,
        counters: Arc<Counters>,
        file: OpenedFile,
    ) -> io::Result<Self> {
        let (writes, mut queue) = mpsc::channel(QUEUE);
        let write_all = move || {
            while let Some(first) = queue.blocking_recv() {
                let mut group = vec![first];
                while group.len() < MAX_GROUP
                    && let Ok(next) = queue.try_recv()
                {
                    group.push(next);
                }
                commit(&mut connection, group, &counters, Some(&file));
            }
        };
        background::spawn("vidra-library", write_all)?;
        Ok(Self(writes))
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (write, result) = as_write(work);
        let stopped = || Error::internal("the writer of the library has stopped");
        self.0.send(write).await.map_err(|_| stopped())?;
        result.await.map_err(|_| stopped())?
    }
}

/// Runs `work` in a transaction on this thread.
pub(super) fn in_transaction<T: Send + 'static>(
    connection: &mut Connection,
    counters: &Counters,
    work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (write, mut result) = as_write(work);
    commit(connection, vec![write], counters, None);
    result.try_recv().map_err(Error::internal)?
}

fn as_write<T: Send + 'static>(
    work: impl FnOnce(&Transaction) -> Result<T> + Send + 'static,
) -> (Write, oneshot::Receiver<Result<T>>) {
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
    (write, result)
}

/// Runs `work` in a savepoint of the open transaction. A panic undoes its changes too.
fn in_savepoint<T>(
    connection: &Connection,
    work: impl FnOnce(&Transaction) -> Result<T>,
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
fn commit(
    connection: &mut Connection,
    writes: Vec<Write>,
    counters: &Counters,
    file: Option<&OpenedFile>,
) {
    let (start, count) = (Instant::now(), writes.len());
    let begun = file.map_or(Ok(()), OpenedFile::check);
    let begun = begun.and_then(|()| connection.execute_batch("BEGIN IMMEDIATE").map_err(sql));
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
    counters.note_failure(result.as_ref().err().or(disk_error.as_ref()));
    counters.note_transaction(count, start.elapsed());
    for report in reports {
        report(result.clone());
    }
}
