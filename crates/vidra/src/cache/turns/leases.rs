//! The leases of the fetches of this machine: they are taken, renewed, released and counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::step::Taken;
use crate::resilience::breaker::{Breaker, BreakerPolicy};
use crate::store::{FencingToken, Leases, StoreError};

/// The time after which the lease of a machine that died expires.
const LEASE: Duration = Duration::from_secs(2);
/// How often a machine renews its leases.
const RENEW_EVERY: Duration = Duration::from_millis(600);
/// The longest time that a lease lasts beyond the fetch, for the write of the record.
const WRITE_TIME: Duration = Duration::from_secs(1);
/// The time limit of a release and of an announcement. Nobody waits for them.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// While the leases do not work, fetches must not wait for them.
const BREAKER: BreakerPolicy = BreakerPolicy {
    failures: 5,
    first_pause: Duration::from_secs(1),
    longest_pause: Duration::from_secs(10),
};

/// The leases of fetches that several machines share.
pub(crate) struct SharedFetches {
    pub(super) leases: Arc<dyn Leases>,
    /// How long a fetch waits for an answer about its lease.
    timeout: Duration,
    breaker: Arc<Breaker>,
    /// The keys whose leases this process holds, and how often. It must not wait for itself.
    held: Mutex<HashMap<String, usize>>,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) fetched: AtomicU64,
    pub(super) waited: AtomicU64,
    pub(super) taken_over: AtomicU64,
    pub(super) alone: AtomicU64,
}

/// How this machine shared its fetches with others so far. Each uncached record counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchSharing {
    /// Records that this machine fetched for all.
    pub fetched: u64,
    /// Records that another machine fetched.
    pub waited: u64,
    /// Fetches that this machine took over from another one. They count as fetched too.
    pub taken_over: u64,
    /// Records that this machine fetched without a lease, because there was no answer in time or another machine was too
    /// slow.
    pub alone: u64,
}

impl SharedFetches {
    pub(crate) fn new(leases: Arc<dyn Leases>, timeout: Duration) -> Self {
        // Not logged: the store behind it logs that it does not answer.
        let breaker = Arc::new(Breaker::unlogged(BREAKER, Instant::now()));
        Self { leases, timeout, breaker, held: Mutex::default(), counts: Counts::default() }
    }

    pub(crate) fn report(&self) -> FetchSharing {
        let Counts { fetched, waited, taken_over, alone } = &self.counts;
        let [fetched, waited, taken_over, alone] =
            [fetched, waited, taken_over, alone].map(|count| count.load(Ordering::Relaxed));
        FetchSharing { fetched, waited, taken_over, alone }
    }

    /// Tries to take the leases of these keys.
    pub(super) async fn take(&self, keys: &[String]) -> Vec<Taken> {
        let Ok(pass) = self.breaker.admit(Instant::now()) else {
            return vec![Taken::Unknown; keys.len()];
        };
        let take = keys.iter().map(|key| timeout(self.timeout, self.leases.take(key, LEASE)));
        let answers = join_all(take).await;
        pass.record(Some(answers.iter().any(|answer| !matches!(answer, Ok(Ok(_))))));
        let taken = answers.into_iter().map(|answer| match answer {
            Ok(Ok(Some(fence))) => Taken::Ours(fence),
            Ok(Ok(None)) => Taken::ByAnother,
            Ok(Err(_)) | Err(_) => Taken::Unknown,
        });
        taken.collect()
    }

    /// Holds leases that were requested at `begun`, and renews them for `longest`.
    pub(super) fn hold(
        self: &Arc<Self>,
        leases: Vec<(String, FencingToken)>,
        begun: Instant,
        longest: Duration,
    ) -> Turn {
        let mut all_held = self.held();
        for (key, _) in &leases {
            *all_held.entry(key.clone()).or_default() += 1;
        }
        drop(all_held);
        let (shared, mut current) = (Arc::clone(self), leases.clone());
        let renewing = tokio::spawn(async move {
            // The leases run since the request, and its answer can be late.
            let mut due = begun + RENEW_EVERY;
            while !current.is_empty() && Instant::now() < begun + longest {
                sleep_until(due).await;
                shared.renew(&mut current).await;
                due = Instant::now() + RENEW_EVERY;
            }
        });
        let leases = leases.into_iter().map(|(key, fence)| (key, Some(fence))).collect();
        Turn { shared: Arc::clone(self), leases, renewing }
    }

    pub(super) fn holds(&self, key: &str) -> bool {
        self.held().contains_key(key)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Renews leases, and removes those that have ended. A lease that is lost costs one more fetch of another machine.
    async fn renew(&self, leases: &mut Vec<(String, FencingToken)>) {
        let renewals = leases.iter().map(|(key, fence)| self.leases.renew(key, *fence, LEASE));
        let Ok(renewed) = timeout(RENEW_EVERY, join_all(renewals)).await else { return };
        let mut renewed = renewed.into_iter();
        leases.retain(|_| !matches!(renewed.next(), Some(Ok(false))));
    }

    /// Ends the turns of these keys.
    fn end(self: &Arc<Self>, leases: Vec<(String, Option<FencingToken>)>) {
        if leases.is_empty() {
            return;
        }
        let mut held = self.held();
        for (key, _) in leases.iter().filter(|(_, lease)| lease.is_some()) {
            if let Entry::Occupied(mut count) = held.entry(key.clone()) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        drop(held);
        // Outside a runtime the leases expire.
        if let Ok(runtime) = Handle::try_current() {
            let shared = Arc::clone(self);
            runtime.spawn(async move { shared.release(leases).await });
        }
    }

    /// Releases leases, and announces the end of all fetches. A fetch without a lease is announced too: the answer about its
    /// lease may be lost, and another machine may wait for it.
    async fn release(&self, held: Vec<(String, Option<FencingToken>)>) {
        let Ok(pass) = self.breaker.admit(Instant::now()) else { return };
        let release = async {
            let leases = held.iter().filter_map(|(key, fence)| Some((key, (*fence)?)));
            let released =
                join_all(leases.map(|(key, fence)| self.leases.release(key, fence))).await;
            let keys: Vec<String> = held.iter().map(|(key, _)| key.clone()).collect();
            // Without the announcement the others poll.
            let _ = self.leases.announce(&keys).await;
            released.into_iter().collect::<std::result::Result<(), StoreError>>()
        };
        let released = timeout(RELEASE_TIMEOUT, release).await;
        pass.record(Some(!matches!(released, Ok(Ok(())))));
    }
}

/// The turn of this machine to fetch some records. It ends when it is dropped.
pub(crate) struct Turn {
    shared: Arc<SharedFetches>,
    pub(super) leases: Vec<(String, Option<FencingToken>)>,
    renewing: JoinHandle<()>,
}

impl Turn {
    /// Ends the turns of these keys, which need no fetch.
    pub(super) fn end_unused(&mut self, unused: &[String]) {
        let ended = self.leases.extract_if(.., |(key, _)| unused.contains(key)).collect();
        self.shared.end(ended);
    }

    /// Ends the turn when the records are written.
    pub(crate) fn end_after(self, written: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(async move {
            let _ = timeout(WRITE_TIME, written).await;
            drop(self);
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.renewing.abort();
        self.shared.end(std::mem::take(&mut self.leases));
    }
}
