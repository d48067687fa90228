//! The addresses we ask from: this machine's own, or one for each proxy. Each has its own pace, its
//! own standing with the platform, and what it has learned from a watch page.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::pace::{Pace, Pacer};
use super::transport::Transport;

/// One address.
pub(crate) struct Egress {
    pub(crate) transport: Arc<dyn Transport>,
    /// Of page and player calls.
    pub(crate) pacer: Pacer,
    /// Of translations, which the platform limits far harder.
    pub(crate) translations: Pacer,
    /// The first pause after a block; each further block in a row adds as much.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    standing: Standing,
    session: Option<(Session, Instant)>,
}

/// How the platform treats an address.
#[derive(Debug, Default)]
enum Standing {
    #[default]
    Good,
    /// Blocked, for the how-manieth time in a row, until when.
    Blocked { strikes: u32, until: Instant },
    /// The pause is over and one request is finding out.
    Probing { strikes: u32 },
}

/// What a watch page yields: it is a megabyte, so it is kept for hours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) key: Option<String>,
    pub(crate) visitor: Option<String>,
}

/// A proxy that is down may be up again soon; until then one request at a time finds out.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(2 * 3600);
const SESSION_LIFE: Duration = Duration::from_secs(4 * 3600);

impl Egress {
    pub(crate) fn new(transport: Arc<dyn Transport>, care: Care, now: Instant) -> Self {
        Self {
            transport,
            pacer: Pacer::new(care.requests, now),
            translations: Pacer::new(care.translations, now),
            pause: care.pause,
            state: Mutex::default(),
        }
    }

    /// Whether it may be used now; a blocked one whose pause is over, by one request at a time.
    fn admits(&self, now: Instant) -> Result<(), Instant> {
        let mut state = self.state();
        match state.standing {
            Standing::Good => Ok(()),
            Standing::Blocked { strikes, until } if until <= now => {
                state.standing = Standing::Probing { strikes };
                Ok(())
            }
            Standing::Blocked { until, .. } => Err(until),
            Standing::Probing { .. } => Err(now + Duration::from_secs(1)),
        }
    }

    /// The platform answered as it should.
    pub(crate) fn trusted(&self) {
        let mut state = self.state();
        if let Standing::Probing { .. } = state.standing {
            state.standing = Standing::Good;
        }
    }

    /// The platform turned against this address: how long nothing is asked from it.
    pub(crate) fn blocked(&self, now: Instant, asked: Option<Duration>) -> Duration {
        let mut state = self.state();
        let strikes = match state.standing {
            // Requests that were under way together are one block, not many.
            Standing::Blocked { until, .. } => return until.saturating_duration_since(now),
            Standing::Good => 1,
            Standing::Probing { strikes } => strikes + 1,
        };
        let pause = (self.pause * strikes).min(LONGEST_PAUSE).max(asked.unwrap_or_default());
        state.standing = Standing::Blocked { strikes, until: now + pause };
        // A new start also for what the platform knows us by.
        state.session = None;
        pause
    }

    /// There was no way through: the proxy is down, or the network is.
    pub(crate) fn unreachable(&self, now: Instant) {
        let mut state = self.state();
        let strikes = match state.standing {
            Standing::Good => 0,
            Standing::Blocked { .. } => return,
            Standing::Probing { strikes } => strikes,
        };
        state.standing = Standing::Blocked { strikes, until: now + UNREACHABLE_PAUSE };
    }

    /// A request that was finding out ended without an answer: the next one may find out.
    pub(crate) fn unknown(&self, now: Instant) {
        let mut state = self.state();
        if let Standing::Probing { strikes } = state.standing {
            state.standing = Standing::Blocked { strikes, until: now };
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
    /// How long nothing is asked after a block.
    pub(crate) pause: Duration,
}

/// All addresses, used in turn.
pub(crate) struct Egresses {
    all: Vec<Egress>,
    next: AtomicUsize,
}

impl Egresses {
    pub(crate) fn new(all: Vec<Egress>) -> Self {
        debug_assert!(!all.is_empty(), "there is always this machine's own address");
        Self { all, next: AtomicUsize::new(0) }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The next address that the platform has nothing against, or when the first of them may be
    /// tried again.
    pub(crate) fn choose(&self, now: Instant) -> Result<&Egress, Duration> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let mut soonest = Duration::MAX;
        for offset in 0..self.all.len() {
            let egress = &self.all[start.wrapping_add(offset) % self.all.len()];
            match egress.admits(now) {
                Ok(()) => return Ok(egress),
                Err(until) => soonest = soonest.min(until.saturating_duration_since(now)),
            }
        }
        Err(soonest)
    }
}
