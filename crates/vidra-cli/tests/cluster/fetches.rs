//! One fetch and one rate limit for all machines.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use vidra_engines::{RedisCluster, RedisSentinels, Traffic};
use vidra_sim::Endpoint;

use crate::callers::{Caller, LONG};
use crate::machines::Cluster;
use crate::process::{Service, exit_code_within};
use crate::{is_long, pause, wait_until};

/// Sends all requests before it reads an answer, each by a connection of its own. Returns the statuses; 0 for a connection
/// that broke.
fn request_at_once(requests: &[(SocketAddr, String)], meanwhile: impl FnOnce()) -> Vec<u16> {
    let connections: Vec<_> = requests
        .iter()
        .map(|(address, path)| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    meanwhile();
    let status = |mut stream: TcpStream| {
        let mut answer = vec![];
        let _ = stream.read_to_end(&mut answer);
        let status = String::from_utf8_lossy(&answer).get(9..12).and_then(|it| it.parse().ok());
        status.unwrap_or(0)
    };
    connections.into_iter().map(status).collect()
}

/// The number of records of this machine with an outcome of shared fetches.
fn shared_fetches(machine: &Service, outcome: &str) -> u64 {
    let name = format!("vidra_shared_fetches_total{{outcome=\"{outcome}\"}} ");
    let metrics = machine.get("/metrics").1;
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

/// 100 requests for one video to each machine.
fn same_video(machines: &[Service], id: &str) -> Vec<(SocketAddr, String)> {
    let path = format!("/api/video/{id}");
    let each = |machine: &Service| vec![(machine.address, path.clone()); 100];
    machines.iter().flat_map(each).collect()
}

#[test]
fn l1_300_callers_of_three_machines_cause_one_call() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let machines = cluster.start_all(&[]);
    cluster.sim.set_latency(Duration::from_millis(300));
    let statuses = request_at_once(&same_video(&machines, "quirkNoLike"), || {});
    assert_eq!(statuses, [200; 300]);
    assert_eq!(cluster.sim.record().calls_to(Endpoint::Videos), 1);
    let waited: u64 = machines.iter().map(|machine| shared_fetches(machine, "waited")).sum();
    println!("{waited} machines waited for the third one");
}

#[test]
fn l2_a_machine_that_dies_is_replaced_by_one_other() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let mut machines = cluster.start_all(&[]);
    cluster.sim.set_latency(Duration::from_secs(3));
    let requests = same_video(&machines, "quirkNoLike");
    let begun = Instant::now();
    let statuses = request_at_once(&requests, || {
        wait_until(Duration::from_secs(3), || cluster.sim.record().calls_to(Endpoint::Videos) == 1);
        let is_leader = |machine: &Service| shared_fetches(machine, "fetched") == 1;
        let leader = machines.iter().position(is_leader).unwrap();
        machines.remove(leader).kill();
    });
    let mut counts = BTreeMap::<u16, u32>::new();
    statuses.into_iter().for_each(|status| *counts.entry(status).or_default() += 1);
    assert_eq!(counts, BTreeMap::from([(0, 100), (200, 200)]));
    assert_eq!(cluster.sim.record().calls_to(Endpoint::Videos), 2);
    let taken_over: u64 = machines.iter().map(|it| shared_fetches(it, "taken_over")).sum();
    assert_eq!(taken_over, 1);
    println!("the last answer came after {:?}, 3 s of them for the fetch", begun.elapsed());
}

#[test]
fn l3_different_videos_cost_little_more_than_on_one_machine() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let machines = cluster.start_all(&[]);
    let (_, list) = machines[0].get("/api/playlist/PLsize5000/ids");
    let ids: serde_json::Value = serde_json::from_str(&list).unwrap();
    let ids = &ids["videoIds"].as_array().unwrap()[..2_000];
    let paths: Vec<String> =
        ids.iter().map(|id| format!("/api/video/{}", id.as_str().unwrap())).collect();
    cluster.sim.set_latency(Duration::from_millis(50));
    let units = |paths: &[String], machines: &[Service]| {
        let before = cluster.bill();
        let addresses = machines.iter().cycle().map(|machine| machine.address);
        let requests: Vec<_> = addresses.zip(paths.iter().cloned()).collect();
        assert!(request_at_once(&requests, || {}).iter().all(|status| *status == 200));
        cluster.bill() - before
    };
    let (first, second) = paths.split_at(1_000);
    let one = units(first, &machines[..1]);
    let three = units(second, &machines);
    println!("1,000 videos: {one} units on one machine, {three} on three");
    assert!(2 * three <= 3 * one, "{three} units on three machines, {one} on one");
}

/// The 99th percentile of cached answers.
fn cached_p99(machine: &Service) -> Duration {
    let mut caller = Caller::new(machine.address);
    let times = (0..2_000).map(|_| {
        let response = caller.get("/api/video/quirkNoLike").unwrap();
        assert!(response.status == 200 && response.header("x-cache") == Some("hit"));
        response.took
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[times.len() * 99 / 100]
}

#[test]
fn l4_cached_answers_need_no_engine() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let redis = cluster.redis.as_ref().unwrap();
    let machine = cluster.start(0, &[("VIDRA_RATE_LIMIT", "1000000/s")]);
    assert_eq!(machine.get("/api/video/quirkNoLike").0, 200);
    let commands = || -> u64 {
        let stats = redis.server.command(&["INFO", "stats"]);
        let count = stats.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        count.unwrap().trim().parse().unwrap()
    };
    let transactions = || {
        cluster
            .figure("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    };
    cached_p99(&machine);
    let (before, begun) = ((commands(), transactions()), Instant::now());
    cached_p99(&machine);
    let seconds = begun.elapsed().as_secs() + 1;
    let (_, head, _) = machine.get_with("/api/video/quirkNoLike", "");
    let etag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    for _ in 0..200 {
        let unchanged = format!("if-none-match: {etag}\r\n");
        assert_eq!(machine.get_with("/api/video/quirkNoLike", &unchanged).0, 304);
    }
    let seconds = seconds + begun.elapsed().as_secs();
    let (redis_commands, postgres) = (commands() - before.0, transactions() - before.1);
    println!(
        "2,000 hits: {redis_commands} commands to Redis, {postgres} transactions of PostgreSQL"
    );
    // In the background: the rate limit of one caller ten times a second, by a script of four commands, and its usage once
    // a second.
    assert!(redis_commands <= 60 * seconds, "{redis_commands} commands in {seconds} s");
    // PostgreSQL counts those of the start too, because it counts late.
    assert!(postgres <= 20 * seconds + 20, "{postgres} transactions in {seconds} s");
    for (name, proxy) in [("Redis", &redis.proxy), ("PostgreSQL", &cluster.proxy)] {
        for traffic in [Traffic::Hold, Traffic::Cut] {
            // Two measurements that follow each other, because other processes share the two cores.
            let is_as_usual = || {
                proxy.set(Traffic::Pass);
                let usual = cached_p99(&machine);
                proxy.set(traffic);
                let p99 = cached_p99(&machine);
                println!("{name}, {traffic:?}: p99 {p99:?}, usually {usual:?}");
                p99 <= (2 * usual).max(Duration::from_millis(2))
            };
            assert!((0..3).any(|_| is_as_usual()), "{name}, {traffic:?}");
        }
        proxy.set(Traffic::Pass);
    }
}

#[test]
fn l5_machines_share_the_rate_limit_of_a_caller() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let machines = cluster.start_all(&[("VIDRA_RATE_LIMIT", "20/s")]);
    let send = |seconds: u64| -> u32 {
        let until = Instant::now() + Duration::from_secs(seconds);
        thread::scope(|scope| {
            let callers = machines.iter().map(|machine| machine.address).map(|address| {
                scope.spawn(move || {
                    let (mut caller, mut admitted) = (Caller::new(address), 0);
                    while Instant::now() < until {
                        let response = caller.get("/api/video/quirkNoLike").unwrap();
                        assert!([200, 429].contains(&response.status), "{}", response.status);
                        admitted += u32::from(response.status == 200);
                        pause(Duration::from_millis(5));
                    }
                    admitted
                })
            });
            let callers: Vec<_> = callers.collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).sum()
        })
    };
    let admitted = send(5);
    println!("{admitted} requests admitted in 5 s by three machines together, at 20/s");
    // The burst of 20, 20 a second, and what the machines admit before they know of each other.
    assert!((100..=180).contains(&admitted), "{admitted}");
    // Each machine now knows that there are three.
    cluster.redis.as_ref().unwrap().proxy.set(Traffic::Cut);
    send(3);
    let alone = send(5);
    println!("{alone} requests without Redis");
    assert!((60..=140).contains(&alone), "{alone}: a third of the limit on each machine");
}

#[test]
fn l6_a_redis_that_refuses_its_user_prevents_the_start() {
    let Some(cluster) = Cluster::with_redis() else { return };
    let redis = cluster.redis.as_ref().unwrap();
    redis.server.command(&["CONFIG", "SET", "requirepass", "right"]);
    let url = format!("redis://:secret@{}", redis.proxy.address());
    let mut command = cluster.command(0, &[("VIDRA_CACHE", &url)]);
    let log = cluster.folder(0).join("log");
    command.args(["serve", "--listen", ":0"]).stderr(File::create(&log).unwrap());
    let text = || fs::read_to_string(&log).unwrap();
    let code = exit_code_within(LONG, &mut command.spawn().unwrap(), text);
    assert!(code == Some(2) && text().contains("wrong user or password"), "{}", text());
    assert!(!text().contains("secret"), "{}", text());
}

/// The long form: the same with several Redis servers, before and after a failover.
#[test]
fn l7_a_cluster_and_sentinels_share_fetches() {
    if !is_long() {
        return;
    }
    let check = |url: &str, fail_over: &mut dyn FnMut()| {
        let cluster = Cluster::new().unwrap();
        let machines = cluster.start_all(&[("VIDRA_CACHE", url), ("VIDRA_LEASE_TIMEOUT", "500ms")]);
        cluster.sim.set_latency(Duration::from_millis(300));
        for (id, is_after) in [("quirkNoLike", false), ("quirkDurSec", true)] {
            if is_after {
                fail_over();
                // Another video brings the connections back.
                wait_until(Duration::from_secs(60), || {
                    let before = machines.iter().map(|it| shared_fetches(it, "alone")).sum::<u64>();
                    let id = format!("n{:010}", fastrand::u32(..));
                    request_at_once(&same_video(&machines, &id), || {});
                    machines.iter().map(|it| shared_fetches(it, "alone")).sum::<u64>() == before
                });
            }
            let before = cluster.sim.record().calls_to(Endpoint::Videos);
            let statuses = request_at_once(&same_video(&machines, id), || {});
            assert_eq!(statuses, [200; 300]);
            assert_eq!(cluster.sim.record().calls_to(Endpoint::Videos) - before, 1, "{url}");
        }
    };
    let Some(mut servers) = RedisCluster::start() else { return };
    check(&servers.url(), &mut || servers.fail_over());
    let Some(mut servers) = RedisSentinels::start() else { return };
    check(&servers.url(), &mut || servers.fail_over());
}
