//! The tools over the simulator.

mod answers;
mod arguments;
mod list;
mod mcp_client;
mod pages;
mod resume;
mod rooms;
mod sessions;

use serde_json::Value;
use vidra::{ApiKey, InProcess, RetryPolicy, Vidra};
use vidra_mcp::{Call, CallError, Reply};
use vidra_sim::Simulator;

/// A simulator and a client of it.
struct World {
    sim: Simulator,
    vidra: Vidra,
}

impl World {
    fn new() -> Self {
        Self::with(|builder| builder)
    }

    fn with(change: impl FnOnce(vidra::Builder) -> vidra::Builder) -> Self {
        let sim = Simulator::new();
        let builder = Vidra::builder()
            .key(ApiKey::new("demo-key"))
            .data_api_url("http://sim.invalid/youtube/v3")
            .web_url("http://sim.invalid")
            .transport(InProcess(sim.clone()))
            .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() });
        Self { sim, vidra: change(builder).build().unwrap() }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Reply, CallError> {
        vidra_mcp::call(name, arguments, &Call::new(&self.vidra)).await
    }

    async fn reply(&self, name: &str, arguments: Value) -> Reply {
        match self.call(name, arguments.clone()).await {
            Ok(reply) => reply,
            Err(error) => panic!("{name} {arguments}: {}", error.for_model()),
        }
    }
}
