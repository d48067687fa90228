//! The library over the simulator in this process: without sockets, and under a paused clock in tests that use one.

use std::time::Duration;

use vidra::{ApiKey, BatchEvent, Builder, InProcess, RetryPolicy, Vidra};
use vidra_sim::Simulator;

use crate::midnight;

/// A client of `sim` with the default settings.
pub(crate) fn client(sim: &Simulator) -> Vidra {
    builder(sim).build().unwrap()
}

/// The builder of [`client`], for tests that change its settings.
pub(crate) fn builder(sim: &Simulator) -> Builder {
    midnight::wait_out();
    Vidra::builder()
        // These tests are about requests to the platform; the cache has its own tests.
        .cache_bytes(0)
        .key(ApiKey::new("demo-key"))
        .data_api_url("http://sim.invalid/youtube/v3")
        .web_url("http://sim.invalid")
        .transport(InProcess(sim.clone()))
        .retry(RetryPolicy { retries: 2, delay: Duration::from_millis(300) })
}

/// The total in the first event of a batch.
pub(crate) fn total(event: &BatchEvent) -> Option<u64> {
    match event {
        BatchEvent::Started { total_videos, .. } => *total_videos,
        _ => None,
    }
}
