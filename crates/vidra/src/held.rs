//! Counts of held resources, for simulations: when all callers have left and all exchanges have ended, every
//! count must be zero.

/// The resources that a client holds at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Held {
    /// Slots of fetches for answers that are not cached.
    pub misses: usize,
    /// Slots of background renewals, including probes.
    pub renewals: usize,
    /// Shared fetches under way.
    pub flights: usize,
    /// Callers that wait for a shared fetch.
    pub waiters: usize,
    /// Single lookups that wait for a call of fifty, and such calls that are running.
    pub gathered: usize,
    /// Batches under way.
    pub batches: usize,
    /// Requests in the queue of an address's rate limiter, and permits that were taken but not used
    /// yet.
    pub permits: usize,
    /// Addresses and circuit breakers that one request is probing.
    pub probes: usize,
    /// Addresses for which a watch page is being fetched.
    pub sessions: usize,
    /// Keys that are being written to the store behind memory.
    pub writes: usize,
}
