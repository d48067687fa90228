//! The database: transactions, locks, migrations. All SQL is in this module.

mod background;
pub(crate) mod collections;
pub(crate) mod copy;
mod database;
pub(crate) mod discovery;
mod error;
pub(crate) mod eta;
pub(crate) mod events;
mod health;
pub(crate) mod index;
pub(crate) mod items;
pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod listing;
pub(crate) mod maintenance;
pub(crate) mod outbox;
mod postgres;
pub(crate) mod processes;
pub(crate) mod resources;
pub(crate) mod retention;
pub(crate) mod search;
mod sql;
mod sqlite;
pub(crate) mod sync;
pub(crate) mod transcripts;
pub(crate) mod work;

pub use collections::CollectionFigures;
pub(crate) use database::{Database, ProcessLock};
pub use health::Health;
pub use maintenance::{Check, JobFigures, Stats};
pub use outbox::WebhookMessage;
pub(crate) use postgres::{JobNotice, NoticeRelay};
pub(crate) use sql::Connection;
