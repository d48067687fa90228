//! Measures the `vidra` binary as a separate process with the simulator on loopback. `scripts/bench`
//! builds both and runs this program. The results are in `bench-results`, by date.
//!
//! # Rooms
//!
//! Imports point downwards only: a module imports modules below it in this list and nothing above it.
//! The test `rooms` reads this list and the imports of every file.
//!
//! - `cases`: the cases and their goals
//! - `soak`: a long mixture of requests at a steady rate, with faults
//! - `crowd`: cached answers beside many large ones
//! - `jobs`: jobs of the service, and cached answers beside them
//! - `shared`: the cost of PostgreSQL and Redis that machines share
//! - `searches`: searches in a large library, and cached answers beside them
//! - `cached`: cached answers at a steady rate, alone and beside other work
//! - `overload`: three times the capacity over 2,000 connections
//! - `lists`: lists page by page and as a stream: time to the first item, memory
//! - `cache_cost`: the cost of the cache: misses, memory, upstream units
//! - `hot`: answers from the cache, against a bare server and nginx
//! - `open`: an open-loop load generator: requests at a fixed rate
//! - `load`: a closed-loop load generator: requests over and over
//! - `nginx`: nginx with a `proxy_cache`, to compare with
//! - `upstream`: the simulator that services use as their platform
//! - `service`: a `vidra serve` process
//! - `bare`: a server that returns one answer, to compare with
//! - `report`: the table of results
//! - `process`: processes under measurement, each on its own core

mod bare;
mod cache_cost;
mod cached;
mod cases;
mod crowd;
mod hot;
mod jobs;
mod lists;
mod load;
mod nginx;
mod open;
mod overload;
mod process;
mod report;
mod searches;
mod service;
mod shared;
mod soak;
mod upstream;

use std::process::ExitCode;

use cases::Part;
use clap::{Parser, Subcommand};

/// Measure the vidra binary beside this one.
#[derive(Debug, Parser)]
struct Args {
    /// Number of runs of each case; the report contains the median
    #[arg(long, default_value_t = 5)]
    runs: usize,

    /// Only these cases
    #[arg(long, value_enum)]
    only: Option<Part>,

    /// Duration of the overload
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,

    /// Duration of the soak test
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,

    #[command(subcommand)]
    role: Option<Role>,
}

/// The roles of the processes that this binary starts from itself, to run on another core.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Role {
    /// Returns the same answer to every request
    Bare(bare::Args),
    /// Sends requests in a closed loop
    Load(load::Args),
    /// Sends requests at a fixed rate
    Open(open::Args),
}

fn main() -> ExitCode {
    let Args { runs, only, seconds, minutes, role } = Args::parse();
    let is_selected = |part| match part {
        Part::Search | Part::Shared | Part::Load | Part::Crowd | Part::Soak => only == Some(part),
        _ => only.is_none_or(|only| only == part),
    };
    let durations = cases::Durations { seconds, minutes };
    let outcome = match role {
        Some(Role::Bare(args)) => bare::serve(&args),
        Some(Role::Load(args)) => load::generate(&args),
        Some(Role::Open(args)) => open::generate(&args),
        None => {
            cases::run_all(runs.max(1), &durations, is_selected).map(|report| print!("{report}"))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vidra-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn imports_point_downwards_only() {
        vidra_rooms::check(env!("CARGO_MANIFEST_DIR"));
    }
}
