//! One quota for all machines, whatever fails.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use vidra_engines::Traffic;
use vidra_sim::{Action, Endpoint, Fault};

use crate::callers::Caller;
use crate::machines::Cluster;
use crate::process::Service;
use crate::{is_long, pause, wait_until};

const SEED: u64 = 20;
const LIMIT: u64 = 2_000;
const REQUESTS: u32 = 10_000;
const CALLERS_OF_EACH: usize = 4;

/// The largest grant.
const GRANT: u64 = 20;

/// Every request that is not refused costs a unit.
const SETTINGS: [(&str, &str); 2] = [("VIDRA_QUOTA_LIMIT", "2000"), ("VIDRA_CACHE", "off")];

/// Requests of all callers, each to its own machine. They end after [`REQUESTS`], or when `is_over` says so. Returns the
/// number of successes, and how often there was which other status.
fn request_all(machines: &[SocketAddr], is_over: &AtomicBool) -> (u32, BTreeMap<u16, u32>) {
    let left = AtomicU32::new(REQUESTS);
    let next = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
    let outcomes = thread::scope(|scope| {
        let callers = machines.iter().enumerate().flat_map(|(machine, address)| {
            (0..CALLERS_OF_EACH).map(move |caller| (machine, caller, *address))
        });
        let callers: Vec<_> = callers
            .map(|(machine, caller, address)| {
                let next = &next;
                scope.spawn(move || {
                    let (mut session, mut statuses) = (Caller::new(address), vec![]);
                    while let Ok(number) = next() {
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        // Mixed: a video, or the list of a playlist of one page.
                        let path = match number % 10 {
                            0 => format!("/api/playlist/PLsize{}/ids", 10 + number % 30),
                            _ => format!("/api/video/m{machine}c{caller}{number:07}"),
                        };
                        let response = session.get(&path).unwrap();
                        statuses.push(response.status);
                    }
                    statuses
                })
            })
            .collect();
        callers.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    let mut statuses = BTreeMap::<u16, u32>::new();
    outcomes.into_iter().for_each(|status| *statuses.entry(status).or_default() += 1);
    let good = [200, 404].iter().filter_map(|status| statuses.remove(status)).sum();
    (good, statuses)
}

fn addresses(machines: &[Service]) -> Vec<SocketAddr> {
    machines.iter().map(|machine| machine.address).collect()
}

/// Stops the machines, and compares the bill with the ledger.
fn settle(cluster: &Cluster, machines: Vec<Service>, lost: u64) {
    for machine in machines {
        let (code, log) = machine.stop();
        assert_eq!(code, Some(0), "{log}");
    }
    let (bill, ledger) = (cluster.bill(), cluster.ledger());
    println!("bill {bill}, ledger {ledger}, limit {LIMIT}");
    assert!(bill <= LIMIT, "{bill} units were billed");
    assert!(ledger >= bill, "the ledger has {ledger} of {bill} units");
    assert!(ledger - bill <= lost, "{} units are lost", ledger - bill);
    assert!(LIMIT - bill <= 3 * GRANT, "{} units were not spent", LIMIT - bill);
}

#[test]
fn q1_three_machines_spend_one_quota() {
    let Some(cluster) = Cluster::new() else { return };
    let machines: Vec<_> = (0..3).map(|index| cluster.start(index, &SETTINGS)).collect();
    let (good, others) = request_all(&addresses(&machines), &AtomicBool::new(false));
    assert!(others.keys().all(|status| *status == 429), "{others:?}");
    assert!(good >= 1_900, "{good}");
    settle(&cluster, machines, 0);
}

#[test]
fn q2_the_same_while_the_servers_fail() {
    let Some(mut cluster) = Cluster::with_redis() else { return };
    let machines = cluster.start_all(&SETTINGS[..1]);
    let faults = if is_long() { 50 } else { 2 };
    let mut dice = Rng::with_seed(SEED);
    let mut kinds: Vec<usize> = (0..6 * faults).map(|it| it % 6).collect();
    dice.shuffle(&mut kinds);
    let (addresses, is_over) = (addresses(&machines), AtomicBool::new(false));
    thread::scope(|scope| {
        // Slow enough that the quota lasts longer than the faults.
        cluster.sim.set_latency(Duration::from_millis(if is_long() { 400 } else { 40 }));
        let requests = scope.spawn(|| request_all(&addresses, &is_over));
        for kind in kinds {
            pause(Duration::from_millis(dice.u64(100..600)));
            match kind {
                0 => {
                    cluster.postgres.kill();
                    pause(Duration::from_millis(dice.u64(50..500)));
                    cluster.postgres.run();
                }
                1 => {
                    let redis = cluster.redis.as_mut().unwrap();
                    redis.server.kill();
                    pause(Duration::from_millis(dice.u64(50..500)));
                    redis.server.run();
                }
                _ => {
                    let redis = &cluster.redis.as_ref().unwrap().proxy;
                    let proxy = if kind < 4 { &cluster.proxy } else { redis };
                    proxy.set(if kind % 2 == 0 { Traffic::Cut } else { Traffic::Hold });
                    pause(Duration::from_millis(dice.u64(50..2_500)));
                    proxy.set(Traffic::Pass);
                }
            }
        }
        let (_, others) = requests.join().unwrap();
        assert!(others.keys().all(|status| [429, 503].contains(status)), "{others:?}");
    });
    // All requests may have been sent during an outage.
    wait_until(Duration::from_secs(10), || machines.iter().all(|it| !is_degraded(it)));
    cluster.sim.set_latency(Duration::ZERO);
    request_all(&addresses, &is_over);
    // Machines that stop return all units. A request whose answer was lost is repeated.
    settle(&cluster, machines, 0);
}

#[test]
fn q3_an_exhausted_quota_is_known_to_all_machines_within_a_second() {
    let Some(cluster) = Cluster::new() else { return };
    let machines: Vec<_> = (0..2).map(|index| cluster.start(index, &SETTINGS)).collect();
    for machine in &machines {
        assert_eq!(machine.get("/api/video/quirkNoLike").0, 200);
    }
    cluster.sim.inject(Fault::on(Endpoint::Videos, Action::quota_exceeded()).times(1));
    let (status, body) = machines[0].get("/api/video/quirkNoLike");
    assert!(status == 429 && body.contains("quota_exhausted"), "{body}");
    let begun = Instant::now();
    wait_until(Duration::from_secs(1), || {
        machines[1].get("/api/quota").1.contains("\"remaining\":0")
    });
    println!("known after {:?}", begun.elapsed());
    let calls = cluster.sim.record().calls_to(Endpoint::Videos);
    let (status, body) = machines[1].get("/api/video/quirkNoLike");
    assert!(status == 429 && body.contains("quota_exhausted"), "{body}");
    assert_eq!(cluster.sim.record().calls_to(Endpoint::Videos), calls, "nothing was sent");
}

#[test]
fn q4_without_the_database_cached_answers_are_served_and_others_say_why() {
    let Some(cluster) = Cluster::new() else { return };
    let machine = cluster.start(0, &[("VIDRA_QUOTA_LIMIT", "90")]);
    assert_eq!(machine.get("/api/video/quirkNoLike").0, 200);
    cluster.proxy.set(Traffic::Cut);
    let (status, head, body) = machine.get_with("/api/video/quirkDurSec", "");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("\"database_unavailable\""), "{body}");
    assert!(head.to_ascii_lowercase().contains("retry-after: 1\r\n"), "{head}");
    for _ in 0..100 {
        assert_eq!(machine.get("/api/video/quirkNoLike").0, 200);
    }
    let (status, ready) = machine.get("/readyz");
    assert!(status == 200 && ready.contains("database: it does not answer"), "{ready}");
    let metrics = machine.get("/metrics").1;
    assert!(metrics.contains("vidra_degraded{what=\"database_failing\"} 1\n"), "{metrics}");
    cluster.proxy.set(Traffic::Pass);
    wait_until(Duration::from_secs(10), || machine.get("/api/video/quirkDurSec").0 == 200);
    assert!(!is_degraded(&machine));
}

#[test]
fn q5_a_database_that_cannot_be_used_prevents_the_start_and_the_password_stays_secret() {
    let Some(cluster) = Cluster::new() else { return };
    let url = |url: &str| {
        let mut command = cluster.command(0, &[("VIDRA_DATABASE", url)]);
        let output = command.args(["serve", "--listen", ":0"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("secret"), "{text}");
        (output.status.code(), text)
    };
    let port = cluster.postgres.port();
    let (code, text) = url(&format!("postgres://vidra:secret@127.0.0.1:{port}/vidra"));
    assert!(code != Some(0) && text.contains("rejects the user vidra or its password"), "{text}");
    let (code, text) = url("postgres://vidra:secret@127.0.0.1:port/vidra");
    assert!(code == Some(2) && text.contains("expected postgres://"), "{text}");
    let closed = vidra_engines::free_port();
    let (code, text) = url(&format!("postgres://vidra:secret@127.0.0.1:{closed}/vidra"));
    assert!(code != Some(0) && text.contains("cannot be reached"), "{text}");
}

fn is_degraded(machine: &Service) -> bool {
    machine.get("/readyz").1.contains("database:")
}
