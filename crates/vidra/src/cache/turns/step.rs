//! The steps of one machine to a record that several machines may fetch. Pure: it sends nothing and reads no clock.

use crate::store::FencingToken;

/// The next step of a machine for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// It takes the lease.
    Take,
    /// It reads the record, because another machine may have stored it.
    Read { lease: Option<FencingToken> },
    /// It waits for the machine that has the lease.
    Wait,
    /// It fetches the record. Without a lease it fetches alone: a second fetch is cheaper than a stuck request.
    Fetch { lease: Option<FencingToken> },
    /// It has the record.
    End { lease: Option<FencingToken> },
}

/// The answer to an attempt to take the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Taken {
    Ours(FencingToken),
    ByAnother,
    /// There was no answer in time.
    Unknown,
}

/// Why a machine stopped waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Woken {
    /// Another machine announced the end of its fetch.
    Announced,
    /// Announcements can be lost, and a machine can die without one.
    Poll,
    /// It waited as long as it may.
    TooLong,
}

impl Step {
    pub(super) fn after_take(taken: Taken) -> Self {
        match taken {
            // Its last holder may have stored the record since this machine read it.
            Taken::Ours(fence) => Self::Read { lease: Some(fence) },
            Taken::ByAnother => Self::Wait,
            Taken::Unknown => Self::Fetch { lease: None },
        }
    }

    pub(super) fn after_wait(woken: Woken) -> Self {
        match woken {
            Woken::Announced => Self::Read { lease: None },
            // While another machine holds the lease, the store does not have the record.
            Woken::Poll => Self::Take,
            Woken::TooLong => Self::Fetch { lease: None },
        }
    }

    pub(super) fn after_read(lease: Option<FencingToken>, is_found: bool) -> Self {
        match (lease, is_found) {
            (lease, true) => Self::End { lease },
            (Some(_), false) => Self::Fetch { lease },
            // The fetch failed, or the store lost the record.
            (None, false) => Self::Take,
        }
    }
}
