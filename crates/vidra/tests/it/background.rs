//! Background handles: they leave a part of the burst and a reserve of units, and never fail interactive requests.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, advance, sleep};
use vidra::{
    Builder, CacheOutcome, ChannelRef, EntrySource, Error, Lookup, Pace, Pacing, PlaylistId,
    QuotaLimits, Reason, SearchQuery, TranscriptQuery, VideoId, Vidra,
};
use vidra_sim::{Endpoint, Simulator};

use crate::sim;

const SECOND: Duration = Duration::from_secs(1);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim).cache_bytes(1 << 20)
}

fn video(id: &str) -> VideoId {
    VideoId::parse(id).unwrap()
}

fn paced(sim: &Simulator, burst: u32, per_hour: u32) -> Vidra {
    sim::builder(sim).pacing(Pacing::At(Pace { burst, per_hour })).build().unwrap()
}

/// Fetches a transcript, and returns how long it took in seconds.
async fn timed(vidra: &Vidra, id: &str) -> u64 {
    let started = Instant::now();
    vidra.transcript(video(id), &TranscriptQuery::default()).await.unwrap();
    started.elapsed().as_secs()
}

#[track_caller]
fn assert_reserved(error: &Error) {
    assert_eq!(error.reason(), Reason::QuotaExhausted, "{error:?}");
    assert!(error.message().starts_with("The rest of the daily YouTube quota"), "{error}");
    let wait = error.retry_after().unwrap();
    assert!(!wait.is_zero() && wait <= Duration::from_secs(25 * 3600), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn transcripts_of_the_background_leave_a_fifth_of_the_burst() {
    let sim = Simulator::new();
    let vidra = paced(&sim, 10, 3600);
    let job = vidra.in_background(0);
    for _ in 0..8 {
        assert_eq!(job.transcript_wait(false), None);
        assert_eq!(timed(&job, "txManualAsr").await, 0);
    }
    assert_eq!(job.transcript_wait(false), Some((Reason::Paced, SECOND)));
    assert_eq!(vidra.transcript_wait(false), None);
    let interactive = async {
        sleep(Duration::from_millis(10)).await;
        [timed(&vidra, "txOneCue___").await, timed(&vidra, "txAsrOnly__").await]
    };
    let (background, interactive) = tokio::join!(timed(&job, "txManualAsr"), interactive);
    assert_eq!(interactive, [0, 0], "at once, although the background request came first");
    assert_eq!(background, 3, "until a fifth of the burst is left again");
    assert_eq!(sim.record().calls_to(Endpoint::Player), 11);
}

#[tokio::test(start_paused = true)]
async fn an_interactive_request_that_joins_a_background_fetch_gets_its_permit_at_once() {
    let sim = Simulator::new();
    let vidra = paced(&sim, 5, 180);
    let job = vidra.in_background(0);
    for _ in 0..4 {
        timed(&job, "txManualAsr").await;
    }
    let interactive = async {
        sleep(5 * SECOND).await;
        timed(&vidra, "txOneCue___").await
    };
    let (background, interactive) = tokio::join!(timed(&job, "txOneCue___"), interactive);
    assert_eq!((background, interactive), (5, 0), "20 s without the interactive request");
    assert_eq!(sim.record().calls_to(Endpoint::Player), 5, "one fetch for both");
    assert_eq!(vidra.held().permits, 0);
}

#[tokio::test(start_paused = true)]
async fn background_calls_leave_a_reserve_of_units() {
    let sim = Simulator::new();
    let limits = QuotaLimits::default().with_default(5);
    let vidra = sim::builder(&sim).quota(limits).build().unwrap();
    let job = vidra.in_background(2).metered();
    let id = video("quirkNoLike");
    for _ in 0..3 {
        job.video(id).await.unwrap();
    }
    for handle in [&job, &job.in_background(1), &vidra.in_background(2)] {
        assert_reserved(&handle.video(id).await.unwrap_err());
    }
    assert_eq!((job.cost().units(), sim.record().calls), (3, 3), "nothing is sent or charged");
    vidra.in_background(1).video(id).await.unwrap();
    vidra.video(id).await.unwrap();
    let spent = vidra.video(id).await.unwrap_err();
    assert!(spent.message().starts_with("The daily YouTube quota"), "{spent}");
    assert_eq!((spent.reason(), sim.record().calls), (Reason::QuotaExhausted, 5));
    let for_jobs = job.video(id).await.unwrap_err();
    assert_eq!(for_jobs.message(), spent.message(), "now it is used up for all");
}

#[tokio::test(start_paused = true)]
async fn searches_and_transcripts_have_no_reserve() {
    let sim = Simulator::new();
    let vidra = sim::builder(&sim).search(true).build().unwrap();
    let job = vidra.in_background(10_000);
    let query = SearchQuery::parse("piano").unwrap();
    job.search(&query, None, 5).await.unwrap();
    assert_eq!((sim.record().units.search, sim.record().units.default), (1, 0));
    timed(&job, "txManualAsr").await;
    let playlist = EntrySource::Playlist(PlaylistId::parse("PLsize51").unwrap());
    assert_reserved(&job.entries_page(&playlist, None).await.unwrap_err());
}

#[tokio::test(start_paused = true)]
async fn the_reserve_fails_no_interactive_follower() {
    let lookups = [
        Lookup::Video(video("quirkNoLike")),
        Lookup::Channel(ChannelRef::parse("@fermata").unwrap()),
        Lookup::Playlist(PlaylistId::parse("PLsize51").unwrap()),
        Lookup::PlaylistEntries(PlaylistId::parse("PLsize120").unwrap()),
    ];
    for lookup in lookups {
        let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
        let vidra = builder(&sim).build().unwrap();
        let alone = Simulator::new();
        builder(&alone).build().unwrap().lookup(&lookup).await.unwrap();
        let job = vidra.in_background(10_000);
        let jobs = join_all([&job; 3].map(|job| job.lookup(&lookup)));
        let others = join_all([&vidra; 3].map(|vidra| vidra.lookup(&lookup)));
        let (refused, served) = tokio::join!(jobs, others);
        for result in refused {
            // A job that joins the fetch of an interactive request pays nothing.
            if let Err(error) = result {
                assert_reserved(&error);
            }
        }
        assert!(served.iter().all(Result::is_ok), "{lookup:?}: {served:?}");
        assert_eq!(sim.record().calls, alone.record().calls, "{lookup:?}: one fetch for all");
        job.lookup(&lookup).await.unwrap();
        assert!(!vidra.is_platform_failing());
    }
}

#[tokio::test(start_paused = true)]
async fn renewals_of_the_background_leave_the_reserve() {
    let sim = Simulator::new();
    let vidra = builder(&sim).build().unwrap();
    let lookup = Lookup::Video(video("quirkNoLike"));
    vidra.lookup(&lookup).await.unwrap();
    advance(Duration::from_secs(20 * 60)).await;
    let job = vidra.in_background(10_000);
    for _ in 0..10 {
        assert_eq!(job.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
        sleep(SECOND).await;
    }
    assert_eq!(sim.record().calls, 1);
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Stale);
    sleep(SECOND).await;
    assert_eq!(vidra.lookup(&lookup).await.unwrap().outcome, CacheOutcome::Hit);
}

#[tokio::test(start_paused = true)]
async fn background_fetches_take_no_slot() {
    let sim = Simulator::builder().latency(SECOND).build();
    let vidra = builder(&sim).max_misses(1).build().unwrap();
    let job = vidra.in_background(0);
    let (ids, playlist) = (["quirkNoLike", "quirkNoComm", "quirkDurDay"].map(video), "PLsize51");
    let entries = EntrySource::Playlist(PlaylistId::parse(playlist).unwrap());
    let (first, second, third, page) = tokio::join!(
        job.video(ids[0]),
        vidra.video(ids[1]),
        job.video(ids[2]),
        job.entries_page(&entries, None)
    );
    assert!(first.is_ok() && second.is_ok() && third.is_ok() && page.is_ok());
}
