//! The `vidra` command.
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `reference`: generates the reference of commands and flags, in tests
//! - `args`: the command line
//! - `argument_errors`: errors of the command line as one line
//! - `examples`: the examples of each `--help`
//! - `config`: `vidra config`: the config file and the settings
//! - `config_file`: reads the config file
//! - `commands`: the data commands, one file per resource
//! - `serve`: `vidra serve`: the REST service
//! - `mcp`: `vidra mcp` and `vidra tools`: the tools for AI agents
//! - `cache`: `vidra cache`: the contents of a store or of a running service
//! - `keys`: `vidra keys`: caller keys
//! - `health`: `vidra health`: whether the service on this machine is ready
//! - `sim`: `vidra sim`: the simulator on a local address
//! - `manual`: `vidra completions` and `vidra man`
//! - `library`: `vidra library`: maintenance of the library file
//! - `service`: the REST service that answers commands: in this process or a remote one
//! - `cost`: the cost of a command, and the question before an expensive one
//! - `database`: the flag of the library file, and how it is opened
//! - `client`: the flags of the library's client, and the client they describe
//! - `cache_args`: the flags of the cache
//! - `callers`: access control of the service: its flags and background tasks
//! - `traces`: spans, sent to a collector
//! - `log`: the log on standard error
//! - `progress`: the progress of many videos on standard error
//! - `output`: standard output: JSON, or text for people
//! - `failure`: exit codes and the error line
//! - `terminal`: text for a terminal
//! - `signals`: SIGTERM, Ctrl-C and SIGHUP
//! - `systemd`: inherited sockets, notifications and the watchdog
//! - `runtime`: the runtimes of asynchronous work
//! - `open_files`: the limit of open files
//! - `user_folder`: the user's cache, config and state folders
//! - `spelling`: the nearest name to a misspelt one
//! - `values`: values of flags: times, counts, addresses

// Both panic when the reader has closed the pipe.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod argument_errors;
mod cache;
mod cache_args;
mod callers;
mod client;
mod commands;
mod config;
mod config_file;
mod cost;
mod database;
mod examples;
mod failure;
mod health;
mod keys;
mod library;
mod log;
mod manual;
mod mcp;
mod open_files;
mod output;
mod progress;
#[cfg(test)]
mod reference;
mod runtime;
mod serve;
mod service;
mod signals;
mod sim;
mod spelling;
mod systemd;
mod terminal;
#[cfg(feature = "otel")]
mod traces;
mod user_folder;
mod values;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use args::{Args, Command};
use failure::{Exit, Failure, print_error};
use vidra_server::read_config_file;

/// Faster than the system's allocator for answers, which consist of many small strings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before the arguments are parsed, because they fall back to the environment. Before any thread starts,
    // because changing the environment is not safe afterwards.
    let env_file = if Args::reads_env_file() { load_env_file() } else { Ok(()) };
    let args = match Args::read() {
        Ok(args) => args,
        Err(failure) => return failure.code(),
    };
    if let Err(error) = env_file {
        print_error(&format!("cannot read .env: {}", log::without_values(&error)));
        return Failure::Reported(Exit::Usage).code();
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.code(),
    }
}

/// Loads `.env` into the environment, if there is such a file.
fn load_env_file() -> dotenvy::Result<()> {
    match read_config_file(Path::new(".env")) {
        Ok(text) => dotenvy::from_read(&text[..]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(dotenvy::Error::Io(error)),
    }
}

#[cfg(not(feature = "otel"))]
fn run(args: &Args) -> Result<(), Failure> {
    let log = log::install(args.log_format, args.log_level(), None)?;
    work(args, &log)
}

/// Runs a command, with traces if a collector is set.
#[cfg(feature = "otel")]
fn run(args: &Args) -> Result<(), Failure> {
    let traces = match &args.command {
        Command::Serve(options) => traces::Traces::to(options.otlp_endpoint.as_deref())?,
        _ => None,
    };
    let watcher = traces.as_ref().map(traces::Traces::watcher);
    let log = log::install(args.log_format, args.log_level(), watcher)?;
    let done = work(args, &log);
    if let Some(traces) = traces {
        traces.end();
    }
    done
}

fn work(args: &Args, log: &log::Log) -> Result<(), Failure> {
    match &args.command {
        Command::Data(command) => commands::run(command),
        Command::Serve(options) => serve::run(options, log),
        Command::Mcp(options) => mcp::run(options),
        Command::Tools(options) => mcp::print_tools(options),
        Command::Cache(options) => cache::run(options),
        Command::Library(options) => library::run(options),
        Command::Config(options) => config::run(options, args.config(), &Args::whole()),
        Command::Keys(options) => keys::run(options),
        Command::Sim(options) => sim::run(options),
        Command::Completions(options) => manual::print_completions(options, Args::whole()),
        Command::Man(options) => manual::print_pages(options, Args::whole()),
        // Docker reserves all exit codes of health checks but 0 and 1.
        Command::Health(options) => health::check(options)
            .map_err(|why| Failure::Message(Exit::Missing, format!("not ready: {why}"))),
    }
}
