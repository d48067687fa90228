//! Requests that need the same upstream data at the same time share it.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};
use vidra::{
    BatchQuery, CacheOutcome, ChannelRef, ErrorKind, Life, Lifetimes, Lookup, PlaylistId, Resource,
    VideoId, Vidra,
};
use vidra_sim::{Action, Endpoint, Fault, Simulator};

use crate::sim;

/// A client of a platform that answers after `latency`.
fn over(latency: u64) -> (Simulator, Vidra) {
    let sim = Simulator::builder().latency(Duration::from_millis(latency)).build();
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).build().unwrap();
    (sim, vidra)
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_list_a_playlist_once() {
    let (sim, vidra) = over(80);
    let id = PlaylistId::parse("PLsize120").unwrap();
    let playlists = join_all((0..6).map(|_| vidra.playlist(&id)));
    let (playlists, info, ids) =
        tokio::join!(playlists, vidra.playlist_info(&id), vidra.playlist_ids(&id));
    assert!(playlists.into_iter().all(|playlist| playlist.unwrap().video_count == 120));
    info.unwrap();
    assert_eq!(ids.unwrap().count, 120);
    assert_eq!(sim.record().calls, 7, "three pages, three calls for videos, one for the playlist");
}

#[tokio::test(start_paused = true)]
async fn a_video_is_there_when_its_own_call_has_ended() {
    let (sim, vidra) = over(80);
    // The first fifty of 51 videos are one call, the last is another.
    let last = Fault::on(Endpoint::Videos, Action::Delay { millis: 3_000 });
    sim.inject(last.when("id", "g7ju5mDUQ0Y"));
    let id = PlaylistId::parse("PLsize51").unwrap();
    let single = async {
        sleep(Duration::from_secs(1)).await;
        let started = Instant::now();
        vidra.video(VideoId::parse("rskSlyTUdug").unwrap()).await.unwrap();
        started.elapsed()
    };
    let (page, waited) = tokio::join!(vidra.playlist_videos_page(&id, None, 500), single);
    assert_eq!(page.unwrap().body.items.len(), 51);
    assert!(waited < Duration::from_millis(10), "{waited:?}");
    assert_eq!(sim.record().calls_to(Endpoint::Videos), 2);
}

#[tokio::test(start_paused = true)]
async fn two_callers_in_turn_share_their_calls() {
    let (sim, vidra) = over(80);
    let id = PlaylistId::parse("PLsize51").unwrap();
    let ids = vidra.playlist_ids(&id).await.unwrap().video_ids;
    let before = sim.record().calls_to(Endpoint::Videos);
    futures_util::stream::iter(ids.iter().take(20))
        .for_each_concurrent(2, async |id| drop(vidra.video(*id).await.unwrap()))
        .await;
    let calls = sim.record().calls_to(Endpoint::Videos) - before;
    assert!(calls <= 11, "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn identical_batches_share_their_list_and_their_transcripts() {
    let (sim, vidra) = over(80);
    let id = PlaylistId::parse("PLsize100").unwrap();
    let query = BatchQuery::default().with_concurrency(20);
    let batches = (0..4).map(|_| vidra.playlist_transcripts(&id, &query).collect::<Vec<_>>());
    let batches = join_all(batches).await;
    assert!(batches.iter().all(|events| events.iter().all(Result::is_ok)));
    let record = sim.record();
    assert_eq!(record.calls_to(Endpoint::PlaylistItems), 2);
    let keyless = record.calls_to(Endpoint::Player) + record.calls_to(Endpoint::TimedText);
    assert_eq!(keyless, 200);
}

#[tokio::test(start_paused = true)]
async fn a_channel_is_fetched_once_for_itself_and_its_uploads() {
    let (sim, vidra) = over(80);
    let channel = ChannelRef::parse("@fermata").unwrap();
    let (found, one, other) = tokio::join!(
        vidra.channel(&channel),
        vidra.channel_videos(&channel, 50),
        vidra.channel_videos(&channel, 50),
    );
    found.unwrap();
    assert_eq!(one.unwrap(), other.unwrap());
    assert_eq!(sim.record().calls, 3);
}

#[tokio::test(start_paused = true)]
async fn single_lookups_fill_calls_of_fifty() {
    let (sim, vidra) = over(30);
    let ids = sim::client(&sim).playlist_ids(&PlaylistId::parse("PLsize5000").unwrap()).await;
    let ids: Vec<VideoId> = ids.unwrap().video_ids[..1_000].to_vec();
    sim.reset_record();
    // A hundred connections, ten requests each, one after the other.
    let connection = |ids: Vec<VideoId>| {
        let vidra = vidra.clone();
        async move {
            for id in ids {
                vidra.video(id).await.unwrap();
            }
        }
    };
    join_all(ids.chunks(10).map(|ids| connection(ids.to_vec()))).await;
    let calls = sim.record().calls;
    assert!(calls <= 24, "{calls} calls for 1,000 videos");
}

/// The list of the first request is complete and no longer cached, while its videos are still being fetched.
#[tokio::test(start_paused = true)]
async fn a_complete_walk_is_not_followed() {
    let sim = Simulator::builder().latency(Duration::from_secs(2)).build();
    let no_time = Duration::ZERO;
    let life = Life { ttl: Duration::from_secs(1), grace: no_time, stale_if_error: no_time };
    let lifetimes = Lifetimes::default().with_life(Resource::Playlist, life);
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).lifetimes(lifetimes).build().unwrap();
    let id = PlaylistId::parse("PLsize50").unwrap();
    let later = async {
        sleep(Duration::from_millis(3_500)).await;
        vidra.lookup(&Lookup::PlaylistEntries(id.clone())).await
    };
    let (whole, entries) = tokio::join!(vidra.playlist(&id), later);
    assert_eq!(whole.unwrap().video_count, 50);
    assert_eq!(entries.unwrap().age, no_time);
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 2);
}

/// A list that a request joins is as old as its first page.
#[tokio::test(start_paused = true)]
async fn a_joined_list_has_the_age_of_its_first_page() {
    let sim = Simulator::builder().latency(Duration::from_secs(2)).build();
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let id = PlaylistId::parse("PLsize120").unwrap();
    let later = async {
        sleep(Duration::from_millis(2_500)).await;
        vidra.lookup(&Lookup::PlaylistEntries(id.clone())).await
    };
    let (_, entries) = tokio::join!(vidra.playlist(&id), later);
    assert_eq!(entries.unwrap().age, Duration::from_secs(4), "pages at 2, 4 and 6 seconds");
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 3);
}

/// A refresh gets no page from before its request, also if another request is fetching the list.
#[tokio::test(start_paused = true)]
async fn a_refresh_joins_no_earlier_walk() {
    let sim = Simulator::builder().latency(Duration::from_secs(2)).build();
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let id = PlaylistId::parse("PLsize120").unwrap();
    let entries = Lookup::PlaylistEntries(id.clone());
    let follower = async {
        sleep(Duration::from_millis(2_500)).await;
        vidra.lookup(&entries).await
    };
    let refresh = async {
        sleep(Duration::from_secs(3)).await;
        let list = vidra.refreshing().lookup(&entries).await.unwrap();
        (list.outcome, list.age, Instant::now())
    };
    let began = Instant::now();
    let (_, _, (outcome, age, ended)) = tokio::join!(vidra.playlist(&id), follower, refresh);
    assert_eq!((outcome, age), (CacheOutcome::Miss, Duration::from_secs(4)));
    assert_eq!(ended - began, Duration::from_secs(9), "its own pages, at 5, 7 and 9 seconds");
    assert_eq!(sim.record().calls_to(Endpoint::PlaylistItems), 6);
}

/// The uploads of a channel that join a walk through its playlist are as old as the first page.
#[tokio::test(start_paused = true)]
async fn joined_uploads_have_the_age_of_their_first_page() {
    let sim = Simulator::builder().latency(Duration::from_secs(2)).build();
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let playlist = PlaylistId::parse("UUquirkManyUploads000000").unwrap();
    let channel = ChannelRef::parse("UCquirkManyUploads000000").unwrap();
    let later = async {
        sleep(Duration::from_millis(2_500)).await;
        vidra.lookup(&Lookup::UploadIds(channel)).await
    };
    let (_, ids) = tokio::join!(vidra.playlist(&playlist), later);
    assert_eq!(ids.unwrap().age, Duration::from_millis(500), "the first page came at 2 seconds");
}

/// One video of a list is still being fetched, and the call for the other one fails.
#[tokio::test(start_paused = true)]
async fn a_list_fails_with_its_first_part() {
    let sim = Simulator::builder().latency(Duration::from_secs(5)).build();
    let vidra = sim::builder(&sim).cache_bytes(64 << 20).build().unwrap();
    let ids = ["fda4eREcaTQ", "quirkNoLike"].map(|id| VideoId::parse(id).unwrap());
    let list = async {
        sleep(Duration::from_secs(1)).await;
        sim.set_latency(Duration::ZERO);
        let location = "https://elsewhere.example/".to_owned();
        sim.inject(Fault::on(Endpoint::Videos, Action::Redirect { location }));
        let began = Instant::now();
        let list = vidra.videos(&ids).await;
        (list, began.elapsed())
    };
    let (first, (list, took)) = tokio::join!(vidra.video(ids[0]), list);
    first.unwrap();
    assert_eq!(list.unwrap_err().kind(), ErrorKind::Upstream);
    assert!(took < Duration::from_secs(1), "{took:?}");
}
