//! The store in Redis, with a `redis-server` of its own for each test.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vidra::store::{Guarded, Memory, Record, Redis, Store, StoreError, Tiers, conformance};

use super::fs::folder;
use super::{NOW, record};

/// A server on a free port and on a socket, killed on drop.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    arguments: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// `None` if there is no `redis-server`. Panics then if `VIDRA_REQUIRE_PEERS` is set.
    pub(crate) fn start(arguments: &[&str]) -> Option<Self> {
        if Command::new("redis-server").arg("--version").output().is_err() {
            let is_required = std::env::var_os("VIDRA_REQUIRE_PEERS").is_some();
            assert!(!is_required, "redis-server is missing: scripts/needs --tests installs it");
            println!("skipped: there is no redis-server");
            return None;
        }
        let mut server = Self {
            folder: folder(),
            port: TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            process: None,
        };
        server.run();
        Some(server)
    }

    fn run(&mut self) {
        let mut process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &self.port.to_string(), "--unixsocket"])
            .arg(self.folder.path().join("redis.sock"))
            .args(&self.arguments)
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("redis-server starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its log")).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("eady to accept")));
        assert!(is_ready, "redis-server ended");
        // Drains its output, so that it does not block on a full pipe.
        std::thread::spawn(move || lines.count());
        self.process = Some(process);
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it can be killed");
            process.wait().expect("it ends");
        }
    }

    /// Stops or continues the server, to simulate an overloaded machine.
    fn signal(&self, signal: &str) {
        let id = self.process.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.folder.path().join("redis.sock").display())
    }

    async fn query<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let mut request = redis::cmd(command[0]);
        for argument in &command[1..] {
            request.arg(*argument);
        }
        request.query_async(&mut connection).await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Keeps a paused clock from advancing until the sender is dropped: tokio does not advance it while
/// a blocking task runs.
fn still_clock() -> std::sync::mpsc::Sender<()> {
    let (sender, dropped) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || dropped.recv());
    sender
}

/// Retries until there is an answer, because connections are restored in the background.
async fn get_with_retries(store: &Redis, key: &str) -> Option<Record> {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match store.get(key).await {
            Ok(found) => return found,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn redis_conforms() {
    let Some(server) = Server::start(&[]) else { return };
    for url in [server.url(), server.socket(), format!("{}/3", server.url())] {
        let store = Redis::new(&url).unwrap();
        conformance::check(&store).await;
        store.clear().await.unwrap();
    }
}

#[tokio::test]
async fn records_expire_and_share_the_server_with_others() {
    let Some(server) = Server::start(&[]) else { return };
    let store = Redis::new(&server.url()).unwrap();
    store.put("video/a", &record("here")).await.unwrap();
    let left: i64 = server.query(&["PTTL", "vidra:1:video/a"]).await;
    assert!((1..=60_000).contains(&left), "{left}");
    // A skewed clock does not shorten a lifetime, which is `keep_until - stored_at`.
    let skewed = Record { stored_at: 1000, keep_until: 31_000, ..record("here") };
    store.put("video/b", &skewed).await.unwrap();
    let left: i64 = server.query(&["PTTL", "vidra:1:video/b"]).await;
    assert!((1..=30_000).contains(&left), "{left}");
    let dead = Record { stored_at: 1000, keep_until: 1000, ..record("here") };
    store.put("video/b", &dead).await.unwrap();
    assert_eq!(store.get("video/b").await, Ok(None));

    for index in 0..2500 {
        store.put(&format!("{index}"), &record("here")).await.unwrap();
    }
    let _: () = server.query(&["SET", "vidra:2:video/a", "another layout"]).await;
    let _: () = server.query(&["SET", "somebody's", "else"]).await;
    assert_eq!(store.usage().await.unwrap().entries, 2501);
    store.clear().await.unwrap();
    assert_eq!(store.usage().await.unwrap().entries, 0);
    let left: u64 = server.query(&["DBSIZE"]).await;
    assert_eq!(left, 2);
}

#[tokio::test(start_paused = true)]
async fn damaged_values_and_other_types_are_misses() {
    let _still = still_clock();
    let Some(server) = Server::start(&[]) else { return };
    let store = Arc::new(Redis::new(&server.url()).unwrap());
    let guarded = Guarded::new(Arc::clone(&store) as Arc<dyn Store>);
    let _: () = server.query(&["SET", "vidra:1:a", "not a record"]).await;
    let _: () = server.query(&["LPUSH", "vidra:1:b", "not even text"]).await;
    let keys = ["a", "b"].map(str::to_owned);
    assert_eq!(store.get_many(&keys).await, Ok(vec![None, None]));
    for key in &keys {
        assert_eq!(store.get(key).await, Err(StoreError::Corrupt));
        assert_eq!(guarded.get(key).await, None);
        assert_eq!(store.get(key).await, Ok(None), "it was removed");
    }
    assert_eq!((guarded.failures().corrupt, guarded.is_failing()), (2, false));
}

#[tokio::test]
async fn the_store_reconnects_when_the_server_starts_or_restarts() {
    let Some(mut server) = Server::start(&[]) else { return };
    server.kill();
    let store = Redis::new(&server.url()).unwrap();
    let error = store.get("key").await.unwrap_err();
    assert_eq!(error.to_string(), "Redis: connection refused");
    for _ in 0..3 {
        server.run();
        assert_eq!(get_with_retries(&store, "key").await, None);
        store.put("key", &record("here")).await.unwrap();
        assert_eq!(store.get("key").await, Ok(Some(record("here"))));
        server.kill();
        assert!(matches!(store.get("key").await, Err(StoreError::Unavailable(_))));
    }
}

#[tokio::test]
async fn a_hanging_server_delays_callers_only_briefly() {
    let Some(server) = Server::start(&[]) else { return };
    let store = Arc::new(Redis::new(&server.url()).unwrap());
    let tiers = Tiers::new(Memory::new(1 << 20), Some(Arc::clone(&store) as Arc<dyn Store>));
    assert_eq!(get_with_retries(&store, "far").await, None);
    store.put("far", &record("far")).await.unwrap();
    server.signal("-STOP");
    let begun = Instant::now();
    assert_eq!(tiers.get("far", NOW).await, None);
    let first = begun.elapsed();
    assert!(first >= Duration::from_millis(50) && first < Duration::from_secs(2), "{first:?}");
    let begun = Instant::now();
    for index in 0..1000 {
        tiers.put(&format!("{index}"), record("near"));
        assert_eq!(tiers.get("far", NOW).await, None);
        assert_eq!(tiers.get(&format!("{index}"), NOW).await, Some(record("near")));
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    server.signal("-CONT");
    assert_eq!(get_with_retries(&store, "far").await, Some(record("far")));
}

#[tokio::test(start_paused = true)]
async fn a_full_server_can_still_be_read() {
    let _still = still_clock();
    let full = ["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"];
    let Some(server) = Server::start(&full) else { return };
    let store = Arc::new(Redis::new(&server.url()).unwrap());
    let guarded = Guarded::new(Arc::clone(&store) as Arc<dyn Store>);
    store.put("key", &record("here")).await.unwrap();
    let large = Record { body: vec![0; 100_000].into(), ..record("") };
    let mut outcome = Ok(());
    for index in 0..100 {
        outcome = outcome.and(store.put(&format!("{index}"), &large).await);
    }
    assert_eq!(outcome, Err(StoreError::Unavailable("Redis: OOM".to_owned())));
    guarded.put("more", &large).await;
    assert_eq!(guarded.get("key").await, Some(record("here")));
    assert_eq!((guarded.failures().reads, guarded.failures().writes), (0, 1));
}

#[tokio::test]
async fn errors_and_descriptions_hold_no_password_and_no_key() {
    let Some(server) = Server::start(&["--requirepass", "right"]) else { return };
    let url = |password: &str| format!("redis://:{password}@127.0.0.1:{}", server.port);
    let store = Redis::new(&url("right")).unwrap();
    store.put("key", &record("here")).await.unwrap();
    let store = Redis::new(&url("wrong-secret")).unwrap();
    let error = store.put("video/of-a-user", &record("here")).await.unwrap_err();
    let text = format!("{error} {error:?} {store:?}");
    assert!(!text.contains("secret") && !text.contains("of-a-user"), "{text}");
    for good in
        ["rediss://:secret@localhost:6380/1", "redis://user:secret@[::1]", "valkey://localhost"]
    {
        let text = format!("{:?}", Redis::new(good).unwrap());
        assert!(!text.contains("secret"), "{text}");
    }
    for bad in ["", "localhost", "http://secret@localhost", "redis://", "rediss://:secret@"] {
        if let Err(error) = Redis::new(bad) {
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        } else {
            assert!(bad == "redis://", "{bad} is no server");
        }
    }
}
