//! Lists are assembled from records: a playlist is its ids and its own data, and its videos are records of their own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use vidra::store::{Fs, Memory, Record, Store};
use vidra::transport::{Answer, BoxFuture, Failure};
use vidra::{Builder, CacheOutcome, ChannelRef, InProcess, Lookup, PlaylistId, Transport, VideoId};
use vidra_sim::Simulator;

use crate::sim;

/// A platform whose videos have descriptions of 4 KB.
#[derive(Clone)]
struct Wordy(Simulator);

impl Transport for Wordy {
    fn exchange(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Failure>> {
        Box::pin(async move {
            let is_videos = request.uri().path().ends_with("/videos");
            let mut answer = InProcess(self.0.clone()).exchange(request).await?;
            if is_videos && answer.status.is_success() {
                let mut json: Value = serde_json::from_slice(&answer.body).unwrap();
                for item in json["items"].as_array_mut().unwrap() {
                    item["snippet"]["description"] = "x".repeat(3_000).into();
                }
                answer.body = json.to_string().into();
            }
            Ok(answer)
        })
    }
}

fn builder(sim: &Simulator) -> Builder {
    sim::builder(sim).transport(Wordy(sim.clone()))
}

fn playlist(id: &str) -> Lookup {
    Lookup::Playlist(PlaylistId::parse(id).unwrap())
}

/// The default of the client.
const DEFAULT_MEMORY: u64 = 96 << 20;

/// The longest playlist that YouTube shows. Without optimisation the stores are too slow for it.
const LONGEST: &str = if cfg!(debug_assertions) { "PLsize500" } else { "PLsize20000" };

/// Requests the longest playlist, and requests it again from a client that shares only the store.
async fn assert_second_lookup_is_free(
    sim: &Simulator,
    client: impl Fn() -> Builder,
    is_shared: bool,
) {
    let longest = playlist(LONGEST);
    let first = client().build().unwrap();
    let listed = first.lookup(&longest).await.unwrap();
    assert_eq!(listed.outcome, CacheOutcome::Miss);
    first.settled().await;
    let second = if is_shared { first.metered() } else { client().build().unwrap() };
    let calls = sim.record().calls;
    let again = second.lookup(&longest).await.unwrap();
    assert_eq!((again.outcome, second.cost().units()), (CacheOutcome::Hit, 0));
    assert!(again.body == listed.body, "the same list");
    assert_eq!(sim.record().calls, calls);
}

#[tokio::test]
async fn the_longest_playlist_stays_in_memory() {
    let sim = Simulator::new();
    let client = || builder(&sim).cache_bytes(DEFAULT_MEMORY);
    assert_second_lookup_is_free(&sim, client, true).await;
}

#[tokio::test]
async fn the_longest_playlist_outlives_the_process_in_a_folder() {
    let (sim, folder) = (Simulator::new(), tempfile::tempdir().unwrap());
    let client = || {
        let store = Fs::open(folder.path().join("cache"), 1 << 30).unwrap();
        builder(&sim).cache_bytes(1 << 20).store(Arc::new(store))
    };
    assert_second_lookup_is_free(&sim, client, false).await;
}

#[cfg(feature = "redis")]
#[tokio::test]
async fn the_longest_playlist_outlives_the_process_in_redis() {
    let Some(server) = vidra_engines::Redis::start(&[]) else { return };
    let sim = Simulator::new();
    let client = || {
        let store = vidra::store::Redis::new(&server.url()).unwrap();
        builder(&sim).cache_bytes(1 << 20).store(Arc::new(store))
    };
    assert_second_lookup_is_free(&sim, client, false).await;
}

#[tokio::test(start_paused = true)]
async fn missing_videos_are_fetched_again_by_fifties() {
    let (sim, store) = (Simulator::new(), Arc::new(Memory::new(64 << 20)));
    let vidra = builder(&sim).store(store.clone()).build().unwrap();
    let first = vidra.lookup(&playlist("PLsize500")).await.unwrap();
    vidra.settled().await;
    let mut videos = vec![];
    store.each(|key, _| videos.extend(key.starts_with("video/").then(|| key.to_owned())));
    for key in videos.iter().step_by(4) {
        store.forget(key);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    let again = vidra.metered();
    let second = again.lookup(&playlist("PLsize500")).await.unwrap();
    let missing = videos.len().div_ceil(4);
    assert_eq!(again.cost().units() as usize, missing.div_ceil(50), "{missing} videos");
    assert_eq!(
        (second.outcome, second.age.as_secs()),
        (CacheOutcome::Miss, 10),
        "the age of its ids"
    );
    assert!(second.body == first.body, "the same list");
}

#[tokio::test(start_paused = true)]
async fn uploads_by_any_name_are_one_list() {
    let sim = Simulator::new();
    let vidra = builder(&sim).cache_bytes(1 << 20).build().unwrap();
    let uploads = |name: &str| Lookup::Uploads(ChannelRef::parse(name).unwrap());
    let by_handle = vidra.lookup(&uploads("@fermata")).await.unwrap();
    tokio::time::advance(Duration::from_secs(7)).await;
    let again = vidra.metered();
    let by_id = again.lookup(&uploads("UCB-2_pXPtFYDifLXZF-S8PA")).await.unwrap();
    assert_eq!((by_id.outcome, again.cost().units()), (CacheOutcome::Hit, 0));
    assert_eq!((by_id.age.as_secs(), by_id.body == by_handle.body), (7, true));
}

#[tokio::test(start_paused = true)]
async fn a_record_in_another_format_is_a_miss() {
    let (sim, store) = (Simulator::new(), Arc::new(Memory::new(1 << 20)));
    let video = Lookup::Video(VideoId::parse("quirkNoLike").unwrap());
    builder(&sim).store(store.clone()).build().unwrap().lookup(&video).await.unwrap();
    let record = store.get("video/quirkNoLike").await.unwrap().unwrap();
    let later = Record { schema: record.schema + 1, body: "another format".into(), ..record };
    store.put("video/quirkNoLike", &later).await.unwrap();
    let vidra = builder(&sim).store(store).build().unwrap();
    assert_eq!(vidra.lookup(&video).await.unwrap().outcome, CacheOutcome::Miss);
}
