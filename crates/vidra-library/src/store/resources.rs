//! The resources that jobs wait for, as they are stored: a restart does not forget a pause.

use jiff::Timestamp;
use rusqlite::{Connection, params};
use vidra::Reason;

use super::jobs::{reason, timestamp};

/// A resource that is unavailable, or whose state must survive a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) name: String,
    pub(crate) reason: Reason,
    pub(crate) available_at: Timestamp,
    /// JSON that only the owner of the resource reads.
    pub(crate) detail: Option<String>,
}

/// All stored resources.
pub(crate) fn all(connection: &Connection) -> rusqlite::Result<Vec<Resource>> {
    let query = "SELECT name, reason, available_at, detail FROM resources ORDER BY name";
    let mut query = connection.prepare_cached(query)?;
    let rows = query.query_map([], |row| {
        Ok(Resource {
            name: row.get(0)?,
            reason: reason(&row.get::<_, String>(1)?),
            available_at: timestamp(row.get(2)?),
            detail: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// Stores a resource. It never shortens a pause that another process has stored.
pub(crate) fn set(
    connection: &Connection,
    resource: &Resource,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let Resource { name, reason, available_at, detail } = resource;
    let upsert =
        "INSERT INTO resources (name, reason, available_at, detail) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (name) DO UPDATE SET reason = ?2, available_at = ?3, detail = ?4
        WHERE available_at <= max(?3, ?5)";
    let parameters =
        params![name, reason.code(), available_at.as_millisecond(), detail, now.as_millisecond()];
    connection.prepare_cached(upsert)?.execute(parameters)?;
    Ok(())
}

/// Removes a resource.
pub(crate) fn remove(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM resources WHERE name = ?")?.execute([name])?;
    Ok(())
}
