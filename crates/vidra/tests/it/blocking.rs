//! The blocking client.

use std::time::Duration;

use vidra::{
    ApiKey, BatchEvent, BatchQuery, ChannelRef, ChartQuery, DateRange, ErrorKind, InProcess,
    PlaylistId, Reason, VideoId, Vidra, blocking,
};
use vidra_sim::{Endpoint, Simulator};

fn client(sim: &Simulator) -> blocking::Vidra {
    let transport = InProcess(sim.clone());
    let builder = Vidra::builder().key(ApiKey::new("demo-key")).transport(transport);
    builder.build_blocking().unwrap()
}

fn video() -> VideoId {
    VideoId::parse("fda4eREcaTQ").unwrap()
}

#[test]
fn l9_operations_run_without_a_runtime() {
    let sim = Simulator::new();
    let vidra = client(&sim).metered();
    assert_eq!(vidra.video(video()).unwrap().channel, "Fermata Sessions");
    let channel = vidra.channel(&ChannelRef::parse("@fermata").unwrap()).unwrap();
    assert_eq!(channel.name, "Fermata Sessions");
    let fermata = ChannelRef::parse("@fermata").unwrap();
    assert_eq!(vidra.channel_feed(&fermata).unwrap().items.len(), 15);
    assert_eq!(
        vidra.channel_playlists(&fermata).collect::<vidra::Result<Vec<_>>>().unwrap().len(),
        57
    );
    assert_eq!(vidra.popular_videos(&ChartQuery::default()).take(3).count(), 3);
    let playlist = vidra.playlist(&PlaylistId::parse("PLsize120").unwrap()).unwrap();
    assert_eq!(playlist.video_count, 120);
    assert_eq!(u64::from(vidra.as_async().cost().units()), sim.record().units.default);
    let missing = vidra.video(VideoId::parse("notAVideo__").unwrap()).unwrap_err();
    assert_eq!(missing.reason(), Reason::VideoNotFound);
    vidra.settled();
}

#[test]
fn l9_threads_share_a_client() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| vidra.clone().video(video()).unwrap());
        }
    });
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 1, "one fetch for all threads");
}

#[test]
fn l9_a_batch_is_an_iterator() {
    let sim = Simulator::new();
    let events = client(&sim)
        .playlist_transcripts(&PlaylistId::parse("PLquirkMixed").unwrap(), &BatchQuery::default());
    // The iterator outlives its client.
    let events: Vec<BatchEvent> = events.collect::<vidra::Result<_>>().unwrap();
    let results = events.iter().filter(|event| matches!(event, BatchEvent::Result(_))).count();
    assert_eq!(results, 12);
    assert!(matches!(events.last(), Some(BatchEvent::Done(summary)) if summary.succeeded == 6));
}

#[test]
fn l9_limits_apply() {
    let sim = Simulator::builder().latency(Duration::from_secs(60)).build();
    let error = client(&sim).within(Duration::from_millis(20)).video(video()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let error = Vidra::builder().web_url("no url").build_blocking().err().unwrap();
    assert_eq!(error.reason(), Reason::InvalidInput);
}

#[tokio::test]
#[should_panic(expected = "Cannot start a runtime from within a runtime")]
async fn l9_async_code_must_not_block() {
    let _ = client(&Simulator::new()).video(video());
}

#[tokio::test]
async fn l9_it_works_on_a_thread_that_may_block_and_can_be_dropped_anywhere() {
    let vidra = client(&Simulator::new());
    let there = vidra.clone();
    let found = tokio::task::spawn_blocking(move || there.video(video())).await.unwrap();
    assert_eq!(found.unwrap().id, video());
    drop(vidra);
}

#[test]
#[should_panic(expected = "vidra needs a tokio runtime")]
fn l9_the_async_client_says_that_it_needs_a_runtime() {
    let transport = InProcess(Simulator::new());
    let vidra = Vidra::builder().key(ApiKey::new("demo-key")).transport(transport).build().unwrap();
    let _ = futures_util::FutureExt::now_or_never(vidra.video(video()));
}

#[test]
fn lists_are_iterators_that_fetch_only_what_is_read() {
    let sim = Simulator::new();
    let vidra = client(&sim);
    let id = PlaylistId::parse("PLsize500").unwrap();
    let first: Vec<_> = vidra.playlist_videos(&id).take(60).map(Result::unwrap).collect();
    assert_eq!((first.len(), first[59].position), (60, 60));
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 2);
    let page = vidra.playlist_videos_page(&id, None, 20).unwrap().body;
    assert_eq!((page.items.len(), page.next_cursor.is_some()), (20, true));
    let channel = ChannelRef::parse("@fermata").unwrap();
    assert!(vidra.uploads(&channel, DateRange::default()).all(|video| video.is_ok()));
}
