//! The `vidra` command as people run it: a process with flags, an environment and a log.

mod callers;
mod commands;
mod guides;
mod health;
mod inside;
mod mcp;
#[path = "../../../vidra/tests/it/midnight.rs"]
mod midnight;
mod process;
mod rooms;
mod security;
mod serve;
#[cfg(feature = "otel")]
mod traces;
mod transcripts;
