//! The `vidra` command.

mod args;
mod cache;
mod files;
mod health;
mod log;
mod serve;
mod signals;

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
    log::install(args.log_format);
    if let Err(error) = env_file
        && !error.not_found()
    {
        eprintln!("vidra: .env cannot be read: {}", log::without_values(&error));
        return ExitCode::from(2);
    }
    let result = match args.command {
        Command::Serve(options) => serve::run(&options),
        Command::Cache(options) => cache::run(&options),
        // Health checks know two ends: 1 is "not healthy", and any other is kept for later use.
        Command::Health(options) => match health::check(&options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("vidra: not ready: {why}");
                return ExitCode::FAILURE;
            }
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("vidra: {message}");
            ExitCode::from(2)
        }
    }
}
