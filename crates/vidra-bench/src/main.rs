//! Measures the `vidra` binary as a user would run it: a process of its own, over the simulator on
//! loopback. `scripts/bench` builds both and runs it; results are kept with their date.

mod bare;
mod cases;
mod hot;
mod kept;
mod load;
mod nginx;
mod open;
mod overload;
mod process;
mod report;
mod service;
mod soak;
mod upstream;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Measure the vidra binary beside this one.
#[derive(Debug, Parser)]
struct Args {
    /// How often each case is run; the median is told
    #[arg(long, default_value_t = 5)]
    runs: usize,

    /// Only these cases
    #[arg(long, value_enum)]
    only: Option<Part>,

    /// How long the overload lasts
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,

    /// How long the soak lasts
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,

    #[command(subcommand)]
    role: Option<Role>,
}

/// Cases that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Start, playlists, transcripts
    Service,
    /// Answers from the cache, against a bare server and nginx
    Hot,
    /// What the cache costs: misses, memory, upstream units
    Kept,
    /// Three times what it can, over 2,000 connections; not without being asked for
    Load,
    /// A long mixture with faults; not without being asked for
    Soak,
}

/// What this binary does when it is started by itself, to be on a core of its own.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Role {
    /// Answers everything with one answer
    Bare(bare::Args),
    /// Asks over and over
    Load(load::Args),
    /// Asks at a rate
    Open(open::Args),
}

fn main() -> ExitCode {
    let Args { runs, only, seconds, minutes, role } = Args::parse();
    let wanted = |part| match part {
        Part::Load | Part::Soak => only == Some(part),
        _ => only.is_none_or(|only| only == part),
    };
    let long = cases::Long { seconds, minutes };
    let outcome = match role {
        Some(Role::Bare(args)) => bare::serve(&args),
        Some(Role::Load(args)) => load::make(&args),
        Some(Role::Open(args)) => open::make(&args),
        None => cases::run_all(runs.max(1), &long, wanted).map(|report| print!("{report}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vidra-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
