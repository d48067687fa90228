//! Policies that both interfaces of the platform share: when to send, when to retry, and when to stop.

pub(crate) mod breaker;
pub(crate) mod histogram;
pub(crate) mod outcome;
pub(crate) mod pace;
pub(crate) mod retry;
pub(crate) mod traffic;
