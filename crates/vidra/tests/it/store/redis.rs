//! The store in Redis, with a `redis-server` of its own for each test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use vidra::store::{
    Guarded, Memory, RatePool, RateUse, Record, Redis, Store, StoreError, Tiers, conformance,
};
use vidra_engines::{Redis as Server, RedisCluster, RedisSentinels};

use super::{NOW, record};

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
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn redis_conforms() {
    let Some(server) = Server::start(&[]) else { return };
    let socket = format!("unix://{}", server.socket().display());
    for url in [server.url(), socket, format!("{}/3", server.url())] {
        let store = Redis::new(&url).unwrap();
        conformance::check(&store).await;
        store.clear().await.unwrap();
        conformance::check_leases(&store, || Box::pin(sleep(Duration::from_millis(5)))).await;
    }
}

#[tokio::test]
async fn machines_share_the_meters_of_callers() {
    let Some(server) = Server::start(&[]) else { return };
    let [one, other] = [(); 2].map(|()| Redis::new(&server.url()).unwrap());
    let highest = Duration::from_secs(600);
    let used = |caller: &str, seconds: i64| {
        let added = seconds * 1_000_000;
        RateUse { caller: caller.to_owned(), added, highest }
    };
    let ahead = async |store: &Redis, caller, seconds| {
        let meters = store.exchange(&[used("nobody", 0), used(caller, seconds)]).await.unwrap();
        assert_eq!(meters[0], Duration::ZERO);
        meters[1].as_secs_f64().ceil() as u64
    };
    assert_eq!(ahead(&one, "alice", 60).await, 60);
    assert_eq!(ahead(&other, "alice", 60).await, 120);
    assert_eq!(ahead(&other, "bob", 60).await, 60);
    assert_eq!(ahead(&one, "alice", -30).await, 90);
    assert_eq!(ahead(&one, "alice", 9_000).await, 600, "the highest value");
    assert_eq!(ahead(&one, "alice", -9_000).await, 0);
    assert!(!server.command(&["KEYS", "*"]).contains("bob"), "addresses of callers are not stored");
    assert_eq!(one.machines("one").await, Ok(1));
    assert_eq!(other.machines("other").await, Ok(2));
    assert_eq!(one.machines("one").await, Ok(2));
}

#[tokio::test]
async fn a_check_names_what_the_operator_has_to_change() {
    let Some(server) = Server::start(&["--requirepass", "right"]) else { return };
    let check = async |url: String| match Redis::new(&url).unwrap().check().await {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    };
    let host = format!("127.0.0.1:{}", server.port());
    assert_eq!(check(format!("redis://:right@{host}")).await, "");
    let wrong = check(format!("redis://:secret@{host}")).await;
    assert!(wrong.ends_with("wrong user or password") && !wrong.contains("secret"), "{wrong}");
    assert!(check(format!("redis://{host}")).await.ends_with("wrong user or password"));
    let rights =
        ["-a", "right", "--no-auth-warning", "ACL", "SETUSER", "few", "on", ">few", "~x", "+get"];
    server.command(&rights);
    let few = check(format!("redis://few:few@{host}")).await;
    assert!(few.ends_with("may not use the commands or keys of vidra"), "{few}");
    let no_channel = [
        "-a",
        "right",
        "--no-auth-warning",
        "ACL",
        "SETUSER",
        "silent",
        "on",
        ">silent",
        "resetchannels",
        "~vidra:*",
        "+@all",
    ];
    server.command(&no_channel);
    let silent = check(format!("redis://silent:silent@{host}")).await;
    assert!(silent.ends_with("may not use the commands or keys of vidra"), "{silent}");
    // The rights that the guide names.
    let rights = [
        "-a",
        "right",
        "--no-auth-warning",
        "ACL",
        "SETUSER",
        "enough",
        "on",
        ">enough",
        "~vidra:*",
        "&vidra:*",
        "+@read",
        "+@write",
        "+@connection",
        "+@scripting",
        "+@pubsub",
        "+time",
        "+cluster|slots",
    ];
    server.command(&rights);
    let enough = Redis::new(&format!("redis://enough:enough@{host}")).unwrap();
    enough.check().await.unwrap();
    conformance::check_leases(&enough, || Box::pin(sleep(Duration::from_millis(5)))).await;
    conformance::check(&enough).await;
    enough.machines("one").await.unwrap();
    drop(server);
    assert_eq!(check(format!("redis://:wrong@{host}")).await, "", "it may start later");
}

#[tokio::test]
async fn a_check_of_a_cluster_names_the_cause() {
    let Some(server) = Server::start(&["--requirepass", "right"]) else { return };
    let check = async |user: &str| {
        let url = format!("redis+cluster://{user}127.0.0.1:{}", server.port());
        Redis::new(&url).unwrap().check().await.unwrap_err().to_string()
    };
    let wrong = check(":secret@").await;
    assert!(wrong.ends_with("wrong user or password"), "{wrong}");
    assert!(check(":right@").await.ends_with("the server is no node of a cluster"));
}

/// The long form starts six servers.
#[tokio::test]
async fn a_cluster_conforms_and_survives_a_failover() {
    if std::env::var_os("VIDRA_LONG").is_none() {
        return;
    }
    let Some(mut servers) = RedisCluster::start() else { return };
    let store = Redis::new(&servers.url()).unwrap();
    check_group(&store, || servers.fail_over()).await;
}

/// The long form starts five servers.
#[tokio::test]
async fn sentinels_conform_and_name_the_next_server() {
    if std::env::var_os("VIDRA_LONG").is_none() {
        return;
    }
    let Some(mut servers) = RedisSentinels::start() else { return };
    let store = Redis::new(&servers.url()).unwrap();
    check_group(&store, || servers.fail_over()).await;
}

async fn check_group(store: &Redis, fail_over: impl FnOnce()) {
    conformance::check(store).await;
    conformance::check_leases(store, || Box::pin(sleep(Duration::from_millis(5)))).await;
    store.clear().await.unwrap();
    let keys: Vec<String> = (0..500).map(|number| format!("video/{number}")).collect();
    for key in &keys {
        store.put(key, &record(key)).await.unwrap();
    }
    assert_eq!(store.usage().await.unwrap().entries, 500);
    fail_over();
    // Replication is asynchronous, so single records may be lost.
    let mut found = 0;
    for key in &keys {
        let read = get_with_retries(store, key).await;
        assert!(read.is_none() || read == Some(record(key)));
        found += usize::from(read.is_some());
    }
    println!("{found} of 500 records after the failover");
    assert!(found >= 450, "{found}");
    store.put("after", &record("after")).await.unwrap();
    assert_eq!(store.get("after").await, Ok(Some(record("after"))));
    conformance::check_leases(store, || Box::pin(sleep(Duration::from_millis(5)))).await;
    store.clear().await.unwrap();
    assert_eq!(store.usage().await.unwrap().entries, 0);
}

#[tokio::test]
async fn records_expire_and_share_the_server_with_others() {
    let Some(server) = Server::start(&[]) else { return };
    let store = Redis::new(&server.url()).unwrap();
    store.put("video/a", &record("here")).await.unwrap();
    let left: i64 = server.command(&["PTTL", "vidra:1:video/a"]).parse().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    // A skewed clock does not shorten a lifetime, which is `keep_until - stored_at`.
    let skewed = Record { stored_at: 1000, keep_until: 31_000, ..record("here") };
    store.put("video/b", &skewed).await.unwrap();
    let left: i64 = server.command(&["PTTL", "vidra:1:video/b"]).parse().unwrap();
    assert!((1..=30_000).contains(&left), "{left}");
    let dead = Record { stored_at: 1000, keep_until: 1000, ..record("here") };
    store.put("video/b", &dead).await.unwrap();
    assert_eq!(store.get("video/b").await, Ok(None));

    for index in 0..2500 {
        store.put(&format!("{index}"), &record("here")).await.unwrap();
    }
    server.command(&["SET", "vidra:2:video/a", "another layout"]);
    server.command(&["SET", "somebody's", "else"]);
    assert_eq!(store.usage().await.unwrap().entries, 2501);
    store.clear().await.unwrap();
    assert_eq!(store.usage().await.unwrap().entries, 0);
    assert_eq!(server.command(&["DBSIZE"]), "2");
}

#[tokio::test(start_paused = true)]
async fn damaged_values_and_other_types_are_misses() {
    let _still = still_clock();
    let Some(server) = Server::start(&[]) else { return };
    let store = Arc::new(Redis::new(&server.url()).unwrap());
    let guarded = Guarded::new(Arc::clone(&store) as Arc<dyn Store>);
    server.command(&["SET", "vidra:1:a", "not a record"]);
    server.command(&["LPUSH", "vidra:1:b", "not even text"]);
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
    let url = |password: &str| format!("redis://:{password}@127.0.0.1:{}", server.port());
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
