//! Times in JSON: UTC with milliseconds, as everywhere in the service.

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use vidra::format::iso_millis;

/// Writes a time as `2026-01-31T18:30:00.000Z`.
pub(crate) fn iso<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    iso_millis(*at).serialize(serializer)
}

/// Writes a time that may be missing.
pub(crate) fn optional_iso<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    at.map(iso_millis).serialize(serializer)
}
