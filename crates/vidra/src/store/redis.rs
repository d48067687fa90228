//! Records in Redis or Valkey, which several machines may share.
//!
//! A record is the value of `vidra:1:` and its key, in the bytes of [`Record::encode`], and expires
//! there by itself.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, IntoConnectionInfo as _, Pipeline, RedisError};

use super::{BoxFuture, Record, Store, StoreError, Usage};
use crate::error::{Error, Reason};

/// What all keys begin with; the number is that of the layout.
const PREFIX: &str = "vidra:1:";
/// How long the server has to accept a connection, and to answer where nobody is in a hurry.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(10);
/// Data that was not acknowledged for so long: the connection leads nowhere any more.
#[cfg(target_os = "linux")]
const LOST_AFTER: Duration = Duration::from_secs(5);
/// How many keys the server looks at in one step of a scan. Others are served between the steps.
const STEP: u64 = 1000;
/// After so many steps, what is left is estimated.
const STEPS: u64 = 200;

/// Keeps records in a Redis or Valkey server. It connects when first asked and again whenever the
/// connection breaks, so the server may come later and go in between.
pub struct Redis {
    client: Client,
    /// Made with the first call, because that happens inside a runtime.
    connection: OnceLock<ConnectionManager>,
}

impl Redis {
    /// A server by its URL: `redis://[user:password@]host[:port][/database]`, the same with `rediss`
    /// for TLS (by the certificates that the machine trusts), or `unix:///path/of/socket`; `valkey` and
    /// `valkeys` will do, too. `Err` says what is wrong with the URL, without it; whether anybody is
    /// there is not looked at.
    pub fn new(url: &str) -> crate::error::Result<Self> {
        // The source would quote the URL, and with it the password.
        let invalid =
            |_| Error::new(Reason::InvalidInput, "a Redis server is a redis, rediss or unix URL");
        let server = url.into_connection_info().map_err(invalid)?;
        let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        #[cfg(target_os = "linux")]
        let tcp = tcp.set_user_timeout(LOST_AFTER);
        // The TLS library wants to be told whose cryptography to use, unless it has been.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::open(server.set_tcp_settings(tcp)).map_err(invalid)?;
        Ok(Self { client, connection: OnceLock::new() })
    }

    fn connection(&self) -> Result<ConnectionManager, StoreError> {
        if let Some(connection) = self.connection.get() {
            return Ok(connection.clone());
        }
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(ANSWER));
        let made = ConnectionManager::new_lazy_with_config(self.client.clone(), config)
            .map_err(|error| unavailable(&error))?;
        let connection = self.connection.get_or_init(|| made).clone();
        // The first caller may not have the patience; the connection is made all the same.
        let mut first = connection.clone();
        tokio::spawn(async move { redis::cmd("PING").query_async::<()>(&mut first).await });
        Ok(connection)
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        command.query_async(&mut self.connection()?).await.map_err(|error| unavailable(&error))
    }

    async fn ask_all<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StoreError> {
        commands.query_async(&mut self.connection()?).await.map_err(|error| unavailable(&error))
    }

    /// One step over the server's keys: where the next one begins (0 at the end), and ours among them.
    async fn scan(&self, cursor: u64) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
        let mut command = redis::cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(format!("{PREFIX}*")).arg("COUNT").arg(STEP);
        self.ask(&command).await
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client's own would show the password.
        f.debug_struct("Redis").finish_non_exhaustive()
    }
}

impl Store for Redis {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(async move {
            let kept: Option<Vec<u8>> = self.ask(redis::cmd("GET").arg(name(key))).await?;
            kept.map_or(Ok(None), |kept| Record::decode(&Bytes::from(kept), key))
        })
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        Box::pin(async move {
            if keys.is_empty() {
                return Ok(vec![]);
            }
            let mut command = redis::cmd("MGET");
            for key in keys {
                command.arg(name(key));
            }
            let kept: Vec<Option<Vec<u8>>> = self.ask(&command).await?;
            let read = |(key, kept): (&String, Option<Vec<u8>>)| {
                kept.and_then(|kept| Record::decode(&Bytes::from(kept), key).ok().flatten())
            };
            Ok(keys.iter().zip(kept).map(read).collect())
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            // By the record's own times, because the server's clock is another.
            let life = record.keep_until.saturating_sub(record.stored_at);
            if life == 0 {
                return self.remove(key).await;
            }
            // More than the server can count is for ever.
            let life = life.min(i64::MAX as u64 / 4);
            let content = record.encode(key);
            let mut command = redis::cmd("SET");
            command.arg(name(key)).arg(&content[..]).arg("PX").arg(life);
            self.ask(&command).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.ask(redis::cmd("UNLINK").arg(name(key))).await })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut cursor = 0;
            loop {
                let (next, names) = self.scan(cursor).await?;
                if !names.is_empty() {
                    let _: () = self.ask(redis::cmd("UNLINK").arg(names)).await?;
                }
                if next == 0 {
                    return Ok(());
                }
                cursor = next;
            }
        })
    }

    /// Counts keys and the lengths of their values, exactly up to 200,000 keys of all sorts in the
    /// database, and beyond that by projection.
    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            let mut usage = Usage::default();
            let mut cursor = 0;
            for _ in 0..STEPS {
                let (next, names) = self.scan(cursor).await?;
                let mut lengths = redis::pipe();
                for name in &names {
                    lengths.cmd("STRLEN").arg(name);
                }
                let lengths: Vec<u64> = match names.is_empty() {
                    true => vec![],
                    false => self.ask_all(&lengths).await?,
                };
                usage.entries += names.len() as u64;
                usage.bytes += names.iter().map(|name| name.len() as u64).sum::<u64>();
                usage.bytes += lengths.iter().sum::<u64>();
                if next == 0 {
                    return Ok(usage);
                }
                cursor = next;
            }
            let all: u64 = self.ask(&redis::cmd("DBSIZE")).await?;
            let times =
                |seen: u64| (u128::from(seen) * u128::from(all) / u128::from(STEP * STEPS)) as u64;
            Ok(Usage { entries: times(usage.entries), bytes: times(usage.bytes) })
        })
    }
}

fn name(key: &str) -> String {
    format!("{PREFIX}{key}")
}

/// The kind of error alone: servers repeat what they were sent, and that has keys in it.
fn unavailable(error: &RedisError) -> StoreError {
    if error.is_timeout() {
        return StoreError::TimedOut;
    }
    let what = match error.code() {
        // Somebody keeps something else under a key of ours.
        Some("WRONGTYPE") => return StoreError::Corrupt,
        Some(code) => code.to_owned(),
        None if error.is_connection_refusal() => "connection refused".to_owned(),
        None if error.is_io_error() => "connection lost".to_owned(),
        None => format!("{:?}", error.kind()),
    };
    StoreError::Unavailable(format!("Redis: {what}"))
}
