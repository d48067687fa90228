//! Concurrent lookups of single ids are gathered into one call.

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use tokio::time::Instant;
use vidra::{CacheOutcome, ErrorKind};
use vidra_sim::{Action, Endpoint, Fault, Record};

use super::*;

const TRIP: Duration = Duration::from_millis(30);

/// The number of ids in each call.
fn sizes(record: &Record, endpoint: Endpoint) -> Vec<usize> {
    let ids = |call: &vidra_sim::RecordedRequest| call.parameter("id").unwrap().split(',').count();
    record.requests_to(endpoint).map(ids).collect()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_concurrent_videos_need_at_most_25_calls() {
    let sim = Simulator::new();
    let ids = videos(&sim, 1_000).await;
    sim.set_latency(TRIP);
    for by_title in [false, true] {
        let vidra = client(&sim);
        sim.reset_record();
        let started = Instant::now();
        let lookups = ids.iter().map(|id| async {
            match by_title {
                true => vidra.video_title(*id).await.unwrap().id,
                false => vidra.video(*id).await.unwrap().id,
            }
        });
        assert_eq!(join_all(lookups).await, ids, "each lookup gets its own video");
        let record = sim.record();
        assert!(record.units.default <= 25, "{} units", record.units.default);
        assert_eq!(u64::from(vidra.cost().units()), record.units.default);
        assert!(sizes(&record, Endpoint::Videos).iter().all(|size| *size <= 50));
        assert!(started.elapsed() <= 2 * TRIP, "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_lookups_of_one_video_cost_one_unit() {
    let sim = Simulator::builder().latency(TRIP).build();
    let vidra = client(&sim);
    let lookup = Lookup::Video(video("quirkNoLike"));
    let answers = join_all((0..1_000).map(|_| vidra.lookup(&lookup))).await;
    let bodies: Vec<Bytes> = answers.into_iter().map(|answer| answer.unwrap().body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(sim.record().units.default, 1);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_requests_cost_little_more_than_the_minimum() {
    let sim = Simulator::new();
    let ids = videos(&sim, 2_000).await;
    sim.set_latency(TRIP);
    let vidra = client(&sim);
    // Some are requested far more often than others: the n-th 1/n as often as the first (Zipf's law).
    let mut dice = fastrand::Rng::with_seed(7);
    let weights: Vec<f64> = (1..=ids.len())
        .scan(0.0, |sum, n| {
            *sum += 1.0 / n as f64;
            Some(*sum)
        })
        .collect();
    let mut draw = || {
        let at = dice.f64() * weights.last().unwrap();
        ids[weights.partition_point(|weight| *weight < at)]
    };
    let drawn: Vec<VideoId> = (0..10_000).map(|_| draw()).collect();
    let distinct: std::collections::HashSet<_> = drawn.iter().collect();
    // Two hundred callers, each with one request after the other.
    let lookup = async |id| assert_eq!(vidra.video(id).await.unwrap().id, id);
    stream::iter(drawn.clone()).for_each_concurrent(200, lookup).await;
    let floor = distinct.len().div_ceil(50) as f64;
    let units = sim.record().units.default as f64;
    assert!(
        units <= floor * 1.3,
        "{units} units where {floor} would do: {:?}",
        sizes(&sim.record(), Endpoint::Videos)
    );
}

#[tokio::test(start_paused = true)]
async fn a_lookup_waits_for_a_call_in_flight_for_at_most_one_second() {
    let ids = ["quirkNoLike", "quirkNoComm", "quirkNoView"].map(video);
    // The latency of a call, the start of the later lookups, and their end, in milliseconds.
    let table =
        [(30, 1, 30 + 30), (30, 20, 30 + 30), (10, 1, 10 + 10), (3_000, 50, 50 + 1_000 + 3_000)];
    for (trip, start, done) in table {
        let sim = Simulator::builder().latency(Duration::from_millis(trip)).build();
        let vidra = client(&sim);
        let started = Instant::now();
        let alone = async {
            vidra.video(ids[0]).await.unwrap();
            assert_eq!(started.elapsed(), Duration::from_millis(trip), "sent at once");
        };
        let later = async |id| {
            sleep(Duration::from_millis(start)).await;
            vidra.video(id).await.unwrap();
            started.elapsed().as_millis()
        };
        let ((), first, second) = tokio::join!(alone, later(ids[1]), later(ids[2]));
        assert_eq!((first, second), (done, done), "{trip} ms, {start} ms");
        assert_eq!(sizes(&sim.record(), Endpoint::Videos), [1, 2]);
    }
}

#[tokio::test(start_paused = true)]
async fn channels_are_gathered_like_videos() {
    let sim = Simulator::new();
    let ids: Vec<ChannelRef> = vidra_sim::QUIRKS
        .iter()
        .map(|quirk| quirk.id)
        .filter(|id| id.starts_with("UC") && !id.contains("Items"))
        .map(channel)
        .collect();
    assert!(ids.len() >= 10);
    let alone: Vec<_> =
        join_all(ids.iter().map(|id| async { client(&sim).channel(id).await.unwrap() })).await;
    sim.reset_record();
    sim.set_latency(TRIP);
    let vidra = client(&sim);
    let together = join_all(ids.iter().map(|id| vidra.channel(id))).await;
    for (alone, together) in alone.iter().zip(together) {
        assert_eq!(*alone, together.unwrap());
    }
    assert_eq!(sizes(&sim.record(), Endpoint::Channels), [1, ids.len() - 1]);
}

#[tokio::test(start_paused = true)]
async fn missing_ids_do_not_fail_other_lookups_of_the_same_call() {
    let sim = Simulator::new();
    let mut ids = videos(&sim, 60).await;
    ids[7] = video("quirkAbsent");
    ids[33] = video("quirkPrivat");
    sim.set_latency(TRIP);
    let vidra = client(&sim);
    for (n, found) in join_all(ids.iter().map(|id| vidra.video(*id))).await.into_iter().enumerate()
    {
        match n {
            7 | 33 => {
                let error = found.unwrap_err();
                assert_eq!(error.message(), format!("Video not found: {}", ids[n]));
            }
            _ => assert_eq!(found.unwrap().id, ids[n]),
        }
    }
    let absent =
        ["UCquirkNoCountry00000000", "UCquirkItemsEmpty0000000", "UCquirkHiddenSubs0000000"];
    let found =
        join_all(absent.map(channel).iter().map(|id| vidra.channel(id)).collect::<Vec<_>>()).await;
    let is_found: Vec<bool> = found.iter().map(Result::is_ok).collect();
    assert_eq!(is_found, [true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_fails_all_of_its_lookups() {
    let sim = Simulator::new();
    let ids = videos(&sim, 31).await;
    sim.set_latency(TRIP);
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)).from_call(2).once());
    let vidra = client(&sim);
    let mut found = join_all(ids.iter().map(|id| vidra.video(*id))).await.into_iter();
    assert!(found.next().unwrap().is_ok(), "the first went alone");
    assert!(found.all(|found| found.unwrap_err().kind() == ErrorKind::Upstream));
    sleep(SECOND).await;
    assert!(join_all(ids.iter().map(|id| vidra.video(*id))).await.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn data_of_another_video_is_an_error() {
    let sim = Simulator::new();
    let ids = videos(&sim, 20).await;
    sim.set_latency(TRIP);
    let wrong = Action::WrongId { id: "quirkDurDay".to_owned() };
    sim.inject(Fault::on(Endpoint::Videos, wrong));
    let vidra = client(&sim);
    for found in join_all(ids.iter().map(|id| vidra.video(*id))).await {
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Upstream);
    }
    // The wrong data does not mark the videos as missing, neither in a list nor in a playlist.
    let list = playlist("PLsize50");
    assert_eq!(vidra.videos(&ids).await.unwrap_err().kind(), ErrorKind::Upstream);
    assert_eq!(vidra.playlist(&list).await.unwrap_err().kind(), ErrorKind::Upstream);
    sim.clear_faults();
    sleep(2 * SECOND).await;
    assert_eq!(vidra.videos(&ids).await.unwrap().len(), 20);
    assert_eq!(vidra.playlist(&list).await.unwrap().video_count, 50);
}

#[tokio::test(start_paused = true)]
async fn concurrent_lists_share_full_calls() {
    let sim = Simulator::new();
    let ids = videos(&sim, 1_000).await;
    sim.set_latency(TRIP);
    for count in [1, 49, 50, 51, 120, 1_000] {
        sim.reset_record();
        let vidra = client(&sim);
        let lists = join_all((0..20).map(|_| vidra.videos(&ids[..count]))).await;
        assert!(lists.iter().all(|list| list.as_ref().unwrap().len() == count));
        assert_eq!(sim.record().units.default, count.div_ceil(50) as u64, "{count} videos");
        // A lookup of one of these videos joins, too.
        let single = client(&sim);
        sim.reset_record();
        let (list, one) = tokio::join!(single.videos(&ids[..count]), single.video(ids[0]));
        assert_eq!((list.unwrap().len(), one.unwrap().id), (count, ids[0]));
        assert_eq!(sim.record().units.default, count.div_ceil(50) as u64, "{count} videos");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_in_grace_is_served_at_once_and_renewed_once() {
    let world = Changing::new();
    let (vidra, ids) = (world.builder().build().unwrap(), videos(&world.sim, 60).await);
    vidra.videos(&ids).await.unwrap();
    tokio::time::advance(IN_GRACE).await;
    world.sim.reset_record();
    world.sim.set_latency(SECOND);
    let started = Instant::now();
    let old = vidra.videos_json(&ids).await.unwrap();
    assert_eq!((old.outcome, started.elapsed()), (CacheOutcome::Stale, Duration::ZERO));
    vidra.videos_json(&ids).await.unwrap();
    sleep(2 * SECOND).await;
    assert_eq!(world.sim.record().units.default, 2, "two calls for sixty");
    assert_eq!(vidra.videos_json(&ids).await.unwrap().outcome, CacheOutcome::Hit);
    // Past its grace, and while the platform hangs, the stale list is served after 250 ms.
    tokio::time::advance(STALE).await;
    world.sim.inject(Fault::any(Action::Hang));
    let started = Instant::now();
    let stale = vidra.videos_json(&ids).await.unwrap();
    assert_eq!(
        (stale.outcome, started.elapsed()),
        (CacheOutcome::Stale, Duration::from_millis(250))
    );
}

#[test]
fn a_runtime_with_calls_in_flight_can_be_dropped() {
    let (ended, is_ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let sim = Simulator::builder().latency(10 * SECOND).build();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let vidra = client(&sim);
            for id in ["quirkNoLike", "quirkDurDay", "fda4eREcaTQ"] {
                let vidra = vidra.clone();
                tokio::spawn(async move { vidra.video(video(id)).await });
            }
            sim.until(|record| record.calls >= 1).await;
        });
        drop(runtime);
        let _ = ended.send(());
    });
    is_ended.recv_timeout(5 * SECOND).expect("the runtime ends");
}
