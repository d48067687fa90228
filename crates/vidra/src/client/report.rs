//! The report of a client about its calls to YouTube.

use crate::batch::BatchReport;
use crate::error::Reason;
use crate::resilience::circuit::BreakerState;
use crate::resilience::traffic::Calls;

/// The calls of a client to YouTube since it was built, and the state of its circuit breakers.
///
/// The report contains no ids. It identifies egress addresses by number, because the URL of a proxy
/// can contain a password.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamReport {
    /// Calls per endpoint. Endpoints without calls are included.
    pub calls: Vec<Calls>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// The state of each circuit breaker, by name: `data-api`, `search`, `feed`, and for each address, here
    /// the first, `egress-1-player` and `egress-1-timedtext`.
    pub breakers: Vec<(String, BreakerState)>,
    /// One item for each egress address, in order: the reason if YouTube or the proxy rejects the
    /// address.
    pub addresses: Vec<Option<Reason>>,
    /// The slots of the service: `fetch` for uncached answers, and `batch`.
    pub slots: Vec<SlotUse>,
    /// How many callers wait, by what they wait for: `fetch` for a fetch in progress, `pace` for the
    /// pace of an egress address.
    pub waiting: Vec<(&'static str, usize)>,
    /// Playlist batches.
    pub batches: BatchReport,
}

/// The slots of one kind of work. Without a free slot, more of that work is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotUse {
    /// `fetch` or `batch`.
    pub name: &'static str,
    /// The number of taken slots.
    pub taken: usize,
    /// The number of all slots.
    pub limit: usize,
}
