//! Budgets and usage of callers that several machines share.
//!
//! Each machine writes its own counts to the database, and reads the sums of the others. Its rows only grow, so that a
//! request can be repeated. A refund after an exchange therefore stays counted by the others.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tokio_postgres::Row;

use super::Allowances;
use super::counts::{Count, Tally, UnitCounts};
use crate::database::{Database, SqlResult};
use crate::error::{Error, Result};

/// Rows of transactions that commit late have an older time than those that were read before them.
const OVERLAP_SECONDS: f64 = 10.0;

/// How many days the database stores: those of a report, and some more.
const KEPT_DAYS: i32 = 40;

/// The state of the exchange with the database.
#[derive(Debug, Default)]
pub(super) struct SharedUsage {
    /// The counts of this machine that the database has. `None` before the first exchange.
    sent: Option<UnitCounts>,
    /// The time of the last exchange by the clock of the database, in seconds.
    seen_at: f64,
}

/// The counts of one caller on one day.
type CallerDay = (String, String, Tally);

impl Allowances {
    /// Saves the usage, adds it to the database, and takes over that of the other machines. Budgets and
    /// [`Self::usage`] then count all machines. Call it every second. `machine` identifies the file of these allowances:
    /// no other file may have the same one.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable). Then the next call sends what this one did not.
    pub async fn settle(
        self: &Arc<Self>,
        database: &Database,
        machine: &str,
        now: Timestamp,
    ) -> Result<()> {
        let mut shared = self.shared.lock().await;
        if shared.sent.is_none() {
            // The file is saved even if the database does not answer.
            self.blocking(move |allowances| allowances.save(now)).await?;
            // The file may be older than the database, for example after a disk was replaced.
            let stored = read_own(database, machine).await?;
            shared.sent = Some(stored.clone());
            self.blocking(move |allowances| allowances.raise_to(&stored, now)).await?;
        }
        let sent = shared.sent.clone().unwrap_or_default();
        let changed = self.blocking(move |allowances| allowances.changed_since(&sent, now)).await?;
        let (seen_at, others) =
            exchange(database, machine, changed.clone(), shared.seen_at).await?;
        let sent = shared.sent.get_or_insert_default();
        for (date, caller, tally) in changed {
            *sent.tally_mut(&date, &caller) = tally;
        }
        shared.seen_at = seen_at - OVERLAP_SECONDS;
        self.take_over(&others);
        Ok(())
    }

    /// Runs work with the file on a thread that may block.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T> {
        let allowances = Arc::clone(self);
        let done = spawn_blocking(move || work(&allowances)).await;
        done.map_err(|_| Error::internal("usage file task failed"))
    }
}

/// The counts of this machine in the database.
async fn read_own(database: &Database, machine: &str) -> Result<UnitCounts> {
    let machine = machine.to_owned();
    let rows = database.transaction(move |transaction| {
        Box::pin(async move {
            let sql =
                "SELECT to_char(day, 'YYYY-MM-DD'), caller, units, searches, requests, transcripts
                FROM vidra.caller_usage WHERE machine = $1 ORDER BY day";
            let rows = transaction.query(sql, &[&machine]).await?;
            Ok(rows.iter().map(caller_day).collect::<Vec<_>>())
        })
    });
    let mut counts = UnitCounts::default();
    for (date, caller, tally) in rows.await? {
        *counts.tally_mut(&date, &caller) = tally;
    }
    Ok(counts)
}

/// Writes the counts of this machine. Returns the time, and the sums of the others that changed since `seen_at`.
async fn exchange(
    database: &Database,
    machine: &str,
    mut changed: Vec<CallerDay>,
    seen_at: f64,
) -> Result<(f64, Vec<CallerDay>)> {
    // Two processes of one machine lock its rows in the same order.
    changed.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    let machine = machine.to_owned();
    database
        .transaction(move |transaction| {
            Box::pin(async move {
                if !changed.is_empty() {
                    write(transaction, &machine, &changed).await?;
                }
                let sql = "SELECT extract(epoch FROM vidra.clock())::float8";
                let now = transaction.query_one(sql, &[]).await?.get(0);
                let sql = "SELECT to_char(day, 'YYYY-MM-DD'), caller, sum(units)::int8, sum(searches)::int8,
                        sum(requests)::int8, sum(transcripts)::int8
                    FROM vidra.caller_usage
                    WHERE machine <> $1 AND (day, caller) IN (
                        SELECT day, caller FROM vidra.caller_usage
                        WHERE machine <> $1 AND updated_at >= to_timestamp($2)
                    )
                    GROUP BY day, caller ORDER BY day";
                let rows = transaction.query(sql, &[&machine, &seen_at]).await?;
                Ok((now, rows.iter().map(caller_day).collect()))
            })
        })
        .await
}

async fn write(
    transaction: &tokio_postgres::Transaction<'_>,
    machine: &str,
    changed: &[CallerDay],
) -> SqlResult<()> {
    let days: Vec<&str> = changed.iter().map(|(date, ..)| &**date).collect();
    let callers: Vec<&str> = changed.iter().map(|(_, caller, _)| &**caller).collect();
    let column = |count: fn(&Tally) -> u64| -> Vec<i64> {
        changed.iter().map(|(.., tally)| count(tally).cast_signed()).collect()
    };
    let units = column(|tally| tally.default.used.into());
    let searches = column(|tally| tally.search.used.into());
    let (requests, transcripts) =
        (column(|tally| tally.requests), column(|tally| tally.transcripts));
    let sql = "INSERT INTO vidra.caller_usage AS of
            (machine, day, caller, units, searches, requests, transcripts, updated_at)
        SELECT $1, new.day::date, new.caller, new.units, new.searches, new.requests, new.transcripts, vidra.clock()
        FROM unnest($2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[])
            AS new (day, caller, units, searches, requests, transcripts)
        ON CONFLICT (day, caller, machine) DO UPDATE SET
            units = greatest(of.units, excluded.units),
            searches = greatest(of.searches, excluded.searches),
            requests = greatest(of.requests, excluded.requests),
            transcripts = greatest(of.transcripts, excluded.transcripts),
            updated_at = excluded.updated_at
        RETURNING of.xmax = 0";
    let rows = transaction
        .query(sql, &[&machine, &days, &callers, &units, &searches, &requests, &transcripts])
        .await?;
    if rows.iter().any(|row| row.get(0)) {
        // A new day.
        let sql = "DELETE FROM vidra.caller_usage WHERE day < vidra.clock()::date - $1::int";
        transaction.execute(sql, &[&KEPT_DAYS]).await?;
    }
    Ok(())
}

fn caller_day(row: &Row) -> CallerDay {
    let count = |column| row.get::<_, i64>(column).cast_unsigned();
    let units = |column| {
        let used = u32::try_from(count(column)).unwrap_or(u32::MAX);
        Count { used, exhausted: false }
    };
    let tally =
        Tally { default: units(2), search: units(3), requests: count(4), transcripts: count(5) };
    (row.get(0), row.get(1), tally)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use vidra_engines::{Proxy, Traffic};

    use super::*;
    use crate::database::testing::TestDatabase;
    use crate::quota::Bucket;

    fn now() -> Timestamp {
        "2026-11-18T12:00:00Z".parse().unwrap()
    }

    struct Machine {
        allowances: Arc<Allowances>,
        id: &'static str,
    }

    impl Machine {
        fn open(folder: &Path, id: &'static str) -> Self {
            let allowances = Arc::new(Allowances::open(folder.join(id), now()));
            Self { allowances, id }
        }

        fn spend(&self, caller: &str, units: u32) -> bool {
            self.allowances.get(caller).take(Bucket::Default, units, now()).is_ok()
        }

        fn used(&self, caller: &str) -> u32 {
            self.allowances.get(caller).used(Bucket::Default, now())
        }

        async fn settle(&self, database: &Database) {
            self.allowances.settle(database, self.id, now()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn machines_share_budgets_and_usage() {
        let Some(test) = TestDatabase::new() else { return };
        let (database, folder) = (test.connect().await, tempfile::tempdir().unwrap());
        let [one, other] = ["one", "other"].map(|id| Machine::open(folder.path(), id));
        one.allowances.get("alice").set_limits(Some(10), None);
        other.allowances.get("alice").set_limits(Some(10), None);
        assert!(one.spend("alice", 4) && other.spend("bob", 7));
        one.allowances.get("").note_request();
        one.settle(&database).await;
        other.settle(&database).await;
        one.settle(&database).await;
        assert_eq!((other.used("alice"), one.used("bob")), (4, 7));
        assert!(other.spend("alice", 6) && !other.spend("alice", 1));
        other.settle(&database).await;
        assert!(one.spend("alice", 1), "it does not know yet");
        one.settle(&database).await;
        assert!(!one.spend("alice", 1), "now it does");
        other.settle(&database).await;
        // Repetitions change nothing.
        for _ in 0..3 {
            one.settle(&database).await;
            other.settle(&database).await;
        }
        let reports = [&one, &other].map(|machine| machine.allowances.usage(now()));
        assert_eq!(reports[0], reports[1]);
        let rows: Vec<_> = reports[0].days[0].callers.iter().collect();
        let units: Vec<_> = rows.iter().map(|row| (row.name.as_deref(), row.units)).collect();
        assert_eq!(units, [(None, 0), (Some("alice"), 11), (Some("bob"), 7)]);
        assert_eq!(rows[0].requests, 1);
        // A restart counts nothing twice, and neither does a machine that comes later.
        let [one, late] = ["one", "late"].map(|id| Machine::open(folder.path(), id));
        one.settle(&database).await;
        late.settle(&database).await;
        assert_eq!((one.used("alice"), late.used("alice")), (11, 11));
    }

    #[tokio::test]
    async fn a_lost_file_is_restored_and_old_days_are_deleted() {
        let Some(test) = TestDatabase::new() else { return };
        let (database, folder) = (test.connect().await, tempfile::tempdir().unwrap());
        let machine = Machine::open(folder.path(), "one");
        assert!(machine.spend("alice", 5));
        machine.settle(&database).await;
        drop(machine);
        let empty = tempfile::tempdir().unwrap();
        let machine = Machine::open(empty.path(), "one");
        assert_eq!(machine.used("alice"), 0);
        machine.settle(&database).await;
        assert!(machine.spend("alice", 1));
        machine.settle(&database).await;
        assert_eq!(
            (machine.used("alice"), test.sql("SELECT units FROM vidra.caller_usage")),
            (6, "6".to_owned())
        );
        test.sql("UPDATE vidra.caller_usage SET day = day - 60");
        assert!(machine.spend("bob", 1));
        machine.settle(&database).await;
        assert_eq!(test.sql("SELECT DISTINCT caller FROM vidra.caller_usage"), "bob");
    }

    #[tokio::test]
    async fn an_outage_loses_nothing() {
        let Some(test) = TestDatabase::new() else { return };
        let proxy = Proxy::start(([127, 0, 0, 1], test.server.port()).into());
        let url = test.url().replace(
            &format!(":{}/", test.server.port()),
            &format!(":{}/", proxy.address().port()),
        );
        let database = Database::connect(&url).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::open(folder.path(), "one");
        assert!(machine.spend("alice", 1));
        machine.settle(&database).await;
        proxy.set(Traffic::Cut);
        assert!(machine.spend("alice", 2));
        assert!(machine.allowances.settle(&database, "one", now()).await.is_err());
        assert_eq!(machine.used("alice"), 3, "budgets go on");
        proxy.set(Traffic::Pass);
        while machine.allowances.settle(&database, "one", now()).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(test.sql("SELECT units FROM vidra.caller_usage"), "3");
    }
}
