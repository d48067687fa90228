//! Measures the `vidra` binary as a user would run it: a process of its own, over the simulator on
//! loopback. `scripts/bench` builds both and runs it; results are kept with their date.

mod bare;
mod cases;
mod hot;
mod kept;
mod load;
mod nginx;
mod process;
mod report;
mod service;
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
}

/// What this binary does when it is started by itself, to be on a core of its own.
#[derive(Debug, Subcommand)]
#[command(hide = true)]
enum Role {
    /// Answers everything with one answer
    Bare(bare::Args),
    /// Asks over and over
    Load(load::Args),
}

fn main() -> ExitCode {
    let Args { runs, only, role } = Args::parse();
    let wanted = |part| only.is_none_or(|only| only == part);
    let outcome = match role {
        Some(Role::Bare(args)) => bare::serve(&args),
        Some(Role::Load(args)) => load::make(&args),
        None => cases::run_all(runs.max(1), wanted).map(|report| print!("{report}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vidra-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
