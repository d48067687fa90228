//! Copies the tables of a library into another database, page by page.
//!
//! A page is a transaction, and rows are copied in the order of their keys: a copy that was interrupted continues after
//! the last row of the target.

use sha2::{Digest, Sha256};
use vidra::{Error, Reason, Result};

use super::sql::ToValue as _;
use super::sql::{Connection, Kind, OwnedValue, Row, Value, params};

/// The tables in the order in which they are copied: a row comes after those that it refers to. The index is built from
/// the texts again, and processes and their leases are left behind.
pub(crate) const TABLES: [&str; 16] = [
    "videos",
    "transcripts",
    "transcript_requests",
    "collections",
    "collection_sources",
    "source_videos",
    "collection_videos",
    "collection_units",
    "jobs",
    "sources",
    "items",
    "failures",
    "events",
    "idempotency_keys",
    "resources",
    "webhook_messages",
];

/// A table that a trigger fills. It is compared, and not copied.
pub(crate) const DERIVED: &str = "owner_bytes";

/// The columns that are not copied: leases of processes.
const LEFT_BEHIND: [&str; 2] = ["lease", "process"];

/// How many rows a page has, and how many if they have texts.
const PAGE: i64 = 200;
const PAGE_OF_TEXTS: i64 = 50;

/// The counter that shows that a copy is not complete.
const COPYING: &str = "copying";

/// A table of the source.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    columns: Vec<(String, Kind)>,
    /// The columns of its primary key.
    key: Vec<usize>,
    /// The rows that are copied and compared.
    condition: &'static str,
}

/// The rows of a page.
pub(crate) type Rows = Vec<Vec<OwnedValue>>;

impl Table {
    /// Reads the columns of a table of a SQLite file.
    pub(crate) fn read(connection: &Connection, name: &'static str) -> Result<Self> {
        let query = format!("SELECT name, type, pk FROM pragma_table_info('{name}') ORDER BY cid");
        let columns: Vec<(String, String, i64)> =
            connection.query_map(&query, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut key: Vec<(i64, usize)> = vec![];
        let mut kept = vec![];
        for (column, of, place) in columns {
            if LEFT_BEHIND.contains(&&*column) {
                continue;
            }
            if place > 0 {
                key.push((place, kept.len()));
            }
            let kind = match &*of {
                "TEXT" => Kind::Text,
                "BLOB" => Kind::Bytes,
                _ if column.starts_with("is_") => Kind::Boolean,
                _ => Kind::Integer,
            };
            kept.push((column, kind));
        }
        key.sort_unstable();
        let key = key.into_iter().map(|(_, index)| index).collect();
        // Only a trigger of SQLite leaves rows of owners without transcripts.
        let condition = if name == DERIVED { "bytes <> 0" } else { "TRUE" };
        Ok(Self { name, columns: kept, key, condition })
    }

    fn names(&self, of: impl Iterator<Item = usize>) -> String {
        of.map(|index| self.columns[index].0.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn values(&self, row: &Row<'_>, of: impl Iterator<Item = usize>) -> Result<Vec<OwnedValue>> {
        let read =
            |(place, index): (usize, usize)| OwnedValue::read(row, place, self.columns[index].1);
        of.enumerate().map(read).collect()
    }

    /// The key of a row.
    pub(crate) fn key_of(&self, row: &[OwnedValue]) -> Vec<OwnedValue> {
        self.key.iter().map(|index| row[*index].clone()).collect()
    }

    /// The key of the last row.
    pub(crate) fn last_key(&self, connection: &Connection) -> Result<Option<Vec<OwnedValue>>> {
        let key = self.names(self.key.iter().copied());
        let descending = key.replace(", ", " DESC, ");
        let query = format!("SELECT {key} FROM {} ORDER BY {descending} DESC LIMIT 1", self.name);
        connection.query_optional(&query, (), |row| self.values(row, self.key.iter().copied()))
    }

    /// The rows after a key, a page of them.
    pub(crate) fn page(
        &self,
        connection: &Connection,
        after: Option<&[OwnedValue]>,
    ) -> Result<Rows> {
        let (all, key) = (self.names(0..self.columns.len()), self.names(self.key.iter().copied()));
        let limit = if self.name == "transcripts" { PAGE_OF_TEXTS } else { PAGE };
        let condition = match after {
            Some(after) => format!("({key}) > ({})", vec!["?"; after.len()].join(", ")),
            None => "TRUE".to_owned(),
        };
        let query = format!(
            "SELECT {all} FROM {} WHERE {condition} AND {} ORDER BY {key} LIMIT {limit}",
            self.name, self.condition
        );
        let read = |row: &Row<'_>| self.values(row, 0..self.columns.len());
        connection.query_map(&query, after.unwrap_or_default(), read)
    }

    /// Inserts the rows of a page. Collections refer to jobs, which are copied later.
    pub(crate) fn insert(&self, connection: &Connection, rows: &Rows) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let marks = format!("({})", vec!["?"; first.len()].join(", "));
        let insert = format!(
            "INSERT INTO {} ({}) VALUES {} ON CONFLICT DO NOTHING",
            self.name,
            self.names(0..self.columns.len()),
            vec![marks; rows.len()].join(", ")
        );
        let sync_job = self.columns.iter().position(|(name, _)| name == "sync_job");
        let value = |(index, value): (usize, &OwnedValue)| match sync_job {
            Some(place) if place == index => OwnedValue::Null(Kind::Integer),
            _ => value.clone(),
        };
        let values: Vec<OwnedValue> =
            rows.iter().flat_map(|row| row.iter().enumerate().map(value)).collect();
        connection.execute(&insert, &*values)?;
        Ok(())
    }
}

/// The number and the hash of rows.
#[derive(Clone, Default)]
pub(crate) struct Sum {
    pub(crate) rows: u64,
    hash: Sha256,
}

impl Sum {
    pub(crate) fn add(&mut self, rows: &Rows) {
        for value in rows.iter().flatten() {
            let (kind, bytes): (u8, Vec<u8>) = match value.value() {
                Value::Integer(number) => (1, number.to_le_bytes().to_vec()),
                Value::Boolean(is_true) => (2, vec![u8::from(is_true)]),
                Value::Text(text) => (3, text.replace('\0', "").into_bytes()),
                Value::Bytes(bytes) => (4, bytes.to_vec()),
                _ => (0, vec![]),
            };
            self.hash.update([kind]);
            self.hash.update((bytes.len() as u64).to_le_bytes());
            self.hash.update(bytes);
        }
        self.rows += rows.len() as u64;
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.rows == other.rows && self.hash.clone().finalize() == other.hash.clone().finalize()
    }
}

/// Marks the target as incomplete.
///
/// # Errors
///
/// [`Reason::InvalidInput`] if the target has rows that are not of an interrupted copy.
pub(crate) fn begin(connection: &Connection) -> Result<()> {
    if is_incomplete(connection)? {
        return Ok(());
    }
    let has_rows = "SELECT EXISTS (SELECT 1 FROM jobs) OR EXISTS (SELECT 1 FROM transcripts)
        OR EXISTS (SELECT 1 FROM collections)";
    if connection.query_row(has_rows, (), |row| row.get(0))? {
        let message = "The target already has jobs, collections or transcripts";
        return Err(Error::new(Reason::InvalidInput, message));
    }
    // A service may have stored its pauses already.
    connection.execute("DELETE FROM resources", ())?;
    let insert = "INSERT INTO counters (name, value) VALUES (?, 1)";
    connection.execute(insert, [COPYING]).map(drop)
}

/// # Errors
///
/// [`Reason::LibraryInUse`] before a copy into this database is complete.
pub(crate) fn check_complete(connection: &Connection) -> Result<()> {
    if !is_incomplete(connection)? {
        return Ok(());
    }
    let message = "A copy into the library is not complete; repeat vidra library copy";
    Err(Error::new(Reason::LibraryInUse, message))
}

/// Whether a copy into this database was begun, and not completed.
fn is_incomplete(connection: &Connection) -> Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM counters WHERE name = ?)";
    connection.query_row(query, [COPYING], |row| row.get(0))
}

/// The values that a target gets in the end: the last job of each collection, and the last fencing number.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    sync_jobs: Vec<(i64, i64)>,
    last_lease: i64,
}

impl Rest {
    /// Reads them from a SQLite file.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let jobs = "SELECT number, sync_job FROM collections WHERE sync_job IS NOT NULL";
        let sync_jobs = connection.query_map(jobs, (), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let lease = "SELECT value FROM counters WHERE name = 'lease'";
        let last_lease = connection.query_optional(lease, (), |row| row.get(0))?.unwrap_or(0);
        Ok(Self { sync_jobs, last_lease })
    }

    /// Stores them in PostgreSQL, whose next numbers come after the copied ones.
    pub(crate) fn store(&self, connection: &Connection) -> Result<()> {
        for (collection, job) in &self.sync_jobs {
            let update = "UPDATE collections SET sync_job = ? WHERE number = ?";
            connection.execute(update, params![*job, *collection])?;
        }
        let numbered = [
            "transcripts",
            "jobs",
            "collections",
            "collection_sources",
            "collection_videos",
            "webhook_messages",
        ];
        for table in numbered {
            let next = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', 'number'),
                    (SELECT coalesce(max(number), 0) + 1 FROM {table}), FALSE)"
            );
            connection.query_row(&next, (), |_| Ok(()))?;
        }
        let lease = "SELECT setval('leases', ?)";
        connection.query_row(lease, [self.last_lease.max(1)], |_| Ok(()))
    }
}

/// Marks the target as complete.
pub(crate) fn end(connection: &Connection) -> Result<()> {
    connection.execute("DELETE FROM counters WHERE name = ?", [COPYING]).map(drop)
}
