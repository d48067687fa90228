//! Measures the `vidra` binary as a user would run it: a process of its own, over the simulator on
//! loopback. `scripts/bench` builds both and runs it; results are kept with their date.

mod cases;
mod service;

use std::process::ExitCode;

use clap::Parser;

/// Measure the vidra binary beside this one.
#[derive(Debug, Parser)]
struct Args {
    /// How often each case is run; the median is told
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match cases::run_all(args.runs.max(1)) {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("vidra-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
