//! Callers that run out of time or leave: nothing is spent without waiters, and other callers are not affected.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::time::{Instant, advance, sleep, timeout};
use vidra::store::BoxFuture;
use vidra::{
    BatchQuery, Builder, CacheOutcome, EgressPool, EgressState, ErrorKind, Lookup, Pace, Pacing,
    PlaylistId, Reason, Result, RetryPolicy, TakenPermit, TranscriptQuery, VideoId, WantedPermit,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

const MS: Duration = Duration::from_millis(1);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim).cache_bytes(64 << 20).retry(RetryPolicy { retries: 2, delay: 100 * MS })
}

fn slow() -> Simulator {
    Simulator::builder().latency(100 * MS).build()
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_walk_through_pages_ends_without_waiters() {
    let lookups =
        [Lookup::Playlist(playlist("PLsize5000")), Lookup::PlaylistEntries(playlist("PLsize5000"))];
    for lookup in lookups {
        let sim = slow();
        let vidra = builder(&sim).build().unwrap();
        assert!(timeout(250 * MS, vidra.lookup(&lookup)).await.is_err());
        let sent = sim.record().calls;
        sleep(60_000 * MS).await;
        assert_eq!(sim.record().calls, sent, "{lookup:?}: no further call");
        assert!(sent <= 7, "{lookup:?}: {sent}");
        assert_eq!(u64::from(vidra.cost().units()), sim.record().units.default, "{lookup:?}");
        // A later caller gets the whole list.
        assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Miss, "{lookup:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_waiters_there_is_no_retry_and_no_further_request() {
    let sim = slow();
    sim.inject(Fault::on(Endpoint::Videos, Action::status(503)));
    let vidra = builder(&sim).build().unwrap();
    assert!(timeout(50 * MS, vidra.video(video("quirkNoLike"))).await.is_err());
    sleep(10_000 * MS).await;
    assert_eq!(sim.record().calls, 1);
    sim.reset_record();
    let query = TranscriptQuery::default();
    assert!(timeout(50 * MS, vidra.transcript(video("txManualAsr"), &query)).await.is_err());
    sleep(10_000 * MS).await;
    assert_eq!((sim.record().calls_to(Endpoint::Player), sim.record().calls), (1, 1));
    // A later caller starts the abandoned fetch again.
    vidra.transcript(video("txManualAsr"), &query).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_id_without_waiters_is_not_sent() {
    let sim = slow();
    let vidra = builder(&sim).build().unwrap();
    let ids = ["quirkNoLike", "quirkNoComm", "quirkDurDay", "quirkHtmlCm"].map(video);
    let first = async {
        let first = vidra.video(ids[0]).await;
        (first, Instant::now())
    };
    // Gathered while the first call is in flight; one caller leaves before the next call is sent.
    let later = async {
        sleep(5 * MS).await;
        let leaving = timeout(10 * MS, vidra.video(ids[1]));
        tokio::join!(leaving, vidra.video(ids[2]), vidra.video(ids[3]))
    };
    let (_, (left, stayed, other)) = tokio::join!(first, later);
    assert!(left.is_err() && stayed.is_ok() && other.is_ok());
    let sent: Vec<String> = sim
        .record()
        .requests_to(Endpoint::Videos)
        .map(|call| call.parameter("id").unwrap().to_owned())
        .collect();
    assert_eq!(sent, [ids[0].to_string(), format!("{},{}", ids[2], ids[3])]);
    // If all callers have left, there is no call.
    sim.reset_record();
    let busy = vidra.clone();
    let first = tokio::spawn(async move { busy.video(video("txManualAsr")).await });
    sleep(MS).await;
    assert!(timeout(10 * MS, vidra.video(video("txOneCue___"))).await.is_err());
    first.await.unwrap().unwrap();
    sleep(1_000 * MS).await;
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_goes_on_while_a_caller_waits() {
    let sim = slow();
    let vidra = builder(&sim).build().unwrap();
    let lookup = Lookup::Playlist(playlist("PLsize500"));
    vidra.lookup(&lookup).await.unwrap();
    let calls = sim.record().calls;
    sim.reset_record();
    let vidra = builder(&sim).build().unwrap();
    let leaving = timeout(150 * MS, vidra.lookup(&lookup));
    let (left, answers) = tokio::join!(leaving, join_all((0..999).map(|_| vidra.lookup(&lookup))));
    assert!(left.is_err() && answers.iter().all(Result::is_ok));
    assert_eq!(sim.record().calls, calls, "one fetch");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_goes_on_without_waiters() {
    let sim = slow();
    let vidra = builder(&sim).build().unwrap();
    let lookup = Lookup::Playlist(playlist("PLsize500"));
    vidra.lookup(&lookup).await.unwrap();
    // Past its grace: a short wait, then the stale list. The fetch goes on.
    let days = Duration::from_secs(2 * 24 * 3600);
    advance(days).await;
    assert!(vidra.lookup(&lookup).await.unwrap().age >= days, "the old list");
    sleep(10_000 * MS).await;
    let new = vidra.lookup(&lookup).await.unwrap();
    assert_eq!((new.outcome, new.age < days), (CacheOutcome::Hit, true));
}

#[tokio::test(start_paused = true)]
async fn a_fresh_video_in_a_list_does_not_make_the_fetch_a_renewal() {
    let sim = slow();
    let vidra = builder(&sim).build().unwrap();
    let fresh = video("quirkNoLike");
    vidra.video(fresh).await.unwrap();
    sim.reset_record();
    let unknown = (0..499).map(|number| video(&format!("unknown{number:04}")));
    let ids: Vec<VideoId> = [fresh].into_iter().chain(unknown).collect();
    assert!(timeout(50 * MS, vidra.videos(&ids)).await.is_err());
    let sent = sim.record().calls;
    sleep(60_000 * MS).await;
    assert_eq!(sim.record().calls, sent, "no further call");
    assert!(sent < 10, "{sent} of ten");
    // A failed fetch of an uncached video is no failed renewal.
    sim.inject(Fault::any(Action::error("API_KEY_INVALID")));
    for round in 0..3 {
        vidra.videos(&[fresh, video(&format!("nothing{round:04}"))]).await.unwrap_err();
    }
    assert_eq!(vidra.cache_report().await.renewal_failures, 0);
    // A failed fetch of a cached video is one.
    advance(Duration::from_secs(2 * 3600)).await;
    let stale = vidra.videos_json(&[fresh]).await.unwrap();
    assert_eq!(stale.outcome, CacheOutcome::Stale);
    assert_eq!(vidra.cache_report().await.renewal_failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_handle_has_its_own_deadline() {
    let sim = Simulator::builder().latency(500 * MS).build();
    let vidra = builder(&sim).build().unwrap();
    let hasty = vidra.within(100 * MS);
    let started = Instant::now();
    let id = video("quirkNoLike");
    let (early, late) = tokio::join!(async { (hasty.video(id).await, started.elapsed()) }, async {
        (vidra.video(id).await, started.elapsed())
    },);
    assert_eq!((early.0.unwrap_err().kind(), early.1), (ErrorKind::Timeout, 100 * MS));
    assert!(late.0.is_ok() && late.1 == 500 * MS, "the hasty caller led the fetch and left");
    assert_eq!(sim.record().calls, 1);
    // Now it is a cache hit.
    assert!(hasty.video(id).await.is_ok());
    // A deadline never extends that of the client or an earlier one.
    let brief = builder(&sim).deadline(200 * MS).build().unwrap();
    for handle in [brief.within(60_000 * MS), vidra.within(200 * MS).within(60_000 * MS)] {
        let started = Instant::now();
        let error = handle.playlist(&playlist("PLsize5000")).await.unwrap_err();
        assert_eq!((error.kind(), started.elapsed()), (ErrorKind::Timeout, 200 * MS));
    }
}

/// The shared rate limit of an egress address. A call takes 100 ms, and has its effect after half of them.
#[derive(Debug, Default)]
struct SlowPool {
    taken: Mutex<u32>,
    spent: Mutex<Duration>,
}

impl SlowPool {
    /// The permits that were taken so far, and the time that they add, without those that were returned.
    fn state(&self) -> (u32, Duration) {
        (*self.taken.lock().unwrap(), *self.spent.lock().unwrap())
    }
}

impl EgressPool for SlowPool {
    fn take<'a>(&'a self, wanted: &'a WantedPermit) -> BoxFuture<'a, Result<TakenPermit>> {
        Box::pin(async {
            sleep(50 * MS).await;
            *self.taken.lock().unwrap() += 1;
            *self.spent.lock().unwrap() += wanted.interval;
            sleep(50 * MS).await;
            Ok(TakenPermit { is_taken: true, ahead: self.state().1 })
        })
    }

    fn give_back<'a>(&'a self, unused: &'a WantedPermit) -> BoxFuture<'a, Result<()>> {
        *self.spent.lock().unwrap() -= unused.interval;
        Box::pin(async { Ok(()) })
    }

    fn exchange<'a>(&'a self, _own: &'a [EgressState]) -> BoxFuture<'a, Result<Vec<EgressState>>> {
        Box::pin(async { Ok(vec![]) })
    }

    fn machines(&self) -> u32 {
        1
    }

    fn changed<'a>(&'a self, _seen: &'a mut u64) -> BoxFuture<'a, ()> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_shared_permit_that_is_not_used_is_returned() {
    let sim = Simulator::new();
    let pool = Arc::new(SlowPool::default());
    let pacing = Pacing::At(Pace { burst: 100, per_hour: 60 });
    let vidra = builder(&sim).pacing(pacing).egress_pool(pool.clone()).build().unwrap();
    // The caller leaves before the permit is taken, before the answer, and after both.
    let table = [(25, 0), (75, 0), (60_000, 4)];
    for (leaves_after, players) in table {
        let before = pool.state();
        let query = BatchQuery::default().with_concurrency(5).with_to(4);
        let batch = vidra.playlist_transcripts(&playlist("PLsize500"), &query).count();
        let _ = timeout(leaves_after * MS, batch).await;
        sleep(200 * MS).await;
        let (all, spent) = pool.state();
        assert_eq!(all - before.0, 4, "{leaves_after}");
        assert_eq!(sim.record().calls_to(Endpoint::Player), players, "{leaves_after}");
        assert_eq!(spent, 60_000 * MS * u32::try_from(players).unwrap(), "{leaves_after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shared_permit_that_comes_too_late_is_returned() {
    let sim = Simulator::new();
    let pool = Arc::new(SlowPool::default());
    let pacing = Pacing::At(Pace { burst: 100, per_hour: 60 });
    let vidra = builder(&sim).pacing(pacing).egress_pool(pool.clone());
    let vidra = vidra.deadline(75 * MS).build().unwrap();
    let late = vidra.transcript(video("txManualAsr"), &TranscriptQuery::default()).await;
    assert_eq!(late.unwrap_err().reason(), Reason::TimedOut);
    sleep(200 * MS).await;
    assert_eq!((pool.state(), sim.record().calls_to(Endpoint::Player)), ((1, Duration::ZERO), 0));
}
