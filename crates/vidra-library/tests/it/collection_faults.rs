//! What disturbs a collection: failing pages, paused and waiting syncs, changed options.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use vidra::clock::Clock;
use vidra::{Pacing, Reason, VideoId};
use vidra_library::{Access, JobState, VideoState};
use vidra_sim::{Action, Change, Endpoint, Fault, Simulator};

use crate::collections::{hours, name, put, show, videos, world};
use crate::{Store, TestClock, World};

/// A world whose platform takes a moment for each answer.
fn slow_world() -> World {
    let start = TestClock::new().now();
    let latency = Duration::from_millis(200);
    World::over(Simulator::builder().start_at(start).latency(latency).build())
}

fn client(world: &World) -> vidra::Vidra {
    world.client().pacing(Pacing::Off).build().unwrap()
}

/// A list that fails after its first page is read again, until there is no gap.
async fn a_failed_page_hides_no_video(store: Store) {
    let world = world().on(store);
    let channel = "UCquirkManyUploads000000";
    let uploads = world.platform.upload_ids(channel);
    let later = world.clock.now() + SignedDuration::from_hours(2);
    // 120 videos appear while the service is off.
    for id in &uploads[..120] {
        world.platform.schedule(id, Change::Published, later).unwrap();
    }
    let library = world.library().await;
    let worker = world.work(&library, client(&world));
    library.put_collection(put(&[channel], json!({"limit": 2}))).await.unwrap();
    hours(1).await;
    worker.stop().await;
    hours(5).await;
    // The second page fails, also when it is repeated.
    let second = Fault::on(Endpoint::PlaylistItems, Action::status(500)).from_call(2).times(3);
    world.platform.inject(second);
    let worker = world.work(&library, client(&world));
    hours(12).await;
    world.platform.clear_faults();
    hours(12).await;
    let found: Vec<VideoId> = videos(&library).await.iter().map(|it| it.video_id).collect();
    let missing = uploads[..122].iter().filter(|id| !found.contains(&VideoId::parse(id).unwrap()));
    assert_eq!(missing.count(), 0, "{}", found.len());
    assert_eq!(found.len(), 122, "and no older one");
    worker.stop().await;
}

/// The first list took two videos of fifty. A deletion moves another old one onto the page.
async fn a_deletion_brings_no_older_video(store: Store) {
    let world = world().on(store);
    let channel = "UCquirkManyUploads000000";
    let uploads = world.platform.upload_ids(channel);
    let later = world.clock.now() + SignedDuration::from_hours(30);
    for id in [&uploads[0], &uploads[7]] {
        world.platform.schedule(id, Change::Deleted, later).unwrap();
    }
    let library = world.library().await;
    let worker = world.work(&library, client(&world));
    library.put_collection(put(&[channel], json!({"limit": 2}))).await.unwrap();
    hours(24 * 5).await;
    let coverage = show(&library).await.collection.coverage;
    assert_eq!((coverage.videos, coverage.gone), (2, 1), "{coverage:?}");
    worker.stop().await;
}

async fn a_paused_sync_continues_and_others_are_tried_while_it_waits(store: Store) {
    let world = world().on(store);
    let uploads = world.platform.upload_ids("@crowd007");
    let at = |hours| world.clock.now() + SignedDuration::from_hours(hours);
    world.platform.schedule(&uploads[0], Change::Published, at(2)).unwrap();
    world.platform.schedule(&uploads[0], Change::Captions, at(5)).unwrap();
    let library = world.library().await;
    let worker = world.work(&library, client(&world));
    let sources = ["@crowd007", "https://www.youtube.com/playlist?list=PLsize500"];
    let options = json!({"unitBudget": 5, "every": "1h", "limit": 2});
    library.put_collection(put(&sources, options)).await.unwrap();
    hours(1).await;
    let job = show(&library).await.collection.last_sync.unwrap();
    assert_eq!(job.state, Some(JobState::Waiting));
    library.pause(job.job_id.unwrap(), &Access::All).await.unwrap();
    // The schedule continues it. The video has captions later, while the sync still waits for units.
    hours(10).await;
    let shown = show(&library).await.collection.last_sync.unwrap();
    assert_eq!((shown.job_id, shown.state), (job.job_id, Some(JobState::Waiting)));
    let video = videos(&library).await.into_iter().find(|it| it.video_id.as_str() == uploads[0]);
    assert_eq!(video.unwrap().state, VideoState::Transcribed);
    worker.stop().await;
}

/// Items of a sync that began with other captions say nothing about the collection.
async fn other_captions_replace_a_running_sync(store: Store) {
    let world = slow_world().on(store);
    let library = world.library().await;
    let worker = world.work(&library, client(&world));
    library.put_collection(put(&["@crowd007"], json!({"lang": "xx"}))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let first = show(&library).await.collection.last_sync.unwrap().job_id.unwrap();
    library.put_collection(put(&["@crowd007"], json!({"lang": "en"}))).await.unwrap();
    hours(1).await;
    assert_eq!(library.job(first, &Access::All).await.unwrap().state, JobState::Cancelled);
    let coverage = show(&library).await.collection.coverage;
    assert!(coverage.transcribed > 0 && coverage.pending == 0, "{coverage:?}");
    // A forgotten video stays forgotten, also with other captions.
    let known = videos(&library).await.into_iter().find(|it| it.state == VideoState::Transcribed);
    let known = known.unwrap().video_id;
    library.forget(vec![known]).await.unwrap();
    library.put_collection(put(&["@crowd007"], json!({"lang": "en,de"}))).await.unwrap();
    hours(2).await;
    let forgotten = videos(&library).await.into_iter().find(|it| it.video_id == known).unwrap();
    assert_eq!(forgotten.reason, Some(Reason::TranscriptRemoved));
    worker.stop().await;
}

/// A deleted job ends its sync at once, and the next one starts anew.
async fn a_deleted_job_stops_its_calls(store: Store) {
    let start = world().clock.now();
    let platform =
        vidra_sim::Simulator::builder().start_at(start).latency(Duration::from_millis(200)).build();
    let world = World::over(platform).on(store);
    let library = world.library().await;
    let worker = world.work(&library, client(&world));
    let sources = ["https://www.youtube.com/playlist?list=PLsize5000"];
    library.put_collection(put(&sources, json!({"every": "1h", "limit": 3}))).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let job = show(&library).await.collection.last_sync.unwrap().job_id.unwrap();
    library.delete(job, &Access::All).await.unwrap();
    let calls = world.platform.record().calls_to(Endpoint::PlaylistItems);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let more = world.platform.record().calls_to(Endpoint::PlaylistItems) - calls;
    assert!(more <= 1, "{more}");
    library.sync_collection("", &name()).await.unwrap();
    hours(3).await;
    assert!(show(&library).await.sources[0].is_listed);
    worker.stop().await;
}

crate::on_each_store!(
    a_failed_page_hides_no_video,
    a_deletion_brings_no_older_video,
    a_paused_sync_continues_and_others_are_tried_while_it_waits,
    other_captions_replace_a_running_sync,
    a_deleted_job_stops_its_calls
);
