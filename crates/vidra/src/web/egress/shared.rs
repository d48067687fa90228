//! The pace and the blocks of egress addresses that several machines share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Egress;
use super::pool::Egresses;
use super::saved::EgressState;
use crate::error::Result;
use crate::resilience::pace::{Pacer, Permit};
use crate::transport::BoxFuture;

/// How often a machine that fetches transcripts reads the blocks of the others, besides notifications.
const EXCHANGE_EVERY: Duration = Duration::from_secs(1);

/// A shared block that ends later than our own by less than this is the same one: clocks differ.
const SAME_BLOCK: Duration = Duration::from_secs(1);

/// The state of egress addresses that several machines share.
pub trait EgressPool: fmt::Debug + Send + Sync + 'static {
    /// Takes a permit of the shared rate limit, if there is one.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn take<'a>(&'a self, wanted: &'a WantedPermit) -> BoxFuture<'a, Result<TakenPermit>>;

    /// Reports the blocks of this machine's addresses, and returns those of all machines. It never shortens a block. The
    /// permits in `own` were taken while the pool did not answer.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn exchange<'a>(&'a self, own: &'a [EgressState]) -> BoxFuture<'a, Result<Vec<EgressState>>>;

    /// The number of machines that fetched transcripts from the same address within a minute, by the last exchange.
    fn machines(&self) -> u32;

    /// Waits until another machine reports a block. `seen` is the state of the caller, and begins with zero.
    fn changed<'a>(&'a self, seen: &'a mut u64) -> BoxFuture<'a, ()>;
}

/// A request for a permit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedPermit {
    /// The identity of the address.
    pub address: String,
    /// Whether it is for a translation, which has a rate limit of its own.
    pub is_translation: bool,
    /// The time that one permit adds.
    pub interval: Duration,
    /// The time for which the whole burst lasts.
    pub capacity: Duration,
}

/// The answer to [`EgressPool::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenPermit {
    /// Whether there was a permit.
    pub is_taken: bool,
    /// How far the permits of all machines are ahead of the steady rate.
    pub ahead: Duration,
}

impl Egress {
    /// Takes the permit of the shared rate limit that belongs to `permit`. `None` if other machines have used it up; the
    /// rate limiter of this machine then knows how long to wait. While the pool does not answer, each machine uses its
    /// share of the rate limit.
    pub(crate) async fn shared_permit<'p>(
        &self,
        pool: &dyn EgressPool,
        pacer: &Pacer,
        permit: Permit<'p>,
        is_translation: bool,
    ) -> Option<Permit<'p>> {
        let Some(bucket) = pacer.bucket() else { return Some(permit) };
        let wanted = WantedPermit {
            address: self.identity.clone(),
            is_translation,
            interval: bucket.interval(),
            capacity: bucket.capacity(),
        };
        let Ok(TakenPermit { is_taken, ahead }) = pool.take(&wanted).await else {
            self.is_unreported.store(true, Ordering::Relaxed);
            pacer.spend_more(pool.machines().saturating_sub(1), Instant::now());
            return Some(permit);
        };
        let permit = is_taken.then_some(permit);
        pacer.restore(ahead, Instant::now());
        permit
    }

    /// Whether a shared block is news for this address.
    fn is_news(&self, state: &EgressState, now: Instant) -> bool {
        let own = self.state();
        let is_longer = |shared: Duration, own: Duration| shared > own + SAME_BLOCK;
        let own_block = own.circuit.pause(now).map_or(Duration::ZERO, |(_, left)| left);
        let until = own.no_translations_until.map(|until| until.saturating_duration_since(now));
        state.blocked.is_some_and(|block| is_longer(block.left, own_block))
            || state.no_translations.is_some_and(|left| is_longer(left, until.unwrap_or_default()))
    }
}

impl Egresses {
    /// Exchanges blocks with the pool: at once after a change here or there, and every second. It ends with the addresses.
    pub(crate) fn share(self: &Arc<Self>, pool: Arc<dyn EgressPool>) {
        let (egresses, mut changes) = (Arc::downgrade(self), self.signals.changes.subscribe());
        tokio::spawn(async move {
            let mut seen = 0;
            while let Some(egresses) = egresses.upgrade() {
                // A failure is repeated after the next pause.
                let _ = egresses.exchange(&*pool).await;
                drop(egresses);
                tokio::select! {
                    biased;
                    changed = changes.changed() => if changed.is_err() { return },
                    () = pool.changed(&mut seen) => {}
                    () = sleep(EXCHANGE_EVERY) => {}
                }
            }
        });
    }

    /// Reports the blocks of this machine, and takes over longer ones of the others.
    pub(crate) async fn exchange(&self, pool: &dyn EgressPool) -> Result<()> {
        let mut own = self.states(Instant::now());
        let unreported: Vec<&Egress> =
            self.all.iter().filter(|it| it.is_unreported.swap(false, Ordering::Relaxed)).collect();
        for state in &mut own {
            if !unreported.iter().any(|egress| egress.identity == state.address) {
                // The pool knows it.
                (state.spent, state.translations_spent) = (Duration::ZERO, Duration::ZERO);
            }
        }
        let states = pool.exchange(&own).await.inspect_err(|_| {
            unreported.iter().for_each(|it| it.is_unreported.store(true, Ordering::Relaxed));
        })?;
        let now = Instant::now();
        let mut is_changed = false;
        for egress in &self.all {
            let of_address = states.iter().filter(|state| state.address == egress.identity);
            for state in of_address.filter(|state| egress.is_news(state, now)) {
                egress.restore(state, now);
                is_changed = true;
                tracing::warn!(address = egress.name, "egress address paused by another machine");
            }
        }
        if is_changed {
            // Requests that wait for the end of a probe have to look again.
            self.signals.probed.notify_waiters();
        }
        Ok(())
    }
}
