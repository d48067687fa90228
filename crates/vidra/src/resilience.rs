//! Policies of both interfaces: rate limits, retries and circuit breakers.

pub(crate) mod breaker;
pub(crate) mod bucket;
pub(crate) mod changes;
pub(crate) mod circuit;
pub(crate) mod histogram;
pub(crate) mod outcome;
pub(crate) mod pace;
pub(crate) mod retry;
pub(crate) mod send;
pub(crate) mod traffic;
