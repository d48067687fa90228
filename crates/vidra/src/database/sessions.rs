//! Connections for other crates of vidra, which have tables of their own in the same database.

use deadpool_postgres::{Object, Pool};
use tokio::sync::broadcast;
use tokio::time::timeout;
use tokio_postgres::{Client, Config};

use super::{Database, Failure, FailureKind, connect, migrate, unavailable};
use crate::error::{Error, Result};

/// How many messages a slow receiver may miss.
pub(super) const MESSAGES: usize = 1024;

/// Connections whose statements are about one schema.
#[doc(hidden)]
pub struct Sessions {
    database: Database,
    config: Config,
    pool: Pool,
}

impl Database {
    /// Up to `count` connections whose statements are about the tables of `schema`, which are created or migrated. Each
    /// statement may take `statement_timeout` milliseconds.
    ///
    /// # Errors
    ///
    /// Those of [`Database::connect`].
    #[doc(hidden)]
    pub async fn sessions(
        &self,
        schema: &str,
        migrations: &[&str],
        count: usize,
        statement_timeout: u32,
    ) -> Result<Sessions> {
        let settings = format!(
            "-c search_path={schema} -c statement_timeout={statement_timeout} -c lock_timeout={statement_timeout}"
        );
        let mut config = self.0.config.clone();
        let options = config.get_options().map(|others| format!("{others} {settings}"));
        config.options(options.unwrap_or(settings));
        migrate::migrate(&config, &self.0.tls, schema, migrations).await?;
        let pool = connect::pool(&config, &self.0.tls, count)?;
        Ok(Sessions { database: self.clone(), config, pool })
    }

    /// The payloads of notifications on the channel `vidra` that are about nothing of this crate.
    #[doc(hidden)]
    pub fn messages(&self) -> broadcast::Receiver<String> {
        self.0.notified.others.subscribe()
    }
}

impl Sessions {
    /// A connection of the pool.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    #[doc(hidden)]
    pub async fn connection(&self) -> Result<Object> {
        let outage = &self.database.0.outage;
        if let Some(wait) = outage.pause() {
            return Err(unavailable().with_retry_after(Some(wait)));
        }
        self.pool.get().await.map_err(|error| self.failed(Failure::from_pool(&error)))
    }

    /// A connection that does not belong to the pool, for locks that last as long as it.
    ///
    /// # Errors
    ///
    /// [`Reason::DatabaseUnavailable`](crate::Reason::DatabaseUnavailable).
    #[doc(hidden)]
    pub async fn own_connection(&self) -> Result<Client> {
        let connect = self.config.connect(self.database.0.tls.clone());
        let connected = timeout(connect::CONNECT_TIMEOUT, connect);
        let (client, connection) = connected
            .await
            .map_err(|_| unavailable())?
            .map_err(|error| unavailable().with_source(connect::described(&error)))?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// The error of a failed statement. Its source contains no value of a parameter and no password.
    #[doc(hidden)]
    pub fn error(&self, error: &tokio_postgres::Error) -> Error {
        self.failed(Failure::from_sql(error))
    }

    /// The error of a statement without an answer.
    #[doc(hidden)]
    pub fn timed_out(&self) -> Error {
        self.failed(Failure::no_answer())
    }

    /// Notes that the database answers.
    #[doc(hidden)]
    pub fn answered(&self) {
        self.database.0.outage.ended();
    }

    fn failed(&self, failure: Failure) -> Error {
        match failure.kind {
            FailureKind::Outage => {
                self.database.0.outage.failed(&failure.what);
                unavailable().with_source(failure.what)
            }
            FailureKind::Busy => unavailable().with_source(failure.what),
            FailureKind::Statement => Error::internal(failure.what),
        }
    }
}
