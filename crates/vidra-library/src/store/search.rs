//! Reads the index: which transcripts match a query, and in which passages.

mod candidates;
mod expression;
mod hits;
mod page;
mod postings;
mod trends;
mod videos;

pub(crate) use hits::{Cursor, search};
pub(crate) use trends::trends;
pub(crate) use videos::videos;
