//! Bounded work: who is let in, who is told to come again, and who never has to ask.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all};
use tokio::time::{Instant, advance, sleep};
use vidra::{
    BatchEvent, BatchQuery, Builder, CacheOutcome, Error, ErrorKind, Lookup, PlaylistId,
    RetryPolicy, VideoId, Vidra,
};
use vidra_sim::{Action, Fault, Simulator};

use crate::sim;

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

/// Asks for what is slow to come, so many times.
async fn fill(vidra: &Vidra, sim: &Simulator, places: usize) {
    sim.inject(Fault::any(Action::delay(5 * SECOND)));
    for number in 0..places {
        let vidra = vidra.clone();
        tokio::spawn(async move { vidra.video(video(number)).await });
    }
    sleep(Duration::from_millis(1)).await;
}

#[track_caller]
fn is_busy(error: &Error) {
    let told = (error.kind(), error.message(), error.retry_after());
    assert_eq!(told, (ErrorKind::Unavailable, "The service is at its limit", Some(SECOND)));
}

#[tokio::test(start_paused = true)]
async fn who_asks_beyond_the_limit_is_told_at_once_and_may_come_again() {
    let sim = Simulator::new();
    let vidra = builder(&sim).most_misses(3).build().unwrap();
    let known = Lookup::Playlist(playlist("PLsize1"));
    vidra.lookup(&known).await.unwrap();
    fill(&vidra, &sim, 3).await;
    let started = Instant::now();
    let asks = [
        Lookup::Video(video(3)),
        Lookup::Playlist(playlist("PLsize51")),
        Lookup::Regions(None),
        Lookup::Tracks(video(3)),
    ];
    for ask in &asks {
        is_busy(&vidra.lookup(ask).await.unwrap_err());
    }
    is_busy(&vidra.videos(&[video(7), video(8)]).await.unwrap_err());
    assert_eq!(vidra.lookup(&known).await.unwrap().outcome, CacheOutcome::Hit);
    assert!(started.elapsed() < Duration::from_millis(10));
    // Who waits for one of the three takes no place.
    let joined = join_all((0..300).map(|number| vidra.video(video(number % 3)))).await;
    assert!(joined.iter().all(|told| told.as_ref().unwrap_err().kind() == ErrorKind::NotFound));
    assert_eq!(sim.record().calls, 2 + 1 + 2, "the playlist, one video, and two gathered");
    // The places are free again, and nothing is remembered.
    sim.clear_faults();
    for ask in &asks[1..3] {
        vidra.lookup(ask).await.unwrap();
    }
}

/// On several threads, because who joins has to come between two steps of the one who leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_joins_one_that_finds_no_place_is_told_the_same() {
    let vidra = builder(&Simulator::new()).most_misses(0).build().unwrap();
    let asks = (0..8).map(|number| {
        let vidra = vidra.clone();
        tokio::spawn(async move {
            for _ in 0..5_000 {
                is_busy(&match number % 2 {
                    0 => vidra.video(video(1)).await.unwrap_err(),
                    _ => vidra.videos(&[video(1)]).await.unwrap_err(),
                });
            }
        })
    });
    for ask in asks.collect::<Vec<_>>() {
        ask.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_stale_is_better_than_a_refusal() {
    let sim = Simulator::new();
    let vidra = builder(&sim).most_misses(2).build().unwrap();
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
async fn who_has_waited_ten_seconds_waits_on_where_nobody_else_may_ask() {
    let sim = Simulator::new();
    sim.inject(Fault::any(Action::delay(15 * SECOND)));
    let vidra = builder(&sim).most_misses(1).attempt_timeout(60 * SECOND).build().unwrap();
    let id = VideoId::parse("quirkNoLike").unwrap();
    let (one, other) = tokio::join!(vidra.video(id), vidra.video(id));
    assert!(one.is_ok() && other.is_ok(), "{other:?}");
    assert_eq!(sim.record().calls, 1);
}

#[tokio::test(start_paused = true)]
async fn batches_have_places_of_their_own() {
    let sim = Simulator::builder().latency(Duration::from_millis(100)).build();
    let vidra = builder(&sim).most_batches(2).build().unwrap();
    let begin =
        || Box::pin(vidra.playlist_transcripts(&playlist("PLsize50"), &BatchQuery::default()));
    let (mut one, mut two) = (begin(), begin());
    assert_eq!(one.next().await.unwrap().unwrap(), BatchEvent::Started);
    assert_eq!(two.next().await.unwrap().unwrap(), BatchEvent::Started);
    let told: Vec<_> = begin().collect().await;
    assert_eq!(told.len(), 1);
    is_busy(told[0].as_ref().unwrap_err());
    vidra.video(VideoId::parse("quirkNoLike").unwrap()).await.unwrap();
    drop(one);
    sleep(SECOND).await;
    assert_eq!(begin().next().await.unwrap().unwrap(), BatchEvent::Started);
    while two.next().await.is_some() {}
}
