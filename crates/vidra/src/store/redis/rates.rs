//! Rate limits of callers in Redis or Valkey.
//!
//! The meter of a caller is the key `vidra:rate:HASH`, with a hash of the name or the network of the caller. Its value is
//! the time in microseconds at which the whole burst is available again, by the clock of the server.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::try_join_all;
use ring::digest::{SHA256, digest};

use super::leases::script;
use super::{BoxFuture, Redis, StoreError};
use crate::store::{RatePool, RateUse};

const EXCHANGE: &str = "
local now = redis.call('TIME')
now = now[1] * 1000000 + now[2]
local ahead = math.max(tonumber(redis.call('GET', KEYS[1]) or '0') - now, 0) + ARGV[1]
ahead = math.max(math.min(ahead, tonumber(ARGV[2])), 0)
if ahead == 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000))
end
return ahead";

const ALIVE: &str = "
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])";

const MACHINES: &str = "vidra:machines";
/// A machine counts for this many seconds after its last report.
const SEEN_FOR: u64 = 60;

fn meter(caller: &str) -> String {
    let hash = digest(&SHA256, caller.as_bytes());
    hash.as_ref()[..16].iter().fold("vidra:rate:".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

impl RatePool for Redis {
    fn exchange<'a>(
        &'a self,
        used: &'a [RateUse],
    ) -> BoxFuture<'a, Result<Vec<Duration>, StoreError>> {
        let exchange = async |RateUse { caller, added, highest }: &RateUse| {
            let highest = u64::try_from(highest.as_micros()).unwrap_or(u64::MAX);
            let mut command = script(EXCHANGE, &[meter(caller)]);
            let ahead: u64 = self.call(command.arg(*added).arg(highest)).await?;
            Ok(Duration::from_micros(ahead))
        };
        Box::pin(try_join_all(used.iter().map(exchange)))
    }

    fn machines<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<u32, StoreError>> {
        Box::pin(async move {
            self.call(script(ALIVE, &[MACHINES.to_owned()]).arg(id).arg(SEEN_FOR)).await
        })
    }
}
