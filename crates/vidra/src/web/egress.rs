//! The addresses we ask from: this machine's own, or one for each proxy. Each has its own pace, its
//! own standing with the platform, and what it has learned from a watch page.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Load;
use crate::error::Reason;
use crate::held::Held;
use crate::resilience::breaker::{Breaker, Pauses};
use crate::resilience::pace::{Pace, Pacer};
use crate::transport::Transport;

/// One address.
pub(crate) struct Egress {
    pub(crate) number: usize,
    /// What it is called in the log: a proxy by its number, because its URL may hold a password.
    name: String,
    pub(crate) transport: Arc<dyn Transport>,
    /// Of failures, which say nothing about the address but that it leads nowhere now. Players and
    /// captions have one each: either may fail while the other answers.
    player: Arc<Breaker>,
    timedtext: Arc<Breaker>,
    /// Of page and player calls.
    pub(crate) pacer: Pacer,
    /// Of translations, which the platform limits far harder.
    pub(crate) translations: Pacer,
    /// The first pause after a block; each further block in a row adds as much.
    pause: Duration,
    /// Held while a watch page is fetched, so that many do not fetch it together.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Wakes requests that wait for the end of a probe, at whichever address.
    probed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    standing: Standing,
    /// How many probes there were.
    probes: u64,
    no_translations_until: Option<Instant>,
    session: Option<(Session, Instant)>,
}

/// How the platform treats an address.
#[derive(Debug, Default)]
enum Standing {
    #[default]
    Good,
    /// Closed: why, for the how-manieth block in a row, until when.
    Closed { why: Reason, strikes: u32, until: Instant },
    /// The pause is over and one request is finding out: the probe of this number.
    Probing { why: Reason, strikes: u32, probe: u64 },
}

/// What a watch page yields: it is a megabyte, so it is kept for hours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) key: Option<String>,
    pub(crate) visitor: Option<String>,
}

/// How long finding out takes as a rule.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// A proxy that is down may be up again soon; until then one request at a time finds out.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(5);
/// Where the platform limits translations and does not say for how long.
const TRANSLATION_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(2 * 3600);
const SESSION_LIFE: Duration = Duration::from_secs(4 * 3600);

impl Egress {
    pub(crate) fn new(
        name: String,
        number: usize,
        transport: Arc<dyn Transport>,
        care: Care,
        now: Instant,
    ) -> Self {
        let breaker =
            |of| Arc::new(Breaker::new(format!("egress-{number}-{of}"), care.failures, now));
        Self {
            number,
            name,
            transport,
            player: breaker("player"),
            timedtext: breaker("timedtext"),
            pacer: Pacer::new(care.requests, now),
            translations: Pacer::new(care.translations, now),
            pause: care.pause,
            renewing: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            probed: Arc::default(),
        }
    }

    /// Of requests of this kind.
    pub(crate) fn breaker(&self, load: Load) -> &Arc<Breaker> {
        match load {
            Load::Player | Load::Page => &self.player,
            Load::Captions | Load::Translation => &self.timedtext,
        }
    }

    /// How long nothing of this kind is of use, because it fails or the player does, which comes first.
    fn fails(&self, load: Load, now: Instant) -> Option<Duration> {
        self.player.refuses(now).max(self.breaker(load).refuses(now))
    }

    /// Whether it may be used now, to end with this kind of request, and the number of the probe where that
    /// is to find out if a pause is over: one request at a time does. Otherwise why not, and for how long.
    fn admits(&self, load: Load, now: Instant) -> Result<Option<u64>, (Reason, Duration)> {
        if let Some(wait) = self.fails(load, now) {
            return Err((Reason::Failing, wait));
        }
        let mut state = self.state();
        let turn = self.pacer.wait(now);
        match state.standing {
            Standing::Good => Ok(None),
            Standing::Closed { why, until, .. } if until > now => Err((why, until - now)),
            // The probe keeps all others away, so it must not begin by waiting for its turn.
            Standing::Closed { .. } if !turn.is_zero() => Err((Reason::Paced, turn)),
            Standing::Closed { why, strikes, .. } => {
                state.probes += 1;
                let probe = state.probes;
                state.standing = Standing::Probing { why, strikes, probe };
                Ok(Some(probe))
            }
            Standing::Probing { why, .. } => Err((why, turn.max(PROBE_TIME))),
        }
    }

    fn is_probed(&self) -> bool {
        matches!(self.state().standing, Standing::Probing { .. })
    }

    /// Why nothing of this kind is asked from it now, and for how long; also for requests that began
    /// before.
    pub(crate) fn closed(&self, load: Load, now: Instant) -> Option<(Reason, Duration)> {
        if let Some(wait) = self.breaker(load).refuses(now) {
            return Some((Reason::Failing, wait));
        }
        let state = self.state();
        let closed = match (&state.standing, state.no_translations_until) {
            (Standing::Closed { why, until, .. }, _) if *until > now => Some((*why, *until)),
            (_, Some(until)) if load == Load::Translation => {
                Some((Reason::TranslationLimited, until))
            }
            _ => None,
        };
        closed.map(|(why, until)| (why, until - now)).filter(|(_, wait)| !wait.is_zero())
    }

    /// The platform limits translations, and nothing else: how long none is asked for.
    pub(crate) fn limit_translations(&self, asked: Option<Duration>, now: Instant) -> Duration {
        let pause = asked.unwrap_or(TRANSLATION_PAUSE.min(self.pause)).min(LONGEST_PAUSE);
        self.state().no_translations_until = Some(now + pause);
        pause
    }

    /// Closes it, and says for how long.
    fn close(&self, why: Reason, pause: impl Fn(u32) -> Duration, now: Instant) -> Duration {
        let mut state = self.state();
        let strikes = match state.standing {
            // Requests that were under way together are one block, not many; but a block is more than
            // a proxy that was away.
            Standing::Closed { why: before, until, .. }
                if until > now && (before != Reason::Unreachable || why == before) =>
            {
                return until.duration_since(now);
            }
            Standing::Good => 1,
            Standing::Closed { strikes, .. } | Standing::Probing { strikes, .. } => {
                strikes.saturating_add(1)
            }
        };
        let pause = pause(strikes);
        state.standing = Standing::Closed { why, strikes, until: now + pause };
        // A new start also for what the platform knows us by.
        state.session = None;
        drop(state);
        self.probed.notify_waiters();
        let (address, reason) = (self.name.as_str(), why.code());
        let seconds = pause.as_secs_f64();
        // A proxy that stays away is tried again every few seconds, and once is enough to say so.
        if strikes == 1 || why != Reason::Unreachable {
            tracing::warn!(
                address,
                reason,
                seconds,
                "nothing is asked from an address for a while"
            );
        } else {
            tracing::debug!(address, reason, seconds, "an address is still of no use");
        }
        pause
    }

    /// Why it is of no use now, where it is.
    fn trouble(&self, now: Instant) -> Option<Reason> {
        match self.state().standing {
            Standing::Closed { why, until, .. } if until > now => Some(why),
            Standing::Probing { why, .. } => Some(why),
            Standing::Good | Standing::Closed { .. } => None,
        }
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

/// How carefully an address is used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Care {
    pub(crate) requests: Option<Pace>,
    pub(crate) translations: Option<Pace>,
    /// How long nothing is asked once it fails again and again.
    pub(crate) failures: Pauses,
    /// How long nothing is asked after a block.
    pub(crate) pause: Duration,
}

/// The addresses that transcripts are asked for from, and how many of them are of no use now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// How many there are: one for each proxy, or this machine's own.
    pub all: usize,
    /// Those that the platform blocks or limits.
    pub blocked: usize,
    /// Proxies that cannot be reached.
    pub unreachable: usize,
}

/// All addresses, used in turn.
pub(crate) struct Egresses {
    all: Vec<Egress>,
    next: AtomicUsize,
    /// Wakes requests that wait for the end of a probe.
    pub(crate) probed: Arc<Notify>,
}

/// Why no address can be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    /// Of the address that can be tried first, and when that is.
    pub(crate) why: Reason,
    pub(crate) wait: Duration,
    /// When the first address whose pause is over has its turn.
    pub(crate) turn: Option<Duration>,
    /// Whether a probe is under way: its end may open an address at any time.
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

    /// Whether nothing of this kind can be had from any of them, because the platform or the way to it
    /// fails.
    pub(crate) fn are_failing(&self, load: Load, now: Instant) -> bool {
        let is_failing = |egress: &Egress| egress.fails(load, now).is_some();
        let is_of_use = |egress: &Egress| !is_failing(egress) && egress.trouble(now).is_none();
        self.all.iter().any(is_failing) && !self.all.iter().any(is_of_use)
    }

    /// Adds the resources that are held at this moment.
    pub(crate) fn held(&self, held: &mut Held) {
        for egress in &self.all {
            held.turns += egress.pacer.held() + egress.translations.held();
            held.sessions += usize::from(egress.renewing.try_lock().is_err());
            held.probes += usize::from(egress.is_probed());
        }
    }

    /// Of each, by number.
    pub(crate) fn breakers(&self) -> impl Iterator<Item = &Breaker> {
        self.all.iter().flat_map(|egress| [&*egress.player, &*egress.timedtext])
    }

    /// Why each is turned away, where it is, by number.
    pub(crate) fn troubles(&self, now: Instant) -> impl Iterator<Item = Option<Reason>> {
        self.all.iter().map(move |egress| egress.trouble(now))
    }

    pub(crate) fn report(&self, now: Instant) -> Addresses {
        let mut report = Addresses { all: self.count(), blocked: 0, unreachable: 0 };
        for trouble in self.troubles(now).flatten() {
            match trouble {
                Reason::Unreachable => report.unreachable += 1,
                _ => report.blocked += 1,
            }
        }
        report
    }

    /// The address that the platform does not block and that has its turn first, of equals the next in turn.
    /// For errands that end with this kind of request: a player whose captions cannot be had is not asked.
    /// Those that were `tried` are left out.
    pub(crate) fn choose(
        &self,
        load: Load,
        tried: &[usize],
        now: Instant,
    ) -> Result<InUse<'_>, Closed> {
        let (before, after) =
            self.all.split_at(self.next.fetch_add(1, Ordering::Relaxed) % self.count());
        let is_untried = |egress: &&Egress| !tried.contains(&egress.number);
        let mut in_turn: Vec<&Egress> = after.iter().chain(before).filter(is_untried).collect();
        // Stable, so that equals stay in turn.
        in_turn.sort_by_cached_key(|egress| egress.pacer.wait(now));
        let mut refusals = Vec::with_capacity(self.count());
        for egress in in_turn {
            match egress.admits(load, now) {
                Ok(probe) => return Ok(InUse { egress, probe }),
                Err(refusal) => refusals.push(refusal),
            }
        }
        let turns = refusals.iter().filter(|(why, _)| *why == Reason::Paced);
        let turn = turns.map(|(_, wait)| *wait).min();
        let soonest = refusals.into_iter().min_by_key(|(_, wait)| *wait);
        let (why, wait) = soonest.unwrap_or((Reason::Blocked, Duration::MAX));
        let is_probed = self.all.iter().any(Egress::is_probed);
        Err(Closed { why, wait, turn, is_probed })
    }
}

/// An address while a request uses it.
pub(crate) struct InUse<'a> {
    egress: &'a Egress,
    /// Its number, where this request is the one that finds out if a pause is over.
    probe: Option<u64>,
}

impl InUse<'_> {
    /// Whether the address still waits for what this request finds out.
    fn is_probing(&self, state: &State) -> bool {
        matches!(state.standing, Standing::Probing { probe, .. } if self.probe == Some(probe))
    }

    /// The platform answered as it should.
    pub(crate) fn trusted(&self) {
        let mut state = self.egress.state();
        // A request that was sent earlier may have met a newer block meanwhile.
        if self.is_probing(&state) {
            state.standing = Standing::Good;
            self.egress.probed.notify_waiters();
            tracing::info!(address = self.egress.name, "an address is of use again");
        }
    }

    /// The platform turned against this address: how long nothing is asked from it.
    pub(crate) fn blocked(&self, why: Reason, asked: Option<Duration>, now: Instant) -> Duration {
        let usual = self.egress.pause;
        let pause = |strikes: u32| {
            let ours = usual.saturating_mul(strikes).min(LONGEST_PAUSE.max(usual));
            ours.max(asked.unwrap_or_default().min(LONGEST_PAUSE))
        };
        self.egress.close(why, pause, now)
    }

    /// There was no way through: the proxy is down.
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
    /// A request that was finding out ended without finding out, perhaps because its caller went
    /// away: the next one may.
    fn drop(&mut self) {
        let mut state = self.egress.state();
        if let Standing::Probing { why, strikes, probe } = state.standing
            && self.probe == Some(probe)
        {
            state.standing = Standing::Closed { why, strikes, until: Instant::now() };
            self.egress.probed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
