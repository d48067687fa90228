//! What a client reports about its calls to the platform.

use crate::batch::BatchReport;
use crate::error::Reason;
use crate::resilience::breaker::Standing;
use crate::resilience::traffic::Calls;

/// What a client has asked of the platform since it was built, and how it stands with it. Nothing in it
/// names what was asked for, and addresses go by number: a proxy's URL may hold a password.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct UpstreamReport {
    /// By endpoint; those that were never asked are there too.
    pub calls: Vec<Calls>,
    /// Attempts beyond the first.
    pub retries: u64,
    /// By what each is for: `data-api`, `search`, and `egress-1` for the first address.
    pub breakers: Vec<(String, Standing)>,
    /// By number, from 1: why the platform or a proxy turns an address away, where it does.
    pub addresses: Vec<Option<Reason>>,
    /// Transcripts of playlists.
    pub batches: BatchReport,
}
