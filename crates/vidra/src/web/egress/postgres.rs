//! The shared state of egress addresses in PostgreSQL.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::saved::{EgressBlock, EgressState};
use super::shared::{EgressPool, TakenPermit, WantedPermit};
use crate::database::{Database, SqlResult, Topic};
use crate::error::{Reason, Result};
use crate::transport::BoxFuture;

/// Egress addresses whose state machines share through a database.
pub(crate) struct PostgresEgress {
    database: Database,
    /// Identifies this process among those with the same addresses.
    machine: i64,
    machines: Arc<AtomicU32>,
}

impl PostgresEgress {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, machine: fastrand::i64(1..), machines: Arc::new(AtomicU32::new(1)) }
    }
}

impl fmt::Debug for PostgresEgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresEgress").field(&self.database).finish()
    }
}

impl EgressPool for PostgresEgress {
    fn take<'a>(&'a self, wanted: &'a WantedPermit) -> BoxFuture<'a, Result<TakenPermit>> {
        let WantedPermit { address, is_translation, interval, capacity } = wanted.clone();
        Box::pin(self.database.transaction(move |transaction| {
            Box::pin(async move {
                let ahead = raise(transaction, &address, is_translation, Duration::ZERO).await?;
                if ahead + interval > capacity {
                    return Ok(TakenPermit { is_taken: false, ahead });
                }
                let take = "UPDATE vidra.egress_paces
                    SET spent_until = greatest(spent_until, vidra.clock()) + make_interval(secs => $3)
                    WHERE address = $1 AND is_translation = $2";
                let parameters: [&(dyn ToSql + Sync); 3] =
                    [&address, &is_translation, &interval.as_secs_f64()];
                transaction.execute(take, &parameters).await?;
                Ok(TakenPermit { is_taken: true, ahead: ahead + interval })
            })
        }))
    }

    fn give_back<'a>(&'a self, unused: &'a WantedPermit) -> BoxFuture<'a, Result<()>> {
        let WantedPermit { address, is_translation, interval, .. } = unused.clone();
        Box::pin(self.database.transaction(move |transaction| {
            Box::pin(async move {
                let sql = "UPDATE vidra.egress_paces SET spent_until = spent_until - make_interval(secs => $3)
                    WHERE address = $1 AND is_translation = $2";
                let parameters: [&(dyn ToSql + Sync); 3] =
                    [&address, &is_translation, &interval.as_secs_f64()];
                transaction.execute(sql, &parameters).await?;
                Ok(())
            })
        }))
    }

    fn exchange<'a>(&'a self, own: &'a [EgressState]) -> BoxFuture<'a, Result<Vec<EgressState>>> {
        let (own, machine) = (own.to_vec(), self.machine);
        let machines = Arc::clone(&self.machines);
        Box::pin(self.database.transaction(move |transaction| {
            Box::pin(async move {
                let mut is_new = false;
                for state in &own {
                    // An unreachable proxy is a matter of this machine.
                    let block = state.blocked.filter(|block| block.reason != Reason::Unreachable);
                    let block = block.filter(|block| !block.left.is_zero());
                    let translations = state.no_translations.map(|left| left.as_secs_f64());
                    if block.is_none() && translations.is_none() {
                        continue;
                    }
                    let left = block.map(|block| block.left.as_secs_f64());
                    let reason = block.map(|block| block.reason.code());
                    let times = block.map_or(0, |block| block.times.cast_signed());
                    // A block that ends within the same second is the same block.
                    let report = "INSERT INTO vidra.egress_blocks AS of
                        (address, blocked_until, reason, times, no_translations_until)
                        VALUES ($1, vidra.clock() + make_interval(secs => $2), $3, $4,
                            vidra.clock() + make_interval(secs => $5))
                        ON CONFLICT (address) DO UPDATE SET
                            blocked_until = greatest(of.blocked_until, excluded.blocked_until),
                            reason = coalesce(excluded.reason, of.reason),
                            times = greatest(of.times, excluded.times),
                            no_translations_until =
                                greatest(of.no_translations_until, excluded.no_translations_until)
                        WHERE excluded.blocked_until > coalesce(of.blocked_until, '-infinity') + interval '1 second'
                            OR excluded.no_translations_until
                                > coalesce(of.no_translations_until, '-infinity') + interval '1 second'";
                    let parameters: [&(dyn ToSql + Sync); 5] =
                        [&state.address, &left, &reason, &times, &translations];
                    is_new |= transaction.execute(report, &parameters).await? > 0;
                }
                if is_new {
                    let notify = "SELECT pg_notify('vidra', $1)";
                    transaction.execute(notify, &[&Topic::Egress.name()]).await?;
                }
                for EgressState { address, spent, translations_spent, .. } in &own {
                    for (is_translation, spent) in [(false, *spent), (true, *translations_spent)] {
                        if !spent.is_zero() {
                            raise(transaction, address, is_translation, spent).await?;
                        }
                    }
                }
                let count = seen(transaction, machine, &own).await?;
                machines.store(count, Ordering::Relaxed);
                let addresses: Vec<&str> = own.iter().map(|state| &*state.address).collect();
                let read = "SELECT address, extract(epoch FROM blocked_until - vidra.clock())::float8, reason, times,
                        extract(epoch FROM no_translations_until - vidra.clock())::float8
                    FROM vidra.egress_blocks WHERE address = ANY($1)";
                let rows = transaction.query(read, &[&addresses]).await?;
                let states = rows.iter().map(|row| {
                    let left = |column| row.get::<_, Option<f64>>(column).map(seconds);
                    let left = |column| left(column).filter(|left| !left.is_zero());
                    let times = row.get::<_, i32>(3).cast_unsigned();
                    let reason = match row.get::<_, Option<&str>>(2) {
                        Some(code) if code == Reason::UpstreamRateLimited.code() => {
                            Reason::UpstreamRateLimited
                        }
                        _ => Reason::Blocked,
                    };
                    let blocked = left(1).map(|left| EgressBlock { reason, times, left });
                    let address = row.get::<_, &str>(0);
                    EgressState { blocked, no_translations: left(4), ..EgressState::new(address) }
                });
                Ok(states.collect())
            })
        }))
    }

    fn machines(&self) -> u32 {
        self.machines.load(Ordering::Relaxed)
    }

    fn changed<'a>(&'a self, seen: &'a mut u64) -> BoxFuture<'a, ()> {
        Box::pin(self.database.notified(Topic::Egress, seen))
    }
}

/// Locks the rate limit of an address, raises its permits to `at_least`, and returns how far they are ahead of the
/// steady rate.
async fn raise(
    transaction: &Transaction<'_>,
    address: &str,
    is_translation: bool,
    at_least: Duration,
) -> SqlResult<Duration> {
    let sql = "INSERT INTO vidra.egress_paces AS of (address, is_translation, spent_until)
        VALUES ($1, $2, vidra.clock() + make_interval(secs => $3))
        ON CONFLICT (address, is_translation)
            DO UPDATE SET spent_until = greatest(of.spent_until, excluded.spent_until)
        RETURNING extract(epoch FROM greatest(of.spent_until, vidra.clock()) - vidra.clock())::float8";
    let parameters: [&(dyn ToSql + Sync); 3] = [&address, &is_translation, &at_least.as_secs_f64()];
    Ok(seconds(transaction.query_one(sql, &parameters).await?.get(0)))
}

/// Records that this machine uses its addresses, and returns the number of machines with the same ones.
async fn seen(transaction: &Transaction<'_>, machine: i64, own: &[EgressState]) -> SqlResult<u32> {
    let mut most = 1;
    for EgressState { address, .. } in own {
        // A row that changes every second would cost more than it is worth.
        let seen = "INSERT INTO vidra.egress_machines AS of (address, machine, seen_at) VALUES ($1, $2, vidra.clock())
            ON CONFLICT (address, machine) DO UPDATE SET seen_at = excluded.seen_at
            WHERE of.seen_at < excluded.seen_at - interval '10 seconds'";
        if transaction.execute(seen, &[address, &machine]).await? > 0 {
            let gone = "DELETE FROM vidra.egress_machines WHERE seen_at < vidra.clock() - interval '1 minute'";
            transaction.execute(gone, &[]).await?;
        }
        let count = "SELECT count(*) FROM vidra.egress_machines WHERE address = $1";
        let count: i64 = transaction.query_one(count, &[address]).await?.get(0);
        most = most.max(u32::try_from(count).unwrap_or(u32::MAX));
    }
    Ok(most)
}

/// A time from the database, which is not negative.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::testing::TestDatabase;

    const HOUR: Duration = Duration::from_secs(3600);

    /// A permit of a rate limit with a burst of `burst`.
    fn wanted(burst: u32) -> WantedPermit {
        let (address, is_translation) = ("direct".to_owned(), false);
        WantedPermit { address, is_translation, interval: HOUR, capacity: burst * HOUR }
    }

    #[tokio::test]
    async fn a_permit_that_is_returned_can_be_taken_again() {
        let Some(database) = TestDatabase::new() else { return };
        let egress = PostgresEgress::new(database.connect().await);
        let wanted = wanted(2);
        let mut taken = vec![];
        for _ in 0..3 {
            taken.push(egress.take(&wanted).await.unwrap().is_taken);
        }
        egress.give_back(&wanted).await.unwrap();
        for _ in 0..2 {
            taken.push(egress.take(&wanted).await.unwrap().is_taken);
        }
        assert_eq!(taken, [true, true, false, true, false]);
    }
}
