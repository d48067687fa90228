//! The egress addresses: this machine's own, or one for each proxy. Each has its own rate limit,
//! its own state with YouTube, and its own session from a watch page.

pub(crate) mod pool;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod saved;
pub(crate) mod shared;

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::WebRequestKind;
use crate::context::waiters::Urgency;
use crate::error::Reason;
use crate::resilience::breaker::{Breaker, BreakerPolicy};
use crate::resilience::changes::Changes;
use crate::resilience::circuit::{Admission, BreakerState, Circuit, PROBE_TIME};
use crate::resilience::pace::{Pace, Pacer};
use crate::transport::Transport;

/// One egress address.
pub(crate) struct Egress {
    pub(crate) number: usize,
    /// The name in the log. A proxy has a number, because its URL can contain a password.
    name: String,
    /// The name that identifies the address after a restart.
    identity: String,
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
    signals: Signals,
    /// Whether the machines that share the address do not know all requests of this one.
    is_unreported: AtomicBool,
}

/// The signals that all addresses share.
#[derive(Clone)]
pub(crate) struct Signals {
    /// Wakes requests that wait for the end of a probe at any address.
    pub(crate) probed: Arc<Notify>,
    /// Counts the changes of the addresses and of their circuit breakers.
    pub(crate) changes: Changes,
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
    fn new(
        number: usize,
        EgressAddress { name, identity, transport }: EgressAddress,
        settings: EgressLimits,
        signals: &Signals,
        now: Instant,
    ) -> Self {
        let breaker = |of| {
            let name = format!("egress-{number}-{of}");
            let breaker = Breaker::new(name, settings.breaker, now);
            Arc::new(breaker.reporting_to(signals.changes.clone()))
        };
        let state = State { circuit: Circuit::new(), no_translations_until: None, session: None };
        Self {
            number,
            name,
            identity,
            transport,
            player: breaker("player"),
            timedtext: breaker("timedtext"),
            pacer: Pacer::new(settings.requests, now),
            translations: Pacer::new(settings.translations, now),
            block_pause: settings.block_pause,
            renewing: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            signals: signals.clone(),
            is_unreported: AtomicBool::new(false),
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
    fn admit(
        &self,
        kind: WebRequestKind,
        urgency: Urgency,
        now: Instant,
    ) -> Result<Admission, (Reason, Duration)> {
        let circuit = &mut self.state().circuit;
        match self.refusal(circuit, kind, urgency, now) {
            Some(refusal) => Err(refusal),
            None => circuit.admit(now),
        }
    }

    /// Why the address does not admit a fetch that ends with this kind of request, and for how long. The rate limiter
    /// delays a fetch that was admitted, but refuses a probe.
    fn refusal(
        &self,
        circuit: &Circuit<Reason>,
        kind: WebRequestKind,
        urgency: Urgency,
        now: Instant,
    ) -> Option<(Reason, Duration)> {
        if let Some(wait) = self.fails(kind, now) {
            return Some((Reason::Failing, wait));
        }
        let pace_wait = self.pacer.wait(urgency, now);
        if let Some(why) = circuit.probed() {
            return Some((why, pace_wait.max(PROBE_TIME)));
        }
        // A probe blocks all other requests, so it must not start with a wait for the rate limiter.
        if circuit.state(now) == BreakerState::HalfOpen && !pace_wait.is_zero() {
            return Some((Reason::Paced, pace_wait));
        }
        circuit.pause(now)
    }

    /// Why a fetch that ends with this kind of request cannot be sent now, and for how long. It admits nothing.
    fn wait(
        &self,
        kind: WebRequestKind,
        urgency: Urgency,
        now: Instant,
    ) -> Option<(Reason, Duration)> {
        let state = self.state();
        let refusal = self.refusal(&state.circuit, kind, urgency, now);
        let refusal = refusal.or_else(|| state.translation_pause(kind, now));
        refusal.or_else(|| {
            let mut wait = self.pacer.wait(urgency, now);
            if kind == WebRequestKind::Translation {
                wait = wait.max(self.translations.wait(urgency, now));
            }
            (!wait.is_zero()).then_some((Reason::Paced, wait))
        })
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
        state.circuit.pause(now).or_else(|| state.translation_pause(kind, now))
    }

    /// Pauses translations after a rate limit, and returns the pause. Other requests continue.
    pub(crate) fn limit_translations(
        &self,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Duration {
        let pause = retry_after.unwrap_or(TRANSLATION_PAUSE.min(self.block_pause)).min(MAX_PAUSE);
        self.state().no_translations_until = Some(now + pause);
        self.signals.changes.note();
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
        self.signals.probed.notify_waiters();
        self.signals.changes.note();
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

impl State {
    /// The rest of the pause of translations, if the request is one.
    fn translation_pause(&self, kind: WebRequestKind, now: Instant) -> Option<(Reason, Duration)> {
        let until = self.no_translations_until.filter(|_| kind == WebRequestKind::Translation)?;
        (until > now).then(|| (Reason::TranslationLimited, until - now))
    }
}

/// An egress address, as it is configured.
pub(crate) struct EgressAddress {
    /// The name in the log.
    pub(crate) name: String,
    /// The name that identifies the address after a restart. It has no credentials.
    pub(crate) identity: String,
    pub(crate) transport: Arc<dyn Transport>,
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
            self.egress.signals.probed.notify_waiters();
            self.egress.signals.changes.note();
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
            self.egress.signals.probed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
