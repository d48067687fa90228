//! The simulator as a program: `vidra-sim`, and `vidra sim`.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use crate::Simulator;

/// What can be set.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Address to listen on; port 0 takes any free one
    #[arg(long, default_value = "127.0.0.1:3900")]
    pub listen: SocketAddr,
    /// Number the world is computed from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Milliseconds every call takes
    #[arg(long, default_value_t = 0)]
    pub latency_ms: u64,
    /// The API key that is accepted
    #[arg(long, default_value = "demo-key")]
    pub key: String,
}

/// Prints the address of the Data API and that of the public pages, and plays both until Ctrl-C.
///
/// # Errors
///
/// Where the address is not to be had.
pub async fn run(options: &Options) -> io::Result<()> {
    let latency = Duration::from_millis(options.latency_ms);
    let simulator =
        Simulator::builder().seed(options.seed).key(&options.key).latency(latency).build();
    let listening = simulator.listen(options.listen).await?;
    let addresses = format!("{}\n{}\n", listening.data_api_url(), listening.web_url());
    // Nobody may be reading; it is played all the same.
    let _ = io::stdout().write_all(addresses.as_bytes());
    tokio::signal::ctrl_c().await
}
