//! Leases in Redis or Valkey.
//!
//! The lease of a key is the key `vidra:lease:{NN}:KEY`. Its value is the fencing token, and it expires on the
//! server. `NN` is a hash of `KEY`. The counter of its leases, `vidra:lease:{NN}`, is at the same node of a cluster.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use redis::{Cmd, Value};
use tokio::time::{sleep, timeout};

use super::link::Link;
use super::{BoxFuture, Redis, StoreError};
use crate::store::leases::{FencingToken, Leases, Listeners, Listening};

/// A counter that was lost, for example in a failover, begins with the time in microseconds: no token is issued twice.
const TAKE: &str = "
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 then
  local now = redis.call('TIME')
  redis.call('SET', KEYS[2], now[1] .. string.format('%06d', now[2]))
end
redis.call('INCR', KEYS[2])
local fence = redis.call('GET', KEYS[2])
redis.call('SET', KEYS[1], fence, 'PX', ARGV[1])
return tonumber(fence)";

const RENEW: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

const RELEASE: &str = "
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])";

/// The channel of announcements.
pub(super) const CHANNEL: &str = "vidra:lease";
/// The number of counters, so that a cluster spreads the leases over its nodes.
const COUNTERS: u32 = 64;
/// The pause before a lost subscription is renewed. Waiters also poll.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(1);
/// How often a subscription is checked, because a lost connection that only receives looks like a silent one; and how
/// long the answer may take.
const PING_EVERY: Duration = Duration::from_secs(5);

/// A script with its keys, which all have to be at one node of a cluster.
pub(super) fn script(text: &str, keys: &[String]) -> Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(text).arg(keys.len()).arg(keys);
    command
}

fn counter(key: &str) -> String {
    format!("vidra:lease:{{{:02}}}", crc32fast::hash(key.as_bytes()) % COUNTERS)
}

fn lease(key: &str) -> String {
    format!("{}:{key}", counter(key))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl Leases for Redis {
    fn take<'a>(
        &'a self,
        key: &'a str,
        time: Duration,
    ) -> BoxFuture<'a, Result<Option<FencingToken>, StoreError>> {
        Box::pin(async move {
            let mut command = script(TAKE, &[lease(key), counter(key)]);
            let fence: u64 = self.call(command.arg(milliseconds(time))).await?;
            Ok((fence > 0).then_some(FencingToken(fence)))
        })
    }

    fn renew<'a>(
        &'a self,
        key: &'a str,
        FencingToken(fence): FencingToken,
        time: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let mut command = script(RENEW, &[lease(key)]);
            self.call(command.arg(fence).arg(milliseconds(time))).await
        })
    }

    fn release<'a>(
        &'a self,
        key: &'a str,
        FencingToken(fence): FencingToken,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _: u64 = self.call(script(RELEASE, &[lease(key)]).arg(fence)).await?;
            Ok(())
        })
    }

    fn announce<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let keys = serde_json::to_string(keys).expect("text as JSON");
            let _: u64 = self.call(redis::cmd("PUBLISH").arg(CHANNEL).arg(keys)).await?;
            Ok(())
        })
    }

    fn listen(&self, keys: &[String]) -> Listening {
        let listening = self.listeners.listen(keys);
        self.subscribing.call_once(|| {
            tokio::spawn(subscribe(Arc::downgrade(&self.link), self.listeners.clone()));
        });
        listening
    }
}

/// Passes announcements to the listeners, as long as the store lives.
async fn subscribe(link: Weak<Link>, listeners: Listeners) {
    while let Some(alive) = link.upgrade() {
        let subscription = alive.subscribe(CHANNEL).await;
        drop(alive);
        if let Ok(subscription) = subscription {
            let (mut commands, mut messages) = subscription.split();
            while link.strong_count() > 0 {
                let message = match timeout(PING_EVERY, messages.next()).await {
                    Ok(Some(message)) => message,
                    Ok(None) => break,
                    Err(_silent) => match timeout(PING_EVERY, commands.ping::<Value>()).await {
                        Ok(Ok(_)) => continue,
                        Ok(Err(_)) | Err(_) => break,
                    },
                };
                let keys: Option<Vec<String>> =
                    serde_json::from_slice(message.get_payload_bytes()).ok();
                listeners.announce(&keys.unwrap_or_default());
            }
        }
        sleep(RESUBSCRIBE_AFTER).await;
    }
}
