//! The simulator as a program.

use clap::Parser;
use vidra_sim::program::{self, Options};

/// Simulates the YouTube Data API v3, watch pages and captions on a local address.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    program::run(&Args::parse().options).await
}
