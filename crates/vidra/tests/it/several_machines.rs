//! Machines that share a database: what one learns about an address, the others know.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use vidra::{Database, InProcess, Pace, Pacing, Reason, TranscriptQuery, VideoId, Vidra};
use vidra_engines::{Proxy, Traffic, shared_postgres};
use vidra_sim::{Endpoint, Simulator};

/// A database of its own for one test. `None` if PostgreSQL is not installed.
async fn database() -> Option<Database> {
    let server = shared_postgres()?;
    Some(Database::connect(&server.url(&server.database())).await.unwrap())
}

fn machine(sim: &Simulator, database: &Database, pace: Pace, id: Option<&str>) -> Vidra {
    let mut builder = Vidra::builder()
        .transport(InProcess(sim.clone()))
        .web_url("http://sim.invalid")
        .pacing(Pacing::At(pace))
        .block_pause(Duration::from_secs(900))
        .cache_bytes(0)
        .database(database);
    if let Some(id) = id {
        builder = builder.egress_id(id);
    }
    builder.deadline(Duration::from_secs(5)).build().unwrap()
}

async fn transcript(machine: &Vidra) -> Result<(), Reason> {
    let id = VideoId::parse("txManualAsr").unwrap();
    let fetched = machine.transcript(id, &TranscriptQuery::default()).await;
    fetched.map(drop).map_err(|error| error.reason())
}

/// One permit in an hour after the burst.
fn burst(burst: u32) -> Pace {
    Pace { burst, per_hour: 1 }
}

#[tokio::test]
async fn machines_with_one_address_share_its_pace() {
    let Some(database) = database().await else { return };
    let sim = Simulator::new();
    let machines = [(); 3].map(|()| machine(&sim, &database, burst(7), None));
    let mut outcomes = vec![];
    for number in 0..12 {
        outcomes.push(transcript(&machines[number % 3]).await);
    }
    let sent = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(sent, 7, "{outcomes:?}");
    assert!(outcomes[7..].iter().all(|it| *it == Err(Reason::Paced)), "{outcomes:?}");
    assert_eq!(sim.record().calls_to(Endpoint::Player), 7);
    // Another address has a pace of its own.
    let other = machine(&sim, &database, burst(7), Some("office"));
    assert_eq!(transcript(&other).await, Ok(()));
}

#[tokio::test]
async fn a_block_of_one_machine_stops_the_others_within_a_second() {
    let Some(database) = database().await else { return };
    let sim = Simulator::new();
    let [one, other] = [(); 2].map(|()| machine(&sim, &database, burst(100), None));
    let elsewhere = machine(&sim, &database, burst(100), Some("office"));
    for machine in [&one, &other, &elsewhere] {
        assert_eq!(transcript(machine).await, Ok(()));
    }
    sim.block_after(0);
    assert_eq!(transcript(&one).await, Err(Reason::Blocked));
    let until = Instant::now() + Duration::from_secs(1);
    while other.transcript_wait(false).is_none() {
        assert!(Instant::now() < until, "not within a second");
        sleep(Duration::from_millis(5)).await;
    }
    let calls = sim.record().calls_to(Endpoint::Player);
    assert_eq!(transcript(&other).await, Err(Reason::Blocked));
    assert_eq!(sim.record().calls_to(Endpoint::Player), calls, "nothing was sent");
    let (reason, wait) = other.transcript_wait(false).unwrap();
    assert!(reason == Reason::Blocked && wait > Duration::from_secs(890), "{wait:?}");
    assert_eq!(elsewhere.transcript_wait(false), None, "another address is not blocked");
    // A machine that starts later learns it before its second request.
    let late = machine(&sim, &database, burst(100), None);
    let _ = transcript(&late).await;
    let until = Instant::now() + Duration::from_secs(1);
    while late.transcript_wait(false).is_none() {
        assert!(Instant::now() < until, "not within a second");
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn without_the_database_each_machine_uses_its_share_of_the_pace() {
    let Some(server) = shared_postgres() else { return };
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into());
    let port = |port: u16| format!("127.0.0.1:{port}");
    let name = server.database();
    let url = server.url(&name);
    let url = url.replace(&port(server.port()), &port(proxy.address().port()));
    let sim = Simulator::new();
    let mut machines = vec![];
    for _ in 0..3 {
        let database = Database::connect(&url).await.unwrap();
        machines.push(machine(&sim, &database, burst(30), None));
    }
    for machine in &machines {
        assert_eq!(transcript(machine).await, Ok(()));
    }
    let until = Instant::now() + Duration::from_secs(20);
    while machines.iter().any(|machine| machine.egress_machines() != Some(3)) {
        assert!(Instant::now() < until, "they do not see each other");
        sleep(Duration::from_millis(5)).await;
    }
    proxy.set(Traffic::Cut);
    let mut sent = 3;
    for machine in &machines {
        while transcript(machine).await.is_ok() {
            sent += 1;
        }
    }
    assert!((20..=33).contains(&sent), "{sent} of 30 permits");
    proxy.set(Traffic::Pass);
    // Then they report what they took meanwhile, and nothing is left for a machine that starts later.
    let until = Instant::now() + Duration::from_secs(20);
    let spent = "SELECT coalesce(max(spent_until), now()) > now() + interval '20 hours' FROM vidra.egress_paces";
    while server.sql(&name, spent) != "t" {
        assert!(Instant::now() < until, "they do not report it");
        sleep(Duration::from_millis(50)).await;
    }
    let database = Database::connect(&url).await.unwrap();
    let late = machine(&sim, &database, burst(30), None);
    let mut more = 0;
    while transcript(&late).await.is_ok() {
        more += 1;
    }
    assert!(more <= 10, "{more} more");
}
