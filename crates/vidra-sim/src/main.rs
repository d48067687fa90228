//! The simulator as a program.

use clap::Parser;
use std::net::SocketAddr;
use std::time::Duration;
use vidra_sim::Simulator;

/// Plays the YouTube Data API v3, watch pages and captions on a local address.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Address to listen on; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:3900")]
    listen: SocketAddr,
    /// Number the world is computed from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds every call takes
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// The API key that is accepted
    #[arg(long, default_value = "demo-key")]
    key: String,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let args = Args::parse();
    let latency = Duration::from_millis(args.latency_ms);
    let simulator = Simulator::builder().seed(args.seed).key(args.key).latency(latency).build();
    let listening = simulator.listen(args.listen).await?;
    println!("{}", listening.data_api_url());
    println!("{}", listening.web_url());
    tokio::signal::ctrl_c().await
}
