//! A store in Redis or Valkey that several machines can share.
//!
//! The key of a record is `vidra:1:` and its cache key. The value is the output of
//! [`Record::encode`] and expires on the server.

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, IntoConnectionInfo as _, Pipeline, RedisError};

use super::{BoxFuture, Record, Store, StoreError, Usage};
use crate::error::{Error, Reason};

/// The maximum size of a record. The largest ones, lists of 20,000 entries, have a few megabytes.
const MAX_RECORD_BYTES: usize = 32 << 20;

/// The maximum size of a record that is read with many others: a video or a channel.
const MAX_SMALL_BYTES: usize = 1 << 20;

/// The prefix of all keys. The number is the version of the layout.
const PREFIX: &str = "vidra:1:";
/// The timeouts of a connection and of a response without a tighter deadline.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(10);
/// After this time without an acknowledgement the connection counts as lost.
#[cfg(target_os = "linux")]
const LOST_AFTER: Duration = Duration::from_secs(5);
/// The number of keys in one scan step. The server handles other clients between the steps.
const STEP: u64 = 1000;
/// The maximum number of scan steps. Beyond it the size is an estimate.
const STEPS: u64 = 200;

/// Stores records in a Redis or Valkey server. It connects on the first call and reconnects after a
/// failure, so the server can start later or restart.
pub struct Redis {
    client: Client,
    /// Created by the first call, because it needs a runtime.
    connection: OnceLock<ConnectionManager>,
}

impl Redis {
    /// Configures a server by its URL. It does not connect.
    ///
    /// The URL is `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS with the
    /// machine's trusted certificates, or `unix:///path/of/socket`. The schemes `valkey` and
    /// `valkeys` work too.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the URL is not valid. The message does not quote the URL.
    pub fn new(url: &str) -> crate::error::Result<Self> {
        // The source would quote the URL, which can contain a password.
        let invalid =
            |_| Error::new(Reason::InvalidInput, "a Redis server is a redis, rediss or unix URL");
        let server = url.into_connection_info().map_err(invalid)?;
        let tcp = redis::io::tcp::TcpSettings::default().set_nodelay(true);
        #[cfg(target_os = "linux")]
        let tcp = tcp.set_user_timeout(LOST_AFTER);
        // The TLS library requires a default cryptography provider.
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
        // The first caller can leave before the handshake ends. This task completes the connection
        // anyway.
        let mut first = connection.clone();
        tokio::spawn(async move { redis::cmd("PING").query_async::<()>(&mut first).await });
        Ok(connection)
    }

    async fn call<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        command.query_async(&mut self.connection()?).await.map_err(|error| unavailable(&error))
    }

    async fn ask_all<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, StoreError> {
        commands.query_async(&mut self.connection()?).await.map_err(|error| unavailable(&error))
    }

    /// Reads a record, but no more than `max` bytes of it: another program may have written it.
    async fn read(&self, key: &str, max: usize) -> Result<Option<Record>, StoreError> {
        let mut command = redis::cmd("GETRANGE");
        command.arg(name(key)).arg(0).arg(max);
        let stored: Vec<u8> = self.call(&command).await?;
        match stored.len() {
            // The answer for a key that does not exist.
            0 => Ok(None),
            length if length > max => Err(StoreError::Corrupt),
            _ => Record::decode(&Bytes::from(stored), key),
        }
    }

    /// Runs one scan step. Returns the next cursor (0 at the end) and the keys with our prefix.
    async fn scan(&self, cursor: u64) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
        let mut command = redis::cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(format!("{PREFIX}*")).arg("COUNT").arg(STEP);
        self.call(&command).await
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The `Debug` output of the client would reveal the password.
        f.debug_struct("Redis").finish_non_exhaustive()
    }
}

impl Store for Redis {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        Box::pin(self.read(key, MAX_RECORD_BYTES))
    }

    fn get_many<'a>(
        &'a self,
        keys: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Option<Record>>, StoreError>> {
        Box::pin(async move {
            // The connection sends them together. One value of another type does not fail the others.
            let read = join_all(keys.iter().map(|key| self.read(key, MAX_SMALL_BYTES))).await;
            match read.iter().all(Result::is_err).then(|| read.first().cloned()).flatten() {
                Some(Err(error @ (StoreError::Unavailable(_) | StoreError::TimedOut))) => {
                    Err(error)
                }
                _ => Ok(read.into_iter().map(|read| read.ok().flatten()).collect()),
            }
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        record: &'a Record,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            // From the record's own timestamps, because the server has another clock.
            let life = record.keep_until.saturating_sub(record.stored_at);
            if life == 0 {
                return self.remove(key).await;
            }
            // The server's maximum. Longer lifetimes are in effect unlimited.
            let life = life.min(i64::MAX as u64 / 4);
            let content = record.encode(key);
            let mut command = redis::cmd("SET");
            command.arg(name(key)).arg(&content[..]).arg("PX").arg(life);
            self.call(&command).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.call(redis::cmd("UNLINK").arg(name(key))).await })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let mut cursor = 0;
            loop {
                let (next, names) = self.scan(cursor).await?;
                if !names.is_empty() {
                    let _: () = self.call(redis::cmd("UNLINK").arg(names)).await?;
                }
                if next == 0 {
                    return Ok(());
                }
                cursor = next;
            }
        })
    }

    /// Counts keys and the lengths of their values. The count is exact up to 200,000 keys in the
    /// database and an extrapolation beyond.
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
            let all: u64 = self.call(&redis::cmd("DBSIZE")).await?;
            let times =
                |seen: u64| (u128::from(seen) * u128::from(all) / u128::from(STEP * STEPS)) as u64;
            Ok(Usage { entries: times(usage.entries), bytes: times(usage.bytes) })
        })
    }
}

fn name(key: &str) -> String {
    format!("{PREFIX}{key}")
}

/// Only the kind of the error, because servers echo commands, which contain keys.
fn unavailable(error: &RedisError) -> StoreError {
    if error.is_timeout() {
        return StoreError::TimedOut;
    }
    let what = match error.code() {
        // Another application stores a value of another type under this key.
        Some("WRONGTYPE") => return StoreError::Corrupt,
        Some(code) => code.to_owned(),
        None if error.is_connection_refusal() => "connection refused".to_owned(),
        None if error.is_io_error() => "connection lost".to_owned(),
        None => format!("{:?}", error.kind()),
    };
    StoreError::Unavailable(format!("Redis: {what}"))
}
