//! The shared quota in PostgreSQL.

use std::fmt;

use jiff::Timestamp;
use tokio_postgres::Row;

use super::Bucket;
use super::pool::{
    EndedGrant, PoolAnswer, PoolBucket, PoolState, QuotaPool, WantedGrant, charged_days,
};
use crate::database::{Database, SqlResult, Topic};
use crate::error::Result;
use crate::transport::BoxFuture;

/// The grants of earlier days are deleted after this many days.
const KEPT_DAYS: i32 = 31;

/// The time of the database in milliseconds.
const CLOCK: &str = "(extract(epoch FROM vidra.clock()) * 1000)::bigint";

/// A quota that several machines share through a database.
pub(crate) struct PostgresPool(pub(crate) Database);

impl fmt::Debug for PostgresPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresPool").field(&self.0).finish()
    }
}

impl QuotaPool for PostgresPool {
    fn take<'a>(&'a self, wanted: &'a WantedGrant) -> BoxFuture<'a, Result<PoolAnswer>> {
        let wanted = wanted.clone();
        Box::pin(self.0.transaction(move |transaction| {
            Box::pin(async move { take(transaction, &wanted).await })
        }))
    }

    fn end<'a>(&'a self, ended: &'a EndedGrant) -> BoxFuture<'a, Result<()>> {
        let EndedGrant { id, unspent } = *ended;
        Box::pin(self.0.transaction(move |transaction| {
            Box::pin(async move {
                let sql = "WITH ended AS (
                        UPDATE vidra.quota_grants SET returned = $2 WHERE id = $1 AND returned IS NULL
                        RETURNING key, day, bucket
                    )
                    UPDATE vidra.quota_days AS of SET used = used - $2 FROM ended
                    WHERE of.key = ended.key AND of.day = ended.day AND of.bucket = ended.bucket";
                transaction.execute(sql, &[&id, &unspent.cast_signed()]).await?;
                Ok(())
            })
        }))
    }

    fn count<'a>(&'a self, spent: &'a WantedGrant) -> BoxFuture<'a, Result<()>> {
        let spent = spent.clone();
        Box::pin(self.0.transaction(move |transaction| {
            Box::pin(async move {
                lock_bucket(transaction, &spent).await?;
                insert(transaction, &spent, spent.units, Some(0)).await
            })
        }))
    }

    fn exchange<'a>(
        &'a self,
        key: &'a str,
        exhausted: &'a [(String, Bucket)],
    ) -> BoxFuture<'a, Result<PoolState>> {
        let (key, exhausted) = (key.to_owned(), exhausted.to_vec());
        Box::pin(self.0.transaction(move |transaction| {
            Box::pin(async move {
                let mut is_new = false;
                for (date, bucket) in &exhausted {
                    let sql = "INSERT INTO vidra.quota_days AS of (key, day, bucket, exhausted)
                        VALUES ($1, $2::text::date, $3, true)
                        ON CONFLICT (key, day, bucket) DO UPDATE SET exhausted = true WHERE NOT of.exhausted";
                    is_new |= transaction.execute(sql, &[&key, date, &bucket.name()]).await? > 0;
                }
                if is_new {
                    let sql = "SELECT pg_notify('vidra', $1)";
                    transaction.execute(sql, &[&Topic::Quota.name()]).await?;
                }
                let now = transaction.query_one(&format!("SELECT {CLOCK}"), &[]).await?;
                let now = time(&now, 0);
                let sql = "SELECT to_char(day, 'YYYY-MM-DD'), bucket, used, exhausted FROM vidra.quota_days
                    WHERE key = $1 AND day = ANY($2::text[]::date[])";
                let rows = transaction.query(sql, &[&key, &charged_days(now)]).await?;
                let buckets = rows.iter().filter_map(|row| {
                    let bucket = bucket(row.get(1))?;
                    let used = row.get::<_, i32>(2).cast_unsigned();
                    Some(PoolBucket { date: row.get(0), bucket, used, is_exhausted: row.get(3) })
                });
                Ok(PoolState { now, buckets: buckets.collect() })
            })
        }))
    }

    fn is_failing(&self) -> bool {
        self.0.is_failing()
    }

    fn changed<'a>(&'a self, seen: &'a mut u64) -> BoxFuture<'a, ()> {
        Box::pin(self.0.notified(Topic::Quota, seen))
    }
}

type Transaction<'a> = tokio_postgres::Transaction<'a>;

/// A bucket whose row is locked.
struct LockedBucket {
    now: Timestamp,
    used: u32,
    is_exhausted: bool,
    /// Whether the row is new.
    is_new: bool,
}

/// Locks the row of a bucket until the end of the transaction, and creates it if necessary.
async fn lock_bucket(transaction: &Transaction<'_>, of: &WantedGrant) -> SqlResult<LockedBucket> {
    let sql = format!(
        "INSERT INTO vidra.quota_days AS of (key, day, bucket) VALUES ($1, $2::text::date, $3)
        ON CONFLICT (key, day, bucket) DO UPDATE SET used = of.used
        RETURNING {CLOCK}, of.used, of.exhausted, of.xmax = 0"
    );
    let row = transaction.query_one(&sql, &[&of.key, &of.date, &of.bucket.name()]).await?;
    let used = row.get::<_, i32>(1).cast_unsigned();
    Ok(LockedBucket { now: time(&row, 0), used, is_exhausted: row.get(2), is_new: row.get(3) })
}

async fn take(transaction: &Transaction<'_>, wanted: &WantedGrant) -> SqlResult<PoolAnswer> {
    let LockedBucket { now, used, is_exhausted, is_new } = lock_bucket(transaction, wanted).await?;
    if is_new {
        let sql = "DELETE FROM vidra.quota_grants WHERE day < vidra.clock()::date - $1::int";
        transaction.execute(sql, &[&KEPT_DAYS]).await?;
    }
    let answer = |units: u32, used| {
        let (date, bucket) = (wanted.date.clone(), wanted.bucket);
        PoolAnswer { units, now, bucket: PoolBucket { date, bucket, used, is_exhausted } }
    };
    let sql = "SELECT units FROM vidra.quota_grants WHERE id = $1";
    if let Some(row) = transaction.query_opt(sql, &[&wanted.id]).await? {
        // The answer to the same request was lost.
        return Ok(answer(row.get::<_, i32>(0).cast_unsigned(), used));
    }
    if is_exhausted || !charged_days(now).contains(&wanted.date) {
        return Ok(answer(0, used));
    }
    match wanted.grant(used) {
        None => Ok(answer(0, used)),
        Some(units) => {
            insert(transaction, wanted, units, None).await?;
            Ok(answer(units, used + units))
        }
    }
}

/// Inserts a grant and counts its units, unless it exists.
async fn insert(
    transaction: &Transaction<'_>,
    wanted: &WantedGrant,
    units: u32,
    returned: Option<i32>,
) -> SqlResult<()> {
    let sql = "WITH taken AS (
            INSERT INTO vidra.quota_grants (id, key, day, bucket, units, taken_at, returned)
            VALUES ($1, $2, $3::text::date, $4, $5, vidra.clock(), $6)
            ON CONFLICT (id) DO NOTHING
            RETURNING key, day, bucket, units
        )
        UPDATE vidra.quota_days AS of SET used = used + taken.units FROM taken
        WHERE of.key = taken.key AND of.day = taken.day AND of.bucket = taken.bucket";
    let WantedGrant { id, key, date, bucket, .. } = wanted;
    let units = units.cast_signed();
    transaction.execute(sql, &[id, key, date, &bucket.name(), &units, &returned]).await?;
    Ok(())
}

fn time(row: &Row, column: usize) -> Timestamp {
    Timestamp::from_millisecond(row.get(column)).unwrap_or(Timestamp::MAX)
}

fn bucket(name: &str) -> Option<Bucket> {
    [Bucket::Default, Bucket::Search].into_iter().find(|bucket| bucket.name() == name)
}
