//! What was fetched once and need not be fetched again.

pub mod store;
