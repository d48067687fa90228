//! Machines that share a database, and the platform behind them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use vidra_engines::{Postgres, Proxy, Redis};
use vidra_sim::{Listening, Simulator};

use crate::process::{Service, vidra};

/// The platform, the database and the folders of all machines.
pub(crate) struct Cluster {
    pub(crate) sim: Simulator,
    pub(crate) postgres: Postgres,
    /// In front of PostgreSQL. All machines use it.
    pub(crate) proxy: Proxy,
    pub(crate) redis: Option<SharedRedis>,
    database: String,
    listening: Listening,
    folders: Vec<TempDir>,
    _runtime: tokio::runtime::Runtime,
}

/// The Redis of all machines, behind a proxy.
pub(crate) struct SharedRedis {
    pub(crate) server: Redis,
    pub(crate) proxy: Proxy,
}

impl Cluster {
    /// `None` if PostgreSQL is not installed.
    pub(crate) fn new() -> Option<Self> {
        Self::over(Simulator::builder().limits(u64::MAX, u64::MAX).keep_requests(0).build())
    }

    /// Machines before a platform that records all its requests. `None` if PostgreSQL is not installed.
    pub(crate) fn with_record() -> Option<Self> {
        Self::over(Simulator::builder().limits(u64::MAX, u64::MAX).keep_requests(100_000).build())
    }

    fn over(sim: Simulator) -> Option<Self> {
        let postgres = Postgres::start()?;
        let database = postgres.database();
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let proxy = Proxy::start(loopback(postgres.port()));
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listening = runtime.block_on(sim.listen(loopback(0))).unwrap();
        let folders = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let redis = None;
        Some(Self { sim, postgres, proxy, redis, database, listening, folders, _runtime: runtime })
    }

    /// Machines that also share a Redis. `None` if PostgreSQL or Redis is not installed.
    pub(crate) fn with_redis() -> Option<Self> {
        let server = Redis::start(&[])?;
        let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], server.port())));
        Some(Self { redis: Some(SharedRedis { server, proxy }), ..Self::new()? })
    }

    /// The settings of a machine.
    pub(crate) fn command(&self, index: usize, settings: &[(&str, &str)]) -> Command {
        let mut command = vidra(self.folders[index].path());
        let [server, proxy] =
            [self.postgres.port(), self.proxy.address().port()].map(|it| format!("127.0.0.1:{it}"));
        let url = self.postgres.url(&self.database).replace(&server, &proxy);
        command
            .env("YOUTUBE_API_KEY", "demo-key")
            .env("VIDRA_DATA_API_URL", self.listening.data_api_url())
            .env("VIDRA_WEB_URL", self.listening.web_url())
            .env("VIDRA_DATABASE", url)
            .env("RUST_LOG", "info,vidra_server=warn");
        if let Some(redis) = &self.redis {
            command.env("VIDRA_CACHE", format!("redis://{}", redis.proxy.address()));
            // These processes share two cores with the test.
            command.env("VIDRA_LEASE_TIMEOUT", "500ms");
        }
        command.envs(settings.iter().copied());
        command
    }

    /// The folder of a machine.
    pub(crate) fn folder(&self, index: usize) -> &Path {
        self.folders[index].path()
    }

    /// Runs SQL as the administrator.
    pub(crate) fn sql(&self, sql: &str) {
        self.postgres.sql(&self.database, sql);
    }

    /// The figure of SQL that the administrator runs.
    pub(crate) fn figure(&self, sql: &str) -> u64 {
        self.postgres.sql(&self.database, sql).parse().unwrap()
    }

    /// Starts all three machines.
    pub(crate) fn start_all(&self, settings: &[(&str, &str)]) -> Vec<Service> {
        (0..3).map(|index| self.start(index, settings)).collect()
    }

    pub(crate) fn start(&self, index: usize, settings: &[(&str, &str)]) -> Service {
        Service::start(&mut self.command(index, settings))
    }

    /// The units that the platform has billed.
    pub(crate) fn bill(&self) -> u64 {
        self.sim.record().units.default
    }

    /// The units of the default bucket in the database, of all days.
    pub(crate) fn ledger(&self) -> u64 {
        let sql = "SELECT coalesce(sum(used), 0) FROM vidra.quota_days WHERE bucket = 'default'";
        self.figure(sql)
    }
}
