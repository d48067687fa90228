//! Connections to the file.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use vidra::{Error, Reason, Result};

use super::error::sql;
use super::locks::private_options;
use crate::store::error::unavailable;

/// How many prepared statements a connection caches: more than the store has.
pub(super) const STATEMENTS: usize = 256;

/// How long a transaction waits for those of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Refuses a file that is not a database. SQLite takes a short file for an empty database, and overwrites it.
pub(super) fn refuse_other_files(path: &Path) -> Result<()> {
    let mut head = vec![];
    match open_to_read(path) {
        Ok(file) if file.metadata().is_ok_and(|it| it.is_file()) => {
            file.take(MAGIC.len() as u64).read_to_end(&mut head).map_err(unavailable)?
        }
        Ok(_) => return Err(Error::new(Reason::LibraryDamaged, "The file is not a regular file")),
        // Only its owner may read it. SQLite gives its other files the same mode.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_private(path).map_err(unavailable)?;
            return Ok(());
        }
        Err(error) => return Err(unavailable(error)),
    };
    match head.is_empty() || head == MAGIC {
        true => Ok(()),
        false => Err(Error::new(Reason::LibraryDamaged, "The file is not a library")),
    }
}

/// Opens a file for reading. It does not wait if the path is a FIFO.
fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
}

fn create_private(path: &Path) -> io::Result<()> {
    match private_options().create_new(true).open(path) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

pub(super) fn connect(path: &Path, is_reader: bool) -> Result<Connection> {
    let access = match is_reader {
        true => OpenFlags::SQLITE_OPEN_READ_ONLY,
        false => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    let connection =
        Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(sql)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite prepares some statements again for each new value of a parameter.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(sql)?;
    if !is_reader {
        // FULL syncs every commit: a committed item survives a power cut. Deleted text is overwritten.
        let settings =
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;
            PRAGMA journal_size_limit = 67108864";
        connection.execute_batch(settings).map_err(sql)?;
    }
    Ok(connection)
}

/// The pages that a connection for searches caches, in KiB.
const SEARCH_CACHE: i64 = 16_384;

/// A connection for searches, which read more pages than others.
pub(super) fn connect_for_search(path: &Path) -> Result<Connection> {
    let connection = connect(path, true)?;
    connection.execute_batch(&format!("PRAGMA cache_size = -{SEARCH_CACHE}")).map_err(sql)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// A blocking open would wait for a writer.
    #[test]
    fn a_fifo_or_a_folder_in_place_of_a_library_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.db");
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
        for path in [&*path, folder.path()] {
            assert_eq!(refuse_other_files(path).unwrap_err().reason(), Reason::LibraryDamaged);
        }
    }
}
