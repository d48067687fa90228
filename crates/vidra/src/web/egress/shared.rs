//! The pace and the blocks of egress addresses that several machines share.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::Egress;
use super::pool::Egresses;
use super::saved::EgressState;
use crate::error::{Error, Result};
use crate::resilience::pace::{Pacer, Permit};
use crate::transport::BoxFuture;

/// How often a machine that fetches transcripts reads the blocks of the others, besides notifications.
const EXCHANGE_EVERY: Duration = Duration::from_secs(1);

/// A shared block that ends later than our own by less than this is the same one: clocks differ.
const SAME_BLOCK: Duration = Duration::from_secs(1);

/// The number of concurrent calls about permits. They wait for each other at the row of their address, and must leave
/// connections of the database to the quota.
const CALLS: usize = 4;

/// The state of egress addresses that several machines share.
pub trait EgressPool: fmt::Debug + Send + Sync + 'static {
    /// Takes a permit of the shared rate limit, if there is one.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn take<'a>(&'a self, wanted: &'a WantedPermit) -> BoxFuture<'a, Result<TakenPermit>>;

    /// Returns a permit that was taken, but not used. It is not repeated after a failure, because it has an effect each
    /// time.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    fn give_back<'a>(&'a self, unused: &'a WantedPermit) -> BoxFuture<'a, Result<()>>;

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

/// The pool of a client whose addresses are shared.
pub(crate) struct SharedEgress {
    pub(crate) pool: Arc<dyn EgressPool>,
    /// Whether blocks are exchanged, which begins with the first request because it needs a runtime.
    exchanging: Once,
    calls: Arc<Semaphore>,
}

impl SharedEgress {
    pub(crate) fn new(pool: Arc<dyn EgressPool>) -> Self {
        Self { pool, exchanging: Once::new(), calls: Arc::new(Semaphore::new(CALLS)) }
    }

    /// Begins to exchange the blocks of these addresses, unless it has begun.
    pub(crate) fn exchange(&self, egresses: &Arc<Egresses>) {
        self.exchanging.call_once(|| egresses.share(Arc::clone(&self.pool)));
    }

    /// Takes a permit, if there is one, and returns how far the permits of all machines are ahead of the steady rate. If
    /// the caller leaves after the call has begun, the call still ends, so that its permit is returned.
    async fn take(
        self: &Arc<Self>,
        wanted: WantedPermit,
    ) -> Result<(Option<SharedPermit>, Duration)> {
        let call = Arc::clone(&self.calls).acquire_owned().await.map_err(Error::internal)?;
        let shared = Arc::clone(self);
        let taking = tokio::spawn(async move {
            let _call = call;
            let TakenPermit { is_taken, ahead } = shared.pool.take(&wanted).await?;
            let permit = is_taken.then(|| SharedPermit { shared, wanted, is_used: false });
            Ok((permit, ahead))
        });
        taking.await.map_err(Error::internal)?
    }
}

/// A permit of the shared rate limit. It is returned if it is dropped before it is used.
struct SharedPermit {
    shared: Arc<SharedEgress>,
    wanted: WantedPermit,
    is_used: bool,
}

impl Drop for SharedPermit {
    fn drop(&mut self) {
        if self.is_used {
            return;
        }
        // Outside a runtime, or while the pool does not answer, it counts as used.
        if let Ok(runtime) = Handle::try_current() {
            let (shared, wanted) = (Arc::clone(&self.shared), self.wanted.clone());
            runtime.spawn(async move {
                let _call = shared.calls.acquire().await;
                let _ = shared.pool.give_back(&wanted).await;
            });
        }
    }
}

/// The permits to send one request: of the rate limit of this machine, and of the shared one if its pool answered. They
/// are returned if they are dropped before [`Permits::used`].
pub(crate) struct Permits<'p> {
    own: Permit<'p>,
    shared: Option<SharedPermit>,
}

impl<'p> Permits<'p> {
    /// A permit of this machine alone.
    pub(crate) fn own(own: Permit<'p>) -> Self {
        Self { own, shared: None }
    }

    /// Marks the permits as used, because the request is being sent.
    pub(crate) fn used(self) {
        self.own.used();
        if let Some(mut shared) = self.shared {
            shared.is_used = true;
        }
    }
}

impl Egress {
    /// Takes the permit of the shared rate limit that belongs to `own`. `None` if other machines have used it up; the
    /// rate limiter of this machine then knows how long to wait. While the pool does not answer, each machine uses its
    /// share of the rate limit.
    pub(crate) async fn shared_permit<'p>(
        &self,
        shared: &Arc<SharedEgress>,
        pacer: &Pacer,
        own: Permit<'p>,
        is_translation: bool,
    ) -> Option<Permits<'p>> {
        let Some(bucket) = pacer.bucket() else { return Some(Permits::own(own)) };
        let wanted = WantedPermit {
            address: self.identity.clone(),
            is_translation,
            interval: bucket.interval(),
            capacity: bucket.capacity(),
        };
        let Ok((taken, ahead)) = shared.take(wanted).await else {
            self.is_unreported.store(true, Ordering::Release);
            pacer.spend_more(shared.pool.machines().saturating_sub(1), Instant::now());
            return Some(Permits::own(own));
        };
        let permits = taken.map(|taken| Permits { own, shared: Some(taken) });
        pacer.restore(ahead, Instant::now());
        permits
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
        // Before the states are read: a permit that is taken after that is reported by the next exchange.
        let unreported: Vec<&Egress> =
            self.all.iter().filter(|it| it.is_unreported.swap(false, Ordering::Acquire)).collect();
        let mut own = self.states(Instant::now());
        for state in &mut own {
            if !unreported.iter().any(|egress| egress.identity == state.address) {
                // The pool knows it.
                (state.spent, state.translations_spent) = (Duration::ZERO, Duration::ZERO);
            }
        }
        let states = pool.exchange(&own).await.inspect_err(|_| {
            unreported.iter().for_each(|it| it.is_unreported.store(true, Ordering::Release));
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

#[cfg(test)]
mod tests;
