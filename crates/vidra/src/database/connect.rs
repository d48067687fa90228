//! Connections: their settings, TLS, and what their errors say.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::server;
use crate::error::{Error, Reason, Result};

pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The wait for a connection that another transaction uses.
const POOL_TIMEOUT: Duration = Duration::from_secs(1);

/// After this time without an acknowledgement the connection counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(5);

/// The settings of each session. A committed transaction survives a crash of the server, no transaction holds a lock for
/// long, and the server notices within seconds that a machine is lost.
const SESSION: &str = "-c synchronous_commit=on -c datestyle=ISO -c client_min_messages=warning -c statement_timeout=2000 -c lock_timeout=1500 \
    -c idle_in_transaction_session_timeout=5000 -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=1 \
    -c tcp_keepalives_count=3 -c tcp_user_timeout=5000";

/// Reads the URL. An error does not quote it, because it can contain a password.
pub(super) fn config(url: &str) -> Result<Config> {
    let invalid = |fault: &str| {
        let faults = vec![fault.to_owned()];
        Error::invalid("The URL of the database is not valid", faults)
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(invalid("expected postgres://[user[:password]@]host[:port]/database"));
    }
    // Certificates are always checked.
    let url = &url.replace("sslmode=verify-full", "sslmode=require");
    let url = &url.replace("sslmode=verify-ca", "sslmode=require");
    let mut config: Config = url.parse().map_err(|_| {
        invalid(
            "expected postgres://[user[:password]@]host[:port]/database, with parameters of libpq such as \
            ?sslmode=require",
        )
    })?;
    if config.get_hosts().is_empty() {
        return Err(invalid("the host is missing"));
    }
    if config.get_user().is_none() {
        return Err(invalid("the user is missing"));
    }
    if url.contains("password=") {
        return Err(invalid("the password belongs in front of the host"));
    }
    let options = config.get_options().map(|more| format!("{SESSION} {more}"));
    config.options(options.unwrap_or_else(|| SESSION.to_owned()));
    config.application_name("vidra").connect_timeout(CONNECT_TIMEOUT);
    config.keepalives_idle(LOST_AFTER).keepalives_interval(Duration::from_secs(1));
    config.keepalives_retries(3).tcp_user_timeout(LOST_AFTER);
    Ok(config)
}

/// TLS with the machine's trusted certificates. Without `sslmode` it is used if the server offers it.
pub(super) fn tls() -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::internal)?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// A pool of up to `count` connections.
pub(super) fn pool(config: &Config, tls: &MakeRustlsConnect, count: usize) -> Result<Pool> {
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config.clone(), tls.clone(), recycling);
    let timeouts = Timeouts {
        wait: Some(POOL_TIMEOUT),
        create: Some(CONNECT_TIMEOUT),
        recycle: Some(CONNECT_TIMEOUT),
    };
    let builder = Pool::builder(manager).max_size(count).runtime(Runtime::Tokio1);
    builder.timeouts(timeouts).build().map_err(Error::internal)
}

/// The error of a first connection, in words for the operator. Later ones are only logged.
pub(super) fn refused(config: &Config, error: &tokio_postgres::Error) -> Error {
    let (server, database) = (server(config), config.get_dbname().unwrap_or_default());
    let user = config.get_user().unwrap_or_default();
    let message = match error.code() {
        Some(code) if is_rejected(code) => {
            format!("PostgreSQL at {server} rejects the user {user} or its password")
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
            format!("PostgreSQL at {server} has no database {database}")
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            format!("the user {user} may not create tables in the database {database} at {server}")
        }
        Some(_) => format!("PostgreSQL at {server} refuses: {}", described(error)),
        None if config.get_password().is_none()
            && error.source().is_none_or(|it| !it.is::<io::Error>()) =>
        {
            format!(
                "PostgreSQL at {server} refuses, and the URL has no password: {}",
                described(error)
            )
        }
        None => format!("PostgreSQL at {server} cannot be reached: {}", described(error)),
    };
    Error::new(Reason::DatabaseUnavailable, message)
}

fn is_rejected(code: &SqlState) -> bool {
    [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code)
}

/// The text of an error, without values of parameters.
pub(super) fn described(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_needs_a_host_and_a_user_and_is_never_quoted() {
        config("postgres://vidra@db/vidra").unwrap();
        config("postgresql://vidra:secret@db:5433,other/vidra?sslmode=require").unwrap();
        config("postgres://vidra:secret@db/vidra?sslmode=verify-full").unwrap();
        let table = [
            "",
            "db",
            "mysql://vidra:secret@db/vidra",
            "postgres://",
            "postgres://db/secret",
            "postgres://vidra:secret@db:port/vidra",
            "postgres://vidra:secret@/vidra",
            "postgres://vidra:secret@db/vidra?sslmode=secret",
            "postgres://vidra:secret@db/vidra?unknown=secret",
            "postgres://vidra@db/vidra?password=secret",
        ];
        for url in table {
            let error = config(url).unwrap_err();
            assert_eq!(error.reason(), Reason::InvalidInput, "{url}");
            assert!(!format!("{error} {error:?}").contains("secret"), "{url}: {error:?}");
        }
    }

    #[test]
    fn settings_of_the_url_come_after_ours() {
        let config = config("postgres://vidra@db/vidra?options=-c%20search_path%3Dother").unwrap();
        let options = config.get_options().unwrap();
        assert!(
            options.starts_with(SESSION) && options.ends_with("search_path=other"),
            "{options}"
        );
    }
}
