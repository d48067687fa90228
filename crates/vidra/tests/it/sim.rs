//! The library over the simulator, in this process: no socket, and a paused clock where one is used.

use std::time::Duration;

use vidra::{ApiKey, Builder, InProcess, RetryPolicy, Vidra};
use vidra_sim::Simulator;

use crate::midnight;

/// A client of `sim` with everything as by default.
pub(crate) fn client(sim: &Simulator) -> Vidra {
    builder(sim).build().unwrap()
}

/// The same, to be changed.
pub(crate) fn builder(sim: &Simulator) -> Builder {
    midnight::wait_out();
    Vidra::builder()
        // What is tested is how the platform is asked; the cache has tests of its own.
        .cache_bytes(0)
        .key(ApiKey::new("demo-key"))
        .data_api_url("http://sim.invalid/youtube/v3")
        .web_url("http://sim.invalid")
        .transport(InProcess(sim.clone()))
        .retry(RetryPolicy { retries: 2, delay: Duration::from_millis(300) })
}
