//! Durable jobs and a library of transcripts on disk, over [`vidra::Vidra`].
//!
//! [`Library`] is one SQLite file. [`Worker`] runs the jobs in it: it lists their sources, fetches transcripts, and
//! waits for the quota and for egress addresses. A job survives restarts, because every step ends with a transaction.
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `results`: the results of a job as JSON, NDJSON, CSV and ZIP
//! - `worker`: leases items, runs them, waits for resources
//! - `estimate`: the estimated cost of a job
//! - `library`: [`Library`]: one method per operation
//! - `store`: the SQLite file: transactions, locks, migrations. All SQL is here
//! - `transcript`: the text of a stored transcript
//! - `job`: the models of jobs: requests, states, items, events

mod estimate;
mod job;
mod library;
mod results;
mod store;
mod transcript;
mod worker;

pub use estimate::Estimate;
pub use job::{
    Failure, Item, ItemEvent, ItemState, Job, JobEvent, JobId, JobRequest, JobSource, JobState,
    ListedEvent, NumberedEvent, Progress, StateEvent, Wait,
};
pub use library::{
    Access, Create, Created, ItemFilter, Library, Limits, Memory, StoredResult, Watch,
};
pub use results::{FileKind, ResultForm, ResultSummary, file_stem};
pub use store::{Check, Health, JobFigures, Stats};
pub use worker::{Payers, Worker, WorkerConfig};
