//! The PostgreSQL database that several machines share: connections, migrations and notifications.

mod connect;
mod listen;
mod migrate;
mod outage;
mod sessions;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool, PoolError, TimeoutType};
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;
use tokio_postgres::{Config, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{Error, Reason, Result};
use crate::transport::BoxFuture;
use outage::Outage;
pub use sessions::Sessions;

/// The time limit of a transaction from the moment that it has a connection. A request must not hang with the database.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(2);

/// The most connections of one machine. Transactions take a few milliseconds.
const CONNECTIONS: usize = 8;

/// The PostgreSQL database that several machines share. Clones share its connections.
///
/// A lost connection is replaced by the next transaction. While the database does not answer, transactions fail at
/// once, and one every half second tries again.
#[derive(Clone)]
pub struct Database(Arc<Inner>);

struct Inner {
    config: Config,
    tls: MakeRustlsConnect,
    pool: Pool,
    outage: Outage,
    notified: Notified,
    /// Ends the task that listens when it is dropped.
    _alive: watch::Sender<()>,
}

/// The number of notifications so far, and of new connections that may have missed some, by topic.
struct Notified {
    quota: watch::Sender<u64>,
    egress: watch::Sender<u64>,
    /// The payloads of all others.
    others: broadcast::Sender<String>,
}

impl Default for Notified {
    fn default() -> Self {
        let others = broadcast::channel(sessions::MESSAGES).0;
        Self { quota: watch::Sender::default(), egress: watch::Sender::default(), others }
    }
}

/// The subject of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A bucket of the quota was exhausted.
    Quota,
    /// An egress address was blocked.
    Egress,
}

impl Topic {
    const ALL: [Self; 2] = [Self::Quota, Self::Egress];

    /// The payload of its notifications.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Egress => "egress",
        }
    }
}

impl Notified {
    fn of(&self, topic: Topic) -> &watch::Sender<u64> {
        match topic {
            Topic::Quota => &self.quota,
            Topic::Egress => &self.egress,
        }
    }
}

/// The result of SQL statements.
pub(crate) type SqlResult<T> = std::result::Result<T, tokio_postgres::Error>;

impl Database {
    /// Connects to a database, and creates or migrates its tables.
    ///
    /// The URL is `postgres://[user[:password]@]host[:port]/database`. `?sslmode=require` encrypts the connection, and
    /// checks the certificate of the server with the machine's trusted certificates. Several hosts are separated by
    /// commas; `?target_session_attrs=read-write` chooses the primary server among them.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the URL is not valid. [`Reason::DatabaseUnavailable`] if the server cannot be reached
    /// or rejects the user, if it is too old or read-only, or if the tables belong to a newer release. No message
    /// contains the password.
    pub async fn connect(url: &str) -> Result<Self> {
        let config = connect::config(url)?;
        let tls = connect::tls()?;
        migrate::migrate(&config, &tls, "vidra", &migrate::MIGRATIONS).await?;
        let pool = connect::pool(&config, &tls, CONNECTIONS)?;
        let (_alive, dropped) = watch::channel(());
        let database = Self(Arc::new(Inner {
            config: config.clone(),
            tls: tls.clone(),
            pool,
            outage: Outage::default(),
            notified: Notified::default(),
            _alive,
        }));
        listen::spawn(Arc::downgrade(&database.0), dropped, config, tls);
        Ok(database)
    }

    /// Whether the last transaction failed because the database did not answer.
    pub fn is_failing(&self) -> bool {
        self.0.outage.is_on()
    }

    /// Runs `work` in a transaction. If the answer to the commit is lost, the transaction can have succeeded although this
    /// returns an error: `work` must have no second effect if it is repeated.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`].
    pub(crate) async fn transaction<T>(
        &self,
        work: impl for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, SqlResult<T>> + Send,
    ) -> Result<T> {
        let outage = &self.0.outage;
        if let Some(wait) = outage.pause() {
            return Err(unavailable().with_retry_after(Some(wait)));
        }
        let failure = match self.try_transaction(work).await {
            Ok(done) => {
                outage.ended();
                return Ok(done);
            }
            Err(failure) => failure,
        };
        match failure.kind {
            FailureKind::Outage => outage.failed(&failure.what),
            // There can be many at once. Each caller gets the error.
            FailureKind::Busy => {
                tracing::debug!(error = failure.what, "database transaction failed");
            }
            FailureKind::Statement => {
                tracing::error!(error = failure.what, "database transaction failed");
            }
        }
        let error = unavailable().with_source(failure.what);
        Err(error.with_retry_after(Some(outage::PAUSE.max(Duration::from_secs(1)))))
    }

    async fn try_transaction<T>(
        &self,
        work: impl for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, SqlResult<T>>,
    ) -> std::result::Result<T, Failure> {
        // The pool has limits for this wait.
        let mut connection = self.0.pool.get().await.map_err(|error| Failure::from_pool(&error))?;
        let done = async {
            let transaction = connection.transaction().await?;
            let done = work(&transaction).await?;
            transaction.commit().await?;
            Ok(done)
        };
        let failure = match timeout(TRANSACTION_TIMEOUT, done).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failure::from_sql(&error),
            Err(_elapsed) => Failure::no_answer(),
        };
        // It may be in the middle of a transaction.
        drop(Object::take(connection));
        Err(failure)
    }

    /// Waits for the next notification about `topic`, or for a new connection, which may have missed some. `seen` is the
    /// state of the caller, and begins with zero.
    pub(crate) async fn notified(&self, topic: Topic, seen: &mut u64) {
        let mut receiver = self.0.notified.of(topic).subscribe();
        // The sender lives as long as this database.
        if let Ok(count) = receiver.wait_for(|count| *count != *seen).await {
            *seen = *count;
        }
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings contain the password.
        f.debug_struct("Database").field("is_failing", &self.is_failing()).finish_non_exhaustive()
    }
}

fn unavailable() -> Error {
    Error::new(Reason::DatabaseUnavailable, "The database of this service does not answer")
}

/// Why a transaction failed.
struct Failure {
    /// For the log. It contains no value of a parameter and no password.
    what: String,
    kind: FailureKind,
}

/// The kind of a failure of the database.
enum FailureKind {
    /// It does not work.
    Outage,
    /// Nothing: other transactions of this machine use all connections.
    Busy,
    /// It works, but a statement failed.
    Statement,
}

impl Failure {
    fn from_pool(error: &PoolError) -> Self {
        let (what, kind) = match error {
            PoolError::Backend(error) => return Self::from_sql(error),
            PoolError::Timeout(TimeoutType::Wait) => {
                ("all connections are in use", FailureKind::Busy)
            }
            PoolError::Timeout(_) => ("no connection in time", FailureKind::Outage),
            _ => ("no connection", FailureKind::Outage),
        };
        Self { what: what.to_owned(), kind }
    }

    fn from_sql(error: &tokio_postgres::Error) -> Self {
        let is_outage = error.code().is_none_or(|state| {
            // Connections, resources, a server that stops or starts, and a standby. Others are faults of one transaction.
            let state = state.code();
            ["08", "53", "57P"].iter().any(|class| state.starts_with(class)) || state == "25006"
        });
        let kind = if is_outage { FailureKind::Outage } else { FailureKind::Statement };
        Self { what: connect::described(error), kind }
    }

    fn no_answer() -> Self {
        Self { what: "no answer in time".to_owned(), kind: FailureKind::Outage }
    }
}

/// The host and the port of the first server, for messages.
fn server(config: &Config) -> String {
    use tokio_postgres::config::Host;
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => format!("{host}:{port}"),
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => format!("port {port}"),
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
