//! The tools over the simulator.

mod answers;
mod arguments;
mod list;
mod mcp_client;
mod pages;
mod resume;
mod rooms;
mod sessions;
mod tasks;

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;
use vidra::clock::SystemClock;
use vidra::{ApiKey, Error, InProcess, RetryPolicy, Vidra};
use vidra_library::{Library, Limits, Memory, Worker, WorkerConfig};
use vidra_mcp::{Call, CallError, Reply, ToolLibrary};
use vidra_sim::Simulator;

/// A simulator, a client of it, and a library with a worker.
struct World {
    sim: Simulator,
    vidra: Vidra,
    library: OnceCell<Result<ToolLibrary, Error>>,
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
        Self { sim, vidra: change(builder).build().unwrap(), library: OnceCell::new() }
    }

    /// A library in memory, whose jobs run until the test ends.
    async fn library(&self) -> &Result<ToolLibrary, Error> {
        let start = async || {
            let memory = Memory::new().unwrap();
            let library = Library::in_memory(&memory, Limits::default(), Arc::new(SystemClock));
            let (library, vidra) = (library.unwrap(), self.vidra.clone());
            let payer = vidra.clone();
            let payers = Arc::new(move |_: &str| Some(payer.clone()));
            let worker = Worker::new(library.clone(), vidra, payers, WorkerConfig::default());
            tokio::spawn(async move { worker.run(std::future::pending()).await });
            Ok(ToolLibrary::new(library))
        };
        self.library.get_or_init(start).await
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Reply, CallError> {
        let library = self.library().await;
        vidra_mcp::call(name, arguments, &Call::new(&self.vidra).with_library(library)).await
    }

    async fn reply(&self, name: &str, arguments: Value) -> Reply {
        match self.call(name, arguments.clone()).await {
            Ok(reply) => reply,
            Err(error) => panic!("{name} {arguments}: {}", error.for_model()),
        }
    }
}
