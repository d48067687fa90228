//! Lifetimes: the policy of each kind of record, and the state of a record by its age.

use std::time::Duration;

/// The kind of a record: the index of its policy.
pub(crate) type Kind = usize;

/// How the cache treats the records of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// The name in statistics.
    pub(crate) name: &'static str,
    pub(crate) life: Life,
    /// The longest time for which a record may be fresh, and for which it may be stored at all.
    pub(crate) retention: Option<(Duration, Duration)>,
    /// The time after which a follower starts a second fetch beside a slow leader.
    pub(crate) replace_after: Duration,
    /// Whether the record is evicted before others, because fetching it again costs little.
    pub(crate) is_cheap: bool,
    /// The kinds of one group pause their renewals together.
    pub(crate) renewals: RenewalGroup,
}

/// The interface that renews a record. They are separate, because one can fail without the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenewalGroup {
    Transcripts,
    Data,
    /// Feeds work without quota.
    Feeds,
    /// Searches have a small quota of their own.
    Searches,
}

/// The lifetime of a record. Each phase begins at the end of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// How long a record is fresh.
    pub ttl: Duration,
    /// How long a stale record is then served at once and renewed in the background.
    pub grace: Duration,
    /// How long a stale record is then served only if a fetch fails or is slow.
    pub stale_if_error: Duration,
}

/// The state of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Fresh,
    Grace,
    StaleIfError,
    Gone,
}

/// Longer than any process runs, and short enough to add to an `Instant`.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// The lifetime of a refusal such as "not found". A refusal can soon become wrong, and repeating
/// the fetch is cheap.
const REFUSAL: Life =
    Life { ttl: Duration::from_secs(300), grace: Duration::ZERO, stale_if_error: Duration::ZERO };

impl Policy {
    /// The lifetime of a record. `spread`, a hash of the record, adds a jitter of up to 10 %, so
    /// that records stored together do not expire together.
    pub(crate) fn life(&self, is_refusal: bool, spread: u64) -> Life {
        let mut life = if is_refusal { REFUSAL } else { self.life };
        // The steps are shorter than a second for any lifetime. Longer steps would let records
        // expire together.
        let millionths = 900_000 + u32::try_from(spread % 200_001).unwrap_or_default();
        life.ttl = life.ttl.saturating_mul(millionths) / 1_000_000;
        if let Some((longest_fresh, longest)) = self.retention {
            life.ttl = life.ttl.min(longest_fresh);
            life.grace = life.grace.min(longest - life.ttl);
            life.stale_if_error = life.stale_if_error.min(longest - life.ttl - life.grace);
        }
        life
    }
}

impl Life {
    pub(crate) fn state(&self, age: Duration) -> State {
        if age < self.ttl {
            State::Fresh
        } else if age < self.ttl.saturating_add(self.grace) {
            State::Grace
        } else if age < self.whole() {
            State::StaleIfError
        } else {
            State::Gone
        }
    }

    /// The total lifetime.
    pub(crate) fn whole(&self) -> Duration {
        self.ttl.saturating_add(self.grace).saturating_add(self.stale_if_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn an_entry_goes_through_its_states_in_order() {
        let life = Life { ttl: MINUTE, grace: MINUTE, stale_if_error: MINUTE };
        let at = |seconds| life.state(Duration::from_secs(seconds));
        assert_eq!([at(0), at(59)], [State::Fresh; 2]);
        assert_eq!([at(60), at(119)], [State::Grace; 2]);
        assert_eq!([at(120), at(179)], [State::StaleIfError; 2]);
        assert_eq!(at(180), State::Gone);
    }
}
