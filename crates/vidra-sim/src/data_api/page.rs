//! The envelope of a list and the pages of a long one.

use super::error::ApiError;
use crate::query::Query;
use crate::token::{Direction, Pager};
use serde_json::{Value, json};

/// One page of a long list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pager: Pager,
    pub(crate) start: u32,
    pub(crate) size: u32,
    total: u32,
    /// Whether the list has `prevPageToken`. Comment lists do not.
    two_way: bool,
}

impl Page {
    /// The page that a query requests, of a list of `total` entries.
    pub(crate) fn read(
        query: &Query,
        pager: Pager,
        size: u32,
        total: u32,
    ) -> Result<Self, ApiError> {
        let start = match query.get("pageToken") {
            None => 0,
            Some(token) => {
                pager.read(token).filter(|at| *at <= total).ok_or_else(ApiError::page_token)?
            }
        };
        Ok(Self { pager, start, size, total, two_way: true })
    }

    pub(crate) fn forward_only(self) -> Self {
        Self { two_way: false, ..self }
    }

    /// The indices on this page.
    pub(crate) fn range(&self) -> std::ops::Range<u32> {
        self.start..(self.start + self.size).min(self.total)
    }

    /// Writes the page tokens into a body. A page of size 0 has no next page.
    pub(crate) fn link(&self, body: &mut Value) {
        let end = self.start + self.size;
        if end < self.total && self.size > 0 {
            body["nextPageToken"] = self.pager.token(end, Direction::Next).into();
        }
        if self.two_way && self.start > 0 {
            let before = self.start.saturating_sub(self.size);
            body["prevPageToken"] = self.pager.token(before, Direction::Previous).into();
        }
    }

    /// The token of this page.
    pub(crate) fn token_of_itself(&self) -> Value {
        self.pager.token(self.start, Direction::Next).into()
    }
}

/// A list answer without page information.
pub(crate) fn envelope(kind: &str, items: Vec<Value>) -> Value {
    let mut body = json!({"kind": format!("youtube#{kind}ListResponse")});
    // Not within the macro, which would copy the whole page.
    body["items"] = items.into();
    body
}

/// A list answer with page information.
pub(crate) fn counted(kind: &str, items: Vec<Value>, total: u32, per_page: u32) -> Value {
    let mut body = envelope(kind, items);
    body["pageInfo"] = json!({"totalResults": total, "resultsPerPage": per_page});
    body
}
