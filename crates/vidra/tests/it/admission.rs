//! Bounded work: limits on uncached fetches and on batches. Cached answers need no slot.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all};
use tokio::time::{Instant, advance, sleep};
use vidra::{
    BatchQuery, Builder, CacheOutcome, Error, ErrorKind, Lookup, PlaylistId, RetryPolicy, VideoId,
    Vidra,
};
use vidra_sim::{Action, Fault, Simulator};

use crate::sim::{self, total};

const SECOND: Duration = Duration::from_secs(1);

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim)
        .cache_bytes(64 << 20)
        .retry(RetryPolicy { retries: 0, ..RetryPolicy::default() })
}

fn playlist(id: &str) -> PlaylistId {
    PlaylistId::parse(id).unwrap()
}

fn video(number: usize) -> VideoId {
    VideoId::parse(&format!("unknown{number:04}")).unwrap()
}

/// Takes this many slots, with lookups that last five seconds.
async fn fill(vidra: &Vidra, sim: &Simulator, slots: usize) {
    sim.inject(Fault::any(Action::delay(5 * SECOND)));
    for number in 0..slots {
        let vidra = vidra.clone();
        tokio::spawn(async move { vidra.video(video(number)).await });
    }
    sleep(Duration::from_millis(1)).await;
}

#[track_caller]
fn assert_overloaded(error: &Error) {
    let actual = (error.kind(), error.message(), error.retry_after());
    assert_eq!(actual, (ErrorKind::Unavailable, "The service is at its limit", Some(SECOND)));
}

#[tokio::test(start_paused = true)]
async fn lookups_beyond_the_limit_fail_at_once_and_succeed_later() {
    let sim = Simulator::new();
    let vidra = builder(&sim).max_misses(3).build().unwrap();
    let known = Lookup::Playlist(playlist("PLsize1"));
    vidra.lookup(&known).await.unwrap();
    fill(&vidra, &sim, 3).await;
    let started = Instant::now();
    let lookups = [
        Lookup::Video(video(3)),
        Lookup::Playlist(playlist("PLsize51")),
        Lookup::Regions(None),
        Lookup::Tracks(video(3)),
    ];
    for lookup in &lookups {
        assert_overloaded(&vidra.lookup(lookup).await.unwrap_err());
    }
    assert_overloaded(&vidra.videos(&[video(7), video(8)]).await.unwrap_err());
    assert_eq!(vidra.lookup(&known).await.unwrap().outcome, CacheOutcome::Hit);
    assert!(started.elapsed() < Duration::from_millis(10));
    // A follower of one of the three fetches takes no slot.
    let joined = join_all((0..300).map(|number| vidra.video(video(number % 3)))).await;
    assert!(joined.iter().all(|found| found.as_ref().unwrap_err().kind() == ErrorKind::NotFound));
    assert_eq!(sim.record().calls, 2 + 1 + 2, "the playlist, one video, and two gathered");
    // The slots are free again, and the error was not cached.
    sim.clear_faults();
    for lookup in &lookups[1..3] {
        vidra.lookup(lookup).await.unwrap();
    }
}

/// On several threads, because a follower has to join between two steps of its leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn followers_get_the_overload_error_of_their_leader() {
    let vidra = builder(&Simulator::new()).max_misses(0).build().unwrap();
    let lookups = (0..8).map(|number| {
        let vidra = vidra.clone();
        tokio::spawn(async move {
            for _ in 0..5_000 {
                assert_overloaded(&match number % 2 {
                    0 => vidra.video(video(1)).await.unwrap_err(),
                    _ => vidra.videos(&[video(1)]).await.unwrap_err(),
                });
            }
        })
    });
    for lookup in lookups.collect::<Vec<_>>() {
        lookup.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn stale_records_are_served_when_no_slot_is_free() {
    let sim = Simulator::new();
    let vidra = builder(&sim).max_misses(2).build().unwrap();
    let id = VideoId::parse("quirkNoLike").unwrap();
    vidra.video(id).await.unwrap();
    advance(Duration::from_secs(2 * 3600)).await;
    fill(&vidra, &sim, 2).await;
    let started = Instant::now();
    assert_eq!(vidra.lookup(&Lookup::Video(id)).await.unwrap().outcome, CacheOutcome::Stale);
    assert_eq!(vidra.videos_json(&[id]).await.unwrap().outcome, CacheOutcome::Stale);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_follower_waits_longer_than_ten_seconds_when_no_slot_is_free() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::delay(15 * SECOND)));
    let vidra = builder(&sim).max_misses(1).attempt_timeout(60 * SECOND).build().unwrap();
    let id = VideoId::parse("quirkNoLike").unwrap();
    let (one, other) = tokio::join!(vidra.video(id), vidra.video(id));
    assert!(one.is_ok() && other.is_ok(), "{other:?}");
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn batches_have_slots_of_their_own() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).max_batches(2).build().unwrap();
    let begin =
        || Box::pin(vidra.playlist_transcripts(&playlist("PLsize50"), &BatchQuery::default()));
    let (mut one, mut two) = (begin(), begin());
    assert_eq!(total(&one.next().await.unwrap().unwrap()), Some(50));
    assert_eq!(total(&two.next().await.unwrap().unwrap()), Some(50));
    let refused: Vec<_> = begin().collect().await;
    assert_eq!(refused.len(), 1);
    assert_overloaded(refused[0].as_ref().unwrap_err());
    vidra.video(VideoId::parse("quirkNoLike").unwrap()).await.unwrap();
    drop(one);
    sleep(SECOND).await;
    assert_eq!(total(&begin().next().await.unwrap().unwrap()), Some(50));
    while two.next().await.is_some() {}
}
