//! The SQLite file: transactions, locks, migrations. All SQL is in this module.

pub(crate) mod collections;
mod connect;
mod database;
pub(crate) mod discovery;
mod error;
pub(crate) mod eta;
pub(crate) mod events;
pub(crate) mod index;
pub(crate) mod items;
pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod listing;
mod locks;
pub(crate) mod maintenance;
mod migrate;
pub(crate) mod outbox;
pub(crate) mod processes;
pub(crate) mod resources;
pub(crate) mod retention;
pub(crate) mod search;
pub(crate) mod sync;
pub(crate) mod transcripts;
pub(crate) mod work;

pub use collections::CollectionFigures;
pub(crate) use database::Database;
pub use database::Health;
pub(crate) use locks::ProcessLock;
pub use maintenance::{Check, JobFigures, Stats};
pub use outbox::WebhookMessage;
