//! Jobs, collections and events of machines with one library. The record of the platform is the truth.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use vidra_engines::Traffic;
use vidra_sim::Endpoint;

use crate::machines::Cluster;
use crate::process::{Service, exchange};
use crate::{is_long, pause, wait_until};

const SEED: u64 = 21;

/// Items of all jobs that run at once on one machine.
const CONCURRENCY: usize = 8;

/// Without a cache, a second fetch of anything reaches the platform.
const SETTINGS: [(&str, &str); 3] =
    [("VIDRA_CACHE", "off"), ("VIDRA_CACHE_SIZE", "0"), ("VIDRA_JOB_CONCURRENCY", "8")];

fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> (u16, String) {
    let headers = format!(
        "host: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    let (status, _, body) = exchange(address, method, path, &headers, body);
    (status, body)
}

/// Starts a job over the first entries of a playlist, and returns its id.
fn start_job(service: &Service, entries: usize) -> String {
    // Three machines run more items of one job than each of them alone.
    let body = format!(r#"{{"sources":["PLsize5000"],"limit":{entries},"concurrency":20}}"#);
    let (status, job) = send(service.address, "POST", "/api/jobs", &body);
    assert_eq!(status, 202, "{job}");
    member(&job, "id")
}

/// A member of JSON.
fn member(text: &str, name: &str) -> String {
    let (_, rest) =
        text.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name} in {text}"));
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap().to_owned()
}

/// Waits until a job has ended, and returns it.
fn ended(address: SocketAddr, id: &str) -> String {
    let begun = Instant::now();
    loop {
        let (status, job) = send(address, "GET", &format!("/api/jobs/{id}"), "");
        if status == 200 && ["completed", "failed", "cancelled"].contains(&&*member(&job, "state"))
        {
            return job;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{job}");
        pause(Duration::from_millis(200));
    }
}

/// How often the transcript of each video was fetched.
fn fetched(cluster: &Cluster) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for request in cluster.sim.record().requests_to(Endpoint::TimedText) {
        *times.entry(request.video_id().unwrap()).or_default() += 1;
    }
    times
}

/// Checks that a job has ended well with every item once. Returns how many were fetched again.
fn check(cluster: &Cluster, service: &Service, id: &str, entries: usize) -> usize {
    let job = ended(service.address, id);
    assert_eq!(member(&job, "state"), "completed", "{job}");
    assert_eq!(member(&job, "total"), entries.to_string(), "{job}");
    assert_eq!(member(&job, "pending"), "0", "{job}");
    let positions = "SELECT count(DISTINCT position) FROM vidra_library.items WHERE state = 1";
    assert_eq!(cluster.figure(positions), entries as u64, "every item has its transcript");
    // Every item ended once, and the events of a job have no gap.
    let events = "SELECT count(*) FROM vidra_library.events WHERE event LIKE '{\"type\":\"item\"%'";
    assert_eq!(cluster.figure(events), entries as u64, "every item ended once");
    let gaps = "SELECT max(number) - count(*) FROM vidra_library.events";
    assert_eq!(cluster.figure(gaps), 0, "events without a gap");
    let times = fetched(cluster);
    assert_eq!(times.len(), entries, "none lost");
    times.values().map(|times| times - 1).sum()
}

#[test]
fn j1_a_job_survives_killed_machines() {
    let Some(cluster) = Cluster::with_record() else { return };
    cluster.sim.set_latency(Duration::from_millis(10));
    let (entries, kills) = if is_long() { (2_000, 50) } else { (600, 4) };
    let mut dice = Rng::with_seed(SEED);
    let mut machines: Vec<Option<Service>> =
        cluster.start_all(&SETTINGS).into_iter().map(Some).collect();
    let id = start_job(machines[0].as_ref().unwrap(), entries);
    let mut killed = 0;
    for _ in 0..kills {
        // Two calls for each transcript.
        let calls = cluster.sim.record().calls + dice.u64(1..2 * entries as u64 / kills);
        let begun = Instant::now();
        let is_late = || begun.elapsed() > Duration::from_secs(10);
        while cluster.sim.record().calls < calls && !is_late() {
            pause(Duration::from_millis(5));
        }
        if is_late() {
            break;
        }
        let index = dice.usize(0..3);
        machines[index].take().unwrap().kill();
        killed += 1;
        machines[index] = Some(cluster.start(index, &SETTINGS));
    }
    let again = check(&cluster, machines[0].as_ref().unwrap(), &id, entries);
    println!("{killed} kills, seed {SEED}: {entries} items once each, {again} fetched again");
    assert!(again <= killed * CONCURRENCY, "{again} fetched again after {killed} kills");
    assert!(killed > 2, "{killed} kills prove nothing");
}

#[test]
fn j2_a_job_survives_faults_of_the_database() {
    let Some(mut cluster) = Cluster::with_record() else { return };
    cluster.sim.set_latency(Duration::from_millis(10));
    let (entries, rounds) = if is_long() { (2_000, 10) } else { (800, 1) };
    let mut dice = Rng::with_seed(SEED);
    let machines = cluster.start_all(&SETTINGS);
    let id = start_job(&machines[0], entries);
    let mut faults = 0;
    for _ in 0..rounds {
        for fault in [Traffic::Hold, Traffic::Cut, Traffic::Pass] {
            pause(Duration::from_millis(dice.u64(500..1_500)));
            match fault {
                Traffic::Pass => {
                    cluster.postgres.kill();
                    pause(Duration::from_millis(dice.u64(50..1_500)));
                    cluster.postgres.run();
                }
                fault => {
                    cluster.proxy.set(fault);
                    pause(Duration::from_millis(dice.u64(500..4_000)));
                    cluster.proxy.set(Traffic::Pass);
                }
            }
            faults += 1;
        }
    }
    let again = check(&cluster, &machines[0], &id, entries);
    println!("{faults} faults, seed {SEED}: {entries} items once each, {again} fetched again");
    assert!(again <= faults * 3 * CONCURRENCY, "{again} fetched again after {faults} faults");
}

#[test]
fn j3_one_machine_plans_collections() {
    let Some(cluster) = Cluster::with_record() else { return };
    let first = cluster.start(0, &SETTINGS);
    let body = r#"{"sources":["@crowd007"],"every":"6h"}"#;
    let (status, put) = send(first.address, "PUT", "/api/collections/news", body);
    assert_eq!(status, 201, "{put}");
    let syncs =
        || cluster.figure("SELECT count(*) FROM vidra_library.jobs WHERE collection IS NOT NULL");
    wait_until(Duration::from_secs(30), || syncs() == 1);
    let (_, log) = first.stop();
    assert!(log.contains("listening"), "{log}");
    // Everything is due when all machines start at the same moment.
    cluster.sql("UPDATE vidra_library.jobs SET state = 'completed'");
    cluster.sql("UPDATE vidra_library.collections SET next_sync = 0");
    let mut machines: Vec<Service> = thread::scope(|scope| {
        let starts: Vec<_> = (0..3)
            .map(|index| {
                scope.spawn({
                    let cluster = &cluster;
                    move || cluster.start(index, &SETTINGS)
                })
            })
            .collect();
        starts.into_iter().map(|it| it.join().unwrap()).collect()
    });
    wait_until(Duration::from_secs(30), || syncs() == 2);
    pause(Duration::from_secs(3));
    assert_eq!(syncs(), 2, "one planner");
    let planners = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid::bigint = 1986618370";
    assert_eq!(cluster.figure(planners), 1);
    // The last one plans when the others have ended.
    machines.drain(..2).for_each(|it| drop(it.kill()));
    cluster.sql("UPDATE vidra_library.jobs SET state = 'completed'");
    cluster.sql("UPDATE vidra_library.collections SET next_sync = 0");
    wait_until(Duration::from_secs(30), || syncs() == 3);
}

/// The numbers of the events that a reader receives from one machine after `last`, until there are `most` or the job has
/// ended.
fn read_events(address: SocketAddr, id: &str, last: u64, most: usize) -> Vec<u64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(
        stream,
        "GET /api/jobs/{id}/events HTTP/1.0\r\nhost: {address}\r\nlast-event-id: {last}\r\n\r\n"
    )
    .unwrap();
    let mut numbers = vec![];
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        if let Some(number) = line.strip_prefix("id:") {
            let number: u64 = number.trim().parse().unwrap();
            // A stream begins with the state of the job, which has the number of the last event before it.
            if number > last {
                numbers.push(number);
            }
        }
        if numbers.len() >= most {
            break;
        }
    }
    numbers
}

#[test]
fn j4_a_reader_of_events_moves_between_machines() {
    let Some(cluster) = Cluster::with_record() else { return };
    cluster.sim.set_latency(Duration::from_millis(10));
    let machines = cluster.start_all(&SETTINGS);
    let entries = 400;
    let id = start_job(&machines[0], entries);
    let mut dice = Rng::with_seed(SEED);
    let mut seen: Vec<u64> = vec![];
    let (is_over, addresses) = (AtomicBool::new(false), [0, 1, 2].map(|it| machines[it].address));
    thread::scope(|scope| {
        scope.spawn(|| {
            ended(addresses[2], &id);
            is_over.store(true, Ordering::Relaxed);
        });
        let mut moves = 0;
        loop {
            let is_last = is_over.load(Ordering::Relaxed);
            let last = seen.last().copied().unwrap_or(0);
            seen.extend(read_events(addresses[moves % 3], &id, last, dice.usize(1..60)));
            moves += 1;
            let version: u64 =
                member(&send(addresses[1], "GET", &format!("/api/jobs/{id}"), "").1, "version")
                    .parse()
                    .unwrap();
            if is_last && seen.last() == Some(&version) {
                break;
            }
        }
        println!("{moves} moves, {} events", seen.len());
        assert!(moves > 5);
    });
    assert!(seen.iter().copied().eq(1..=seen.len() as u64), "no gap, and none twice");
}
