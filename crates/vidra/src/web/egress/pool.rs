//! All egress addresses of a client, and the choice among them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::{Egress, EgressAddress, EgressLimits, InUse, Signals};
use crate::context::waiters::Urgency;
use crate::error::Reason;
use crate::held::Held;
use crate::resilience::breaker::Breaker;
use crate::resilience::changes::Changes;
use crate::resilience::pace::Pace;
use crate::web::WebRequestKind;

/// The egress addresses for transcripts, and how many of them are unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Addresses {
    /// The number of addresses: one for each proxy, or this machine's own.
    pub all: usize,
    /// Addresses that YouTube blocks or limits.
    pub blocked: usize,
    /// Proxies that are unreachable.
    pub unreachable: usize,
}

/// All egress addresses, used in turn.
pub(crate) struct Egresses {
    pub(super) all: Vec<Egress>,
    next: AtomicUsize,
    pub(crate) signals: Signals,
}

/// Why no address is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    /// The reason and the wait of the address that becomes available first.
    pub(crate) why: Reason,
    pub(crate) wait: Duration,
    /// The wait for the rate limiter of the first address whose pause is over.
    pub(crate) pace_wait: Option<Duration>,
    /// Whether a probe is running. Its end can open an address at any time.
    pub(crate) is_probed: bool,
}

impl Egresses {
    /// Equal identities get a number, in the order of the addresses.
    pub(crate) fn new(addresses: Vec<EgressAddress>, limits: EgressLimits, now: Instant) -> Self {
        debug_assert!(!addresses.is_empty(), "there is always this machine's own address");
        let signals = Signals { probed: Arc::default(), changes: Changes::new() };
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut all = Vec::with_capacity(addresses.len());
        for (mut address, number) in addresses.into_iter().zip(1..) {
            let equal = seen.entry(address.identity.clone()).or_default();
            *equal += 1;
            if *equal > 1 {
                address.identity = format!("{}#{equal}", address.identity);
            }
            all.push(Egress::new(number, address, limits, &signals, now));
        }
        Self { all, next: AtomicUsize::new(0), signals }
    }

    /// The rate limit of one address. `None` for no limit.
    pub(crate) fn pace(&self) -> Option<Pace> {
        self.all.first().and_then(|egress| egress.pacer.pace())
    }

    /// Why no address can send a fetch that ends with this kind of request now, and for how long. `None` if one can. It
    /// takes no permit and begins no probe.
    pub(crate) fn wait(
        &self,
        kind: WebRequestKind,
        urgency: Urgency,
        now: Instant,
    ) -> Option<(Reason, Duration)> {
        let waits: Option<Vec<_>> =
            self.all.iter().map(|egress| egress.wait(kind, urgency, now)).collect();
        waits?.into_iter().min_by_key(|(_, wait)| *wait)
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether all addresses fail for this kind of request.
    pub(crate) fn are_failing(&self, kind: WebRequestKind, now: Instant) -> bool {
        let is_failing = |egress: &Egress| egress.fails(kind, now).is_some();
        let is_of_use =
            |egress: &Egress| !is_failing(egress) && egress.unusable_reason(now).is_none();
        self.all.iter().any(is_failing) && !self.all.iter().any(is_of_use)
    }

    /// Adds the resources that the addresses hold at this moment.
    pub(crate) fn held(&self, held: &mut Held) {
        for egress in &self.all {
            held.permits += egress.pacer.held() + egress.translations.held();
            held.sessions += usize::from(egress.renewing.try_lock().is_err());
            held.probes += usize::from(egress.is_probed());
        }
    }

    /// The circuit breakers of all addresses, by number.
    pub(crate) fn breakers(&self) -> impl Iterator<Item = &Breaker> {
        self.all.iter().flat_map(|egress| [&*egress.player, &*egress.timedtext])
    }

    /// For each address, by number: why it is unusable, or `None`.
    pub(crate) fn unusable_reasons(&self, now: Instant) -> impl Iterator<Item = Option<Reason>> {
        self.all.iter().map(move |egress| egress.unusable_reason(now))
    }

    pub(crate) fn report(&self, now: Instant) -> Addresses {
        let mut report = Addresses { all: self.count(), blocked: 0, unreachable: 0 };
        for reason in self.unusable_reasons(now).flatten() {
            match reason {
                Reason::Unreachable => report.unreachable += 1,
                _ => report.blocked += 1,
            }
        }
        report
    }

    /// Chooses an address for a feed. Addresses take turns, and working addresses come first. If none works it returns
    /// one of them, because YouTube serves feeds to addresses whose transcripts it blocks.
    pub(crate) fn for_feed(&self, now: Instant) -> &Egress {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.count();
        let mut in_turn = self.all.iter().cycle().skip(first).take(self.count());
        let usable = in_turn.find(|egress| egress.unusable_reason(now).is_none());
        usable.unwrap_or(&self.all[first])
    }

    /// Chooses an address for a fetch that ends with this kind of request. It takes the unblocked
    /// address with the shortest wait, and rotates among equal ones. It skips the addresses in
    /// `tried`.
    pub(crate) fn choose(
        &self,
        kind: WebRequestKind,
        urgency: Urgency,
        tried: &[usize],
        now: Instant,
    ) -> Result<InUse<'_>, Closed> {
        let (before, after) =
            self.all.split_at(self.next.fetch_add(1, Ordering::Relaxed) % self.count());
        let is_untried = |egress: &&Egress| !tried.contains(&egress.number);
        let mut in_turn: Vec<&Egress> = after.iter().chain(before).filter(is_untried).collect();
        // Stable, so that equal addresses rotate.
        in_turn.sort_by_cached_key(|egress| egress.pacer.wait(urgency, now));
        let mut refusals = Vec::with_capacity(self.count());
        for egress in &in_turn {
            match egress.admit(kind, urgency, now) {
                Ok(admission) => return Ok(InUse { egress, admission }),
                Err(refusal) => refusals.push(refusal),
            }
        }
        let pace_waits = refusals.iter().filter(|(why, _)| *why == Reason::Paced);
        let pace_wait = pace_waits.map(|(_, wait)| *wait).min();
        let soonest = refusals.into_iter().min_by_key(|(_, wait)| *wait);
        let (why, wait) = soonest.unwrap_or((Reason::Blocked, Duration::MAX));
        // A probe of an address that was tried does not help.
        let is_probed = in_turn.iter().any(|egress| egress.is_probed());
        Err(Closed { why, wait, pace_wait, is_probed })
    }
}
