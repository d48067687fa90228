//! Rate limits of callers that several machines share.

use std::fmt;
use std::time::Duration;

use super::{BoxFuture, StoreError};

/// The meters of callers that several machines share. A meter is the time for which its caller is ahead of the steady rate.
pub trait RatePool: fmt::Debug + Send + Sync + 'static {
    /// Adds the requests of this machine's callers to their meters, and returns the meters with the requests of all
    /// machines, in the same order.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. The requests can have been added all the same.
    fn exchange<'a>(
        &'a self,
        used: &'a [RateUse],
    ) -> BoxFuture<'a, Result<Vec<Duration>, StoreError>>;

    /// Reports that the machine with this id is alive, and returns the number of machines that were within a minute.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`].
    fn machines<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>>;
}

/// The requests of one caller since the last exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateUse {
    /// The name or the network of the caller.
    pub caller: String,
    /// The time by which its requests move the meter, in microseconds. It is negative if requests became free.
    pub added: i64,
    /// The highest value of the meter.
    pub highest: Duration,
}
