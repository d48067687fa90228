//! Request coalescing: concurrent lookups of one key share a fetch.

use futures_util::future::join_all;
use tokio::time::{Instant, advance, timeout};
use vidra::{
    BatchQuery, CacheOutcome, CommentQuery, ErrorKind, Pace, Pacing, TranscriptQuery, Video,
};
use vidra_sim::{Action, Endpoint, Fault};

use super::*;

/// Does the same lookup a thousand times at once.
async fn a_thousand(vidra: &Vidra, lookup: &Lookup) -> Vec<vidra::Result<Cached>> {
    join_all((0..1_000).map(|_| vidra.lookup(lookup))).await
}

/// A lookup of every kind.
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
async fn a_thousand_concurrent_lookups_cause_one_fetch() {
    for lookup in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        let alone = client(&sim).lookup(&lookup).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();

        let vidra = client(&sim);
        let started = Instant::now();
        let answers: Vec<Cached> =
            a_thousand(&vidra, &lookup).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(sim.record().calls, calls, "{lookup:?}");
        assert!(started.elapsed() <= Duration::from_millis(500 * calls), "{lookup:?}");
        assert!(answers.iter().all(|answer| answer.body == alone.body), "{lookup:?}");
        let coalesced =
            answers.iter().filter(|answer| answer.outcome == CacheOutcome::Coalesced).count();
        assert_eq!(coalesced, 999, "{lookup:?}");
        let counts = counts(&vidra, lookup.resource()).await;
        assert_eq!((counts.misses, counts.coalesced), (1, 999), "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shared_fetch_is_on_one_bill() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = client(&sim);
    let handles: Vec<Vidra> = (0..20).map(|_| vidra.metered()).collect();
    join_all(handles.iter().map(|handle| handle.video(video("quirkNoLike")))).await;
    let units: u32 = handles.iter().map(|handle| handle.cost().units()).sum();
    assert_eq!((units, handles[0].cost().units()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_leaving_caller_does_not_end_the_fetch_for_others() {
    for lookup in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        client(&sim).lookup(&lookup).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();
        let vidra = client(&sim);
        let leaving = timeout(Duration::from_millis(100), vidra.lookup(&lookup));
        let (left, answers) = tokio::join!(leaving, a_thousand(&vidra, &lookup));
        assert!(left.is_err(), "{lookup:?}: gone after 100 ms");
        assert!(answers.iter().all(Result::is_ok), "{lookup:?}");
        assert_eq!(sim.record().calls, calls, "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_is_cached_when_all_callers_leave() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let (vidra, lookup) = (client(&sim), Lookup::Video(video("quirkNoLike")));
    assert!(timeout(Duration::from_millis(100), vidra.lookup(&lookup)).await.is_err());
    sleep(SECOND).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit);
    assert_eq!(sim.record().calls, 1);
}

/// A transport that panics `left` times, each time after the exchange.
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
            assert!(left.is_err(), "an intended panic");
            answer
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_leader_is_replaced() {
    for lookup in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        client(&sim).lookup(&lookup).await.unwrap();
        let calls = sim.record().calls;
        sim.reset_record();
        let transport = Panicking { sim: sim.clone(), left: Arc::new(1.into()) };
        let vidra = builder(&sim).transport(transport).build().unwrap();
        let answers = a_thousand(&vidra, &lookup).await;
        let good = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!(
            good,
            1_000,
            "{lookup:?}: {:?}",
            answers.iter().find_map(|it| it.as_ref().err())
        );
        assert!(sim.record().calls <= calls + 1, "{lookup:?}");
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit, "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn repeated_panics_fail_after_two_fetches_and_the_key_stays_usable() {
    for lookup in every_kind() {
        let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
        let transport = Panicking { sim: sim.clone(), left: Arc::new(u64::MAX.into()) };
        let vidra = builder(&sim).transport(transport.clone()).build().unwrap();
        for answer in a_thousand(&vidra, &lookup).await {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::Internal, "{lookup:?}");
        }
        assert_eq!(sim.record().calls, 2, "{lookup:?}");
        transport.left.store(0, Ordering::Relaxed);
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss, "{lookup:?}");
    }
}

/// The case of `a_panicking_leader_is_replaced` for lists of videos.
#[tokio::test(start_paused = true)]
async fn a_list_is_fetched_once_more_after_a_panic() {
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
async fn a_failure_is_shared_and_cached_for_a_second() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    sim.inject(Fault::any(Action::status(503)));
    let retry = RetryPolicy { retries: 2, delay: Duration::from_millis(300) };
    // Without a pause, because six failures in a row would open the breaker.
    let builder = builder(&sim).retry(retry).breaker_pause(Duration::ZERO);
    let (vidra, lookup) = (builder.build().unwrap(), Lookup::Video(video("quirkNoLike")));
    let errors: Vec<_> =
        a_thousand(&vidra, &lookup).await.into_iter().map(Result::unwrap_err).collect();
    let text = |error: &vidra::Error| format!("{error:?}");
    assert!(errors.iter().all(|error| text(error) == text(&errors[0])));
    assert_eq!(sim.record().calls, 3, "one flight of three attempts");

    advance(Duration::from_millis(998)).await;
    let again = vidra.lookup(&lookup).await.unwrap_err();
    assert_eq!((text(&again), sim.record().calls), (text(&errors[0]), 3), "within the second");
    advance(Duration::from_millis(3)).await;
    vidra.lookup(&lookup).await.unwrap_err();
    assert_eq!(sim.record().calls, 6, "after it");
    sim.clear_faults();
    advance(SECOND).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_one_key_does_not_affect_another() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::status(503)).once());
    let vidra = client(&sim);
    vidra.video(video("quirkNoLike")).await.unwrap_err();
    vidra.video(video("quirkNoComm")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_leader_slower_than_ten_seconds_is_replaced_once() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Hang).once());
    let (vidra, lookup) = (
        builder(&sim).attempt_timeout(MINUTE).build().unwrap(),
        Lookup::Video(video("quirkNoLike")),
    );
    let started = Instant::now();
    let waits = (0..1_000).map(|_| async {
        let answer = vidra.lookup(&lookup).await;
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
async fn hanging_fetches_are_replaced_once_in_ten_seconds() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::Hang));
    let (vidra, lookup) = (
        builder(&sim).attempt_timeout(5 * MINUTE).deadline(MINUTE).build().unwrap(),
        Lookup::Video(video("quirkNoLike")),
    );
    let callers: Vec<_> = (0..600)
        .map(|n| {
            let (vidra, lookup) = (vidra.clone(), lookup.clone());
            tokio::spawn(async move {
                sleep(Duration::from_millis(100 * n)).await;
                vidra.lookup(&lookup).await
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
    assert_eq!(sim.record().in_flight, 0, "all calls have timed out");
    sim.clear_faults();
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss);
}

#[tokio::test(start_paused = true)]
async fn concurrent_lookups_of_different_videos_get_their_own_answers() {
    let sim = Simulator::builder().latency(Duration::from_millis(50)).build();
    let ids = videos(&sim, 200).await;
    let vidra = client(&sim);
    let lookups = ids.iter().flat_map(|id| [*id; 5]).map(|id| {
        let vidra = &vidra;
        async move { (id, vidra.video(id).await.unwrap()) }
    });
    for (id, found) in join_all(lookups).await {
        assert_eq!(id, found.id);
    }
    let counts = counts(&vidra, Resource::Video).await;
    assert_eq!((counts.misses, counts.coalesced), (200, 800));
    let requested: usize = sim
        .record()
        .requests_to(Endpoint::Videos)
        .map(|call| call.parameter("id").unwrap().split(',').count())
        .sum();
    assert_eq!(requested, 200, "each once");
}

#[tokio::test(start_paused = true)]
async fn concurrent_refreshes_share_one_fetch() {
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
async fn a_follower_waits_no_longer_than_its_own_deadline() {
    let sim = Simulator::new();
    let vidra = builder(&sim)
        .pacing(Pacing::At(Pace { burst: 1, per_hour: 60 }))
        .deadline(10 * SECOND)
        .build()
        .unwrap();
    let ids = sim::client(&sim).playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    let query = BatchQuery::default().with_concurrency(10);
    let batch = vidra.playlist_transcripts(&playlist("PLsize50"), &query);
    let reading = tokio::spawn(futures_util::StreamExt::collect::<Vec<_>>(batch));
    sleep(SECOND).await;
    // The batch has a deadline of an hour, and one turn per minute.
    let started = Instant::now();
    let result = vidra.transcript(ids[9], &TranscriptQuery::default()).await;
    assert_eq!(started.elapsed(), 10 * SECOND);
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Timeout);
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn a_fetch_of_a_dropped_batch_goes_on_for_its_followers() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = client(&sim);
    let ids = vidra.playlist_ids(&playlist("PLsize50")).await.unwrap().video_ids;
    sim.reset_record();
    let batch = vidra.playlist_transcripts(&playlist("PLsize50"), &BatchQuery::default());
    let mut batch = Box::pin(batch);
    // The batch starts the first three entries; its caller leaves while they are fetched.
    let _ = timeout(Duration::from_millis(100), futures_util::StreamExt::next(&mut batch)).await;
    let query = TranscriptQuery::default();
    let waiting = vidra.transcript(ids[0], &query);
    let leaving = async {
        sleep(Duration::from_millis(100)).await;
        drop(batch);
    };
    let (lines, ()) = tokio::join!(waiting, leaving);
    assert!(!lines.unwrap().is_empty());
    assert_eq!(sim.record().calls_to(Endpoint::Player), 3, "by the batch, and none twice");
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_concurrent_lookups_still_share_a_fetch() {
    let sim = Simulator::builder().latency(Duration::from_millis(500)).build();
    let vidra = builder(&sim).cache_bytes(0).build().unwrap();
    let lookup = Lookup::Video(video("quirkNoLike"));
    let bodies: Vec<Video> = a_thousand(&vidra, &lookup)
        .await
        .into_iter()
        .map(|it| it.unwrap().decode().unwrap())
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(sim.record().calls, 1);
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss);
}
