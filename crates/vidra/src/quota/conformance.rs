//! The tests that every ledger passes, whether its count is in memory, in a file or shared. A shared quota behaves to each of its
//! machines as a ledger of their own would.

use std::sync::Arc;

use super::pool_double::PoolDouble;
use super::*;
use crate::clock::SystemClock;
#[cfg(feature = "postgres")]
use crate::database::testing::TestDatabase;

/// Noon in California.
const NOON: &str = "2026-11-15T20:00:00Z";
const NEXT_DAY: &str = "2026-11-16T20:00:00Z";

/// Machines with one quota, and the function that sets their clock.
struct Machines {
    ledgers: Vec<Arc<Ledger>>,
    set_clock: Box<dyn Fn(&str)>,
}

type Start<'a> = &'a dyn Fn(QuotaLimits) -> Machines;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn limits(default: u32, search: u32) -> QuotaLimits {
    QuotaLimits { default, search: SearchBilling::OwnBucket(search) }
}

/// Charges as a request does.
pub(super) async fn charge(
    ledger: &Arc<Ledger>,
    wanted: Bucket,
    reserve: u32,
    now: Timestamp,
) -> Result<Charge, NoGrant> {
    loop {
        let charged = ledger.run(move |ledger| ledger.charge(wanted, reserve, now)).await.unwrap();
        match charged {
            Ok(charge) => return Ok(charge),
            Err(NotCharged::Spent(spent)) => return Err(NoGrant::Spent(spent)),
            Err(NotCharged::NeedsGrant(needed)) => ledger.take_grant(&needed, now).await?,
        }
    }
}

fn spent(charge: Result<Charge, NoGrant>) -> Spent {
    match charge.unwrap_err() {
        NoGrant::Spent(spent) => spent,
        NoGrant::Unavailable(error) => panic!("{error:?}"),
    }
}

impl Machines {
    /// Charges with one machine after the other until all are refused, and returns the number of charges.
    async fn charge_all(&self, wanted: Bucket, now: Timestamp) -> u32 {
        let mut count = 0;
        loop {
            let before = count;
            for ledger in &self.ledgers {
                match charge(ledger, wanted, 0, now).await {
                    Ok(_) => count += 1,
                    refused => assert_eq!(spent(refused).bucket, ledger.price(wanted).0),
                }
            }
            if count == before {
                return count;
            }
        }
    }

    /// The report of a machine, without units that others hold.
    async fn used(&self, index: usize, now: Timestamp) -> Vec<(u32, u32)> {
        for ledger in &self.ledgers {
            ledger.return_grants().await;
        }
        self.exchange().await;
        let ledger = &self.ledgers[index];
        let quota = ledger.run(move |ledger| ledger.quota(now)).await.unwrap();
        quota.buckets.iter().map(|bucket| (bucket.used, bucket.remaining)).collect()
    }

    /// Exchanges the state, as the task of each machine does every second.
    async fn exchange(&self) {
        for _ in 0..2 {
            for ledger in &self.ledgers {
                ledger.exchange().await.unwrap();
            }
        }
    }
}

async fn check(start: Start<'_>) {
    the_limit_holds_for_each_bucket(start).await;
    a_refund_can_be_spent_again(start).await;
    an_exhausted_bucket_stays_closed_until_midnight(start).await;
    a_reserve_is_left_to_others(start).await;
    searches_can_share_the_default_bucket(start).await;
}

async fn the_limit_holds_for_each_bucket(start: Start<'_>) {
    let (machines, now) = (start(limits(30, 4)), at(NOON));
    assert_eq!(machines.charge_all(Bucket::Default, now).await, 30);
    assert_eq!(machines.charge_all(Bucket::Search, now).await, 4);
    let refused = spent(charge(&machines.ledgers[0], Bucket::Search, 0, now).await);
    // A shared clock goes on.
    let minutes = refused.resets_in.as_secs_f64() / 60.0;
    // A shared quota begins two minutes later.
    let late = if machines.ledgers[0].shared.is_some() { 2.0 } else { 0.0 };
    assert_eq!((refused.bucket, minutes.ceil()), (Bucket::Search, 12.0 * 60.0 + late));
    for index in 0..machines.ledgers.len() {
        assert_eq!(machines.used(index, now).await, [(30, 0), (4, 0)]);
    }
    (machines.set_clock)(NEXT_DAY);
    machines.exchange().await;
    assert_eq!(machines.used(0, at(NEXT_DAY)).await, [(0, 30), (0, 4)]);
    assert_eq!(machines.charge_all(Bucket::Default, at(NEXT_DAY)).await, 30);
}

async fn a_refund_can_be_spent_again(start: Start<'_>) {
    let (machines, now) = (start(limits(3, 1)), at(NOON));
    let ledger = &machines.ledgers[0];
    let charged = charge(ledger, Bucket::Default, 0, now).await.unwrap();
    let refund = move |ledger: &Arc<Ledger>| ledger.refund(&charged, now);
    ledger.run(refund).await.unwrap();
    assert_eq!(machines.used(0, now).await[0], (0, 3));
    assert_eq!(machines.charge_all(Bucket::Default, now).await, 3);
}

async fn an_exhausted_bucket_stays_closed_until_midnight(start: Start<'_>) {
    let (machines, now) = (start(limits(1_000, 100)), at(NOON));
    let charged = charge(&machines.ledgers[0], Bucket::Default, 0, now).await.unwrap();
    let exhaust = move |ledger: &Arc<Ledger>| ledger.exhaust(&charged, None, now);
    machines.ledgers[0].run(exhaust).await.unwrap();
    machines.exchange().await;
    for ledger in &machines.ledgers {
        assert_eq!(spent(charge(ledger, Bucket::Default, 0, now).await).bucket, Bucket::Default);
        charge(ledger, Bucket::Search, 0, now).await.unwrap();
    }
    assert_eq!(machines.used(0, now).await[0], (1, 0));
    (machines.set_clock)(NEXT_DAY);
    machines.exchange().await;
    for ledger in &machines.ledgers {
        charge(ledger, Bucket::Default, 0, at(NEXT_DAY)).await.unwrap();
    }
}

async fn a_reserve_is_left_to_others(start: Start<'_>) {
    let (machines, now) = (start(limits(10, 1)), at(NOON));
    let ledger = &machines.ledgers[0];
    let mut count = 0;
    let refused = loop {
        match charge(ledger, Bucket::Default, 4, now).await {
            Ok(_) => count += 1,
            refused => break spent(refused),
        }
    };
    assert_eq!((count, refused.is_reserved), (6, true));
    assert_eq!(machines.charge_all(Bucket::Default, now).await, 4);
}

async fn searches_can_share_the_default_bucket(start: Start<'_>) {
    let now = at(NOON);
    let machines = start(QuotaLimits { default: 250, search: SearchBilling::Shared(100) });
    assert_eq!(charge(&machines.ledgers[0], Bucket::Search, 0, now).await.unwrap().cost, 100);
    assert_eq!(machines.charge_all(Bucket::Search, now).await, 1);
    assert_eq!(machines.used(0, now).await, [(200, 50)]);
    assert_eq!(machines.charge_all(Bucket::Default, now).await, 50);
}

#[tokio::test]
async fn a_ledger_in_memory_conforms() {
    let start = |limits| {
        let ledgers = vec![Arc::new(Ledger::in_memory(limits))];
        Machines { ledgers, set_clock: Box::new(|_| {}) }
    };
    check(&start).await;
}

#[tokio::test]
async fn a_ledger_in_a_file_conforms() {
    let folder = tempfile::tempdir().unwrap();
    let start = |limits| {
        let path = folder.path().join(format!("{}/quota.json", fastrand::u64(..)));
        // Two processes share the file.
        let open = || Arc::new(Ledger::in_file(limits, path.clone(), at(NOON)));
        Machines { ledgers: vec![open(), open()], set_clock: Box::new(|_| {}) }
    };
    check(&start).await;
}

#[tokio::test]
async fn a_ledger_that_shares_a_pool_conforms() {
    let start = |limits| {
        let pool = PoolDouble::new(at(NOON), 1);
        let open = || {
            let pool = Arc::clone(&pool) as Arc<dyn QuotaPool>;
            Arc::new(Ledger::in_memory(limits).sharing(
                pool,
                "key".to_owned(),
                Arc::new(SystemClock),
            ))
        };
        let ledgers = vec![open(), open(), open()];
        Machines { ledgers, set_clock: Box::new(move |time| pool.set_clock(at(time))) }
    };
    check(&start).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_shares_a_database_conforms() {
    let Some(database) = TestDatabase::new() else { return };
    let database = Arc::new(database);
    let shared = database.connect().await;
    let folder = tempfile::tempdir().unwrap();
    let start = |limits| {
        database.set_clock(NOON);
        // Each with its own key, and each machine with its own file.
        let key = format!("{:08x}", fastrand::u32(..));
        let open = || {
            let pool: Arc<dyn QuotaPool> = Arc::new(PostgresPool(shared.clone()));
            let path = folder.path().join(format!("{}/quota.json", fastrand::u64(..)));
            let ledger = Ledger::in_file(limits, path, at(NOON));
            Arc::new(ledger.sharing(pool, key.clone(), Arc::new(SystemClock)))
        };
        let (ledgers, database) = (vec![open(), open()], Arc::clone(&database));
        Machines { ledgers, set_clock: Box::new(move |time| database.set_clock(time)) }
    };
    check(&start).await;
}
