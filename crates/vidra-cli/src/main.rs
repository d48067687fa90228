//! The `vidra` command.

mod args;
mod cache;
mod callers;
mod client;
mod files;
mod health;
mod keys;
mod log;
mod mcp;
mod serve;
mod signals;
#[cfg(feature = "otel")]
mod traces;
mod values;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

/// Answers are built of many small strings, which it is faster at than the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before the arguments are read, because they fall back to the environment; and before any
    // thread is started, because changing the environment is not safe afterwards.
    let env_file = dotenvy::from_path(".env");
    let args = Args::parse();
    if let Err(error) = env_file
        && !error.not_found()
    {
        eprintln!("vidra: .env cannot be read: {}", log::without_values(&error));
        return ExitCode::from(2);
    }
    match run(args) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("vidra: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(feature = "otel"))]
fn run(args: Args) -> Result<ExitCode, String> {
    log::install(args.log_format, None);
    work(args.command)
}

/// The same, traced where a collector is named.
#[cfg(feature = "otel")]
fn run(args: Args) -> Result<ExitCode, String> {
    let traces = match &args.command {
        Command::Serve(options) => traces::Traces::to(options.otlp_endpoint.as_deref())?,
        Command::Mcp(_)
        | Command::Tools(_)
        | Command::Cache(_)
        | Command::Health(_)
        | Command::Keys(_) => None,
    };
    log::install(args.log_format, traces.as_ref().map(traces::Traces::watcher));
    let done = work(args.command);
    if let Some(traces) = traces {
        traces.end();
    }
    done
}

fn work(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Serve(options) => serve::run(&options)?,
        Command::Mcp(options) => mcp::run(&options)?,
        Command::Tools(options) => mcp::print_tools(&options)?,
        Command::Cache(options) => cache::run(&options)?,
        Command::Keys(options) => keys::run(&options)?,
        // Health checks know two ends: 1 is "not healthy", and any other is kept for later use.
        Command::Health(options) => {
            if let Err(why) = health::check(&options) {
                eprintln!("vidra: not ready: {why}");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
