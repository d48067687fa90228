//! Redis servers: one, a cluster, and a primary server with sentinels.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A Redis server on a free port and on a socket. It is killed on drop.
#[derive(Debug)]
pub struct Redis {
    folder: TempDir,
    port: u16,
    arguments: Vec<String>,
    /// The text in the log of a server that answers.
    ready: &'static str,
    process: Option<Child>,
}

/// Ports below the ephemeral ones, so that no other process takes one while its server is down. The nodes of a cluster
/// also use ports that are higher by 10,000.
const PORTS: std::ops::Range<u16> = 20_000..22_000;

/// The name of the socket in the folder of a server.
const SOCKET: &str = "redis.sock";

/// How long the servers of a group may take to find each other.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

impl Redis {
    /// Starts a server. `None` if there is no `redis-server`.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server` and `VIDRA_REQUIRE_PEERS` is set, and if the server does not start.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join(SOCKET).display().to_string();
        let usual = ["--save", "", "--appendonly", "no", "--unixsocket", &socket];
        let usual = usual.iter().chain(&["--repl-diskless-sync-delay", "0"]);
        let arguments = usual.chain(arguments).map(ToString::to_string).collect();
        Self::launch(folder, arguments, "eady to accept")
    }

    /// Starts a sentinel of the server at `primary`.
    fn start_sentinel(primary: u16) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        // A sentinel writes to its configuration file.
        let file = folder.path().join("sentinel.conf");
        let configuration = format!(
            "sentinel monitor primary 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds primary 1000\n\
             sentinel failover-timeout primary 5000\n"
        );
        std::fs::write(&file, configuration).unwrap();
        let arguments = vec![file.display().to_string(), "--sentinel".to_owned()];
        Self::launch(folder, arguments, "+monitor master")
    }

    fn launch(folder: TempDir, arguments: Vec<String>, ready: &'static str) -> Option<Self> {
        // Each process begins at another port.
        static NEXT: AtomicU16 = AtomicU16::new(0);
        if Command::new("redis-server").arg("--version").output().is_err() {
            let is_required = std::env::var_os("VIDRA_REQUIRE_PEERS").is_some();
            assert!(!is_required, "redis-server is missing: scripts/needs --tests installs it");
            println!("skipped: there is no redis-server");
            return None;
        }
        let mut server = Self { folder, port: 0, arguments, ready, process: None };
        let first = (std::process::id() % 2_000) as u16 * 7;
        let is_started = (0..50).any(|_| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed).wrapping_add(first);
            server.port = PORTS.start + number % (PORTS.end - PORTS.start);
            server.try_run()
        });
        assert!(is_started, "one of 50 ports is free");
        Some(server)
    }

    /// Starts the server again, without its data.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn run(&mut self) {
        assert!(self.try_run(), "redis-server ended");
    }

    /// `false` if the port is taken.
    fn try_run(&mut self) -> bool {
        let mut process = Command::new("redis-server")
            .args(&self.arguments)
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its log")).lines();
        if !lines.any(|line| line.is_ok_and(|line| line.contains(self.ready))) {
            process.wait().expect("it ends");
            return false;
        }
        // Drains its output, so that it does not block on a full pipe.
        thread::spawn(move || lines.count());
        self.process = Some(process);
        true
    }

    /// Kills the server without a shutdown.
    ///
    /// # Panics
    ///
    /// If it cannot be killed.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it ends");
        }
    }

    /// Sends a signal. `-STOP` and `-CONT` simulate an overloaded machine.
    ///
    /// # Panics
    ///
    /// If the server does not run.
    pub fn signal(&self, signal: &str) {
        let id = self.process.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// The port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// Whether it is a replica with all data of its primary server.
    fn is_replicating(&self) -> bool {
        self.command(&["INFO", "replication"]).contains("master_link_status:up")
    }

    /// Runs a command, and returns the lines of its answer.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn command(&self, command: &[&str]) -> String {
        let port = self.port.to_string();
        let done = Command::new("redis-cli").args(["-p", &port]).args(command).output().unwrap();
        assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A cluster of three primary servers with one replica each.
#[derive(Debug)]
pub struct RedisCluster {
    /// All servers.
    pub nodes: Vec<Redis>,
}

impl RedisCluster {
    /// Starts a cluster. `None` if there is no `redis-server`.
    ///
    /// # Panics
    ///
    /// If the servers form no cluster.
    pub fn start() -> Option<Self> {
        let arguments = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
        let nodes: Vec<Redis> = (0..6).map(|_| Redis::start(&arguments)).collect::<Option<_>>()?;
        let done = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)))
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        wait_until("all nodes know each other", || {
            nodes.iter().all(|node| node.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
                && nodes.iter().filter(|node| node.is_replicating()).count() == 3
        });
        Some(Self { nodes })
    }

    /// The URL of the cluster.
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Kills a primary server, and waits until its replica replaces it.
    ///
    /// # Panics
    ///
    /// If no replica replaces it.
    pub fn fail_over(&mut self) {
        let is_primary = |node: &Redis| node.command(&["ROLE"]).starts_with("master");
        let at = self.nodes.iter().position(is_primary).expect("a primary server");
        drop(self.nodes.remove(at));
        wait_until("a replica is primary", || {
            self.nodes.iter().filter(|node| is_primary(node)).count() == 3
                && self
                    .nodes
                    .iter()
                    .all(|node| node.command(&["CLUSTER", "INFO"]).contains("cluster_state:ok"))
        });
    }
}

/// A primary server, a replica and three sentinels.
#[derive(Debug)]
pub struct RedisSentinels {
    servers: Vec<Redis>,
    sentinels: Vec<Redis>,
}

impl RedisSentinels {
    /// Starts the servers. `None` if there is no `redis-server`.
    ///
    /// # Panics
    ///
    /// If the sentinels do not find the servers.
    pub fn start() -> Option<Self> {
        let primary = Redis::start(&[])?;
        let replica = Redis::start(&["--replicaof", "127.0.0.1", &primary.port.to_string()])?;
        let sentinels: Vec<Redis> =
            (0..3).map(|_| Redis::start_sentinel(primary.port)).collect::<Option<_>>()?;
        wait_until("the sentinels know each other and the replica", || {
            sentinels.iter().all(|sentinel| {
                let state = sentinel.command(&["SENTINEL", "MASTER", "primary"]);
                let field = |name: &str| {
                    state.lines().skip_while(|line| *line != name).nth(1).map(str::to_owned)
                };
                field("num-slaves").as_deref() == Some("1")
                    && field("num-other-sentinels").as_deref() == Some("2")
            }) && replica.is_replicating()
        });
        Some(Self { servers: vec![primary, replica], sentinels })
    }

    /// The URL of the servers.
    pub fn url(&self) -> String {
        let hosts: Vec<String> =
            self.sentinels.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+sentinel://{}/primary", hosts.join(","))
    }

    /// Kills the primary server, and waits until the sentinels name its replica.
    ///
    /// # Panics
    ///
    /// If they do not.
    pub fn fail_over(&mut self) {
        drop(self.servers.remove(0));
        let port = self.servers[0].port.to_string();
        wait_until("the sentinels name the replica", || {
            self.sentinels.iter().all(|sentinel| {
                let address = sentinel.command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "primary"]);
                address.lines().nth(1) == Some(&port)
            }) && self.servers[0].command(&["ROLE"]).starts_with("master")
        });
    }
}

fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + WAIT_LIMIT;
    while !is_true() {
        assert!(Instant::now() < until, "not in time: {what}");
        thread::park_timeout(Duration::from_millis(50));
    }
}
