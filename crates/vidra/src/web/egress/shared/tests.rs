use std::future::{pending, ready};
use std::sync::Mutex;
use std::thread;

use futures_util::FutureExt;

use super::super::tests::egresses;
use super::*;
use crate::error::Reason;
use crate::resilience::pace::PermitUrgency;

const HOUR: Duration = Duration::from_secs(3600);

#[cfg(feature = "postgres")]
#[tokio::test]
async fn takes_that_wait_for_another_machine_leave_connections_for_the_quota() {
    use futures_util::future::join_all;
    use tokio_postgres::NoTls;

    use crate::database::testing::TestDatabase;
    use crate::quota::{Bucket, PostgresPool, QuotaPool, WantedGrant};
    use crate::web::egress::postgres::PostgresEgress;

    let Some(database) = TestDatabase::new() else { return };
    let shared = database.connect().await;
    let egress = Arc::new(SharedEgress::new(Arc::new(PostgresEgress::new(shared.clone()))));
    let wanted = WantedPermit {
        address: "direct".to_owned(),
        is_translation: false,
        interval: HOUR,
        capacity: 100 * HOUR,
    };
    egress.take(wanted.clone()).await.unwrap();
    let (other, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    other.batch_execute("BEGIN; SELECT FROM vidra.egress_paces FOR UPDATE").await.unwrap();
    let take = |_| {
        let (egress, wanted) = (Arc::clone(&egress), wanted.clone());
        tokio::spawn(async move { egress.take(wanted).await })
    };
    let takes: Vec<_> = (0..20).map(take).collect();
    let waiting = async || {
        // Otherwise the transaction sees the sessions that its first query saw.
        other.batch_execute("SELECT pg_stat_clear_snapshot()").await.unwrap();
        let sql = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        other.query_one(sql, &[]).await.unwrap().get::<_, i64>(0)
    };
    while waiting().await == 0 {}
    let (key, date) = (String::new(), "2026-11-16".to_owned());
    let grant = WantedGrant { id: 1, key, date, bucket: Bucket::Default, units: 1, limit: 100 };
    let granted = PostgresPool(shared.clone()).take(&grant).await;
    other.batch_execute("COMMIT").await.unwrap();
    granted.unwrap();
    join_all(takes).await;
    assert!(!shared.is_failing());
}

/// A pool that grants no permit, as if its database failed, and whose exchanges work.
#[derive(Debug, Default)]
struct FailingPool {
    /// The longest time that an exchange reported as spent.
    reported: Mutex<Duration>,
}

impl EgressPool for FailingPool {
    fn take<'a>(&'a self, _wanted: &'a WantedPermit) -> BoxFuture<'a, Result<TakenPermit>> {
        Box::pin(ready(Err(Error::new(Reason::DatabaseUnavailable, "down"))))
    }

    fn give_back<'a>(&'a self, _unused: &'a WantedPermit) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(Ok(())))
    }

    fn exchange<'a>(&'a self, own: &'a [EgressState]) -> BoxFuture<'a, Result<Vec<EgressState>>> {
        let mut reported = self.reported.lock().unwrap();
        *reported = own.iter().map(|state| state.spent).fold(*reported, Duration::max);
        Box::pin(ready(Ok(vec![])))
    }

    fn machines(&self) -> u32 {
        1
    }

    fn changed<'a>(&'a self, _seen: &'a mut u64) -> BoxFuture<'a, ()> {
        Box::pin(pending())
    }
}

#[test]
fn a_permit_that_is_taken_during_an_exchange_is_reported_by_the_next_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for round in 0..30 {
        let egresses = egresses(2, Instant::now());
        let [first, second] = &egresses.all[..] else { panic!("two addresses") };
        let pool = Arc::new(FailingPool::default());
        let shared = Arc::new(SharedEgress::new(pool.clone()));
        let take = async {
            let deadline = Instant::now() + HOUR;
            let own = first.pacer.acquire(PermitUrgency::Interactive, deadline, |_| {});
            let own = own.await.unwrap();
            first.shared_permit(&shared, &first.pacer, own, false).await.unwrap().used();
        };
        thread::scope(|scope| {
            // The exchange reads the first address, and stops at the second one.
            let lock = second.state();
            scope.spawn(|| egresses.exchange(&*pool).now_or_never().unwrap().unwrap());
            (0..round).for_each(|_| thread::yield_now());
            runtime.block_on(take);
            drop(lock);
        });
        egresses.exchange(&*pool).now_or_never().unwrap().unwrap();
        let (reported, spent) = (*pool.reported.lock().unwrap(), first.pacer.spent(Instant::now()));
        assert!(reported >= spent, "round {round}: {reported:?} of {spent:?}");
    }
}
