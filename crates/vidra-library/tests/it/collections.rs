//! Collections: what they find, what they try again, and what it costs.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use vidra::clock::Clock;
use vidra::{Pacing, Reason};
use vidra_library::{
    Access, CollectionDetails, CollectionName, CollectionRequest, CollectionState, CollectionVideo,
    JobState, Library, PutCollection, VideoFilter, VideoState,
};
use vidra_sim::{Action, Change, Endpoint, Fault, Simulator};

use crate::{Store, TestClock, World, create, settled};

pub(crate) fn name() -> CollectionName {
    CollectionName::parse("news").unwrap()
}

pub(crate) fn put(sources: &[&str], options: serde_json::Value) -> PutCollection {
    let mut body = options;
    body["sources"] = json!(sources);
    let (request, sources) = CollectionRequest::from_json(&body).unwrap();
    PutCollection { owner: String::new(), name: name(), request, sources }
}

/// A world whose platform has the same clock as the library.
pub(crate) fn world() -> World {
    let start = TestClock::new().now();
    World::over(Simulator::builder().start_at(start).keep_requests(50_000).build())
}

pub(crate) async fn hours(count: u64) {
    tokio::time::sleep(Duration::from_secs(count * 3600)).await;
}

pub(crate) async fn show(library: &Library) -> CollectionDetails {
    library.collection("", &name()).await.unwrap()
}

pub(crate) async fn videos(library: &Library) -> Vec<CollectionVideo> {
    let filter = VideoFilter::default();
    library.collection_videos("", &name(), filter, None, 100_000).await.unwrap().0
}

async fn video(library: &Library, id: &str) -> Option<CollectionVideo> {
    videos(library).await.into_iter().find(|video| video.video_id.as_str() == id)
}

fn later(world: &World, hours: i64) -> Timestamp {
    world.clock.now() + SignedDuration::from_hours(hours)
}

async fn a_collection_finds_what_is_new_without_units(store: Store) {
    let world = world().on(store);
    let uploads = world.platform.upload_ids("@crowd007");
    world.platform.schedule(&uploads[0], Change::Published, later(&world, 30)).unwrap();
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let sources = ["@crowd007", "PLsize50", "txManualAsr"];
    let (created, is_new) = library.put_collection(put(&sources, json!({}))).await.unwrap();
    assert!(is_new && created.sources.len() == 3);
    hours(1).await;
    let first = show(&library).await;
    let expected = uploads.len() as u64 - 1 + 50 + 1;
    assert_eq!(
        (first.collection.coverage.videos, first.collection.coverage.pending),
        (expected, 0)
    );
    assert!(first.sources.iter().all(|source| source.is_listed && source.error.is_none()));
    assert_eq!(first.sources[0].title.as_deref(), Some("Crowd 7"));
    let sync = first.collection.last_sync.clone().unwrap();
    assert_eq!(sync.state, Some(JobState::Completed));
    // The channel, its pages, the number of entries, and one page.
    let pages = (uploads.len() as u64 - 1).div_ceil(50);
    assert_eq!(sync.units, 1 + pages + 1 + 1, "{first:?}");
    assert_eq!(first.collection.units[0].units, world.platform.record().units.default);
    // The same request changes nothing.
    let again = library.put_collection(put(&sources, json!({}))).await.unwrap();
    assert_eq!((again.1, again.0.collection.next_sync), (false, first.collection.next_sync));

    let before = world.platform.record().units.default;
    hours(20).await;
    let quiet = world.platform.record().units.default - before;
    assert!(quiet <= 4, "the number of entries every 6 hours: {quiet}");
    hours(18).await;
    let new = video(&library, &uploads[0]).await.unwrap();
    assert_eq!(new.published_source.as_deref(), Some("feed"));
    assert!(new.found_at.duration_since(new.published_at.unwrap()) < SignedDuration::from_hours(7));
    assert_ne!(new.state, VideoState::Pending);
    worker.stop().await;
}

async fn late_captions_broadcasts_and_deletions(store: Store) {
    let world = world().on(store);
    let uploads = world.platform.upload_ids("@crowd007");
    let [late, never, live, gone] = [0, 1, 2, 3].map(|index: usize| uploads[index].clone());
    for (hour, id) in [(2, &gone), (3, &live), (4, &never), (5, &late)] {
        world.platform.schedule(id, Change::Published, later(&world, hour)).unwrap();
    }
    world.platform.schedule(&late, Change::Captions, later(&world, 5 + 20)).unwrap();
    world.platform.schedule(&never, Change::Captions, later(&world, 10_000)).unwrap();
    world.platform.schedule(&live, Change::Ended, later(&world, 3 + 30)).unwrap();
    world.platform.schedule(&gone, Change::Deleted, later(&world, 2 + 40)).unwrap();
    let mut world = world;
    world.config = world.config.with_follows_deletions(true);
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    library.put_collection(put(&["@crowd007"], json!({"every": "1h"}))).await.unwrap();
    hours(24).await;
    let state = |id: String| {
        let library = library.clone();
        async move { video(&library, &id).await.map(|it| (it.state, it.reason, it.next_try)) }
    };
    let (late_state, reason, next) = state(late.clone()).await.unwrap();
    assert_eq!((late_state, reason), (VideoState::Failed, Some(Reason::CaptionsDisabled)));
    let published = video(&library, &late).await.unwrap().published_at.unwrap();
    assert_eq!(next.unwrap().duration_since(published), SignedDuration::from_hours(24));
    assert_eq!(state(live.clone()).await.unwrap().1, Some(Reason::NotEnded), "it is on air");
    assert_eq!(state(gone.clone()).await.unwrap().0, VideoState::Transcribed);
    // A sync is complete although videos are tried again later.
    assert_eq!(show(&library).await.collection.last_sync.unwrap().state, Some(JobState::Completed));
    hours(24).await;
    assert_eq!(state(late.clone()).await.unwrap().0, VideoState::Transcribed, "after a day");
    assert_eq!(state(live.clone()).await.unwrap().0, VideoState::Transcribed, "after its end");
    hours(24).await;
    let (state_of_gone, reason, _) = state(gone.clone()).await.unwrap();
    assert_eq!((state_of_gone, reason), (VideoState::Gone, Some(Reason::VideoNotFound)));
    let filter = vec![vidra::VideoId::parse(&gone).unwrap()];
    assert_eq!(library.forget(filter).await.unwrap(), 0, "its transcript was removed");
    hours(24 * 8).await;
    let (state_of_never, _, next) = state(never).await.unwrap();
    assert_eq!((state_of_never, next), (VideoState::Failed, None), "a week is over");
    worker.stop().await;
}

async fn a_sync_waits_for_the_budget_and_reads_feeds_meanwhile(store: Store) {
    let world = world().on(store);
    let uploads = world.platform.upload_ids("@crowd007");
    world.platform.schedule(&uploads[0], Change::Published, later(&world, 3)).unwrap();
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let options = json!({"unitBudget": 6, "every": "1h"});
    let sources = ["@crowd007", "https://www.youtube.com/playlist?list=PLsize500"];
    library.put_collection(put(&sources, options)).await.unwrap();
    hours(1).await;
    let shown = show(&library).await;
    assert_eq!(shown.collection.units[0].units, 6);
    let job = shown.collection.last_sync.unwrap();
    assert_eq!(job.state, Some(JobState::Waiting));
    let job = library.job(job.job_id.unwrap(), &Access::All).await.unwrap();
    assert_eq!(job.waiting.unwrap().reason, Reason::UnitBudgetExhausted);
    assert_eq!(job.collection.as_deref(), Some("news"));
    hours(6).await;
    assert!(video(&library, &uploads[0]).await.is_some(), "feeds cost nothing");
    assert_eq!(world.platform.record().units.default, 6);
    // A larger budget counts at once.
    library.put_collection(put(&sources, json!({"unitBudget": 7, "every": "1h"}))).await.unwrap();
    hours(1).await;
    assert_eq!(show(&library).await.collection.units[0].units, 7);
    hours(24 * 3).await;
    let shown = show(&library).await;
    assert!(
        shown.collection.units.iter().all(|day| day.units <= 7),
        "{:?}",
        shown.collection.units
    );
    assert_eq!(shown.collection.coverage.videos, uploads.len() as u64 + 500);
    worker.stop().await;
}

async fn sources_that_fail_do_not_hide_the_others(store: Store) {
    let world = world().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let sources = ["@nobodyhasthishandle", "PLmissing0000000", "@crowd003", "search:night train"];
    library.put_collection(put(&sources, json!({"limit": 2}))).await.unwrap();
    hours(1).await;
    let shown = show(&library).await;
    let reasons: Vec<_> =
        shown.sources.iter().map(|source| source.error.as_ref().map(|it| it.reason)).collect();
    let expected = [Some(Reason::ChannelNotFound), Some(Reason::PlaylistNotFound), None, None];
    assert_eq!(reasons, expected, "{shown:?}");
    assert_eq!((shown.sources[2].videos, shown.sources[3].videos), (2, 2));
    assert_eq!(shown.collection.last_sync.unwrap().state, Some(JobState::Completed));
    // Without two sources, their videos leave. The limit alone does not bring back older ones.
    let (shown, is_new) =
        library.put_collection(put(&["@crowd003"], json!({"limit": 2}))).await.unwrap();
    assert!(!is_new);
    assert_eq!((shown.collection.coverage.videos, shown.sources.len()), (2, 1));
    hours(30).await;
    assert_eq!(show(&library).await.collection.coverage.videos, 2);
    // A larger limit lists again.
    library.put_collection(put(&["@crowd003"], json!({"limit": 7}))).await.unwrap();
    hours(1).await;
    assert_eq!(show(&library).await.collection.coverage.videos, 7);
    // Other captions: every video is tried again.
    library.put_collection(put(&["@crowd003"], json!({"limit": 7, "lang": "xx"}))).await.unwrap();
    hours(1).await;
    let coverage = show(&library).await.collection.coverage;
    assert_eq!((coverage.transcribed, coverage.pending), (0, 0), "{coverage:?}");
    worker.stop().await;
}

async fn without_feeds_the_number_of_videos_decides(store: Store) {
    let world = world().on(store);
    let uploads = world.platform.upload_ids("@crowd007");
    world.platform.schedule(&uploads[0], Change::Published, later(&world, 20)).unwrap();
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    library.put_collection(put(&["@crowd007", "@crowd008"], json!({}))).await.unwrap();
    hours(2).await;
    world.platform.inject(Fault::on(Endpoint::Feed, Action::status(404)));
    let before = world.platform.record().units.default;
    hours(26).await;
    assert!(video(&library, &uploads[0]).await.is_some());
    let units = world.platform.record().units.default - before;
    // Every 6 hours one unit for both channels, one page for each audit, and one for the change.
    assert!(units <= 5 + 2 + 1, "{units}");
    worker.stop().await;
}

async fn pausing_revoking_restarting_and_deleting(store: Store) {
    let world = world().on(store);
    let library = world.library().await;
    let client = || world.client().pacing(Pacing::Off).build().unwrap();
    let worker = world.work(&library, client());
    library.put_collection(put(&["@crowd007"], json!({"limit": 1}))).await.unwrap();
    hours(1).await;
    let paused = library.pause_collection("", &name()).await.unwrap().collection;
    assert_eq!((paused.state, paused.next_sync), (CollectionState::Paused, None));
    let feeds = || world.platform.record().calls_to(Endpoint::Feed);
    let before = feeds();
    hours(50).await;
    assert_eq!(feeds(), before);
    // One sync makes up for all that were missed, also after a restart.
    worker.stop().await;
    library.resume_collection("", &name()).await.unwrap();
    hours(50).await;
    let worker = world.work(&library, client());
    let calls = world.platform.record().calls;
    hours(1).await;
    let synced = show(&library).await.collection;
    assert_eq!(synced.state, CollectionState::Active);
    assert_eq!(world.platform.record().calls - calls, 1, "one page, because the audit is due");
    assert!(synced.next_sync.unwrap() > world.clock.now());
    worker.stop().await;

    // A revoked key pauses its collections.
    let revoked = PutCollection { owner: "anna".to_owned(), ..put(&["@crowd008"], json!({})) };
    library.put_collection(revoked).await.unwrap();
    let payer = client();
    let payers = std::sync::Arc::new(move |owner: &str| owner.is_empty().then(|| payer.clone()));
    let worker = vidra_library::Worker::new(library.clone(), client(), payers, world.config);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let task = tokio::spawn(async move { worker.run(async { _ = stopped.await }).await.unwrap() });
    hours(1).await;
    let anna = library.collection("anna", &name()).await.unwrap().collection;
    assert_eq!(
        (anna.state, anna.reason),
        (CollectionState::Paused, Some(Reason::CallerKeyInvalid))
    );
    drop(stop);
    task.await.unwrap();

    // Transcripts stay, and the name is free again.
    let owner = |access: Access| {
        let library = library.clone();
        async move { library.collections(&access, None, 10).await.unwrap().0.len() }
    };
    assert_eq!((owner(Access::All).await, owner(Access::Owner("anna".to_owned())).await), (2, 1));
    library.delete_collection("", &name()).await.unwrap();
    let error = library.collection("", &name()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::CollectionNotFound);
    assert_eq!(owner(Access::All).await, 1);
    let stats = library.stats().await.unwrap();
    assert_eq!((stats.transcripts, stats.collection_videos), (1, 0));
    library.put_collection(put(&["@crowd007"], json!({}))).await.unwrap();
}

async fn retention_spares_collections_and_dates_expire(store: Store) {
    let mut world = world().on(store);
    world.config = world.config.with_retention(Some(Duration::from_secs(24 * 3600)));
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    library.put_collection(put(&["@crowd007"], json!({"limit": 20}))).await.unwrap();
    let job = library.create(create(&["txManualAsr"])).await.unwrap().job;
    settled(&library, job.id).await;
    hours(1).await;
    let transcribed = show(&library).await.collection.coverage.transcribed;
    assert_eq!(library.stats().await.unwrap().transcripts, transcribed + 1);
    hours(48).await;
    assert_eq!(library.stats().await.unwrap().transcripts, transcribed);
    let dated = |videos: Vec<CollectionVideo>| {
        videos.iter().filter(|it| it.published_source.as_deref() == Some("data_api")).count()
    };
    assert_eq!(dated(videos(&library).await), 5, "the feed has the dates of 15");
    // Every look at the list renews the dates. Without it they expire after 30 days.
    hours(24 * 35).await;
    assert_eq!(dated(videos(&library).await), 5);
    library.pause_collection("", &name()).await.unwrap();
    hours(24 * 31).await;
    assert_eq!(dated(videos(&library).await), 0);
    assert_eq!(library.stats().await.unwrap().transcripts, transcribed);
    worker.stop().await;
}

/// Dates of the Data API that no page shows again are read again before they expire, fifty for a unit.
async fn old_dates_are_renewed_in_full_calls(store: Store) {
    let world = world().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    let channel = "UCquirkManyUploads000000";
    library.put_collection(put(&[channel], json!({"limit": 150, "every": "1d"}))).await.unwrap();
    hours(24 * 19).await;
    let calls = || world.platform.record().calls_to(Endpoint::Videos);
    assert_eq!(calls(), 0);
    hours(24 * 21).await;
    let dated = videos(&library).await.iter().filter(|it| it.published_at.is_some()).count();
    assert_eq!(dated, 150);
    // Two pages of fifty were not shown again. They are spread over a week, and wait a day for a full call.
    assert!((2..=10).contains(&calls()), "{}", calls());
    worker.stop().await;
}

/// Videos that were forgotten stay forgotten.
async fn a_forgotten_video_is_not_fetched_again(store: Store) {
    let world = world().on(store);
    let library = world.library().await;
    let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
    library.put_collection(put(&["txManualAsr"], json!({}))).await.unwrap();
    hours(1).await;
    assert_eq!(show(&library).await.collection.coverage.transcribed, 1);
    library.forget(vec![vidra::VideoId::parse("txManualAsr").unwrap()]).await.unwrap();
    let calls = world.platform.record().calls_to(Endpoint::Player);
    hours(48).await;
    let shown = show(&library).await.collection.coverage;
    assert_eq!((shown.transcribed, shown.failed["transcript_removed"]), (0, 1));
    assert_eq!(world.platform.record().calls_to(Endpoint::Player), calls);
    // A job that names it does, and the collection knows it.
    library.create(crate::create(&["txManualAsr"])).await.unwrap();
    hours(1).await;
    let shown = show(&library).await.collection.coverage;
    assert_eq!((shown.transcribed, shown.failed.len()), (1, 0));
    worker.stop().await;
}

/// A killed worker continues with the tasks that are left: nothing is lost, and nothing that was stored is paid again.
async fn a_killed_sync_loses_nothing(store: Store) {
    let start = TestClock::new().now();
    let latency = Duration::from_millis(60);
    let platform = Simulator::builder().start_at(start).latency(latency).build();
    let world = World::over(platform).on(store);
    let library = world.library().await;
    let channels: Vec<String> = (0..10).map(|n| format!("@crowd{n:03}")).collect();
    let mut sources: Vec<&str> = channels.iter().map(String::as_str).collect();
    sources.push("https://www.youtube.com/playlist?list=PLsize500");
    let videos = |channel: &String| world.platform.upload_ids(channel).len() as u64;
    let expected = channels.iter().map(videos).sum::<u64>() + 500;
    library.put_collection(put(&sources, json!({}))).await.unwrap();
    let mut random = fastrand::Rng::with_seed(18);
    let mut kills = 0;
    loop {
        let worker = world.work(&library, world.client().pacing(Pacing::Off).build().unwrap());
        tokio::time::sleep(Duration::from_millis(random.u64(100..1_500))).await;
        let sync = show(&library).await.collection.last_sync;
        if sync.is_some_and(|it| it.state == Some(JobState::Completed)) {
            worker.stop().await;
            break;
        }
        worker.kill();
        kills += 1;
        // In memory nobody sees that the process has died: its successor frees the leases.
        library.release_all_leases().await.unwrap();
    }
    let shown = show(&library).await;
    let coverage = shown.collection.coverage;
    assert_eq!((coverage.videos, coverage.pending), (expected, 0), "{coverage:?}");
    let (units, billed) = (shown.collection.units[0].units, world.platform.record().units.default);
    assert!(kills > 3 && units <= billed && billed <= units + kills, "{units} {billed} {kills}");
    // The channels, their numbers and pages, and those of the playlist.
    assert!(units <= 10 + 1 + 20 + 1 + 10, "{units}");
}

crate::on_each_store!(
    a_collection_finds_what_is_new_without_units,
    late_captions_broadcasts_and_deletions,
    a_sync_waits_for_the_budget_and_reads_feeds_meanwhile,
    sources_that_fail_do_not_hide_the_others,
    without_feeds_the_number_of_videos_decides,
    pausing_revoking_restarting_and_deleting,
    retention_spares_collections_and_dates_expire,
    old_dates_are_renewed_in_full_calls,
    a_forgotten_video_is_not_fetched_again,
    a_killed_sync_loses_nothing
);
