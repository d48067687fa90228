//! Real servers for tests, each on a free port of this machine: PostgreSQL, Redis, and a proxy in front of any server that
//! delays and cuts connections.

mod postgres;
mod proxy;
mod redis;

pub use postgres::{Postgres, shared_postgres};
pub use proxy::{Proxy, Traffic};
pub use redis::{Redis, RedisCluster, RedisSentinels};

use std::net::TcpListener;

/// A port that no server uses at this moment.
///
/// # Panics
///
/// If there is none.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
