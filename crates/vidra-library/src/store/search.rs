//! Reads the index: which transcripts match a query, and in which passages.

mod candidates;
mod expression;
mod hits;
mod page;
mod postings;
mod trends;
mod videos;

use std::time::Duration;

/// The longest time of a search.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);

pub(crate) use hits::{Cursor, search};
pub(crate) use trends::trends;
pub(crate) use videos::videos;
