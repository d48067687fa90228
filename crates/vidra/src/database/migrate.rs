//! The tables, and how a new release changes them.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect::refused;
use super::server;
use crate::error::{Error, Reason, Result};

/// The migrations in their order. A released one never changes.
pub(super) const MIGRATIONS: [&str; 2] =
    [include_str!("migrations/1.sql"), include_str!("migrations/2.sql")];

/// The oldest server that works, as `server_version_num`.
const OLDEST_SERVER: i32 = 140_000;

/// The advisory lock of migrations. Machines that start together migrate one after the other.
const LOCK: i64 = 0x7669_6472_6101;

/// The time limit of the handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time limit of all migrations, which wait for those of other machines.
const TIMEOUT: Duration = Duration::from_secs(70);

/// Creates or migrates the tables of a schema, in one transaction.
pub(super) async fn migrate(
    config: &Config,
    tls: &MakeRustlsConnect,
    schema: &str,
    migrations: &[&str],
) -> Result<()> {
    let late = |_| {
        let message = format!("PostgreSQL at {} does not answer", server(config));
        Error::new(Reason::DatabaseUnavailable, message)
    };
    let work = connect_and_migrate(config, tls, schema, migrations);
    timeout(TIMEOUT, work).await.map_err(late)?
}

async fn connect_and_migrate(
    config: &Config,
    tls: &MakeRustlsConnect,
    schema: &str,
    migrations: &[&str],
) -> Result<()> {
    let refused = |error: tokio_postgres::Error| refused(config, &error);
    let silent = || {
        let message =
            format!("PostgreSQL at {} accepts connections, but does not answer", server(config));
        Error::new(Reason::DatabaseUnavailable, message)
    };
    let connected = timeout(CONNECT_TIMEOUT, config.connect(tls.clone())).await;
    let (mut client, connection) = connected.map_err(|_| silent())?.map_err(refused)?;
    tokio::spawn(connection);
    let unusable = |why: String| {
        let message = format!("PostgreSQL at {} cannot be used: {why}", server(config));
        Error::new(Reason::DatabaseUnavailable, message)
    };
    let about = "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
        pg_is_in_recovery()";
    let row = client.query_one(about, &[]).await.map_err(refused)?;
    let (number, version, is_standby): (i32, String, bool) = (row.get(0), row.get(1), row.get(2));
    if number < OLDEST_SERVER {
        let oldest = OLDEST_SERVER / 10_000;
        return Err(unusable(format!(
            "it is version {version}, and vidra needs {oldest} or later"
        )));
    }
    if is_standby {
        return Err(unusable("it is a standby server, which is read-only".to_owned()));
    }
    let transaction = client.transaction().await.map_err(refused)?;
    let prepare = format!(
        "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '60s';
        SELECT pg_advisory_xact_lock({LOCK})"
    );
    transaction.batch_execute(&prepare).await.map_err(refused)?;
    let versions = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
        CREATE TABLE IF NOT EXISTS {schema}.migrations (
            number int PRIMARY KEY,
            applied_at timestamptz NOT NULL DEFAULT now()
        )"
    );
    transaction.batch_execute(&versions).await.map_err(refused)?;
    let last = format!("SELECT coalesce(max(number), 0) FROM {schema}.migrations");
    let last: i32 = transaction.query_one(&last, &[]).await.map_err(refused)?.get(0);
    let known = migrations.len() as i32;
    if last > known {
        return Err(unusable(format!(
            "its tables belong to a newer release of vidra (version {last}; this one knows {known})"
        )));
    }
    for (number, migration) in (1_i32..).zip(migrations).skip(last as usize) {
        transaction.batch_execute(migration).await.map_err(refused)?;
        let done = format!("INSERT INTO {schema}.migrations (number) VALUES ($1)");
        transaction.execute(&done, &[&number]).await.map_err(refused)?;
        tracing::info!(schema, number, "database migrated");
    }
    transaction.commit().await.map_err(refused)
}
