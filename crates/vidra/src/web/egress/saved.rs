//! The state of egress addresses that a caller stores, so that it survives a restart.

use std::time::Duration;

use tokio::time::Instant;

use super::pool::Egresses;
use super::{Egress, MAX_PAUSE};
use crate::error::Reason;

/// The state of an egress address that a restart must not forget: blocks, open circuit breakers and the spent part of
/// the rate limit.
///
/// All durations are relative to the moment of [`Vidra::egress_states`](crate::Vidra::egress_states) and
/// [`Vidra::restore_egress_states`](crate::Vidra::restore_egress_states). A caller that stores them converts them to
/// times of the wall clock, and subtracts the time that has passed before it restores them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EgressState {
    /// The address: `direct`, or the URL of the proxy without its credentials, for example
    /// `socks5://proxy.example:1080`. Equal ones get a number in the order of the settings: `direct`, `direct#2`.
    pub address: String,
    /// The block of the address. `None` if it is usable.
    pub blocked: Option<EgressBlock>,
    /// The open circuit breaker of player requests. `None` if it is closed.
    pub player: Option<BreakerPause>,
    /// The open circuit breaker of captions. `None` if it is closed.
    pub timedtext: Option<BreakerPause>,
    /// How far the sent requests are ahead of the steady rate. Zero if the whole burst is available.
    pub spent: Duration,
    /// How far the sent translations are ahead of their own steady rate.
    pub translations_spent: Duration,
    /// The rest of the pause of translations. `None` if YouTube does not limit them.
    pub no_translations: Option<Duration>,
}

impl EgressState {
    /// The state of an address without blocks and without requests.
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), ..Self::default() }
    }
}

/// The block of an egress address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EgressBlock {
    /// [`Reason::Blocked`], [`Reason::UpstreamRateLimited`] or [`Reason::Unreachable`].
    pub reason: Reason,
    /// The number of consecutive blocks. Each one lasts longer.
    pub times: u32,
    /// The rest of the pause. After it, one request at a time probes the address.
    pub left: Duration,
}

/// The pause of an open circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPause {
    /// The number of consecutive openings. Each one lasts longer.
    pub times: u32,
    /// The rest of the pause. After it, one request at a time probes.
    pub left: Duration,
}

impl Egresses {
    /// The state of each address, in order.
    pub(crate) fn states(&self, now: Instant) -> Vec<EgressState> {
        self.all.iter().map(|egress| egress.saved(now)).collect()
    }

    /// Restores the states of the addresses that still exist.
    pub(crate) fn restore(&self, states: &[EgressState], now: Instant) {
        for egress in &self.all {
            for state in states.iter().filter(|state| state.address == egress.identity) {
                egress.restore(state, now);
            }
        }
    }
}

impl Egress {
    fn saved(&self, now: Instant) -> EgressState {
        let state = self.state();
        let block = |(reason, times, left)| EgressBlock { reason, times, left };
        let pause = |(times, left)| BreakerPause { times, left };
        let until = state.no_translations_until;
        EgressState {
            address: self.identity.clone(),
            blocked: state.circuit.opened(now).map(block),
            player: self.player.pause(now).map(pause),
            timedtext: self.timedtext.pause(now).map(pause),
            spent: self.pacer.spent(now),
            translations_spent: self.translations.spent(now),
            no_translations: until.filter(|until| *until > now).map(|until| until - now),
        }
    }

    /// Restores a state. It never shortens a pause and never lowers the spent part of the rate limit. Limits that became
    /// smaller meanwhile apply.
    pub(super) fn restore(&self, saved: &EgressState, now: Instant) {
        let mut state = self.state();
        if let Some(EgressBlock { reason, times, left }) = saved.blocked {
            let is_known = matches!(
                reason,
                Reason::Blocked | Reason::UpstreamRateLimited | Reason::Unreachable
            );
            let reason = if is_known { reason } else { Reason::Blocked };
            let left = left.min(MAX_PAUSE.max(self.block_pause));
            state.circuit.restore(reason, times, left, now);
        }
        if let Some(left) = saved.no_translations {
            let until = now + left.min(MAX_PAUSE);
            state.no_translations_until = state.no_translations_until.max(Some(until));
        }
        drop(state);
        for (breaker, saved) in [(&self.player, saved.player), (&self.timedtext, saved.timedtext)] {
            if let Some(BreakerPause { times, left }) = saved {
                breaker.restore(times, left, now);
            }
        }
        self.pacer.restore(saved.spent, now);
        self.translations.restore(saved.translations_spent, now);
    }
}
