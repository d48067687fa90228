//! The resources that jobs wait for, as they are stored: a restart does not forget a pause.

use jiff::Timestamp;
use vidra::{Reason, Result};

use super::jobs::{reason, timestamp};
use super::sql::{Connection, params};

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
pub(crate) fn all(connection: &Connection) -> Result<Vec<Resource>> {
    let query = "SELECT name, reason, available_at, detail FROM resources ORDER BY name";
    connection.query_map(query, (), |row| {
        Ok(Resource {
            name: row.get(0)?,
            reason: reason(&row.get::<_, String>(1)?),
            available_at: timestamp(row.get(2)?),
            detail: row.get(3)?,
        })
    })
}

/// Stores a resource. It never shortens a pause that another process has stored.
pub(crate) fn set(connection: &Connection, resource: &Resource, now: Timestamp) -> Result<()> {
    let Resource { name, reason, available_at, detail } = resource;
    let upsert =
        "INSERT INTO resources (name, reason, available_at, detail) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (name) DO UPDATE SET reason = ?2, available_at = ?3, detail = ?4
        WHERE resources.available_at <= ?3 OR resources.available_at <= ?5";
    let parameters =
        params![name, reason.code(), available_at.as_millisecond(), detail, now.as_millisecond()];
    connection.execute(upsert, parameters)?;
    Ok(())
}

/// Removes a resource.
pub(crate) fn remove(connection: &Connection, name: &str) -> Result<()> {
    connection.execute("DELETE FROM resources WHERE name = ?", [name])?;
    Ok(())
}
