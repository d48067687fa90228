//! Rate limits that several machines share. Each machine decides by its own meters, which are exchanged in the background,
//! so that no request waits for another server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use vidra::store::{RatePool, RateUse, StoreError};

use super::rate::{MAX_ADDRESSES, Meters, Rate, nanoseconds};

/// The time between two exchanges of a busy machine. Meanwhile the machines can admit more than the limit together.
const EXCHANGE_EVERY: Duration = Duration::from_millis(100);
/// The number of callers in one exchange. The others follow with the next one.
const AT_ONCE: usize = 500;
/// The time limit of an exchange.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a machine reports that it is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(1);

/// The exchange of meters with other machines.
pub(super) struct SharedRates {
    pool: Arc<dyn RatePool>,
    /// The identity of this process.
    id: String,
    /// The meters with requests that other machines do not know, the oldest first: at most [`MAX_ADDRESSES`].
    changed: Mutex<VecDeque<Changed>>,
    has_changed: Notify,
    /// The weight of one request: 1 while the exchange works, and the number of machines while it does not. So each machine
    /// then admits its share of the limit.
    weight: AtomicU32,
    exchanging: Once,
    /// The runtime in which this value was made, if there was one. Connections may have another runtime.
    runtime: Option<Handle>,
}

struct Changed {
    meters: Arc<Meters>,
    rate: Rate,
    opened: Instant,
}

impl SharedRates {
    pub(super) fn new(pool: Arc<dyn RatePool>) -> Arc<Self> {
        Arc::new(Self {
            pool,
            id: format!("{:016x}", fastrand::u64(..)),
            changed: Mutex::default(),
            has_changed: Notify::new(),
            weight: AtomicU32::new(1),
            exchanging: Once::new(),
            runtime: Handle::try_current().ok(),
        })
    }

    pub(super) fn weight(&self) -> u32 {
        self.weight.load(Ordering::Relaxed)
    }

    /// Notes requests of a caller for the next exchange.
    pub(super) fn add(
        self: &Arc<Self>,
        meters: &Arc<Meters>,
        rate: Rate,
        requests: i64,
        opened: Instant,
    ) {
        let interval = i64::try_from(rate.interval().as_nanos()).unwrap_or(i64::MAX);
        if meters.add_unsent(interval.saturating_mul(requests)) {
            let mut queue = self.lock();
            if queue.len() >= MAX_ADDRESSES
                && let Some(oldest) = queue.pop_front()
            {
                // The next request queues the meter again. The own meters have counted these.
                oldest.meters.take_unsent();
            }
            queue.push_back(Changed { meters: Arc::clone(meters), rate, opened });
            drop(queue);
            self.has_changed.notify_one();
        }
        self.exchanging.call_once(|| {
            let exchange = run(Arc::downgrade(self));
            match &self.runtime {
                Some(runtime) => drop(runtime.spawn(exchange)),
                None => drop(tokio::spawn(exchange)),
            }
        });
    }

    /// Exchanges the meters that changed. `None` if there are none.
    async fn exchange(&self) -> Option<Result<(), StoreError>> {
        let changed = {
            let mut queue = self.lock();
            let count = queue.len().min(AT_ONCE);
            queue.drain(..count).collect::<Vec<_>>()
        };
        let sent = changed.into_iter().map(|it| (it.meters.take_unsent(), it));
        // Requests that turned out to be free cancel out.
        let (sent, changed): (Vec<i64>, Vec<Changed>) = sent.filter(|(sent, _)| *sent != 0).unzip();
        if changed.is_empty() {
            return None;
        }
        let used = changed.iter().zip(&sent).map(|(Changed { meters, rate, .. }, sent)| RateUse {
            caller: meters.caller.clone(),
            added: sent / 1_000,
            highest: rate.highest_shared(),
        });
        let used: Vec<RateUse> = used.collect();
        let answer = timeout(EXCHANGE_TIMEOUT, self.pool.exchange(&used)).await;
        let meters = match answer.unwrap_or(Err(StoreError::TimedOut)) {
            Ok(meters) => meters,
            // They are not sent again: some may have been counted, and the own meters have all of them.
            Err(error) => return Some(Err(error)),
        };
        for (changed, ahead) in changed.iter().zip(meters) {
            changed.meters.set_work(ahead, nanoseconds(changed.opened));
        }
        Some(Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Changed>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Exchanges meters as long as the gate lives.
async fn run(shared: Weak<SharedRates>) {
    let (mut machines, mut alive_at) = (1, None::<Instant>);
    let mut is_failing = false;
    while let Some(shared) = shared.upgrade() {
        if alive_at.is_none_or(|at| at.elapsed() >= ALIVE_EVERY)
            && let Ok(Ok(seen)) = timeout(EXCHANGE_TIMEOUT, shared.pool.machines(&shared.id)).await
        {
            (machines, alive_at) = (seen.max(1), Some(Instant::now()));
        }
        match (shared.exchange().await, is_failing) {
            (Some(Err(error)), false) => {
                is_failing = true;
                tracing::warn!(%error, machines, "rate limit exchange failed");
            }
            (Some(Ok(())), true) => {
                is_failing = false;
                tracing::info!("rate limit exchange recovered");
            }
            _ => {}
        }
        shared.weight.store(if is_failing { machines } else { 1 }, Ordering::Relaxed);
        sleep(EXCHANGE_EVERY).await;
        let is_more_queued = !shared.lock().is_empty();
        if !is_failing && !is_more_queued {
            let _ = timeout(ALIVE_EVERY, shared.has_changed.notified()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use vidra::store::BoxFuture;

    use super::super::rate::CallerRate;
    use super::*;

    /// Meters in memory, for machines of one process.
    #[derive(Debug, Default)]
    struct PoolDouble(Mutex<Double>);

    #[derive(Debug, Default)]
    struct Double {
        full_at: HashMap<String, Instant>,
        machines: Vec<String>,
        is_down: bool,
    }

    impl PoolDouble {
        fn with<T>(&self, work: impl FnOnce(&mut Double) -> T) -> Result<T, StoreError> {
            let mut double = self.0.lock().unwrap();
            if double.is_down { Err(StoreError::TimedOut) } else { Ok(work(&mut double)) }
        }
    }

    impl RatePool for PoolDouble {
        fn exchange<'a>(
            &'a self,
            used: &'a [RateUse],
        ) -> BoxFuture<'a, Result<Vec<Duration>, StoreError>> {
            let now = Instant::now();
            let exchanged = self.with(|double| {
                let exchange = |RateUse { caller, added, highest }: &RateUse| {
                    let full_at = double.full_at.entry(caller.clone()).or_insert(now);
                    let ahead = full_at.saturating_duration_since(now).as_micros() as i64 + added;
                    let ahead = Duration::from_micros(ahead.max(0) as u64).min(*highest);
                    *full_at = now + ahead;
                    ahead
                };
                used.iter().map(exchange).collect()
            });
            Box::pin(async move { exchanged })
        }

        fn machines<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>> {
            let machines = self.with(|double| {
                if !double.machines.iter().any(|known| known == id) {
                    double.machines.push(id.to_owned());
                }
                double.machines.len() as u32
            });
            Box::pin(async move { machines })
        }
    }

    fn machines(pool: &Arc<PoolDouble>, count: usize) -> Vec<CallerRate> {
        let machine = || CallerRate {
            meters: Meters::new("alice".to_owned()),
            rate: "10/s".parse().unwrap(),
            opened: Instant::now(),
            shared: Some(SharedRates::new(Arc::clone(pool) as Arc<dyn RatePool>)),
        };
        (0..count).map(|_| machine()).collect()
    }

    /// Sends 50 requests a second to each machine, and returns how many they admit.
    async fn send(machines: &[CallerRate], seconds: u32) -> usize {
        let mut admitted = 0;
        for _ in 0..50 * seconds {
            admitted += machines.iter().filter(|it| it.count().wait.is_none()).count();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        admitted
    }

    #[tokio::test(start_paused = true)]
    async fn machines_admit_one_rate_together() {
        let machines = machines(&Arc::default(), 3);
        let admitted = send(&machines, 20).await;
        // The burst of 10, 10 a second for 20 seconds, and what the machines admit before they know of each other.
        assert!((200..=240).contains(&admitted), "{admitted}");
        // A request that turns out to be free is free for all machines.
        tokio::time::sleep(Duration::from_secs(5)).await;
        for _ in 0..5 {
            assert_eq!(machines[0].count().wait, None);
            machines[0].give_back();
            tokio::time::sleep(EXCHANGE_EVERY).await;
        }
        machines[1].count();
        tokio::time::sleep(2 * EXCHANGE_EVERY).await;
        assert!(machines[1].status().remaining >= 9);
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_exchange_each_machine_admits_its_share() {
        let pool = Arc::<PoolDouble>::default();
        let machines = machines(&pool, 2);
        // Both know of each other after the next report.
        send(&machines, ALIVE_EVERY.as_secs() as u32 + 1).await;
        pool.0.lock().unwrap().is_down = true;
        send(&machines, 3).await;
        let admitted = send(&machines, 20).await;
        assert!((190..=210).contains(&admitted), "{admitted}: 10 a second together");
        pool.0.lock().unwrap().is_down = false;
        send(&machines, 3).await;
        assert!(machines.iter().all(|it| it.shared.as_ref().unwrap().weight() == 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_within_its_limit_is_not_refused_after_an_outage() {
        let pool = Arc::<PoolDouble>::default();
        let machines = machines(&pool, 2);
        for second in 0..60 {
            pool.0.lock().unwrap().is_down = (10..50).contains(&second);
            // 5 a second over two machines, of 10.
            for number in 0..5 {
                let status = machines[number % 2].count();
                assert_eq!(status.wait, None, "second {second}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }

    /// A pool that never answers.
    #[derive(Debug)]
    struct HangingPool;

    impl RatePool for HangingPool {
        fn exchange<'a>(
            &'a self,
            _used: &'a [RateUse],
        ) -> BoxFuture<'a, Result<Vec<Duration>, StoreError>> {
            Box::pin(std::future::pending())
        }

        fn machines<'a>(&'a self, _id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_while_the_exchange_hangs() {
        let shared = SharedRates::new(Arc::new(HangingPool));
        let caller = |number: usize| CallerRate {
            meters: Meters::new(number.to_string()),
            rate: "10/s".parse().unwrap(),
            opened: Instant::now(),
            shared: Some(Arc::clone(&shared)),
        };
        let first = caller(0);
        first.count();
        for number in 1..=MAX_ADDRESSES {
            caller(number).count();
        }
        assert_eq!(shared.lock().len(), MAX_ADDRESSES);
        // The first one was dropped, and is queued with its next request.
        first.count();
        let queue = shared.lock();
        assert_eq!(queue.len(), MAX_ADDRESSES);
        assert!(Arc::ptr_eq(&queue.back().unwrap().meters, &first.meters));
    }

    #[tokio::test(start_paused = true)]
    async fn free_requests_are_not_exchanged() {
        let pool = Arc::<PoolDouble>::default();
        let machines = machines(&pool, 1);
        for _ in 0..50 {
            machines[0].count();
            machines[0].give_back();
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(pool.0.lock().unwrap().full_at.is_empty());
        assert!(machines[0].shared.as_ref().unwrap().lock().is_empty());
    }
}
