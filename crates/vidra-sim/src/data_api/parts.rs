//! `part`: the requested members of an item.

use super::error::ApiError;
use crate::query::Query;
use crate::world::World;
use serde_json::{Map, Value};

/// Parts that only the owner of a resource may request.
const OWNERS_ONLY: &[&str] =
    &["auditDetails", "contentOwnerDetails", "fileDetails", "processingDetails", "suggestions"];

/// The requested parts.
#[derive(Debug)]
pub(crate) struct Parts<'a>(Vec<&'a str>);

impl<'a> Parts<'a> {
    /// Reads `part`; `known` are the parts of the resource apart from `id`.
    pub(crate) fn read(query: &'a Query, known: &[&str]) -> Result<Self, ApiError> {
        let requested = query.list("part");
        if requested.is_empty() {
            return Err(ApiError::missing_parameter("part"));
        }
        for part in &requested {
            if OWNERS_ONLY.contains(part) {
                return Err(ApiError::by_reason("forbidden"));
            }
            if *part != "id" && !known.contains(part) {
                return Err(ApiError::unknown_part());
            }
        }
        Ok(Self(requested))
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.0.contains(&part)
    }

    /// An item with the requested parts. A part that is empty for the resource is left out.
    pub(crate) fn item(
        &self,
        world: &World,
        kind: &str,
        id: &str,
        fill: impl Fn(&str) -> Option<Value>,
    ) -> Value {
        let mut item = bare(world, kind, id);
        for part in self.0.iter().filter(|part| **part != "id") {
            if let Some(value) = fill(part) {
                item.insert((*part).to_owned(), value);
            }
        }
        Value::Object(item)
    }
}

/// `kind`, `etag` and `id`, which every item has.
pub(crate) fn bare(world: &World, kind: &str, id: &str) -> Map<String, Value> {
    let mut item = Map::new();
    item.insert("kind".to_owned(), format!("youtube#{kind}").into());
    item.insert("etag".to_owned(), world.etag(&format!("{kind}/{id}")).into());
    item.insert("id".to_owned(), id.into());
    item
}
