//! The egress addresses: this machine's own, or one for each proxy. Each has its own rate limit,
//! its own state with YouTube, and its own session from a watch page.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::WebRequestKind;
use crate::error::Reason;
use crate::held::Held;
use crate::resilience::breaker::{Breaker, BreakerPolicy};
use crate::resilience::circuit::{Admission, BreakerState, Circuit, PROBE_TIME};
use crate::resilience::pace::{Pace, Pacer};
use crate::transport::Transport;

/// One egress address.
pub(crate) struct Egress {
    pub(crate) number: usize,
    /// The name in the log. A proxy has a number, because its URL can contain a password.
    name: String,
    pub(crate) transport: Arc<dyn Transport>,
    /// The circuit breakers for failures. Player and captions have one each, because either can
    /// fail alone.
    player: Arc<Breaker>,
    timedtext: Arc<Breaker>,
    /// The rate limiter of page and player requests.
    pub(crate) pacer: Pacer,
    /// The rate limiter of translations, which YouTube limits far harder.
    pub(crate) translations: Pacer,
    /// The first pause after a block. Each consecutive block adds the same time.
    block_pause: Duration,
    /// Held during the fetch of a watch page, so that concurrent requests share one fetch.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Wakes requests that wait for the end of a probe at any address.
    probed: Arc<Notify>,
}

struct State {
    /// Open while YouTube blocks the address, or while the proxy is unreachable.
    circuit: Circuit<Reason>,
    no_translations_until: Option<Instant>,
    session: Option<(Session, Instant)>,
}

/// The session data of a watch page. A page has about a megabyte, so the session is cached for
/// hours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) key: Option<String>,
    pub(crate) visitor: Option<String>,
}

/// The pause of an unreachable proxy, which may return soon. Then one request at a time probes it.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(5);
/// The pause after a rate limit on translations without `Retry-After`.
const TRANSLATION_PAUSE: Duration = Duration::from_secs(60);
const MAX_PAUSE: Duration = Duration::from_secs(2 * 3600);
const SESSION_LIFE: Duration = Duration::from_secs(4 * 3600);

impl Egress {
    pub(crate) fn new(
        name: String,
        number: usize,
        transport: Arc<dyn Transport>,
        settings: EgressLimits,
        now: Instant,
    ) -> Self {
        let breaker = |of| {
            let name = format!("egress-{number}-{of}");
            Arc::new(Breaker::new(name, settings.breaker, now))
        };
        let state = State { circuit: Circuit::new(), no_translations_until: None, session: None };
        Self {
            number,
            name,
            transport,
            player: breaker("player"),
            timedtext: breaker("timedtext"),
            pacer: Pacer::new(settings.requests, now),
            translations: Pacer::new(settings.translations, now),
            block_pause: settings.block_pause,
            renewing: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            probed: Arc::default(),
        }
    }

    /// The circuit breaker for this kind of request.
    pub(crate) fn breaker(&self, kind: WebRequestKind) -> &Arc<Breaker> {
        match kind {
            WebRequestKind::Player | WebRequestKind::Page => &self.player,
            WebRequestKind::Captions | WebRequestKind::Translation => &self.timedtext,
        }
    }

    /// The remaining pause if the breaker of this kind, or of the player, is open. Every fetch
    /// starts with the player.
    fn fails(&self, kind: WebRequestKind, now: Instant) -> Option<Duration> {
        self.player.refuses(now).max(self.breaker(kind).refuses(now))
    }

    /// Admits a fetch that ends with this kind of request. After a pause it admits one probe.
    /// Otherwise it returns the reason and the remaining pause.
    fn admit(&self, kind: WebRequestKind, now: Instant) -> Result<Admission, (Reason, Duration)> {
        if let Some(wait) = self.fails(kind, now) {
            return Err((Reason::Failing, wait));
        }
        let circuit = &mut self.state().circuit;
        let pace_wait = self.pacer.wait(now);
        if let Some(why) = circuit.probed() {
            return Err((why, pace_wait.max(PROBE_TIME)));
        }
        // A probe blocks all other requests, so it must not start with a wait for the rate limiter.
        if circuit.state(now) == BreakerState::HalfOpen && !pace_wait.is_zero() {
            return Err((Reason::Paced, pace_wait));
        }
        circuit.admit(now)
    }

    fn is_probed(&self) -> bool {
        self.state().circuit.probed().is_some()
    }

    /// Why the address does not admit this kind of request now, and for how long. It also applies
    /// to requests that already use the address.
    pub(crate) fn closed(&self, kind: WebRequestKind, now: Instant) -> Option<(Reason, Duration)> {
        if let Some(wait) = self.breaker(kind).refuses(now) {
            return Some((Reason::Failing, wait));
        }
        let state = self.state();
        state.circuit.pause(now).or_else(|| {
            let until =
                state.no_translations_until.filter(|_| kind == WebRequestKind::Translation)?;
            (until > now).then(|| (Reason::TranslationLimited, until - now))
        })
    }

    /// Pauses translations after a rate limit, and returns the pause. Other requests continue.
    pub(crate) fn limit_translations(
        &self,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Duration {
        let pause = retry_after.unwrap_or(TRANSLATION_PAUSE.min(self.block_pause)).min(MAX_PAUSE);
        self.state().no_translations_until = Some(now + pause);
        pause
    }

    /// Blocks the address, and returns the pause.
    fn close(&self, why: Reason, pause: impl FnOnce(u32) -> Duration, now: Instant) -> Duration {
        let mut state = self.state();
        // Concurrent requests that fail together count as one block. But a block overrides the
        // pause of an unreachable proxy.
        if let Some((before, wait)) = state.circuit.pause(now)
            && (before != Reason::Unreachable || why == before)
        {
            return wait;
        }
        let (times, pause) = state.circuit.open(why, pause, now);
        // YouTube may recognise the old session.
        state.session = None;
        drop(state);
        self.probed.notify_waiters();
        let (address, reason) = (self.name.as_str(), why.code());
        let seconds = pause.as_secs_f64();
        // An unreachable proxy is probed every few seconds. One warning is enough.
        if times == 1 || why != Reason::Unreachable {
            tracing::warn!(address, reason, pause_s = seconds, "egress address paused");
        } else {
            tracing::debug!(address, reason, pause_s = seconds, "egress address still paused");
        }
        pause
    }

    /// Why the address is blocked or unreachable. `None` if it is not.
    fn unusable_reason(&self, now: Instant) -> Option<Reason> {
        self.state().circuit.refusal(now).map(|(why, _)| why)
    }

    pub(crate) fn session(&self, now: Instant) -> Option<Session> {
        let state = self.state();
        let fresh =
            state.session.as_ref().filter(|(_, since)| now.duration_since(*since) < SESSION_LIFE);
        fresh.map(|(session, _)| session.clone())
    }

    pub(crate) fn keep_session(&self, session: Session, now: Instant) {
        self.state().session = Some((session, now));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limits of an egress address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EgressLimits {
    pub(crate) requests: Option<Pace>,
    pub(crate) translations: Option<Pace>,
    pub(crate) breaker: BreakerPolicy,
    /// The first pause after a block.
    pub(crate) block_pause: Duration,
}

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
    all: Vec<Egress>,
    next: AtomicUsize,
    /// Wakes requests that wait for the end of a probe.
    pub(crate) probed: Arc<Notify>,
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
    pub(crate) fn new(mut all: Vec<Egress>) -> Self {
        debug_assert!(!all.is_empty(), "there is always this machine's own address");
        let probed = Arc::default();
        all.iter_mut().for_each(|egress| egress.probed = Arc::clone(&probed));
        Self { all, next: AtomicUsize::new(0), probed }
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
        tried: &[usize],
        now: Instant,
    ) -> Result<InUse<'_>, Closed> {
        let (before, after) =
            self.all.split_at(self.next.fetch_add(1, Ordering::Relaxed) % self.count());
        let is_untried = |egress: &&Egress| !tried.contains(&egress.number);
        let mut in_turn: Vec<&Egress> = after.iter().chain(before).filter(is_untried).collect();
        // Stable, so that equal addresses rotate.
        in_turn.sort_by_cached_key(|egress| egress.pacer.wait(now));
        let mut refusals = Vec::with_capacity(self.count());
        for egress in &in_turn {
            match egress.admit(kind, now) {
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

/// An address in use by a request.
pub(crate) struct InUse<'a> {
    egress: &'a Egress,
    admission: Admission,
}

impl InUse<'_> {
    /// Records a good response. It ends a successful probe, unless an earlier request has hit a new
    /// block meanwhile.
    pub(crate) fn trusted(&self) {
        if self.egress.state().circuit.close(self.admission) {
            self.egress.probed.notify_waiters();
            tracing::info!(address = self.egress.name, "egress address resumed");
        }
    }

    /// Blocks the address, and returns the pause.
    pub(crate) fn blocked(
        &self,
        why: Reason,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Duration {
        let usual = self.egress.block_pause;
        let pause = |times: u32| {
            let ours = usual.saturating_mul(times).min(MAX_PAUSE.max(usual));
            ours.max(retry_after.unwrap_or_default().min(MAX_PAUSE))
        };
        self.egress.close(why, pause, now)
    }

    /// Marks the proxy as unreachable.
    pub(crate) fn unreachable(&self, now: Instant) {
        self.egress.close(Reason::Unreachable, |_| UNREACHABLE_PAUSE, now);
    }
}

impl Deref for InUse<'_> {
    type Target = Egress;

    fn deref(&self) -> &Egress {
        self.egress
    }
}

impl Drop for InUse<'_> {
    /// A probe without a result, perhaps after a cancellation, lets the next request probe.
    fn drop(&mut self) {
        if self.egress.state().circuit.abandon(self.admission) {
            self.egress.probed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
