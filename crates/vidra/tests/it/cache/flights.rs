//! Whoever asks for what is being asked for waits for that answer.

use futures_util::future::join_all;
use tokio::time::{Instant, advance, timeout};
use vidra::{
    BatchQuery, CacheOutcome, CommentQuery, ErrorKind, Pace, Pacing, TranscriptQuery, Video,
};
use vidra_sim::{Action, Endpoint, Fault};

use super::*;

/// Asks a thousand times at once.
async fn a_thousand(vidra: &Vidra, ask: &Lookup) -> Vec<vidra::Result<Cached>> {
    join_all((0..1_000).map(|_| vidra.lookup(ask))).await
}

/// One of every kind, with what it costs.
fn every_kind() -> [Lookup; 9] {
    [
        Lookup::Video(video("quirkNoLike")),
        Lookup::Channel(channel("UCquirkNoCountry00000000")),
        Lookup::Uploads(channel("@fermata")),
        Lookup::Playlist(playlist("PLsize51")),
        Lookup::PlaylistInfo(playlist("PLsize1")),
        Lookup::Comments(video("quirkHtmlCm"), CommentQuery::default()),
        Lookup::Regions(None),
        Lookup::Tracks(video("txManualAsr")),
        Lookup::Transcript(video("txManualAsr"), TranscriptQuery::default()),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_thousand_who_ask_for_one_thing_ask_once() {
    for ask in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        let alone = client(&sim).lookup(&ask).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();

        let vidra = client(&sim);
        let started = Instant::now();
        let answers: Vec<Cached> =
            a_thousand(&vidra, &ask).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(sim.record().calls, calls, "{ask:?}");
        assert!(started.elapsed() <= Duration::from_millis(500 * calls), "{ask:?}");
        assert!(answers.iter().all(|answer| answer.body == alone.body), "{ask:?}");
        let coalesced =
            answers.iter().filter(|answer| answer.outcome == CacheOutcome::Coalesced).count();
        assert_eq!(coalesced, 999, "{ask:?}");
        let counts = counts(&vidra, ask.resource()).await;
        assert_eq!((counts.misses, counts.coalesced), (1, 999), "{ask:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_answer_is_on_one_bill() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = client(&sim);
    let handles: Vec<Vidra> = (0..20).map(|_| vidra.metered()).collect();
    join_all(handles.iter().map(|handle| handle.video(video("quirkNoLike")))).await;
    let units: u32 = handles.iter().map(|handle| handle.cost().units()).sum();
    assert_eq!((units, handles[0].cost().units()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_leaves_does_not_end_it_for_the_others() {
    for ask in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        client(&sim).lookup(&ask).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();
        let vidra = client(&sim);
        let leaving = timeout(Duration::from_millis(100), vidra.lookup(&ask));
        let (left, answers) = tokio::join!(leaving, a_thousand(&vidra, &ask));
        assert!(left.is_err(), "{ask:?}: gone after 100 ms");
        assert!(answers.iter().all(Result::is_ok), "{ask:?}");
        assert_eq!(sim.record().calls, calls, "{ask:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_all_leave_the_answer_is_kept() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let (vidra, ask) = (client(&sim), Lookup::Video(video("quirkNoLike")));
    assert!(timeout(Duration::from_millis(100), vidra.lookup(&ask)).await.is_err());
    sleep(SECOND).await;
    assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Hit);
    assert_eq!(sim.record().calls, 1);
}

/// Panics so many times, half a second after it was asked.
#[derive(Clone)]
struct Panicking {
    sim: Simulator,
    left: Arc<AtomicU64>,
}

impl Transport for Panicking {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let answer = InProcess(self.sim.clone()).exchange(request).await;
            let left = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            assert!(left.is_err(), "a bug, as the test wants it");
            answer
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_one_who_asks_harms_nobody() {
    for ask in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        client(&sim).lookup(&ask).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();
        let transport = Panicking { sim: sim.clone(), left: Arc::new(1.into()) };
        let vidra = builder(&sim).transport(transport).build().unwrap();
        let answers = a_thousand(&vidra, &ask).await;
        let good = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(good, 1_000, "{ask:?}: {:?}", answers.iter().find_map(|it| it.as_ref().err()));
        assert!(sim.record().calls <= calls + 1, "{ask:?}");
        assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Hit, "{ask:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_panics_again_and_again_is_asked_twice_and_the_key_stays_usable() {
    for ask in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        let transport = Panicking { sim: sim.clone(), left: Arc::new(u64::MAX.into()) };
        let vidra = builder(&sim).transport(transport.clone()).build().unwrap();
        for answer in a_thousand(&vidra, &ask).await {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::Internal, "{ask:?}");
        }
        assert_eq!(sim.record().calls, 2, "{ask:?}");
        transport.left.store(0, Ordering::Relaxed);
        assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Miss, "{ask:?}");
    }
}

/// The same for those who ask for many at once.
#[tokio::test(start_paused = true)]
async fn a_panic_over_many_is_asked_once_more_too() {
    for panics in [1, u64::MAX] {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        let transport = Panicking { sim: sim.clone(), left: Arc::new(panics.into()) };
        let vidra = builder(&sim).transport(transport).build().unwrap();
        let ids = [video("quirkNoLike"), video("quirkNoComm")];
        for answer in join_all((0..100).map(|_| vidra.videos(&ids))).await {
            match panics {
                1 => assert_eq!(answer.unwrap().len(), 2),
                _ => assert_eq!(answer.unwrap_err().kind(), ErrorKind::Internal),
            }
        }
        assert_eq!(sim.record().calls, 2, "{panics}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_and_told_for_a_second() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 2, delay: Duration::from_millis(300) };
    // Six failures in a row are meant to be seen.
    let builder = builder(&sim).retry(retry).breaker_pause(Duration::ZERO);
    let (vidra, ask) = (builder.build().unwrap(), Lookup::Video(video("quirkNoLike")));
    let errors: Vec<_> =
        a_thousand(&vidra, &ask).await.into_iter().map(Result::unwrap_err).collect();
    let told = |error: &vidra::Error| format!("{error:?}");
    assert!(errors.iter().all(|error| told(error) == told(&errors[0])));
    assert_eq!(sim.record().calls, 3, "one flight of three attempts");

    advance(Duration::from_millis(998)).await;
    let again = vidra.lookup(&ask).await.unwrap_err();
    assert_eq!((told(&again), sim.record().calls), (told(&errors[0]), 3), "within the second");
    advance(Duration::from_millis(3)).await;
    vidra.lookup(&ask).await.unwrap_err();
    assert_eq!(sim.record().calls, 6, "after it");
    sim.clear_faults();
    advance(SECOND).await;
    assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_one_is_not_told_to_another() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)).once());
    let vidra = client(&sim);
    vidra.video(video("quirkNoLike")).await.unwrap_err();
    vidra.video(video("quirkNoComm")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_takes_longer_than_ten_seconds_is_replaced_once() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Hang).once());
    let (vidra, ask) = (
        builder(&sim).attempt_timeout(MINUTE).build().unwrap(),
        Lookup::Video(video("quirkNoLike")),
    );
    let started = Instant::now();
    let waits = (0..1_000).map(|_| async {
        let answer = vidra.lookup(&ask).await;
        (answer, started.elapsed())
    });
    let answers = join_all(waits).await;
    let released: Vec<Duration> =
        answers.iter().filter(|(answer, _)| answer.is_ok()).map(|(_, elapsed)| *elapsed).collect();
    assert!(released.len() >= 999, "{:?}", answers[0].0);
    for elapsed in released {
        // The replacement waits a second for the call that hangs, as any lookup does.
        assert!((10_900..=11_100).contains(&elapsed.as_millis()), "{elapsed:?}");
    }
    assert_eq!(sim.record().calls, 2, "one replacement, not a thousand");
}

#[tokio::test(start_paused = true)]
async fn while_all_hang_there_is_one_replacement_in_ten_seconds() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Hang));
    let (vidra, ask) = (
        builder(&sim).attempt_timeout(5 * MINUTE).deadline(MINUTE).build().unwrap(),
        Lookup::Video(video("quirkNoLike")),
    );
    let callers: Vec<_> = (0..600)
        .map(|n| {
            let (vidra, ask) = (vidra.clone(), ask.clone());
            tokio::spawn(async move {
                sleep(Duration::from_millis(100 * n)).await;
                vidra.lookup(&ask).await
            })
        })
        .collect();
    sleep(MINUTE).await;
    let calls = sim.record().calls;
    assert!(calls <= 7, "{calls} calls in a minute");
    for caller in callers {
        assert_eq!(caller.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    }
    sleep(2 * MINUTE).await;
    assert_eq!(sim.record().in_flight, 0, "all were given up");
    sim.clear_faults();
    assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn different_things_at_once_do_not_meet() {
    let sim = Simulator::builder().latency(Duration::from_millis(50)).build();
    let ids = videos(&sim, 200).await;
    let vidra = client(&sim);
    let asks = ids.iter().flat_map(|id| [*id; 5]).map(|id| {
        let vidra = &vidra;
        async move { (id, vidra.video(id).await.unwrap()) }
    });
    for (id, found) in join_all(asks).await {
        assert_eq!(id, found.id);
    }
    let counts = counts(&vidra, Resource::Video).await;
    assert_eq!((counts.misses, counts.coalesced), (200, 800));
    let asked: usize = sim
        .record()
        .requests_to(Endpoint::Videos)
        .map(|call| call.parameter("id").unwrap().split(',').count())
        .sum();
    assert_eq!(asked, 200, "each once");
}

#[tokio::test(start_paused = true)]
async fn who_wants_the_newest_joins_who_asks_already() {
    let world = Changing::new();
    let (vidra, id) = (world.builder().build().unwrap(), video("quirkNoLike"));
    edition(&vidra, id).await.unwrap();
    world.sim.set_latency(Duration::from_millis(500));
    let newest = vidra.refreshing();
    let answers = join_all((0..10).map(|_| edition(&newest, id))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().1 == 2));
    assert_eq!(world.sim.record().calls, 2);
    let (hit, number) = edition(&vidra, id).await.unwrap();
    assert_eq!((hit.outcome, number), (CacheOutcome::Hit, 2));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_another_longer_than_for_himself() {
    let sim = Simulator::new();
    let vidra = builder(&sim)
        .pacing(Pacing::At(Pace { burst: 1, per_hour: 60 }))
        .deadline(10 * SECOND)
        .build()
        .unwrap();
    let ids = sim::client(&sim).playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    let query = BatchQuery { concurrency: 10, ..BatchQuery::default() };
    let batch = vidra.playlist_transcripts(&playlist("PLsize50"), &query);
    let reading = tokio::spawn(futures_util::StreamExt::collect::<Vec<_>>(batch));
    sleep(SECOND).await;
    // The batch has an hour, and one turn in a minute.
    let started = Instant::now();
    let told = vidra.transcript(ids[9], &TranscriptQuery::default()).await;
    assert_eq!(started.elapsed(), 10 * SECOND);
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Timeout);
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn what_a_batch_began_goes_on_for_others_when_it_is_dropped() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = client(&sim);
    let ids = vidra.playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    sim.reset_record();
    let batch = vidra.playlist_transcripts(&playlist("PLsize50"), &BatchQuery::default());
    let mut batch = Box::pin(batch);
    // Begins with the first three; the caller leaves while they are asked for.
    let _ = timeout(Duration::from_millis(100), futures_util::StreamExt::next(&mut batch)).await;
    let query = TranscriptQuery::default();
    let waiting = vidra.transcript(ids[0], &query);
    let leaving = async {
        sleep(Duration::from_millis(100)).await;
        drop(batch);
    };
    let (lines, ()) = tokio::join!(waiting, leaving);
    assert!(!lines.unwrap().is_empty());
    assert_eq!(sim.record().calls_to(Endpoint::Player), 3, "by the batch, and none again");
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_those_who_ask_together_still_ask_once() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = builder(&sim).cache_bytes(0).build().unwrap();
    let ask = Lookup::Video(video("quirkNoLike"));
    let bodies: Vec<Video> = a_thousand(&vidra, &ask)
        .await
        .into_iter()
        .map(|it| it.unwrap().decode().unwrap())
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(sim.record().calls, 1);
    assert_eq!(vidra.lookup(&ask).await.unwrap().outcome, CacheOutcome::Miss);
}
