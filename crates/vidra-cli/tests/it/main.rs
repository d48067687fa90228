//! The `vidra` command as a process with flags, an environment and a log.

mod callers;
mod collections;
mod commands;
mod config_file;
mod documents;
mod env_file;
mod guides;
mod health;
mod interrupted;
mod jobs;
mod library;
mod mcp;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
mod observability;
mod openapi;
mod pages;
mod process;
mod prometheus;
mod reload;
mod rooms;
mod search;
mod security;
mod serve;
mod serve_library;
mod systemd;
mod terminal;
#[cfg(feature = "otel")]
mod traces;
mod transcripts;
mod usage;
mod wrong_invocations;
