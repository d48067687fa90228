//! The active jobs as the worker knows them.

use std::time::Duration;

use tokio::time::Instant;

use super::POLL;
use crate::store::work::Work;

/// The shortest time between two reads of the active jobs, unless a caller or a listing has changed something.
pub(super) const READ_INTERVAL: Duration = Duration::from_millis(50);

/// The active jobs, as they were read last. An item that ends changes little, so they are not read again for each.
#[derive(Default)]
pub(super) struct ActiveJobs {
    pub(super) all: Vec<Work>,
    read_at: Option<Instant>,
    pub(super) is_expired: bool,
}

impl ActiveJobs {
    /// Whether they have to be read again.
    pub(super) fn are_old(&self) -> bool {
        let age = if self.is_expired { READ_INTERVAL } else { POLL };
        self.read_at.is_none_or(|at| at.elapsed() >= age)
    }

    pub(super) fn expire(&mut self) {
        (self.is_expired, self.read_at) = (true, None);
    }

    pub(super) fn renew(&mut self, all: Vec<Work>) {
        *self = Self { all, read_at: Some(Instant::now()), is_expired: false };
    }
}
