//! Every knob of the service, once.

/// How the service behaves; what it asks and keeps is the client's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Whether `Cache-Control: no-cache` makes a caller's request ask the platform anew.
    pub callers_may_refresh: bool,
    /// How many bytes of finished answers are kept, ready to be sent.
    pub ready_bytes: u64,
    /// Whether `/metrics` is only for [`App::admin`](crate::App::admin).
    pub metrics_apart: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { callers_may_refresh: true, ready_bytes: 52 << 20, metrics_apart: false }
    }
}
