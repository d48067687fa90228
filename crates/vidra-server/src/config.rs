//! The settings of the service.

use serde::Serialize;
use vidra_mcp::ToolList;

use crate::gate::Rules;
use crate::hot::AccessLog;
use crate::library::LibraryConfig;
use crate::reloads::Reloads;
use crate::tls::Tls;
use crate::webhooks::Webhooks;

/// The settings of the service. The client has the settings for fetching and caching.
#[derive(Clone)]
pub struct Config {
    /// Whether `Cache-Control: no-cache` in a request bypasses the cache.
    pub callers_may_refresh: bool,
    /// How many units one caller may spend in an hour with `Cache-Control: no-cache`. Beyond that the
    /// cache answers. Callers on loopback without keys are the operator and have no limit.
    pub refresh_units: u32,
    /// The maximum number of bytes of rendered responses in memory.
    pub response_cache_bytes: u64,
    /// Whether `/metrics` is served by [`App::admin`](crate::App::admin) only.
    pub metrics_apart: bool,
    /// How many playlist batches one caller may run at once. Callers on loopback without keys are
    /// the operator and have no limit.
    pub batches_per_caller: usize,
    /// Whether AI agents are served at `/mcp`.
    pub mcp: bool,
    /// The tools that `/mcp` lists.
    pub tools: ToolList,
    /// The examples that the explorer offers. Only a simulated platform has any.
    pub examples: Vec<Example>,
    /// The library, with its jobs; `None` if it is switched off. [`App::run_jobs`](crate::App::run_jobs) runs them.
    pub library: Option<LibraryConfig>,
    /// The destinations of messages about jobs and collections.
    pub webhooks: Webhooks,
    /// The access rules.
    pub gate: Rules,
    /// The access log, if there is one.
    pub access_log: Option<AccessLog>,
    /// The certificate, whose expiry is a metric.
    pub tls: Option<Tls>,
    /// The reloads of files, which are a metric.
    pub reloads: Reloads,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            callers_may_refresh: true,
            refresh_units: 500,
            response_cache_bytes: 52 << 20,
            metrics_apart: false,
            batches_per_caller: 8,
            mcp: true,
            tools: ToolList::Short,
            examples: vec![],
            library: None,
            webhooks: Webhooks::default(),
            gate: Rules::default(),
            access_log: None,
            tls: None,
            reloads: Reloads::default(),
        }
    }
}

/// An example that the explorer offers.
#[derive(Debug, Clone, Serialize)]
pub struct Example {
    /// An identifier that exists.
    pub id: String,
    /// Why it is worth a look.
    pub what: String,
}
