//! The `vidra` command.

// Both panic where nobody reads any more.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod cache;
mod callers;
mod client;
mod commands;
mod failure;
mod files;
mod health;
mod keys;
mod log;
mod manual;
mod mcp;
mod output;
mod serve;
mod service;
mod signals;
mod sim;
#[cfg(feature = "otel")]
mod traces;
mod values;

use std::process::ExitCode;

use args::{Args, Command};
use failure::{Exit, Failure, say};
use tracing::level_filters::LevelFilter;

/// Answers are built of many small strings, which it is faster at than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before the arguments are read, because they fall back to the environment; and before any
    // thread is started, because changing the environment is not safe afterwards.
    let env_file = if runs_long() { dotenvy::from_path(".env") } else { Ok(()) };
    let args = match Args::read() {
        Ok(args) => args,
        Err(failure) => return failure.code(),
    };
    if let Err(error) = env_file
        && !error.not_found()
    {
        say(&format!(".env cannot be read: {}", log::without_values(&error)));
        return Failure::Told(Exit::Usage).code();
    }
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.code(),
    }
}

/// Whether the folder that it is started in is for it. Commands are run in any folder, and what a stranger
/// left there must not say where keys are sent: of its `.env` they take the upstream key alone.
fn runs_long() -> bool {
    let names = ["serve", "mcp", "cache", "health", "keys"];
    std::env::args_os().skip(1).any(|word| names.iter().any(|name| word == *name))
}

/// What asynchronous work is done on.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Runtime::new().map_err(|error| format!("cannot start: {error}"))
}

#[cfg(not(feature = "otel"))]
fn run(args: Args) -> Result<(), Failure> {
    log::install(args.log_format, usual_log(&args.command), None);
    work(args.command)
}

/// The same, traced where a collector is named.
#[cfg(feature = "otel")]
fn run(args: Args) -> Result<(), Failure> {
    let traces = match &args.command {
        Command::Serve(options) => traces::Traces::to(options.otlp_endpoint.as_deref())?,
        _ => None,
    };
    let watcher = traces.as_ref().map(traces::Traces::watcher);
    log::install(args.log_format, usual_log(&args.command), watcher);
    let done = work(args.command);
    if let Some(traces) = traces {
        traces.end();
    }
    done
}

/// A service tells what it does; a command tells by itself what went wrong.
fn usual_log(command: &Command) -> LevelFilter {
    match command {
        Command::Data(_) => LevelFilter::ERROR,
        _ => LevelFilter::INFO,
    }
}

fn work(command: Command) -> Result<(), Failure> {
    match command {
        Command::Data(command) => commands::run(&command),
        Command::Serve(options) => Ok(serve::run(&options)?),
        Command::Mcp(options) => Ok(mcp::run(&options)?),
        Command::Tools(options) => mcp::print_tools(&options),
        Command::Cache(options) => cache::run(&options),
        Command::Keys(options) => Ok(keys::run(&options)?),
        Command::Sim(options) => sim::run(&options),
        Command::Completions(options) => manual::print_completions(&options),
        Command::Man(options) => manual::print_pages(&options),
        // Health checks know two ends: 1 is "not healthy", and any other is kept for later use.
        Command::Health(options) => health::check(&options)
            .map_err(|why| Failure::Because(Exit::Missing, format!("not ready: {why}"))),
    }
}
