//! A store in Redis or Valkey that several machines can share.
//!
//! The key of a record is `vidra:1:` and its cache key. The value is the output of
//! [`Record::encode`] and expires on the server.

mod leases;
mod link;
mod rates;

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use redis::{Cmd, ErrorKind, FromRedisValue, RedisError};
use tokio::time::timeout;

use super::leases::{Leases, Listeners};
use super::{BoxFuture, RatePool, RateUse, Record, Store, StoreError, Usage};
use crate::error::{Error, Reason};
use link::{Link, Node};

/// The maximum size of a record. The largest ones, lists of 20,000 entries, have a few megabytes.
const MAX_RECORD_BYTES: usize = 32 << 20;

/// The maximum size of a record that is read with many others: a video or a channel.
const MAX_SMALL_BYTES: usize = 1 << 20;

/// The answer to a check of a cluster.
const NO_CLUSTER: &str = "the server is no node of a cluster";
/// The key and the caller of a check.
const PROBE: &str = "probe";
/// The time limit of a check.
const CHECK: Duration = Duration::from_secs(2);
/// The beginning of all messages.
const REDIS: &str = "Redis: ";

/// The prefix of all keys. The number is the version of the layout.
const PREFIX: &str = "vidra:1:";
/// The number of keys in one scan step. The server handles other clients between the steps.
const STEP: u64 = 1000;
/// The maximum number of scan steps. Beyond it the size is an estimate.
const STEPS: u64 = 200;

/// Stores records in a Redis or Valkey server. It connects on the first call and reconnects after a
/// failure, so the server can start later or restart.
pub struct Redis {
    link: Arc<Link>,
    listeners: Listeners,
    /// The first listener subscribes.
    subscribing: Once,
}

impl Redis {
    /// Configures servers by their URL. It does not connect.
    ///
    /// The URL is `redis://[user:password@]host[:port][/database]`, `rediss://` for TLS with the
    /// machine's trusted certificates, or `unix:///path/of/socket`. The schemes `valkey` and
    /// `valkeys` work too.
    ///
    /// A cluster is `redis+cluster://[user:password@]host[:port],host[:port]`, with some of its nodes. Sentinels are
    /// `redis+sentinel://[user:password@]host[:port],host[:port]/name[/database]`, with the name of the primary server.
    /// User and password are those of the servers; a password of the sentinels is `?sentinel_password=…`. Both have the
    /// variants of `redis`, for example `rediss+cluster`.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] if the URL is not valid. The message does not quote the URL.
    pub fn new(url: &str) -> crate::error::Result<Self> {
        // The URL can contain a password, so no message quotes it.
        let invalid = || {
            let what = "a Redis server is a redis, rediss or unix URL, and several servers a redis+cluster or \
                        redis+sentinel URL";
            Error::new(Reason::InvalidInput, what)
        };
        let link = Arc::new(Link::from_url(url).ok_or_else(invalid)?);
        Ok(Self { link, listeners: Listeners::default(), subscribing: Once::new() })
    }

    /// Checks that the server accepts the user and the commands of this store. A server that cannot be reached passes: it
    /// may start later.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`] with the cause.
    pub async fn check(&self) -> crate::error::Result<()> {
        let probe = async {
            if let Some(Err(error)) = self.link.check_cluster().await {
                return Err(match error.code() {
                    Some("ERR") => StoreError::Unavailable(format!("{REDIS}{NO_CLUSTER}")),
                    _ => unavailable(&error),
                });
            }
            if let Some(lease) = Leases::take(self, PROBE, Duration::from_secs(1)).await? {
                self.release(PROBE, lease).await?;
            }
            self.announce(&[PROBE.to_owned()]).await?;
            let nothing = RateUse { caller: PROBE.to_owned(), added: 0, highest: Duration::ZERO };
            self.exchange(&[nothing]).await?;
            self.get(PROBE).await?;
            self.link
                .subscribe(leases::CHANNEL)
                .await
                .map(drop)
                .map_err(|error| unavailable(&error))
        };
        let probe = timeout(CHECK, probe).await;
        let Ok(Err(StoreError::Unavailable(why))) = probe else { return Ok(()) };
        let why = match why.strip_prefix(REDIS) {
            Some("WRONGPASS" | "NOAUTH" | "AuthenticationFailed") => "wrong user or password",
            Some("NOPERM") => "the user may not use the commands or keys of vidra",
            Some(NO_CLUSTER) => NO_CLUSTER,
            Some("MOVED") => {
                "the server is a node of a cluster, whose URL begins with redis+cluster"
            }
            _ => return Ok(()),
        };
        Err(Error::new(Reason::InvalidInput, format!("Redis: {why}")))
    }

    async fn call<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, StoreError> {
        self.link.call(command).await.map_err(|error| unavailable(&error))
    }

    async fn call_node<T: FromRedisValue>(
        &self,
        node: &Node,
        command: &Cmd,
    ) -> Result<T, StoreError> {
        self.link.call_node(node, command).await.map_err(|error| unavailable(&error))
    }

    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.link.nodes().await.map_err(|error| unavailable(&error))
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
    async fn scan(&self, node: &Node, cursor: u64) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
        let mut command = redis::cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(format!("{PREFIX}*")).arg("COUNT").arg(STEP);
        self.call_node(node, &command).await
    }

    async fn clear_node(&self, node: &Node) -> Result<(), StoreError> {
        let mut cursor = 0;
        loop {
            let (next, names) = self.scan(node, cursor).await?;
            // One by one, because a cluster takes keys of different slots only in different commands.
            let unlink = |name| async { self.call(redis::cmd("UNLINK").arg(name)).await };
            let _: Vec<()> = try_join_all(names.into_iter().map(unlink)).await?;
            if next == 0 {
                return Ok(());
            }
            cursor = next;
        }
    }

    async fn usage_of_node(&self, node: &Node) -> Result<Usage, StoreError> {
        let mut usage = Usage::default();
        let mut cursor = 0;
        for _ in 0..STEPS {
            let (next, names) = self.scan(node, cursor).await?;
            let length = |name| async move { self.call(redis::cmd("STRLEN").arg(name)).await };
            let lengths: Vec<u64> = try_join_all(names.iter().map(length)).await?;
            usage.entries += names.len() as u64;
            usage.bytes += names.iter().map(|name| name.len() as u64).sum::<u64>();
            usage.bytes += lengths.iter().sum::<u64>();
            if next == 0 {
                return Ok(usage);
            }
            cursor = next;
        }
        let all: u64 = self.call_node(node, &redis::cmd("DBSIZE")).await?;
        let times =
            |seen: u64| (u128::from(seen) * u128::from(all) / u128::from(STEP * STEPS)) as u64;
        Ok(Usage { entries: times(usage.entries), bytes: times(usage.bytes) })
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
            for node in self.nodes().await? {
                self.clear_node(&node).await?;
            }
            Ok(())
        })
    }

    /// Counts keys and the lengths of their values. The count is exact up to 200,000 keys in the
    /// database of a server and an extrapolation beyond.
    fn usage(&self) -> BoxFuture<'_, Result<Usage, StoreError>> {
        Box::pin(async move {
            let mut all = Usage::default();
            for node in self.nodes().await? {
                let usage = self.usage_of_node(&node).await?;
                all.entries += usage.entries;
                all.bytes += usage.bytes;
            }
            Ok(all)
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
        None if matches!(
            error.kind(),
            ErrorKind::InvalidClientConfig | ErrorKind::MasterNameNotFoundBySentinel
        ) =>
        {
            "no sentinel knows the primary server".to_owned()
        }
        None => format!("{:?}", error.kind()),
    };
    StoreError::Unavailable(format!("{REDIS}{what}"))
}
