//! The schema of the file, and its migrations: numbered SQL files, each applied in a transaction.

use std::path::Path;

use rusqlite::Connection;
use vidra::{Error, Reason, Result};

use super::error::sql;
use super::locks::{Locks, START_WAIT};

/// Every migration, in order. The number of a schema is the number of migrations that made it.
const MIGRATIONS: [&str; 4] = [
    include_str!("../../../migrations/sqlite/0001-jobs.sql"),
    include_str!("../../../migrations/sqlite/0002-collections.sql"),
    include_str!("../../../migrations/sqlite/0003-webhooks.sql"),
    include_str!("../../../migrations/sqlite/0004-search.sql"),
];

/// Marks the file as ours (`PRAGMA application_id`), so that a database of another program is never changed.
const APPLICATION_ID: i64 = 0x7669_6472;

/// Opens the database under the shared lock of all processes, and migrates it under the exclusive lock.
///
/// # Errors
///
/// [`Reason::LibraryTooNew`] if a newer release made the file, [`Reason::LibraryInUse`] if it has to be migrated while
/// another process uses it, and [`Reason::LibraryDamaged`] if it is no library.
pub(super) fn open(
    path: &Path,
    mut connect: impl FnMut() -> Result<Connection>,
) -> Result<(Connection, Locks)> {
    let open = || {
        let connection = connect()?;
        let needs_migration = schema(&connection)? < MIGRATIONS.len();
        Ok((connection, needs_migration))
    };
    Locks::take(path, START_WAIT, open, migrate)
}

/// Applies the missing migrations.
pub(in crate::store) fn migrate(connection: &mut Connection) -> Result<()> {
    let before = schema(connection)?;
    for (number, migration) in (1..).zip(MIGRATIONS).skip(before) {
        let transaction = connection.transaction().map_err(sql)?;
        transaction.execute_batch(migration).map_err(sql)?;
        let mark =
            format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}");
        transaction.execute_batch(&mark).map_err(sql)?;
        transaction.commit().map_err(sql)?;
        tracing::info!(schema = number, "library migrated");
    }
    Ok(())
}

/// The number of the schema. Zero for an empty file.
fn schema(connection: &Connection) -> Result<usize> {
    let number =
        |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0)).map_err(sql);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let version = usize::try_from(number("PRAGMA user_version")?).unwrap_or(0);
    if tables > 0 && number("PRAGMA application_id")? != APPLICATION_ID {
        let message = "The file is a database of another program";
        return Err(Error::new(Reason::LibraryDamaged, message));
    }
    if version > MIGRATIONS.len() {
        let message = format!(
            "The library file has schema {version}, and this release knows schema {} at most",
            MIGRATIONS.len()
        );
        return Err(Error::new(Reason::LibraryTooNew, message));
    }
    Ok(version)
}
