//! The simulator as a program: `vidra-sim`, and `vidra sim`.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use crate::simulator::Simulator;

/// The options of the program.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Address to listen on; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:3900")]
    pub listen: SocketAddr,
    /// Seed of the world
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Latency of every call in milliseconds
    #[arg(long, default_value_t = 0)]
    pub latency_ms: u64,
    /// Accepted API key
    #[arg(long, default_value = "demo-key")]
    pub key: String,
    /// Quota units a day
    #[arg(long, default_value_t = 10_000)]
    pub quota: u64,
    /// Searches a day
    #[arg(long, default_value_t = 100)]
    pub search_quota: u64,
}

/// Prints the address of the Data API and that of the public pages, and serves both until Ctrl-C.
///
/// # Errors
///
/// If the address cannot be bound.
pub async fn run(options: &Options) -> io::Result<()> {
    let latency = Duration::from_millis(options.latency_ms);
    let simulator = Simulator::builder()
        .seed(options.seed)
        .key(&options.key)
        .latency(latency)
        .limits(options.quota, options.search_quota)
        .system_time()
        .build();
    let listening = simulator.listen(options.listen).await?;
    let addresses = format!("{}\n{}\n", listening.data_api_url(), listening.web_url());
    // A closed pipe must not stop the simulator.
    let _ = io::stdout().write_all(addresses.as_bytes());
    tokio::signal::ctrl_c().await
}
