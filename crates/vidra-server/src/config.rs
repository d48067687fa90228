//! Every knob of the service, once.

use crate::gate::Rules;
use crate::pages::Example;

/// How the service behaves; what it asks and keeps is the client's business.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether `Cache-Control: no-cache` makes a caller's request ask the platform anew.
    pub callers_may_refresh: bool,
    /// How many bytes of finished answers are kept, ready to be sent.
    pub ready_bytes: u64,
    /// Whether `/metrics` is only for [`App::admin`](crate::App::admin).
    pub metrics_apart: bool,
    /// How many playlists may be transcribed together for one caller; on loopback without keys all are
    /// the operator's own, and are not counted.
    pub batches_per_caller: usize,
    /// Whether AI agents are served at `/mcp`.
    pub mcp: bool,
    /// What the explorer offers to look at; there are some where the world is made up.
    pub examples: Vec<Example>,
    /// Who may come in.
    pub gate: Rules,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            callers_may_refresh: true,
            ready_bytes: 52 << 20,
            metrics_apart: false,
            batches_per_caller: 8,
            mcp: true,
            examples: vec![],
            gate: Rules::default(),
        }
    }
}
