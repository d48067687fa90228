//! The REST service over [`vidra::Vidra`].
//!
//! [`App`] is a function of the client and its configuration, so tests call it without a socket;
//! [`serve()`] puts it behind a listener.
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `serve`: the accept loop, connection slots, timeouts, graceful shutdown
//! - `app`: [`App`]: gate, response cache, then routes
//! - `layers`: the middleware around the routes
//! - `pages`: the pages of a browser: the explorer, collections, the API reference
//! - `mcp`: the endpoint for AI agents
//! - `routes`: the URL table, one file per resource
//! - `metrics`: the page for Prometheus
//! - `degraded`: the parts that do not work, for `/readyz` and the metrics
//! - `jobs`: runs the jobs of the library, and sends messages to webhooks
//! - `stream`: batches, lists and jobs as streams
//! - `state`: `AppState`, which everything above shares
//! - `refresh_budget`: units that callers may spend on bypassing the cache
//! - `config`: the settings of the service
//! - `library`: the library file, which may not be available yet
//! - `webhooks`: messages about jobs and collections to destinations of the operator
//! - `fetched_transcripts`: stores transcripts that were fetched without a job
//! - `gate`: admission of callers: hosts, origins, keys, rate limits
//! - `hot`: renders and logs every response, and answers from the response cache before routing
//! - `respond`: JSON with an `ETag`, conditional requests, header names
//! - `items`: the items of lists: chosen members, CSV
//! - `accept`: the media types that a request accepts
//! - `extract`: typed path, query, headers and body
//! - `typed_url`: URLs typed into a path
//! - `error_body`: the only mapping of errors to HTTP
//! - `tls`: the certificate of the service
//! - `drain`: whether the service is shutting down
//! - `slots`: slots that are counted by key
//! - `log_sink`: a log that never blocks
//! - `counters`: the counters of the service, as atomics
//! - `reloads`: counts the reloads of files
//! - `config_file`: reads keys and certificates: bounded, without blocking

mod accept;
mod app;
mod config;
mod config_file;
mod counters;
mod degraded;
mod drain;
pub mod error_body;
mod extract;
mod fetched_transcripts;
pub mod gate;
mod hot;
mod items;
mod jobs;
mod layers;
mod library;
mod log_sink;
mod mcp;
mod metrics;
mod pages;
mod refresh_budget;
mod reloads;
mod respond;
pub mod routes;
mod serve;
mod slots;
mod state;
mod stream;
mod tls;
mod typed_url;
mod webhooks;

pub use app::{App, ResponseBody};
pub use config::{Config, Example};
pub use config_file::read_config_file;
pub use fetched_transcripts::FetchedTranscripts;
pub use hot::AccessLog;
pub use library::{LibraryAccess, LibraryConfig, LibraryFile};
pub use log_sink::LogSink;
pub use reloads::Reloads;
pub use serve::{Limits, Serving, serve};
pub use tls::Tls;
pub use webhooks::{Secret, Webhook, Webhooks};
