//! Shows the other machines that this process lives: a lock that ends with its connection, however it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;
use vidra::{Error, Result, Sessions};

use super::session::{failed, unavailable};
use crate::job::JobId;
use crate::store::processes::jobs_text;
use crate::store::sql::{Connection, params};

/// The class of the advisory locks of processes. The second part of a lock is the number of the process.
const PROCESSES: i32 = 0x7669_6401;

/// The class of the advisory lock of the one process that plans collections.
const PLANNER: i32 = 0x7669_6402;

/// How often the connection is used, so that a lost one is noticed.
const BEAT: Duration = Duration::from_secs(1);

/// The longest wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time until a process is registered.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(10);

/// The locks of this process, until it is dropped.
///
/// They have a thread and a runtime of their own, so that a busy process does not seem to have ended.
#[derive(Debug)]
pub(crate) struct Liveness {
    pub(crate) number: i64,
    plans: Arc<AtomicBool>,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

impl Liveness {
    /// Registers a process, and takes its locks.
    pub(super) async fn start(
        sessions: Arc<Sessions>,
        only: &[JobId],
        now: Timestamp,
    ) -> Result<Self> {
        let jobs = jobs_text(only);
        let plans = Arc::<AtomicBool>::default();
        let (stop, stopped) = oneshot::channel();
        let (reply, registered) = oneshot::channel();
        let planning = Arc::clone(&plans);
        let work = async move {
            let registering = register(&sessions, &jobs, now, &planning);
            let registered = match timeout(REGISTER_TIMEOUT, registering).await {
                Ok(registered) => registered,
                Err(_elapsed) => Err(unavailable(&sessions.timed_out())),
            };
            let (registered, client) = match registered {
                Ok((locks, client)) => (Ok(locks.number), Some((locks, client))),
                Err(error) => (Err(error), None),
            };
            let _ = reply.send(registered);
            let Some((locks, client)) = client else { return };
            tokio::select! {
                biased;
                _ = stopped => {}
                () = live(&sessions, client, locks, &planning) => {}
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::internal)?;
        let thread = thread::Builder::new().name("vidra-liveness".to_owned());
        thread.spawn(move || runtime.block_on(work)).map_err(Error::internal)?;
        // On a thread that may block, as all waits for the server.
        let registered = tokio::task::spawn_blocking(move || registered.blocking_recv());
        let number = registered.await.map_err(Error::internal)?.map_err(Error::internal)??;
        Ok(Self { number, plans, _stop: stop })
    }

    /// Whether this process plans collections.
    pub(crate) fn plans(&self) -> bool {
        self.plans.load(Ordering::Relaxed)
    }
}

async fn register(
    sessions: &Sessions,
    jobs: &str,
    now: Timestamp,
    plans: &AtomicBool,
) -> Result<(Locks, Client)> {
    let client = sessions.own_connection().await.map_err(|error| unavailable(&error))?;
    let failed = |error: tokio_postgres::Error| failed(sessions, &error);
    let insert = "INSERT INTO processes (started_at, jobs) VALUES ($1, $2) RETURNING number";
    let row = client.query_one(insert, &[&now.as_millisecond(), &jobs]).await;
    let number: i64 = row.map_err(failed)?.get(0);
    let locks = Locks { number, may_plan: jobs.is_empty() };
    locks.take(&client, plans).await.map_err(failed)?;
    Ok((locks, client))
}

/// Holds the locks, and takes them again on a new connection after the old one was lost.
async fn live(sessions: &Sessions, mut client: Client, locks: Locks, plans: &AtomicBool) {
    loop {
        sleep(BEAT).await;
        if let Ok(Ok(())) = timeout(ANSWER_TIMEOUT, locks.take(&client, plans)).await {
            continue;
        }
        // Another process may plan now.
        plans.store(false, Ordering::Relaxed);
        if let Ok(next) = sessions.own_connection().await {
            client = next;
            let _ = timeout(ANSWER_TIMEOUT, locks.take(&client, plans)).await;
        }
    }
}

/// The locks that a process wants.
#[derive(Debug, Clone, Copy)]
struct Locks {
    number: i64,
    /// Whether it runs all jobs, so that it may also plan collections.
    may_plan: bool,
}

impl Locks {
    /// Takes the locks that this connection does not have.
    async fn take(
        self,
        client: &Client,
        plans: &AtomicBool,
    ) -> std::result::Result<(), tokio_postgres::Error> {
        let held = "SELECT
        EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
            AND classid::bigint = $1),
        EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
            AND classid::bigint = $2)";
        let row = client.query_one(held, &[&i64::from(PROCESSES), &i64::from(PLANNER)]).await?;
        let (is_held, mut is_planner): (bool, bool) = (row.get(0), row.get(1));
        if !is_held {
            let number = self.number;
            client
                .query_one("SELECT pg_advisory_lock($1, $2::bigint::int)", &[&PROCESSES, &number])
                .await?;
        }
        if !is_planner && self.may_plan {
            let planner = "SELECT pg_try_advisory_lock($1, 0)";
            is_planner = client.query_one(planner, &[&PLANNER]).await?.get(0);
        }
        plans.store(is_planner, Ordering::Relaxed);
        Ok(())
    }
}

/// The registered processes whose lock nobody holds.
pub(super) fn without_lock(connection: &Connection) -> Result<Vec<i64>> {
    let query = format!("SELECT number FROM processes WHERE number NOT IN ({LIVING})");
    connection.query_map(&query, [PROCESSES], |row| row.get(0))
}

/// The numbers of all processes with a lock. Locks are numbered in each database of a server.
const LIVING: &str =
    "SELECT CAST(objid AS bigint) FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND CAST(classid AS bigint) = ?1 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Whether any process lives.
pub(super) fn has_workers(connection: &Connection) -> Result<bool> {
    let query = format!("SELECT EXISTS ({LIVING})");
    connection.query_row(&query, [PROCESSES], |row| row.get(0))
}

/// Whether any process that lives runs this job.
pub(super) fn has_worker(connection: &Connection, id: JobId) -> Result<bool> {
    let query = format!(
        "SELECT EXISTS (SELECT 1 FROM processes WHERE number IN ({LIVING}) AND (jobs = '' OR strpos(jobs, ?2) > 0))"
    );
    connection.query_row(&query, params![PROCESSES, id.to_string()], |row| row.get(0))
}
