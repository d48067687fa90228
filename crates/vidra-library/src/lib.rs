//! Durable jobs, collections that stay up to date, and a library of transcripts on disk, over [`vidra::Vidra`].
//!
//! [`Library`] is one SQLite file, or a PostgreSQL database that several machines share. [`Worker`] runs the jobs in it: it
//! lists their sources, fetches transcripts, and waits for the quota and for egress addresses. A job survives restarts,
//! because every step ends with a transaction. A collection is synced by jobs that the worker starts by its schedule.
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
//! - `store`: the database: transactions, locks, migrations. All SQL is here
//! - `transcript`: the text of a stored transcript
//! - `search`: the models of searches: queries, filters, hits, their order
//! - `passage`: captions as passages of the index, and the positions of words in them
//! - `segment`: text as tokens of the index
//! - `collection`: the models of collections: requests, coverage, schedules
//! - `job`: the models of jobs: requests, states, items, events

mod collection;
mod estimate;
mod job;
mod library;
mod passage;
mod results;
mod search;
mod segment;
mod store;
mod transcript;
mod worker;

pub use collection::{
    Collection, CollectionDetails, CollectionName, CollectionRequest, CollectionSource,
    CollectionState, CollectionVideo, Coverage, DayUnits, LastSync, SourceStatus, VideoState,
};
pub use estimate::Estimate;
pub use job::{
    Failure, Item, ItemEvent, ItemState, Job, JobEvent, JobId, JobRequest, JobSource, JobState,
    ListedEvent, NumberedEvent, Progress, StateEvent, Wait, is_webhook_name,
};
pub use library::{
    Access, Copied, CopyStep, Create, Created, ItemFilter, Library, Limits, Memory, PutCollection,
    StoredResult, VideoFilter, Watch,
};
pub use results::{FileKind, ResultForm, ResultSummary, file_stem};
pub use search::{
    Hit, HitItem, HitMoment, HitPage, HitTotal, HitVideo, LibraryFilter, LibraryVideo, Period,
    SearchCoverage, SearchFields, SearchGroup, SearchSort, TextQuery, TextSearch, Trend, Trends,
    VideoHit,
};
pub use store::{Check, CollectionFigures, Health, JobFigures, Stats, WebhookMessage};
pub use worker::{Payers, Worker, WorkerConfig};
